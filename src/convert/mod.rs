//! Classic policies as CEL policies.
//!
//! A rule becomes expressions that do the same to every object, or it is refused with the construct, its place, the reason
//! and what to do: nothing is approximated. Pure: a document in, texts and a report out. Knows the languages of both
//! generations and the schemas of the kinds; evaluates nothing.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod api_call;
mod autogen;
mod cel_text;
mod comments;
mod conditions;
mod constraints;
mod context;
mod dependence;
mod emit;
mod expression;
mod image_registry;
mod joined_stages;
mod json_patch;
mod kinds;
mod loops;
mod one;
mod overlay;
mod patch_text;
mod patches;
mod path;
mod place;
mod policy;
mod problem;
mod projection;
mod references;
mod roles;
mod rule;
mod selection;
mod stages;
mod targets;
mod text_match;
mod ty;
mod val;
mod workloads;
mod written_back;

use crate::admission::KindSchemas;
use crate::cel::MAX_EXPRESSION_CHARS;
use crate::patch::Schemas;
use crate::policy::{ClassicPolicy, metadata_errors};
use crate::resources::Resources;
use crate::semantics::Semantics;
use crate::value::{Pointer, Value};

pub use comments::Comments;
pub use problem::{Difference, Refusal};

use rule::{Converted, Generated, RuleInput};

/// What classic policies become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// `MutatingPolicy` and `NamespacedMutatingPolicy` of Kyverno.
    #[default]
    MutatingPolicy,
    /// `MutatingAdmissionPolicy` of Kubernetes, with its binding.
    AdmissionPolicy,
}

/// How policies are converted.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What they become.
    pub target: Target,
    /// What of divergences the new policies do.
    pub semantics: Semantics,
    /// The differences that the user accepts.
    pub accepts: Vec<Difference>,
    /// What server-side apply knows of the kinds.
    pub kinds: KindSchemas,
    /// How lists of the kinds merge.
    pub schemas: Schemas,
    /// Patterns of the rules that are converted, as `POLICY/RULE` or `POLICY`; all without one.
    pub rules: Vec<String>,
    /// The resources that the cluster serves; the built-in ones if it is not known.
    pub resources: Option<Resources>,
}

/// What became of a policy.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The documents of the new policies, in order; empty if no rule was converted.
    pub documents: Vec<String>,
    /// What became of each mutate rule, in the order of the policy.
    pub rules: Vec<RuleConversion>,
}

/// What became of a rule.
#[derive(Clone, Debug)]
pub struct RuleConversion {
    /// Its name.
    pub name: String,
    /// Its place in the policy.
    pub at: Pointer,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was converted, with these differences that the user accepts.
    Converted(Vec<Difference>),
    /// The options do not name it.
    NotChosen,
    /// It was not.
    Refused(Box<Refusal>),
}

