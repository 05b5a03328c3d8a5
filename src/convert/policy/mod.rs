//! A policy: its rules as mutations of one CEL policy.

mod by_kind;
mod by_template;
mod document;
mod lists;
mod names;
mod same_change;
mod tables;
mod variables;

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::conditions::Tests;
use crate::convert::context::{Variable, variable_name};
use crate::convert::dependence;
use crate::convert::emit::Output;
use crate::convert::kinds::Kind;
use crate::convert::path::AT;
use crate::convert::rule::Converted;
use crate::convert::selection::{Targets, kind_is};
use crate::convert::stages::{Change, Stage};
use crate::convert::workloads::place_of_template;
use crate::convert::{Options, Target};
use crate::value::{Pointer, Text, Value};

use by_kind::join_by_kind;
use by_template::join_by_template;
use lists::name_lists;
use names::condition_name;
use tables::with_tables;
use variables::{in_order, inlined, name_pod_specs, number_templates, renew_template, used};

/// Why a condition is no `&&` or `||`.
const KEEPS_ERRORS: &str = "no `&&` or `||`: an error of a test counts, whatever the others say";

/// A mutation of the new policy.
struct Mutation {
    is_apply: bool,
    expression: Cel,
    comments: Vec<String>,
    /// What is not plain in the expression.
    explained: Option<&'static str>,
}

/// Builds the new policy.
pub(super) fn build(
    document: &Value,
    rules: &[&Converted],
    options: &Options,
    taken: &mut Vec<String>,
) -> Output {
    let is_native = options.target == Target::AdmissionPolicy;
    let builder = Builder { document, rules, options, is_native, name: None };
    builder.build(taken)
}

/// Builds the policy for a target of a rule. `is_only` if it is all that the classic policy does.
pub(super) fn build_targeted(document: &Value, rule: &Converted, options: &Options, is_only: bool) -> Output {
    let name = document.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let number = rule.targets.as_ref().map_or(0, |targets| targets.number);
    let name = (!is_only).then(|| match number {
        0 => split_name(&format!("{name}-{}", rule.name)),
        number => split_name(&format!("{name}-{}-{}", rule.name, number + 1)),
    });
    let builder = Builder { document, rules: &[rule], options, is_native: false, name };
    builder.build(&mut Vec::new())
}

/// A name for one of several policies: those that are too long are cut, and told apart by a hash.
fn split_name(name: &str) -> String {
    const MAX_CHARS: usize = 63;
    let valid = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(valid).collect();
    if name.len() <= MAX_CHARS {
        return name;
    }
    let hash = short_hash(&name);
    let start = name.get(..MAX_CHARS - hash.len() - 1).unwrap_or_default();
    format!("{}-{hash}", start.trim_end_matches(['-', '.']))
}

fn short_hash(text: &str) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(text.as_bytes());
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

struct Builder<'b> {
    document: &'b Value,
    rules: &'b [&'b Converted],
    options: &'b Options,
    is_native: bool,
    /// Its name, if it is not that of the classic policy.
    name: Option<String>,
}

fn texts(items: impl IntoIterator<Item = impl Into<Text>>) -> Value {
    Value::array(items.into_iter().map(|item| Value::String(item.into())).collect())
}

fn object(members: Vec<(&str, Value)>) -> Value {
    members.into_iter().collect()
}

/// An expression in a document.
fn expression(cel: &Cel) -> Value {
    Value::from(cel.pretty())
}

