//! Rules with targets: each target is a policy of its own, which mutates stored objects.
//!
//! The object of the request is the trigger. Its conditions and the look-up of the targets see it as `object`; mutations,
//! variables and the conditions of targets see the target there, and the trigger as `request.object`.

use crate::resources::KindScope;
use crate::value::{GroupVersionKind, Pointer, Value};

use super::cel_text::{Cel, Entry};
use super::conditions::{self, Tests};
use super::context;
use super::dependence;
use super::expression::{Mixed, Scope, as_text, holds_variables};
use super::kinds::{Kind, kinds};
use super::path::Path;
use super::place::Place;
use super::problem::{Problem, Refusal};
use super::rule::{Body, Converted, RuleInput, plain, refuse_nothing, resources, schemas_of, type_of_kinds};
use super::selection::{Selection, Targets, labels_test, selection};
use super::stages::Stage;
use super::text_match::wildcard;
use super::val::{Form, Val};
use super::{Options, Target};

type Result<T> = std::result::Result<T, Refusal>;

/// Whether a rule has targets.
pub(super) fn has_targets(rule: &Value) -> bool {
    rule.path(&["mutate", "targets"]).and_then(Value::as_array).is_some_and(|targets| !targets.is_empty())
}

/// Converts a rule with targets.
pub(super) fn convert(
    input: &RuleInput<'_>,
    document: &Value,
    options: &Options,
    taken: &[String],
) -> Result<Vec<Converted>> {
    let RuleInput { rule, pointer, .. } = *input;
    let at = pointer.key("mutate").key("targets");
    if options.target == Target::AdmissionPolicy {
        let problem = Problem::new(
            "a rule with `targets`",
            "the API server changes only the object of the request",
            "convert it without `--to map`",
        );
        return Err(problem.at(&at));
    }
    refuse_other_operations(rule, pointer)?;
    let selection = selection(rule, pointer, resources(options), (false, input.is_namespaced), &[])?;
    let on_policy_update = [
        rule.path(&["mutate", "mutateExistingOnPolicyUpdate"]),
        document.path(&["spec", "mutateExistingOnPolicyUpdate"]),
    ];
    let on_policy_update = on_policy_update.into_iter().flatten().find_map(Value::as_bool) == Some(true);
    let targets = rule.path(&["mutate", "targets"]).and_then(Value::as_array).unwrap_or_default();
    let mut converted: Vec<Converted> = Vec::new();
    for (number, target) in targets.iter().enumerate() {
        let reader = Reader { input, options, selection: &selection, at: at.index(number) };
        let mut one = reader.converted(target, &mut taken.to_vec())?;
        if let Some(targets) = &mut one.targets {
            targets.number = number;
            targets.on_policy_update = on_policy_update;
        }
        converted.push(one);
    }
    Ok(converted)
}

/// Two rules that change the same of targets, with their names: in which order is not defined.
pub(super) fn interfering(rules: &[Converted]) -> Option<[(Pointer, String); 2]> {
    rules.iter().enumerate().find_map(|(index, rule)| {
        let kind = &rule.targets.as_ref()?.kind;
        let other = rules.iter().skip(index + 1).find(|other| {
            other.pointer != rule.pointer
                && other.targets.as_ref().is_some_and(|targets| targets.kind.kind == kind.kind)
                && dependence::interfere(&rule.stages, &other.stages)
        })?;
        Some([rule, other].map(|rule| (rule.pointer.clone(), rule.name.clone())))
    })
}

/// The kinds of the targets of a rule, as written.
pub(super) fn kinds_of(rule: &Value) -> Vec<&str> {
    let targets = rule.path(&["mutate", "targets"]).and_then(Value::as_array).unwrap_or_default();
    targets.iter().filter_map(|target| target.get("kind").and_then(Value::as_str)).collect()
}

/// The object of a deletion is the old one.
fn refuse_other_operations(rule: &Value, at: &Pointer) -> Result<()> {
    let block = rule.get("match").unwrap_or(&Value::Null);
    let filters = ["any", "all"]
        .into_iter()
        .flat_map(|list| block.get(list).and_then(Value::as_array).unwrap_or_default())
        .chain([block]);
    let operations = filters.flat_map(|filter| {
        filter.path(&["resources", "operations"]).and_then(Value::as_array).unwrap_or_default()
    });
    for operation in operations.filter_map(Value::as_str) {
        if !matches!(operation, "CREATE" | "UPDATE") {
            let problem = Problem::new(
                format!("the operation `{operation}` of a rule with targets"),
                "`request.object` is the old object then, and null in CEL",
                "keep the rule in the classic policy",
            );
            return Err(problem.at(&at.key("match")));
        }
    }
    Ok(())
}

struct Reader<'r, 'a> {
    input: &'r RuleInput<'r>,
    options: &'a Options,
    selection: &'r Selection,
    at: Pointer,
}

/// A field of a target.
enum Field {
    Any,
    Exact(Cel),
    Pattern(String),
}

