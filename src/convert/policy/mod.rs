//! A policy: its rules as mutations of one CEL policy.

use crate::value::{Map, Pointer, Text, Value};

use super::cel_text::{Cel, Operator};
use super::conditions::Tests;
use super::constraints::resource_rules;
use super::context::{Variable, variable_name};
use super::emit::Output;
use super::path::{AT, TEMPLATE};
use super::rule::Converted;
use super::selection::{Targets, kind_is};
use super::stages::Stage;
use super::workloads::{place_of_template, template_of};
use super::{Options, Target};

/// A mutation of the new policy.
struct Mutation {
    is_apply: bool,
    expression: Cel,
    comments: Vec<String>,
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
        for (index, rule) in self.rules.iter().enumerate() {
            let own =
                if shared.is_some() { Cel::bool(true) } else { self.own_condition(rule, shares_namespaces) };
            let start = variables.len();
            let is_known = |variable: &Variable, known: &[Variable]| {
                known.iter().any(|one| one.name == variable.name && one.cel == variable.cel)
            };
            for variable in &rule.variables {
                if !is_known(variable, &variables) {
                    variables.push(variable.clone());
                }
            }
            let own = if applies_one {
                one_of_several(rule, own, &mut applied, &mut variables, taken)
            } else {
                own
            };
            self.add_rule(rule, own, &mut variables, &mut mutations, taken);
            if index > 0 {
                renew_template(rule, start, &mut variables, taken);
            }
        }
        if let Some(first) = self.rules.iter().find(|rule| rule.is_templated) {
            let kinds = &first.selection.kinds;
            variables.insert(0, Variable { name: AT.to_owned(), cel: place_of_template(kinds) });
            self.number_templates(kinds, &conditions, &mut variables, &mut mutations, taken);
        }
        if self.is_native {
            for (_, condition) in &mut conditions {
                *condition = inlined(condition, &variables);
            }
        }
        let of_targets = self.rules.iter().filter_map(|rule| rule.targets.as_ref());
        let of_targets: Vec<&Cel> = of_targets.flat_map(Targets::expressions).collect();
        let used = used(variables, &conditions, &mutations, &of_targets);
        self.document_of(&used, &conditions, &mutations, namespaces.filter(|_| shares_namespaces))
    }

    /// The condition of a rule among others.
    fn own_condition(&self, rule: &Converted, shares_namespaces: bool) -> Cel {
        let mut tests = Tests::default();
        let at = Pointer::ROOT;
        let mut names: Vec<&str> = Vec::new();
        let is_any = rule.selection.kinds.iter().any(super::kinds::Kind::is_any);
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
        rule: &Converted,
        own: Cel,
        variables: &mut Vec<Variable>,
        mutations: &mut Vec<Mutation>,
        taken: &mut Vec<String>,
    ) {
        let stages: Vec<&Stage> = rule.stages.iter().collect();
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
            let mut comments = Vec::new();
            if index == 0 {
                comments.push(format!("rule {}", rule.name));
                comments.extend(rule.comments.iter().cloned());
                comments.extend(
                    rule.accepted
                        .iter()
                        .map(|difference| format!("accepted difference: {}", difference.name())),
                );
                if rule.targets.as_ref().is_some_and(|targets| !targets.on_policy_update) {
                    comments.push(
                        "also runs when this policy is created, for the triggers that exist".to_owned(),
                    );
                }
            }
            mutations.push(Mutation {
                is_apply: stage.is_apply(),
                expression: stage.expression(&own),
                comments,
            });
        }
    }

    /// A variable is computed once. A mutation that must see the changes of those before it has a variable of its own.
    fn number_templates(
        &self,
        kinds: &[super::kinds::Kind],
        conditions: &[(String, Cel)],
        variables: &mut Vec<Variable>,
        mutations: &mut [Mutation],
        taken: &mut Vec<String>,
    ) {
        let template = Cel::atom("variables").member(TEMPLATE);
        let reads = |cel: &Cel| cel.any_part(&|part| *part == template);
        let mut first = true;
        let insert = |name: String, variables: &mut Vec<Variable>| {
            variables.insert(0, Variable { name, cel: template_of(kinds) });
        };
        let early = conditions.iter().any(|(_, cel)| reads(cel))
            || variables.iter().any(|variable| reads(&variable.cel));
        if early {
            insert(TEMPLATE.to_owned(), variables);
        }
        for (index, mutation) in mutations.iter_mut().enumerate() {
            if !reads(&mutation.expression) {
                continue;
            }
            let is_shared = first && index == 0;
            if is_shared || (first && !early) {
                if !early {
                    insert(TEMPLATE.to_owned(), variables);
                }
                first = false;
                continue;
            }
            first = false;
            let name = variable_name(TEMPLATE, taken);
            taken.push(name.clone());
            let own = Cel::atom("variables").member(&name);
            mutation.expression = mutation.expression.replaced(&template, &own);
            insert(name, variables);
        }
    }

    fn document_of(
        &self,
        variables: &[Variable],
        conditions: &[(String, Cel)],
        mutations: &[Mutation],
        namespaces: Option<Value>,
    ) -> Output {
        let mut output = Output::default();
        let (api_version, kind) = self.kind();
        let mut spec: Vec<(&str, Value)> = Vec::new();
        let given = |field: &str| self.document.path(&["spec", field]).filter(|value| !value.is_null());
        let webhook = |field: &str| self.document.path(&["spec", "webhookConfiguration", field]);
        if let Some(policy) = webhook("failurePolicy").or_else(|| given("failurePolicy")) {
            spec.push(("failurePolicy", policy.clone()));
        }
        spec.push(("matchConstraints", self.constraints(namespaces)));
        let targets = self.rules.iter().find_map(|rule| rule.targets.as_ref());
        let named = |name: &str, cel: &Cel| {
            object(vec![("name", Value::from(name)), ("expression", expression(cel))])
        };
        // The conditions of the webhook are those of the new policy. They are evaluated first, and their errors count.
        let copied = self.document.path(&["spec", "webhookConfiguration", "matchConditions"]);
        let copied = copied.and_then(Value::as_array).unwrap_or_default();
        if conditions.is_empty() && !copied.is_empty() {
            spec.push(("matchConditions", Value::array(copied.to_vec())));
        } else if !conditions.is_empty() {
            let list = match of_webhook(copied) {
                None => conditions.iter().map(|(name, cel)| named(name, cel)).collect(),
                Some(first) => {
                    let rest = Cel::all(conditions.iter().map(|(_, cel)| cel.clone()).collect());
                    vec![named("webhook-and-rules", &Cel::if_else(first, rest, Cel::bool(false)))]
                }
            };
            spec.push(("matchConditions", Value::array(list)));
        }
        if let Some(targets) = targets {
            let operations = ["CREATE", "UPDATE"].map(str::to_owned);
            let rules = resource_rules(std::iter::once(&targets.kind), &operations);
            spec.push((
                "targetMatchConstraints",
                object(vec![("resourceRules", rules), ("expression", expression(&targets.lookup))]),
            ));
            let conditions = match_conditions(&targets.tests);
            if !conditions.is_empty() {
                let list = conditions.iter().map(|(name, cel)| named(name, cel)).collect();
                spec.push(("targetMatchConditions", Value::array(list)));
            }
        }
        if !variables.is_empty() {
            let list = variables.iter().map(|variable| named(&variable.name, &variable.cel)).collect();
            spec.push(("variables", Value::array(list)));
        }
        let list = Pointer::ROOT.key("spec").key("mutations");
        let mut items = Vec::new();
        for (index, mutation) in mutations.iter().enumerate() {
            let (patch_type, field) = if mutation.is_apply {
                ("ApplyConfiguration", "applyConfiguration")
            } else {
                ("JSONPatch", "jsonPatch")
            };
            items.push(object(vec![
                ("patchType", Value::from(patch_type)),
                (field, object(vec![("expression", expression(&mutation.expression))])),
            ]));
            output.comments.push((list.index(index), mutation.comments.clone()));
        }
        spec.push(("mutations", Value::array(items)));
        self.add_settings(&mut spec);
        output.value = object(vec![
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(kind)),
            ("metadata", self.metadata()),
            ("spec", object(spec)),
        ]);
        output
    }

    fn kind(&self) -> (&'static str, &'static str) {
        let is_namespaced = self.document.get("kind").and_then(Value::as_str) == Some("Policy");
        match (self.options.target, is_namespaced) {
            (Target::AdmissionPolicy, _) => ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"),
            (Target::MutatingPolicy, true) => ("policies.kyverno.io/v1", "NamespacedMutatingPolicy"),
            (Target::MutatingPolicy, false) => ("policies.kyverno.io/v1", "MutatingPolicy"),
        }
    }

    /// Settings of the classic policy that are fields of the new one.
    fn add_settings(&self, spec: &mut Vec<(&str, Value)>) {
        let given = |field: &str| self.document.path(&["spec", field]).filter(|value| !value.is_null());
        if self.is_native {
            spec.push(("reinvocationPolicy", Value::from("Never")));
            return;
        }
        let is_for_pods = self.resources() == ["pods"];
        let controllers = self.rules.iter().find_map(|rule| rule.autogen.clone());
        if is_for_pods || controllers.is_some() {
            let controllers = texts(controllers.unwrap_or_default());
            let inner = object(vec![("podControllers", object(vec![("controllers", controllers)]))]);
            spec.push(("autogen", inner));
        }
        let mut evaluation: Vec<(&str, Value)> = Vec::new();
        if self.rules.iter().any(|rule| rule.targets.is_some()) {
            evaluation.push(("mutateExisting", object(vec![("enabled", Value::Bool(true))])));
        }
        for (field, name) in [("admission", "admission"), ("background", "background")] {
            if given(field).and_then(Value::as_bool) == Some(false) {
                evaluation.push((name, object(vec![("enabled", Value::Bool(false))])));
            }
        }
        if self.rules.iter().all(|rule| !rule.skips_background) {
            evaluation.push(("skipBackgroundRequests", Value::Bool(false)));
        }
        if !evaluation.is_empty() {
            spec.push(("evaluation", object(evaluation)));
        }
        let seconds = self
            .document
            .path(&["spec", "webhookConfiguration", "timeoutSeconds"])
            .or_else(|| given("webhookTimeoutSeconds"));
        if let Some(seconds) = seconds {
            spec.push(("webhookConfiguration", object(vec![("timeoutSeconds", seconds.clone())])));
        }
    }

    fn resources(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for kind in self.kinds() {
            if !found.contains(&kind.resource) {
                found.push(kind.resource.clone());
            }
        }
        found
    }

    fn kinds(&self) -> impl Iterator<Item = &super::kinds::Kind> {
        self.rules.iter().flat_map(|rule| {
            rule.selection.kinds.iter().filter(|kind| rule.autogen.is_none() || kind.resource == "pods")
        })
    }

    fn constraints(&self, namespaces: Option<Value>) -> Value {
        let mut operations: Vec<String> = Vec::new();
        for rule in self.rules {
            let own = rule.tests.operations.clone();
            for operation in own.unwrap_or_else(|| ["CREATE", "UPDATE"].map(str::to_owned).to_vec()) {
                if !operations.contains(&operation) {
                    operations.push(operation);
                }
            }
        }
        operations.sort();
        let rules = resource_rules(self.kinds(), &operations);
        let mut constraints = vec![("resourceRules", rules)];
        let namespace = self.namespace();
        match (namespaces, namespace) {
            (Some(selector), _) => constraints.push(("namespaceSelector", selector)),
            (None, Some(namespace)) if self.is_native => {
                let labels = object(vec![("kubernetes.io/metadata.name", Value::from(namespace))]);
                constraints.push(("namespaceSelector", object(vec![("matchLabels", labels)])));
            }
            _ => {}
        }
        object(constraints)
    }

    /// The namespace of a policy of one.
    fn namespace(&self) -> Option<&str> {
        let is_namespaced = self.document.get("kind").and_then(Value::as_str) == Some("Policy");
        is_namespaced.then(|| {
            self.document.path(&["metadata", "namespace"]).and_then(Value::as_str).unwrap_or("default")
        })
    }

    fn metadata(&self) -> Value {
        const AUTOGEN: &str = "pod-policies.kyverno.io/autogen-controllers";
        let metadata = self.document.get("metadata").unwrap_or(&Value::Null);
        let mut new: Vec<(&str, Value)> = Vec::new();
        let name = metadata.get("name").cloned().unwrap_or_default();
        new.push(("name", self.name.as_deref().map_or(name, Value::from)));
        if let (Some(namespace), false) = (self.namespace(), self.is_native) {
            new.push(("namespace", Value::from(namespace)));
        }
        if let Some(labels) = metadata.get("labels").filter(|labels| !labels.is_null()) {
            new.push(("labels", labels.clone()));
        }
        let mut annotations = Map::with_capacity(4);
        let own = metadata.get("annotations").and_then(Value::as_object);
        for (key, value) in own.into_iter().flat_map(|own| own.iter()) {
            if &**key != AUTOGEN && &**key != "kubectl.kubernetes.io/last-applied-configuration" {
                annotations.insert(key.clone(), value.clone());
            }
        }
        annotations.insert("kyv.io/converted-from".into(), Value::from(self.origin()));
        new.push(("annotations", Value::object(annotations)));
        object(new)
    }

    /// `ClusterPolicy/add-labels@1a2b3c4d`: what it was made of.
    fn origin(&self) -> String {
        let kind = self.document.get("kind").and_then(Value::as_str).unwrap_or_default();
        let name = self.document.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
        let rules = self.document.path(&["spec", "rules"]).cloned().unwrap_or_default().to_json();
        format!("{kind}/{name}@{}", short_hash(&rules))
    }
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
    // The condition is first: where an earlier rule applied, the object is another one.
    let rest = Cel::all(vec![own, changes]);
    let cel = match Cel::any(applied.clone()) {
        none if none.is_false() => rest,
        some => Cel::if_else(some, Cel::bool(false), rest),
    };
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