impl Builder<'_> {
    fn build(&self, taken: &mut Vec<String>) -> Output {
        let shared =
            self.rules.first().filter(|first| self.rules.iter().all(|rule| is_same_match(first, rule)));
        let applies_one = self.rules.len() > 1
            && self.document.path(&["spec", "applyRules"]).and_then(Value::as_str) == Some("One");
        let namespaces = self.rules.first().and_then(|rule| rule.selection.namespace_selector.clone());
        let shares_namespaces = self.rules.iter().all(|rule| rule.selection.namespace_selector == namespaces);
        let mut variables: Vec<Variable> = Vec::new();
        let mut mutations: Vec<Mutation> = Vec::new();
        let mut applied: Vec<Cel> = Vec::new();
        let mut conditions: Vec<(String, Cel)> = Vec::new();
        if let Some(first) = shared {
            conditions = match_conditions(&first.tests);
        }
        let groups = if applies_one {
            self.rules.iter().map(|rule| vec![*rule]).collect()
        } else {
            same_change::groups(self.rules)
        };
        for (index, group) in groups.iter().enumerate() {
            let Some((rule, others)) = group.split_first() else { continue };
            let own = if shared.is_some() {
                Cel::bool(true)
            } else {
                let own = group.iter().map(|rule| self.own_condition(rule, shares_namespaces));
                if others.is_empty() { Cel::all(own.collect()) } else { same_change::either(own.collect()) }
            };
            let start = variables.len();
            add_variables(rule, &mut variables);
            // All of them are one mutation.
            let own = if groups.len() == 1 && !own.is_true() {
                let name = condition_name(&own, &rule.pointer, &conditions);
                conditions.push((name, own));
                Cel::bool(true)
            } else {
                own
            };
            let own = if applies_one {
                one_of_several(rule, own, &mut applied, &mut variables, taken)
            } else {
                own
            };
            let alone = if groups.len() == 1 { condition_and_change(rule, group) } else { None };
            let stages = match alone {
                Some((test, stage)) => {
                    let name = condition_name(&test, &rule.pointer, &conditions);
                    conditions.push((name, test));
                    vec![stage]
                }
                None => rule.stages.clone(),
            };
            self.add_rule((rule, &stages), own, &mut variables, &mut mutations, taken);
            if let Some(mutation) = mutations.last_mut() {
                mutation.comments.extend(others.iter().flat_map(|rule| comments_of(rule)));
            }
            if index > 0 {
                renew_template(rule, start, &mut variables, taken);
            }
        }
        leave_out_idle(&mut mutations);
        let templated = self.join(&mut mutations, &variables);
        if let Some(kinds) = templated {
            variables.insert(0, Variable { name: AT.to_owned(), cel: place_of_template(&kinds) });
            number_templates(&kinds, &conditions, &mut variables, &mut mutations, taken);
        }
        let has_autogen = self.rules.iter().any(|rule| rule.autogen.is_some());
        name_lists(&mut variables, &mut mutations, has_autogen, taken);
        if self.is_native {
            for (_, condition) in &mut conditions {
                *condition = inlined(condition, &variables);
            }
        }
        let of_targets = self.rules.iter().filter_map(|rule| rule.targets.as_ref());
        let of_targets: Vec<&Cel> = of_targets.flat_map(Targets::expressions).collect();
        let mut used = in_order(used(variables, &conditions, &mutations, &of_targets));
        name_pod_specs(&mut used, &mut conditions, &mut mutations);
        if !self.is_native {
            for mutation in mutations.iter_mut().filter(|mutation| !mutation.is_apply) {
                mutation.expression = with_tables(&mutation.expression);
            }
        }
        self.document_of(&used, &conditions, &mutations, namespaces.filter(|_| shares_namespaces))
    }

    /// Joins mutations for different kinds. Returns the kinds whose templates have variables, if they have.
    fn join(&self, mutations: &mut Vec<Mutation>, variables: &[Variable]) -> Option<Vec<Kind>> {
        let kinds: Vec<Kind> = self.kinds().cloned().collect();
        let templated = self.rules.iter().find(|rule| rule.is_templated);
        if templated.is_none()
            && variables.is_empty()
            && let Some(joined) = join_by_template(mutations, &kinds)
        {
            *mutations = vec![joined];
            return Some(kinds);
        }
        join_by_kind(mutations, &kinds.iter().map(|kind| &*kind.kind.kind).collect::<Vec<_>>());
        templated.map(|rule| rule.selection.kinds.clone())
    }

    /// The condition of a rule among others.
    fn own_condition(&self, rule: &Converted, shares_namespaces: bool) -> Cel {
        let mut tests = Tests::default();
        let at = Pointer::ROOT;
        let mut names: Vec<&str> = Vec::new();
        let is_any = rule.selection.kinds.iter().any(Kind::is_any);
        for kind in &rule.selection.kinds {
            if !names.contains(&&*kind.kind.kind) {
                names.push(&kind.kind.kind);
            }
        }
        let all = self.rules.iter().flat_map(|other| &other.selection.kinds);
        let is_for_all = all.into_iter().all(|kind| rule.selection.kinds.contains(kind));
        if !is_any && !is_for_all {
            tests.push(kind_is(&names), false, &at);
            let others: Vec<_> = self.rules.iter().flat_map(|other| &other.selection.kinds).collect();
            for test in super::kinds::apart(&rule.selection.kinds, &others).unwrap_or_default() {
                tests.push(test, false, &at);
            }
        }
        if let Some(operations) = &rule.tests.operations
            && self.rules.iter().any(|other| other.tests.operations != rule.tests.operations)
        {
            let operation = Cel::atom("request").member("operation");
            let named = operations.iter().map(Cel::text).collect();
            tests.push(operation.compare(Operator::In, Cel::List(named)), false, &at);
        }
        if let (Some(selector), false) = (&rule.selection.namespace_selector, shares_namespaces)
            && let Ok(test) = super::selection::namespace_labels_test(selector)
        {
            tests.push(test, false, &at);
        }
        tests.tests.extend(rule.tests.tests.iter().cloned());
        tests.joined()
    }

    fn add_rule(
        &self,
        (rule, stages): (&Converted, &[Stage]),
        own: Cel,
        variables: &mut Vec<Variable>,
        mutations: &mut Vec<Mutation>,
        taken: &mut Vec<String>,
    ) {
        let own_keeps_errors = own.any_part(&Cel::keeps_errors);
        // The condition of a rule is that of the object before its first mutation.
        let own = if stages.len() > 1 && !own.is_true() {
            let name = variable_name(&rule.name, taken);
            taken.push(name.clone());
            variables.push(Variable { name: name.clone(), cel: own });
            Cel::atom("variables").member(&name)
        } else {
            own
        };
        for (index, stage) in stages.iter().enumerate() {
            let before = stages.get(..index).unwrap_or_default();
            let mut comments =
                if index > 0 { vec![format!("rule {}", rule.name)] } else { comments_of(rule) };
            if let (Some(purpose), Some(title)) = (stage.purpose(before), comments.first_mut()) {
                title.push_str(": ");
                title.push_str(purpose);
            }
            if index == 0 && own_keeps_errors {
                comments.push(KEEPS_ERRORS.to_owned());
            }
            let expression = stage.expression(&own, rule.writes_back());
            let explained = stage.explained(&expression);
            mutations.push(Mutation { is_apply: stage.is_apply(), expression, comments, explained });
        }
    }
}