impl<'a> Reader<'_, 'a> {
    fn converted(&self, target: &Value, taken: &mut Vec<String>) -> Result<Converted> {
        let RuleInput { rule, pointer, .. } = *self.input;
        let kind = self.kind(target)?;
        let (trigger, mut scope) = self.trigger();
        scope.is_namespaced = self.input.is_namespaced;
        let (place, _) = plain(
            std::slice::from_ref(&kind),
            schemas_of(std::slice::from_ref(&kind), self.options),
            self.options,
            false,
        );
        // The context of the rule is that of the trigger; that of the target sees both.
        let mut variables = super::roles::variables(&self.selection.tests);
        let (scope, own) = context::variables(rule.get("context"), &scope, &pointer.key("context"), taken)?;
        variables.extend(own);
        let mut tests = self.selection.tests.clone();
        let mut of_trigger = scope.clone();
        of_trigger.object = trigger;
        if let Some(block) = rule.get("preconditions").filter(|block| !block.is_null()) {
            conditions::preconditions(block, &pointer.key("preconditions"), &of_trigger, &mut tests)?;
        }
        let mut own = Tests::default();
        let lookup = self.lookup(target, &kind, (&of_trigger, &scope), &mut own)?;
        let scope = scope.with("target", Val::path(place.path.clone())).targeted();
        let (scope, further) =
            context::variables(target.get("context"), &scope, &self.at.key("context"), taken)?;
        variables.extend(further);
        if let Some(block) = target.get("preconditions").filter(|block| !block.is_null()) {
            conditions::preconditions(block, &self.at.key("preconditions"), &scope, &mut own)?;
        }
        if own.operations.is_some() {
            let problem = Problem::new(
                "a condition on the operation in a target",
                "it is no condition of the target",
                "write it as a precondition of the rule",
            );
            return Err(problem.at(&self.at.key("preconditions")));
        }
        let stages = self.stages((&place, &scope), &kind, &variables, &mut own)?;
        let accepted = scope.accepted.borrow().clone();
        Ok(Converted {
            name: rule.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            pointer: pointer.clone(),
            selection: self.selection.clone(),
            tests,
            variables,
            stages,
            is_templated: false,
            autogen: None,
            skips_background: rule.get("skipBackgroundRequests").and_then(Value::as_bool) != Some(false),
            targets: Some(Targets { kind, lookup, tests: own, number: 0, on_policy_update: false }),
            comments: Vec::new(),
            accepted,
        })
    }

    /// The trigger as its conditions see it, and the scope of mutations.
    fn trigger(&self) -> (Path<'a>, Scope<'a>) {
        let (ty, base) = type_of_kinds(&self.selection.kinds, self.options);
        let path = |root: Cel| Path::new(root, ty.clone(), base);
        let scope = Scope::new(path(Cel::atom("request").member("object")), false, &self.options.accepts);
        (path(Cel::atom("object")), scope)
    }

    fn stages(
        &self,
        (place, scope): (&Place<'a>, &Scope<'a>),
        kind: &Kind,
        variables: &[context::Variable],
        tests: &mut Tests,
    ) -> Result<Vec<Stage>> {
        let RuleInput { rule, pointer, .. } = *self.input;
        let kinds: Vec<GroupVersionKind> = vec![kind.kind.clone()];
        let body = Body { options: self.options, root: place, scope, kinds: &kinds, variables, at: pointer };
        let start = scope.noted();
        let stages = body.stages(rule, tests)?;
        refuse_nothing(&stages, pointer)?;
        let values: Vec<Cel> = scope.values_since(start).into_iter().map(|(value, _)| value).collect();
        let is_loop = rule.path(&["mutate", "foreach"]).is_some_and(|entries| !entries.is_null());
        if !is_loop && let Some(value) = dependence::changed_value(&values, &stages, variables, false) {
            return Err(dependence::changed(value).at(&pointer.key("mutate")));
        }
        Ok(stages)
    }

    fn kind(&self, target: &Value) -> Result<Kind> {
        let text = |field: &str| target.get(field).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let at = self.at.key("kind");
        let refuse = |reason: &str, advice: &str| {
            Err(Problem::new(format!("a target of the kind `{kind}`"), reason, advice).at(&at))
        };
        if kind.contains("{{") || api_version.contains("{{") {
            return refuse(
                "it has a variable, and the resource of a CEL policy is constant",
                "write the kind",
            );
        }
        let selector = if api_version.is_empty() { kind.to_owned() } else { format!("{api_version}/{kind}") };
        let mut found = kinds(&selector, resources(self.options)).map_err(|problem| problem.at(&at))?;
        match (found.pop(), found.is_empty()) {
            (Some(kind), true) if kind.resource.contains(['/', '*']) || &*kind.kind.version == "*" => refuse(
                "a look-up needs one version, and finds no subresources",
                "name the version and the kind",
            ),
            (Some(kind), true) => Ok(kind),
            _ => refuse("it is of several kinds or versions", "name one in each target"),
        }
    }

    /// What finds the targets, and the tests for the rest.
    fn lookup(
        &self,
        target: &Value,
        kind: &Kind,
        (of_trigger, of_target): (&Scope<'a>, &Scope<'a>),
        tests: &mut Tests,
    ) -> Result<Cel> {
        let is_namespaced = self.input.is_namespaced;
        // A policy of a namespace finds its targets there.
        let namespace = if is_namespaced { Field::Any } else { self.field(target, "namespace", of_trigger)? };
        let name = self.field(target, "name", of_trigger)?;
        if kind.scope == KindScope::Cluster && !matches!(namespace, Field::Any) {
            let problem = Problem::new(
                "the namespace of a target",
                "its kind has none, so that it selects nothing",
                "remove `namespace`",
            );
            return Err(problem.at(&self.at.key("namespace")));
        }
        let version = &kind.kind.version;
        let version = if kind.kind.group.is_empty() {
            version.to_string()
        } else {
            format!("{}/{version}", kind.kind.group)
        };
        let mut arguments = vec![Cel::text(version), Cel::text(&*kind.resource)];
        let is_one_namespace =
            is_namespaced || kind.scope == KindScope::Cluster || matches!(namespace, Field::Exact(_));
        let resource = Cel::atom("resource");
        if !is_namespaced {
            arguments.push(match &namespace {
                Field::Exact(cel) => cel.clone(),
                _ => Cel::text(""),
            });
        }
        // With a namespace and a name the labels do not matter.
        if let (Field::Exact(name), true) = (&name, is_one_namespace) {
            arguments.push(name.clone());
            return Ok(resource.call("Get", arguments));
        }
        let own = |field: &str| Cel::atom("object").member("metadata").member(field);
        if let Field::Pattern(pattern) = &namespace {
            tests.push(wildcard(own("namespace"), pattern), false, &self.at.key("namespace"));
        }
        match &name {
            Field::Any => {}
            Field::Pattern(pattern) => {
                tests.push(wildcard(own("name"), pattern), false, &self.at.key("name"));
            }
            Field::Exact(_) => {
                if let Field::Exact(name) = self.field(target, "name", of_target)? {
                    tests.push(own("name").equals(name), false, &self.at.key("name"));
                }
            }
        }
        if let Some(selector) = target.get("selector").filter(|selector| !selector.is_null()) {
            arguments.extend(self.labels(selector, of_trigger, tests)?);
        }
        Ok(resource.call("List", arguments))
    }

    /// The labels that a look-up asks for.
    fn labels(&self, selector: &Value, scope: &Scope<'a>, tests: &mut Tests) -> Result<Option<Cel>> {
        let at = self.at.key("selector");
        if let Some(expressions) = selector.get("matchExpressions").and_then(Value::as_array)
            && !expressions.is_empty()
        {
            if expressions.iter().any(holds_variables) {
                let problem = Problem::new(
                    "a variable in `matchExpressions` of a target",
                    "the trigger is not at hand where targets are selected",
                    "write it in `matchLabels`",
                );
                return Err(problem.at(&at));
            }
            let only: Value =
                [("matchExpressions", Value::array(expressions.to_vec()))].into_iter().collect();
            tests.push(labels_test(&only).map_err(|problem| problem.at(&at))?, false, &at);
        }
        let members = selector.get("matchLabels").and_then(Value::as_object);
        let mut entries = Vec::new();
        for (key, value) in members.into_iter().flat_map(|members| members.iter()) {
            let text = |text: &str| {
                let value = Mixed::of(text, scope).and_then(Mixed::value);
                value.and_then(|value| as_text(&value)).map_err(|problem| problem.at(&at.key("matchLabels")))
            };
            entries.push(Entry {
                key: text(key)?,
                value: text(value.as_str().unwrap_or_default())?,
                optional: false,
            });
        }
        Ok((!entries.is_empty()).then_some(Cel::Map(entries)))
    }

    fn field(&self, target: &Value, field: &str, scope: &Scope<'a>) -> Result<Field> {
        let text = target.get(field).and_then(Value::as_str).unwrap_or_default();
        if text.is_empty() {
            return Ok(Field::Any);
        }
        if !text.contains("{{") && !text.contains("$(") {
            let is_pattern = text.contains(['*', '?']);
            return Ok(if is_pattern {
                Field::Pattern(text.to_owned())
            } else {
                Field::Exact(Cel::text(text))
            });
        }
        let at = self.at.key(field);
        let problem = |problem: Problem| problem.at(&at);
        let mixed = Mixed::of(text, scope).map_err(problem)?;
        let is_part = matches!(mixed, Mixed::Parts(_));
        let value = mixed.value().map_err(problem)?;
        let is_name = match &value.form {
            Form::Path(path) => path.names().last().is_some_and(|name| name == "name" || name == "namespace"),
            _ => is_part,
        };
        if !is_name || !matches!(value.ty, super::ty::Ty::Text(true)) || value.present().is_some() {
            return Err(problem(Problem::new(
                format!("`{text}` in a target"),
                "it may be empty or a pattern, which select several objects",
                "use the name or the namespace of the trigger, or a constant",
            )));
        }
        Ok(Field::Exact(as_text(&value).map_err(problem)?))
    }
}