/// Gives the variables of a later rule a template of their own: that of an earlier rule is of the object before.
fn renew_template(rule: &Converted, start: usize, variables: &mut Vec<Variable>, taken: &mut Vec<String>) {
    let template = Cel::atom("variables").member(TEMPLATE);
    let own = variables.get(start..).unwrap_or_default();
    if !own.iter().any(|variable| variable.cel.any_part(&|part| *part == template)) {
        return;
    }
    let name = variable_name(TEMPLATE, taken);
    taken.push(name.clone());
    let renewed = Cel::atom("variables").member(&name);
    for variable in variables.iter_mut().skip(start) {
        variable.cel = variable.cel.replaced(&template, &renewed);
    }
    variables.insert(start, Variable { name, cel: template_of(&rule.selection.kinds) });
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
    let name = |at: &Pointer, known: &[(String, Cel)]| {
        let written = at.segments().iter().rev().find_map(|segment| match segment {
            crate::value::Segment::Key(key)
                if matches!(
                    &**key,
                    "match" | "exclude" | "preconditions" | "mutate" | "name" | "namespace" | "selector"
                ) =>
            {
                Some(&**key)
            }
            _ => None,
        });
        let base = match written {
            Some("mutate") => "anchors",
            Some("selector") => "labels",
            Some(name) => name,
            None => "condition",
        };
        let taken = |name: &str| known.iter().any(|(one, _)| one == name);
        if !taken(base) {
            return base.to_owned();
        }
        (2..).map(|number| format!("{base}-{number}")).find(|name| !taken(name)).unwrap_or_default()
    };
    for test in plain {
        let name = name(&test.at, &conditions);
        conditions.push((name, test.cel.clone()));
    }
    if let Some(first) = failing.first() {
        let rest = Tests { tests: failing.to_vec(), operations: None };
        let name = name(&first.at, &conditions);
        conditions.push((name, rest.joined()));
    }
    conditions
}