/// Adds the variables of a rule that are not there yet.
fn add_variables(rule: &Converted, variables: &mut Vec<Variable>) {
    for variable in &rule.variables {
        if !variables.iter().any(|one| one.name == variable.name && one.cel == variable.cel) {
            variables.push(variable.clone());
        }
    }
}

/// The only mutation of rules as a condition and what is left: where it applies under a condition, or sets a single member
/// that is missing.
fn condition_and_change(rule: &Converted, group: &[&Converted]) -> Option<(Cel, Stage)> {
    let ([stage], None) = (rule.stages.as_slice(), &rule.targets) else { return None };
    // A test that fails counts, whatever the other conditions say.
    if !stage.condition.is_true() || group.iter().any(|rule| rule.tests.tests.iter().any(|test| test.fails)) {
        return None;
    }
    if let Change::Patch(Cel::If { condition, then, otherwise }) = &stage.change
        && **otherwise == Cel::List(Vec::new())
    {
        let stage = Stage { condition: Cel::bool(true), change: Change::Patch((**then).clone()) };
        return Some(((**condition).clone(), stage));
    }
    let (path, stage) = dependence::only_if_missing(stage)?;
    Some((path.call("hasValue", []).negated(), stage))
}

/// What is said of a rule before its first mutation.
fn comments_of(rule: &Converted) -> Vec<String> {
    let mut comments = vec![format!("rule {}", rule.name)];
    comments.extend(rule.comments.iter().cloned());
    let accepted = rule.accepted.iter();
    comments.extend(accepted.map(|difference| format!("accepted difference: {}", difference.name())));
    if rule.targets.as_ref().is_some_and(|targets| !targets.on_policy_update) {
        comments.push("also runs when this policy is created, for the triggers that exist".to_owned());
    }
    comments
}