/// Converts the mutate rules of a policy. `document` is what `policy` was read from, and `comments` are those of its text.
pub fn convert(
    document: &Value,
    policy: &ClassicPolicy,
    comments: &Comments,
    options: &Options,
) -> Conversion {
    let rules = document.path(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
    let mutates = |rule: &&(usize, &Value)| rule.1.get("mutate").is_some_and(|mutate| !mutate.is_null());
    let rules: Vec<(usize, &Value)> = rules.iter().enumerate().collect();
    let rules: Vec<&(usize, &Value)> = rules.iter().filter(mutates).collect();
    let mut taken: Vec<String> =
        [path::TEMPLATE, path::AT, roles::ROLES, roles::CLUSTER_ROLES, roles::BINDINGS]
            .map(str::to_owned)
            .to_vec();
    let mut converted: Vec<Converted> = Vec::new();
    let mut outcomes: Vec<RuleConversion> = Vec::new();
    if let Some(refusal) = refused_policy(document, policy, &rules) {
        return refused(&rules, options, policy, &refusal);
    }
    let unknown: Vec<usize> =
        rules.iter().filter(|(_, rule)| is_unknown(rule, options)).map(|(index, _)| *index).collect();
    for (index, rule) in &rules {
        let pointer = Pointer::ROOT.key("spec").key("rules").index(*index);
        let name = rule.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !is_chosen(policy, &name, options) {
            outcomes.push(RuleConversion { name, at: pointer, outcome: Outcome::NotChosen });
            continue;
        }
        let generated = generated(policy, &pointer);
        // Autogen moves the fields of a rule, but not what its references say.
        let is_moved = !generated.kinds.is_empty();
        let rule = if is_moved { Value::clone(rule) } else { references::replaced(rule, options.semantics) };
        let input = RuleInput {
            rule: &rule,
            pointer: &pointer,
            generated: &generated,
            is_alone: rules.len() == 1,
            is_namespaced: policy.meta.namespace.is_some(),
            only_patches: unknown.iter().any(|other| other != index),
        };
        let outcome = match rule_or_targets(&input, document, options, &mut taken) {
            Ok(mut own) => {
                if let Some(first) = own.first_mut() {
                    first.comments = comments.of_rule(&pointer);
                }
                let accepted = own.first().map(|rule| rule.accepted.clone()).unwrap_or_default();
                converted.extend(own);
                Outcome::Converted(accepted)
            }
            Err(refusal) => Outcome::Refused(Box::new(refusal)),
        };
        outcomes.push(RuleConversion { name, at: pointer, outcome });
    }
    refuse_unknown_changes(policy, &mut converted, &mut outcomes);
    refuse_wider(&rules, &mut converted, &mut outcomes);
    refuse_mixed(&mut converted, &mut outcomes, options);
    refuse_shared_targets(&rules, &mut converted, &mut outcomes);
    loop {
        refuse_dependents(policy, &mut converted, &mut outcomes);
        let is_alone = rules.len() == 1;
        match documents(document, &converted, comments, options, (is_alone, &mut taken.clone())) {
            Ok(documents) => return Conversion { documents, rules: outcomes },
            Err(TooLong(pointers)) => refuse_too_long(&pointers, &mut converted, &mut outcomes),
        }
    }
}

/// Whether the options name a rule.
fn is_chosen(policy: &ClassicPolicy, rule: &str, options: &Options) -> bool {
    let is_named = |pattern: &String| crate::policy::names_rule(pattern, &policy.meta.full_name(), rule);
    options.rules.is_empty() || options.rules.iter().any(is_named)
}

/// The conversion of a policy of which no rule can be converted.
fn refused(
    rules: &[&(usize, &Value)],
    options: &Options,
    policy: &ClassicPolicy,
    refusal: &Refusal,
) -> Conversion {
    let outcome = |(index, rule): &&(usize, &Value)| {
        let name = rule.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let at = Pointer::ROOT.key("spec").key("rules").index(*index);
        let is_chosen = is_chosen(policy, &name, options);
        let outcome =
            if is_chosen { Outcome::Refused(Box::new(refusal.clone())) } else { Outcome::NotChosen };
        RuleConversion { name, at, outcome }
    };
    Conversion { documents: Vec::new(), rules: rules.iter().map(outcome).collect() }
}

/// A rule, or one for each of its targets.
fn rule_or_targets(
    input: &RuleInput<'_>,
    document: &Value,
    options: &Options,
    taken: &mut Vec<String>,
) -> Result<Vec<Converted>, Refusal> {
    if targets::has_targets(input.rule) {
        rule::refuse_unsupported(input.rule, input.pointer)?;
        return targets::convert(input, document, options, taken);
    }
    Ok(vec![among_others(input, options, taken)?])
}

/// A rule without apply configurations, if others need that. If it cannot do without, it is refused later.
fn among_others(
    input: &RuleInput<'_>,
    options: &Options,
    taken: &mut Vec<String>,
) -> Result<Converted, Refusal> {
    if input.only_patches {
        let mut names = taken.clone();
        if let Ok(converted) = rule::convert(input, options, &mut names) {
            *taken = names;
            return Ok(converted);
        }
    }
    rule::convert(&RuleInput { only_patches: false, ..*input }, options, taken)
}

/// Whether a rule without targets is for a kind whose schema is not known: no apply configuration of the policy can be for it.
fn is_unknown(rule: &Value, options: &Options) -> bool {
    if targets::has_targets(rule) {
        return false;
    }
    let kinds = rule::kind_selectors(rule).into_iter();
    let kinds = kinds.filter_map(|kind| kinds::kinds(&kind, rule::resources(options)).ok()).flatten();
    kinds.into_iter().any(|kind| options.kinds.of(&kind.kind).is_none())
}

/// Rules that need an expression that is longer than a cluster takes.
struct TooLong(Vec<Pointer>);

/// The new policies: one for all rules without targets, and one for each target of another rule.
fn documents(
    document: &Value,
    converted: &[Converted],
    comments: &Comments,
    options: &Options,
    (is_alone, taken): (bool, &mut Vec<String>),
) -> Result<Vec<String>, TooLong> {
    let (own, targeted): (Vec<&Converted>, Vec<&Converted>) =
        converted.iter().partition(|rule| rule.targets.is_none());
    let mut documents = Vec::new();
    if !own.is_empty() {
        let output = policy::build(document, &own, options, taken);
        if has_too_long(&output.value) {
            let is_too_long = |rule: &&&Converted| {
                has_too_long(&policy::build(document, &[**rule], options, &mut taken.clone()).value)
            };
            let mut pointers: Vec<Pointer> =
                own.iter().filter(is_too_long).map(|rule| rule.pointer.clone()).collect();
            if pointers.is_empty() {
                // Only together.
                pointers = own.iter().map(|rule| rule.pointer.clone()).collect();
            }
            return Err(TooLong(pointers));
        }
        documents.push(output.text(comments, &comments.head));
        if options.target == Target::AdmissionPolicy {
            documents.push(binding(&output.value));
        }
    }
    for rule in &targeted {
        let is_only = is_alone && targeted.len() == 1;
        let output = policy::build_targeted(document, rule, options, is_only);
        if has_too_long(&output.value) {
            return Err(TooLong(vec![rule.pointer.clone()]));
        }
        let head = if documents.is_empty() { &*comments.head } else { &[] };
        documents.push(output.text(comments, head));
    }
    Ok(documents)
}

/// Whether a policy has an expression that no cluster takes.
fn has_too_long(policy: &Value) -> bool {
    let mut open = Vec::from_iter(policy.get("spec"));
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.len() > MAX_EXPRESSION_CHARS => return true,
            Value::Array(items) => open.extend(items.iter()),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    false
}

fn refuse_too_long(pointers: &[Pointer], converted: &mut Vec<Converted>, outcomes: &mut [RuleConversion]) {
    converted.retain(|rule| !pointers.contains(&rule.pointer));
    for outcome in outcomes.iter_mut().filter(|outcome| pointers.contains(&outcome.at)) {
        let problem = problem::Problem::new(
            "an expression that would be too long",
            format!("it would have more than {MAX_EXPRESSION_CHARS} characters, and no cluster takes it"),
            "nest less, or split the policy",
        );
        outcome.outcome = Outcome::Refused(Box::new(problem.at(&outcome.at)));
    }
}

/// With `applyRules: One` each rule must tell whether it would change the object.
fn refuse_unknown_changes(
    policy: &ClassicPolicy,
    converted: &mut Vec<Converted>,
    outcomes: &mut [RuleConversion],
) {
    if !policy.applies_one() || policy.rules.len() < 2 {
        return;
    }
    let is_known = |rule: &Converted| rule.targets.is_none() && one::changes(&rule.stages).is_some();
    if outcomes.len() == converted.len() && converted.iter().all(is_known) {
        return;
    }
    for rule in converted.drain(..) {
        let problem = problem::Problem::new(
            "`applyRules: One`",
            "whether one of the rules changes something is known only after its mutation, and CEL policies run all of them",
            "write conditions that exclude each other, and leave `applyRules` out",
        );
        let at = Pointer::ROOT.key("spec").key("applyRules");
        if let Some(outcome) = outcomes.iter_mut().find(|outcome| outcome.at == rule.pointer) {
            outcome.outcome = Outcome::Refused(Box::new(problem.at(&at)));
        }
    }
}

/// Rules that are also for a kind that only another rule names: one that the cluster does not serve, as far as is known.
fn refuse_wider(rules: &[&(usize, &Value)], converted: &mut Vec<Converted>, outcomes: &mut [RuleConversion]) {
    let own: Vec<&Converted> = converted.iter().filter(|rule| rule.targets.is_none()).collect();
    let named: Vec<&kinds::Kind> = own.iter().flat_map(|rule| &rule.selection.kinds).collect();
    let is_wider = |outcome: &&mut RuleConversion, rule: &Value| {
        let Some(converted) = own.iter().find(|rule| rule.pointer == outcome.at) else { return false };
        let known = &converted.selection.kinds;
        let selectors = rule::kind_selectors(rule);
        named.iter().any(|kind| {
            !known.contains(kind) && selectors.iter().any(|selector| kinds::may_select(selector, kind))
        })
    };
    let wider = outcomes.iter_mut().zip(rules).filter(|(outcome, (_, rule))| is_wider(outcome, rule));
    let wider: Vec<&mut RuleConversion> = wider.map(|(outcome, _)| outcome).collect();
    let mut refused = Vec::new();
    for outcome in wider {
        let problem = problem::Problem::new(
            "a rule beside others",
            "another rule names a kind that it is also for, in a group or version that is not known to be served",
            "name group and version of its kinds",
        );
        outcome.outcome = Outcome::Refused(Box::new(problem.at(&outcome.at)));
        refused.push(outcome.at.clone());
    }
    converted.retain(|rule| !refused.contains(&rule.pointer));
}

/// Rules whose objects a test of the kind alone would not keep apart, and rules before which autogen's come.
fn refuse_mixed(converted: &mut Vec<Converted>, outcomes: &mut [RuleConversion], options: &Options) {
    let mut refused: Vec<(Pointer, &str)> = Vec::new();
    let own = || converted.iter().enumerate().filter(|(_, rule)| rule.targets.is_none());
    let is_unknown = |kind: &kinds::Kind| !kind.is_of_its_kind() || options.kinds.of(&kind.kind).is_none();
    let unknown = own().filter(|(_, rule)| rule.selection.kinds.iter().any(is_unknown));
    let unknown: Vec<usize> = unknown.map(|(index, _)| index).collect();
    for (index, rule) in own() {
        let others = own().filter(|(other, _)| *other != index);
        let all: Vec<&kinds::Kind> = others.flat_map(|(_, other)| &other.selection.kinds).collect();
        let is_configured = rule.stages.iter().any(stages::Stage::is_apply);
        if is_configured && unknown.iter().any(|other| *other != index) {
            refused.push((
                rule.pointer.clone(),
                "other rules of the policy are for kinds whose schema is not known, and no apply configuration can be for them",
            ));
        }
        if kinds::apart(&rule.selection.kinds, &all).is_none() {
            refused.push((
                rule.pointer.clone(),
                "other rules of the policy are for the same kind in another version or subresource",
            ));
        }
        // A test of the kind would tell the rules apart.
        let is_of_another = |kind: &kinds::Kind| !kind.is_of_its_kind();
        let is_for_others_too = all.iter().any(|kind| !rule.selection.kinds.contains(kind));
        if is_for_others_too && rule.selection.kinds.iter().any(is_of_another) {
            refused.push((
                rule.pointer.clone(),
                "the objects of a subresource such as `scale` are of another kind than it is called by",
            ));
        }
        let comes_later = converted.iter().skip(index + 1).any(|later| {
            !later.is_templated
                && later.targets.is_none()
                && later.selection.kinds.iter().any(|kind| rule.selection.kinds.contains(kind))
        });
        // It is a setting of the whole policy.
        let first = converted.iter().find(|rule| rule.targets.is_none());
        let first = first.is_some_and(|first| first.skips_background);
        if options.target == Target::MutatingPolicy && rule.skips_background != first {
            refused.push((
                rule.pointer.clone(),
                "the first rule has another `skipBackgroundRequests`, and a CEL policy has one for all",
            ));
        }
        if rule.is_templated && comes_later {
            refused.push((
                rule.pointer.clone(),
                "for controllers of Pods it runs after later rules of the policy",
            ));
        }
    }
    for (pointer, reason) in refused {
        converted.retain(|rule| rule.pointer != pointer);
        if let Some(outcome) = outcomes.iter_mut().find(|outcome| outcome.at == pointer) {
            let problem =
                problem::Problem::new("a rule beside others", reason, "write a policy of its own for it");
            outcome.outcome = Outcome::Refused(Box::new(problem.at(&pointer)));
        }
    }
}

/// Rules with targets become policies of their own, which run in no defined order.
fn refuse_shared_targets(
    rules: &[&(usize, &Value)],
    converted: &mut Vec<Converted>,
    outcomes: &mut [RuleConversion],
) {
    let refuse = |(pointer, name): (Pointer, String),
                  converted: &mut Vec<Converted>,
                  outcomes: &mut [RuleConversion]| {
        let problem = problem::Problem::new(
            "a rule with targets beside others",
            format!(
                "the rule `{name}` changes targets of the same kind, and in which order the two run is not defined"
            ),
            "write both as one rule",
        );
        converted.retain(|rule| rule.pointer != pointer);
        if let Some(outcome) = outcomes.iter_mut().find(|outcome| outcome.at == pointer) {
            outcome.outcome = Outcome::Refused(Box::new(problem.at(&pointer)));
        }
    };
    while let Some([one, other]) = targets::interfering(converted) {
        let names = (one.1.clone(), other.1.clone());
        refuse((one.0, names.1), converted, outcomes);
        refuse((other.0, names.0), converted, outcomes);
    }
    // Those that stay in the classic policy.
    let staying: Vec<(String, Vec<&str>)> = outcomes
        .iter()
        .zip(rules)
        .filter(|(outcome, _)| !matches!(outcome.outcome, Outcome::Converted(_)))
        .map(|(outcome, (_, rule))| (outcome.name.clone(), targets::kinds_of(rule)))
        .collect();
    for (name, kinds) in staying {
        while let Some(rule) = converted.iter().find(|rule| {
            rule.targets.as_ref().is_some_and(|targets| kinds.contains(&&*targets.kind.kind.kind))
        }) {
            refuse((rule.pointer.clone(), name.clone()), converted, outcomes);
        }
    }
}

/// The kinds of the rules that autogen makes of a rule.
fn generated(policy: &ClassicPolicy, pointer: &Pointer) -> Generated {
    let rules = policy.rules.iter().filter(|rule| rule.generated_from.is_some() && rule.pointer == *pointer);
    let mut kinds: Vec<String> = Vec::new();
    for rule in rules {
        for kind in rule::kind_selectors(&rule.raw) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    Generated { kinds }
}

/// Why no rule of a policy can be converted.
fn refused_policy(document: &Value, policy: &ClassicPolicy, rules: &[&(usize, &Value)]) -> Option<Refusal> {
    // The default of etcd.
    const MAX_BYTES: usize = 1536 * 1024;
    if document.weight() > MAX_BYTES {
        let problem = problem::Problem::new(
            "a policy of more than 1.5 MiB",
            "no API server stores one of this size",
            "split it",
        );
        return Some(problem.at(&Pointer::ROOT.key("spec").key("rules")));
    }
    let kinds: usize = rules.iter().map(|(_, rule)| rule::kind_selectors(rule).len()).sum();
    if rules.len().max(kinds) > problem::MAX_PARTS {
        return Some(problem::too_many("rules or kinds").at(&Pointer::ROOT.key("spec").key("rules")));
    }
    if let Some(error) = metadata_errors(document).into_iter().next() {
        let problem = problem::Problem::new(
            format!("`{}`", error.pointer),
            format!("no API server takes it: {}", error.message),
            "correct it in the classic policy first",
        );
        return Some(problem.at(&error.pointer));
    }
    let conditions = Pointer::ROOT.key("spec").key("webhookConfiguration").key("matchConditions");
    let has_conditions =
        document.pointed(&conditions).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    (has_conditions && policy.meta.namespace.is_some()).then(|| {
        let problem = problem::Problem::new(
            "`matchConditions` of the webhook of a policy of a namespace",
            "the API server evaluates them for objects of all namespaces, and their errors count there",
            "copy them to `matchConditions` of the new policy by hand",
        );
        problem.at(&conditions)
    })
}

/// A rule that reads what a refused one writes, or the other way round, must stay with it: the order of the two policies
/// is not defined.
fn refuse_dependents(
    policy: &ClassicPolicy,
    converted: &mut Vec<Converted>,
    outcomes: &mut [RuleConversion],
) {
    loop {
        let refused: Vec<(Pointer, String)> = outcomes
            .iter()
            .filter(|rule| !matches!(rule.outcome, Outcome::Converted(_)))
            .map(|rule| (rule.at.clone(), rule.name.clone()))
            .collect();
        let paths = |at: &Pointer| {
            policy.rules.iter().find(|rule| rule.pointer == *at).map(crate::policy::Rule::paths)
        };
        let depends = |at: &Pointer| {
            let own = paths(at)?;
            let found = refused.iter().find(|(other, _)| {
                paths(other).is_some_and(|other| {
                    own.writes.intersects(&other.writes)
                        || own.reads.intersects(&other.writes)
                        || own.writes.intersects(&other.reads)
                })
            });
            found.map(|(_, name)| name.clone())
        };
        let Some((index, name)) =
            converted.iter().enumerate().find_map(|(index, rule)| Some((index, depends(&rule.pointer)?)))
        else {
            return;
        };
        let rule = converted.remove(index);
        let problem = problem::Problem::new(
            format!("a rule that depends on the rule `{name}`"),
            "one changes what the other reads or writes, and that one stays in the classic policy: their order would not be known",
            format!("make the rule `{name}` convertible"),
        );
        if let Some(outcome) = outcomes.iter_mut().find(|outcome| outcome.at == rule.pointer) {
            outcome.outcome = Outcome::Refused(Box::new(problem.at(&rule.pointer)));
        }
    }
}

/// The binding of a policy of the API server.
fn binding(policy: &Value) -> String {
    let name = policy.path(&["metadata", "name"]).cloned().unwrap_or_default();
    let object = |members: Vec<(&str, Value)>| members.into_iter().collect::<Value>();
    let value = object(vec![
        ("apiVersion", Value::from("admissionregistration.k8s.io/v1")),
        ("kind", Value::from("MutatingAdmissionPolicyBinding")),
        ("metadata", object(vec![("name", name.clone())])),
        ("spec", object(vec![("policyName", name)])),
    ]);
    let mut text = String::new();
    crate::yaml::print(&value, &mut text);
    text
}