/// Variables that something uses, in an order in which each may use those before it.
fn used(
    variables: Vec<Variable>,
    conditions: &[(String, Cel)],
    mutations: &[Mutation],
    of_targets: &[&Cel],
) -> Vec<Variable> {
    let mut needed: Vec<String> = Vec::new();
    let names = |cel: &Cel, needed: &mut Vec<String>| {
        for variable in &variables {
            let name = Cel::atom("variables").member(&variable.name);
            if !needed.contains(&variable.name) && cel.any_part(&|part| *part == name) {
                needed.push(variable.name.clone());
            }
        }
    };
    conditions.iter().for_each(|(_, cel)| names(cel, &mut needed));
    of_targets.iter().for_each(|cel| names(cel, &mut needed));
    mutations.iter().for_each(|mutation| names(&mutation.expression, &mut needed));
    let mut index = 0;
    while let Some(name) = needed.get(index).cloned() {
        if let Some(variable) = variables.iter().find(|variable| variable.name == name) {
            names(&variable.cel, &mut needed);
        }
        index += 1;
    }
    variables.into_iter().filter(|variable| needed.contains(&variable.name)).collect()
}

/// Without variables: the API server has none in conditions.
fn inlined(condition: &Cel, variables: &[Variable]) -> Cel {
    variables.iter().rev().fold(condition.clone(), |condition, variable| {
        condition.replaced(&Cel::atom("variables").member(&variable.name), &variable.cel)
    })
}