/// Leaves out mutations of rules that never apply, where others do.
fn leave_out_idle(mutations: &mut Vec<Mutation>) {
    let is_idle = |mutation: &Mutation| match &mutation.expression {
        Cel::List(steps) => steps.is_empty(),
        Cel::Message { fields, .. } => fields.is_empty(),
        _ => false,
    };
    let (idle, mut left): (Vec<Mutation>, Vec<Mutation>) = mutations.drain(..).partition(is_idle);
    let Some(first) = left.first_mut() else {
        mutations.extend(idle);
        return;
    };
    let of_idle = idle.iter().flat_map(|mutation| {
        let (name, rest) = mutation.comments.split_first().unzip();
        let name = name.map(|name| format!("{name}: it never applies"));
        name.into_iter().chain(rest.into_iter().flatten().cloned())
    });
    first.comments.splice(0..0, of_idle);
    *mutations = left;
}

/// Whether a rule is the first of several that changes the object, as a variable.
fn one_of_several(
    rule: &Converted,
    own: Cel,
    applied: &mut Vec<Cel>,
    variables: &mut Vec<Variable>,
    taken: &mut Vec<String>,
) -> Cel {
    let changes = super::one::changes(&rule.stages).unwrap_or_else(|| Cel::bool(true));
    // Where an earlier rule applied, the object is another one. An error of its variable is one of its mutation.
    let mut tests: Vec<Cel> = applied.iter().cloned().map(Cel::negated).collect();
    tests.extend([own, changes]);
    let cel = Cel::all(tests);
    let name = variable_name(&rule.name, taken);
    taken.push(name.clone());
    variables.push(Variable { name: name.clone(), cel });
    let applies = Cel::atom("variables").member(&name);
    applied.push(applies.clone());
    applies
}

/// Conditions of a webhook as one expression.
fn of_webhook(conditions: &[Value]) -> Option<Cel> {
    let texts = conditions.iter().filter_map(|condition| condition.get("expression").and_then(Value::as_str));
    let parts: Vec<Cel> = texts.map(|text| Cel::atom(format!("({})", text.trim()))).collect();
    (!parts.is_empty()).then(|| Cel::all(parts))
}

/// Whether two rules are for the same objects.
fn is_same_match(one: &Converted, other: &Converted) -> bool {
    let tests = |rule: &Converted| rule.tests.tests.iter().map(|test| test.cel.clone()).collect::<Vec<_>>();
    one.selection.kinds == other.selection.kinds
        && one.selection.namespace_selector == other.selection.namespace_selector
        && one.tests.operations == other.tests.operations
        && tests(one) == tests(other)
        && (std::ptr::eq(one, other) || tests(one).is_empty())
}

/// The tests as conditions of the policy: each by itself until the first that may fail.
fn match_conditions(tests: &Tests) -> Vec<(String, Cel)> {
    let mut conditions: Vec<(String, Cel)> = Vec::new();
    let first_failing = tests.tests.iter().position(|test| test.fails).unwrap_or(tests.tests.len());
    let (plain, failing) = tests.tests.split_at(first_failing);
    for test in plain {
        let name = condition_name(&test.cel, &test.at, &conditions);
        conditions.push((name, test.cel.clone()));
    }
    if let Some(first) = failing.first() {
        let rest = Tests { tests: failing.to_vec(), operations: None };
        let rest = rest.joined();
        let name = condition_name(&rest, &first.at, &conditions);
        conditions.push((name, rest));
    }
    conditions
}
