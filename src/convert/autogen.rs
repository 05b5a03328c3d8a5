//! Rules for which Kyverno's own autogen of CEL policies does what autogen of classic policies does.
//!
//! It takes an apply configuration of `spec` and conditions, and rewrites `object.spec`, `object.metadata.labels` and
//! `object.metadata.annotations` in their text.

use crate::value::Value;

use super::cel_text::{Cel, Entry, Operator};
use super::conditions::{Test, Tests};
use super::expression::Scope;
use super::path::{AT, TEMPLATE};
use super::problem::Difference;
use super::selection::Selection;
use super::stages::Stage;
use super::{Options, Target};

/// A rule for Pods alone, and the controllers that autogen adds.
pub(super) struct OnPods {
    pub(super) configuration: Cel,
    pub(super) tests: Vec<Test>,
    /// The plural names of the controllers.
    pub(super) controllers: Vec<String>,
}

/// The only mutation of the only rule as one for Pods, if autogen does the same but for `ReplicationController` objects.
pub(super) fn by_kyverno(
    rule: &Value,
    options: &Options,
    stage: &Stage,
    tests: &Tests,
    (selection, scope): (&Selection, &Scope<'_>),
) -> Option<OnPods> {
    let has_context =
        rule.get("context").and_then(Value::as_array).is_some_and(|entries| !entries.is_empty());
    let kinds = || selection.kinds.iter().map(|kind| (&*kind.kind.kind, &kind.resource));
    let has_replication_controllers = kinds().any(|(kind, _)| kind == "ReplicationController");
    let fits = options.target == Target::MutatingPolicy
        && stage.is_apply()
        && stage.condition.is_true()
        && is_of_spec(stage.cel())
        && reads_spec_only(stage.cel())
        && !has_context
        && (!has_replication_controllers || scope.accepts(Difference::ReplicationController));
    if !fits {
        return None;
    }
    let of_test = |test: &Test| Some(Test { cel: test_on_pods(&test.cel)?, ..test.clone() });
    let tests: Vec<Test> = tests.tests.iter().map(of_test).collect::<Option<_>>()?;
    let others = kinds().filter(|(kind, _)| !matches!(*kind, "Pod" | "ReplicationController"));
    let mut controllers: Vec<String> = others.map(|(_, resource)| resource.clone()).collect();
    controllers.sort();
    if has_replication_controllers {
        scope.accepted.borrow_mut().push(Difference::ReplicationController);
    }
    Some(OnPods { configuration: on_pods(stage.cel()), tests, controllers })
}

/// `Object{spec: …}`.
fn is_of_spec(cel: &Cel) -> bool {
    let Cel::Message { name, fields } = cel else { return false };
    name == "Object" && matches!(fields.as_slice(), [Entry { key, optional: false, .. }] if key == "spec")
}

fn has(field: Cel) -> Cel {
    Cel::function("has", [field])
}

fn template() -> Cel {
    Cel::atom("variables").member(TEMPLATE)
}

fn reads_spec_only(cel: &Cel) -> bool {
    let others =
        [template().member("metadata"), template().maybe("metadata"), Cel::atom("variables").member(AT)];
    !cel.any_part(&|part| others.contains(part))
}

/// Expressions on the template as expressions on Pods.
fn on_pods(cel: &Cel) -> Cel {
    cel.replaced(&template(), &Cel::atom("object"))
}

/// A test of the template as one that autogen rewrites.
fn test_on_pods(cel: &Cel) -> Option<Cel> {
    // What is read of the controller itself would become the template's.
    if cel.any_part(&|part| *part == Cel::atom("object")) {
        return None;
    }
    if reads_spec_only(cel) {
        return Some(on_pods(cel));
    }
    of_label_or_annotation(cel)
}

/// A test of a label or an annotation that may be missing. `.?metadata` would not be rewritten: every template that the API
/// server passes to policies has `metadata`.
fn of_label_or_annotation(cel: &Cel) -> Option<Cel> {
    match cel {
        Cel::Not(test) => Some(of_label_or_annotation(test)?.negated()),
        Cel::Call { of: Some(member), name: "hasValue", .. } => {
            let (map, key) = member_of_metadata(member)?;
            Some(Cel::all(vec![has(map.clone()), key.compare(Operator::In, map)]))
        }
        Cel::Chain { operator: operator @ (Operator::Equal | Operator::NotEqual), operands } => {
            let [Cel::Call { of: Some(member), name: "orValue", arguments }, expected] = operands.as_slice()
            else {
                return None;
            };
            let ([default @ Cel::Text(_)], Cel::Text(_)) = (arguments.as_slice(), expected) else {
                return None;
            };
            let (map, key) = member_of_metadata(member)?;
            let value = map.clone().maybe_index(key).or_value(default.clone());
            let test = value.compare(*operator, expected.clone());
            let has_map = has(map);
            let holds_without = (default == expected) == (*operator == Operator::Equal);
            Some(if holds_without {
                Cel::any(vec![has_map.negated(), test])
            } else {
                Cel::all(vec![has_map, test])
            })
        }
        _ => None,
    }
}

/// The labels or annotations of a Pod, and a key of them: of `variables.podTemplate.?metadata.labels[?key]`.
fn member_of_metadata(cel: &Cel) -> Option<(Cel, Cel)> {
    let metadata =
        |optional: bool| if optional { template().maybe("metadata") } else { template().member("metadata") };
    let (map, key) = match cel {
        Cel::Index { of, key, optional: true } => (&**of, (**key).clone()),
        Cel::Member { of, name, .. } => (&**of, Cel::text(name)),
        _ => return None,
    };
    let Cel::Member { of, name, .. } = map else { return None };
    let is_known = matches!(&**name, "labels" | "annotations") && [true, false].map(metadata).contains(of);
    is_known.then(|| (Cel::atom("object").member("metadata").member(name), key))
}
