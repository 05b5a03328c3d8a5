//! How the answers of two sets of policies to one request differ.

use std::fmt;

use crate::admission::{Forms, ListMerge, Schema, without_dropped};
use crate::diagnostics::Code;
use crate::value::{GroupVersionKind, PathSet, Step, Value};

use super::request::{Answer, Evaluated};
use super::schema::{ObjectSchemas, pod_spec};
use super::stored::{ChangedTarget, identity};

/// How two answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// The new policies deny a request that the old ones leave alone.
    RefusesUntouched,
    /// The new policies deny a request that the old ones change.
    RefusesChanged,
    /// The old policies deny a request that the new ones admit.
    Admits,
    /// The old policies change an object that the new ones leave alone.
    Skips,
    /// The new policies change an object that the old ones leave alone.
    Touches,
    /// Both change the object, in other ways.
    Result,
    /// The elements of lists that are merged by key have another order.
    Order,
    /// The new policies write a text, the old ones the value that YAML reads in it, or its error.
    YamlTypes,
    /// Letters beyond ASCII are in the other case.
    UnicodeCase,
    /// The new policies are not for `ReplicaSet` and `ReplicationController`, which the old ones change or deny.
    Replicas,
    /// They change further objects in other ways.
    Targets,
    /// The result of the new policies depends on their order.
    PolicyOrder,
}

impl DifferenceKind {
    /// The name by which the user accepts it, if it can be accepted.
    pub const fn accepted_as(self) -> Option<&'static str> {
        match self {
            Self::Order => Some("order"),
            Self::YamlTypes => Some("yaml-types"),
            Self::UnicodeCase => Some("unicode-case"),
            Self::Replicas => Some("replicationcontroller"),
            Self::Admits => Some("errors"),
            _ => None,
        }
    }

    /// Whether both sides change the object, in other ways.
    pub const fn is_of_results(self) -> bool {
        matches!(
            self,
            Self::Result
                | Self::Order
                | Self::YamlTypes
                | Self::UnicodeCase
                | Self::Targets
                | Self::PolicyOrder
        )
    }

    /// Whether a cluster with the new policies denies requests that it admitted before.
    pub const fn is_refusal(self) -> bool {
        matches!(self, Self::RefusesUntouched | Self::RefusesChanged)
    }
}

impl fmt::Display for DifferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RefusesUntouched => "NEW refuses what OLD leaves alone",
            Self::RefusesChanged => "NEW refuses what OLD changes",
            Self::Admits => "NEW admits what OLD refuses",
            Self::Skips => "NEW leaves alone what OLD changes",
            Self::Touches => "NEW changes what OLD leaves alone",
            Self::Result => "NEW changes it otherwise than OLD",
            Self::Order => "the elements have another order",
            Self::YamlTypes => "NEW writes the text that OLD reads as YAML",
            Self::UnicodeCase => "letters beyond ASCII are in the other case",
            Self::Replicas => "NEW is not for ReplicaSet and ReplicationController",
            Self::Targets => "NEW changes other objects (targets) otherwise than OLD",
            Self::PolicyOrder => "the result depends on the order of the policies of NEW",
        })
    }
}

/// A difference between two answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) kind: DifferenceKind,
    /// What makes differences the same: the error, or the paths that differ.
    pub(super) cause: String,
    /// Whether the new policies do what is documented, and only Kyverno does something else.
    pub(super) is_in_kyverno: bool,
}

impl Difference {
    const fn new(kind: DifferenceKind, cause: String) -> Self {
        Self { kind, cause, is_in_kyverno: false }
    }

    /// What it is grouped by.
    pub(super) fn key(self) -> super::Key {
        (self.kind, self.is_in_kyverno, self.cause)
    }
}

/// The answers of both sides to a request that both could answer.
pub(super) struct Pair<'a> {
    pub(super) before: &'a Value,
    pub(super) old: &'a Answer,
    pub(super) new: &'a Answer,
}

/// Whether a policy changed an object, what a cluster does not keep aside.
pub(super) fn is_changed(before: &Value, answer: &Answer) -> bool {
    match (GroupVersionKind::of(before), answer) {
        (Some(kind), Answer::Admitted(after)) if after != before => {
            without_dropped(before, &kind) != without_dropped(after, &kind)
        }
        _ => false,
    }
}

/// How the answers differ, if they do.
pub(super) fn difference(pair: &Pair<'_>, schemas: &ObjectSchemas) -> Option<Difference> {
    let kind = GroupVersionKind::of(pair.before)?;
    let is_replica = ["ReplicaSet", "ReplicationController"].contains(&&*kind.kind);
    let replica = |found: DifferenceKind, cause: String| {
        let is_untouched = matches!(pair.new, Answer::Admitted(after) if after == pair.before);
        let kind = if is_replica && is_untouched { DifferenceKind::Replicas } else { found };
        let cause = if kind == DifferenceKind::Replicas { String::new() } else { cause };
        Some(Difference::new(kind, cause))
    };
    match (pair.old, pair.new) {
        (Answer::Unknown(_), _)
        | (_, Answer::Unknown(_))
        | (Answer::Denied { .. }, Answer::Denied { .. }) => None,
        // YAML cannot read the text of a variable.
        (Answer::Denied { code: Code::PatchSyntax, .. }, Answer::Admitted(_)) => {
            Some(Difference::new(DifferenceKind::YamlTypes, String::new()))
        }
        (Answer::Denied { message, .. }, Answer::Admitted(_)) => {
            replica(DifferenceKind::Admits, without_values(message))
        }
        (Answer::Admitted(_), Answer::Denied { message, .. }) => {
            let is_changed = is_changed(pair.before, pair.old);
            let kind =
                if is_changed { DifferenceKind::RefusesChanged } else { DifferenceKind::RefusesUntouched };
            Some(Difference::new(kind, without_values(message)))
        }
        (Answer::Admitted(old), Answer::Admitted(new)) if old == new => None,
        (Answer::Admitted(old), Answer::Admitted(new)) => {
            let written = [old, new];
            let [before, old, new] = [pair.before, old, new].map(|value| without_dropped(value, &kind));
            if old == new {
                return None;
            }
            let schema = schemas.of(&kind).unwrap_or(Schema::FREE);
            let paths = PathSet::differences(&old, &new);
            let cause = cause(&paths, &kind);
            if sorted(&old, schema.forms()) == sorted(&new, schema.forms()) {
                return Some(Difference::new(DifferenceKind::Order, String::new()));
            }
            for (kind, is_alike) in [
                (DifferenceKind::YamlTypes, is_read_as as fn(&Value, &Value) -> bool),
                (DifferenceKind::UnicodeCase, is_same_letters),
            ] {
                // A null that YAML reads may be an empty text in the cluster.
                if alike(&old, &new, is_alike) || alike(written[0], written[1], is_alike) {
                    return Some(Difference::new(kind, cause));
                }
            }
            if new == before {
                return replica(DifferenceKind::Skips, cause);
            }
            let found = if old == before { DifferenceKind::Touches } else { DifferenceKind::Result };
            Some(Difference::new(found, cause))
        }
    }
}

/// Whether values are equal but for scalars, of which each pair is alike.
fn alike(old: &Value, new: &Value, is_alike: fn(&Value, &Value) -> bool) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let absent = Value::Null;
            let of_old =
                old.iter().all(|(key, value)| alike(value, new.get(key).unwrap_or(&absent), is_alike));
            of_old
                && new
                    .iter()
                    .filter(|(key, _)| old.get(key).is_none())
                    .all(|(_, value)| alike(&absent, value, is_alike))
        }
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new.iter()).all(|(old, new)| alike(old, new, is_alike))
        }
        // What is empty is not kept.
        (Value::Null, Value::Object(members)) | (Value::Object(members), Value::Null) => {
            members.values().all(|value| alike(&Value::Null, value, is_alike))
        }
        _ => old == new || is_alike(old, new),
    }
}

/// Whether YAML reads one of two values in the text of the other.
fn is_read_as(one: &Value, other: &Value) -> bool {
    let reads = |text: &Value, value: &Value| {
        text.as_str().is_some_and(|text| crate::yaml::parse_value(text).is_ok_and(|read| read == *value))
    };
    reads(one, other) || reads(other, one)
}

/// Whether two texts are equal but for the case of letters beyond ASCII.
fn is_same_letters(one: &Value, other: &Value) -> bool {
    let folded = |value: &Value| {
        let fold =
            |c: char| -> String { if c.is_ascii() { c.to_string() } else { c.to_lowercase().to_string() } };
        value.as_str().map(|text| text.chars().map(fold).collect::<String>())
    };
    folded(one).is_some_and(|one| folded(other).is_some_and(|other| one == other))
}

/// A further object that two sides change in other ways, as both leave it.
pub(super) fn differing_target(
    old: &Evaluated,
    new: &Evaluated,
    schemas: &ObjectSchemas,
) -> Option<(Value, [Answer; 2], Difference)> {
    let find = |all: &[ChangedTarget], target: &ChangedTarget| {
        let found = all.iter().find(|one| identity(&one.before) == identity(&target.before));
        found.map_or_else(|| target.before.clone(), |found| found.after.clone())
    };
    old.targets.iter().chain(&new.targets).find_map(|target| {
        let answers = [find(&old.targets, target), find(&new.targets, target)].map(Answer::Admitted);
        let [of_old, of_new] = &answers;
        let found = difference(&Pair { before: &target.before, old: of_old, new: of_new }, schemas)?;
        // An accepted order is one of targets, too.
        let kind = if found.kind == DifferenceKind::Order { found.kind } else { DifferenceKind::Targets };
        Some((target.before.clone(), answers, Difference { kind, ..found }))
    })
}

/// How the changes of further objects differ, if they do.
pub(super) fn of_targets(old: &Evaluated, new: &Evaluated, schemas: &ObjectSchemas) -> Option<Difference> {
    let are_admitted = [old, new].iter().all(|side| matches!(side.answer, Answer::Admitted(_)));
    let (.., found) = differing_target(old, new, schemas).filter(|_| are_admitted)?;
    Some(found)
}

/// The paths that differ, those of the Pod in all kinds alike.
fn cause(paths: &PathSet, kind: &GroupVersionKind) -> String {
    let spec = pod_spec(kind).unwrap_or_default();
    let above: Vec<&str> = spec.get(..spec.len().saturating_sub(1)).unwrap_or_default().to_vec();
    let shown = paths.paths().into_iter().map(|path| {
        let is_inside = !above.is_empty()
            && path.len() > above.len()
            && path.iter().zip(&above).all(|(step, key)| matches!(step, Step::Key(name) if **name == **key));
        let path = if is_inside { &path[above.len()..] } else { &path[..] };
        // Keys of labels and annotations may be made of values of the object.
        let is_map =
            |step: &Step| matches!(step, Step::Key(key) if ["labels", "annotations"].contains(&&**key));
        let end = path.iter().position(is_map).map_or(path.len(), |index| index + 1);
        let mut set = PathSet::default();
        set.insert(&path[..end]);
        set.to_string()
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort_unstable();
    shown.dedup();
    shown.join(", ")
}

/// An error without the numbers and quoted texts in it, and the same for Pods and controllers.
fn without_values(message: &str) -> String {
    let mut message = message.to_owned();
    for (of_controller, of_pod) in [
        ("spec.jobTemplate.spec.template.", ""),
        ("spec/jobTemplate/spec/template/", ""),
        ("spec.template.", ""),
        ("spec/template/", ""),
        ("autogen-cronjob-", ""),
        ("autogen-", ""),
    ] {
        message = message.replace(of_controller, of_pod);
    }
    let mut out = String::new();
    let mut quote: Option<char> = None;
    for c in message.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '`' => quote = Some(c),
            None if c.is_ascii_digit() => {}
            None => out.push(c),
        }
    }
    out
}

/// The object with the elements of lists that merge by key in the order of their keys.
fn sorted(value: &Value, forms: Forms<'_>) -> Value {
    match value {
        Value::Array(items) => {
            let Some(list) = forms.list else { return value.clone() };
            let mut items: Vec<Value> =
                items.iter().map(|item| sorted(item, list.elements.forms())).collect();
            match list.merge {
                ListMerge::Keys(keys) => items.sort_by_cached_key(|item| {
                    let key = keys.iter().map(|key| item.get(&key.name).map(Value::to_json));
                    (key.collect::<Vec<_>>(), item.to_json())
                }),
                ListMerge::Set => items.sort_by_cached_key(Value::to_json),
                ListMerge::Atomic => {}
            }
            Value::array(items)
        }
        Value::Object(members) => {
            let Some(map) = forms.map else { return value.clone() };
            let member = |(key, member): (&crate::value::Text, &Value)| {
                let schema = map.field(key).or(map.values).unwrap_or(Schema::FREE);
                (key.clone(), sorted(member, schema.forms()))
            };
            members.iter().map(member).collect()
        }
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::admission::KindSchemas;

    use super::*;

    fn compared(before: &str, old: Option<&str>, new: Option<&str>) -> Option<(DifferenceKind, String)> {
        let value = |text: &str| crate::yaml::parse_value(text).unwrap();
        let answer = |text: Option<&str>| match text {
            Some(text) => Answer::Admitted(value(text)),
            None => Answer::Denied {
                rule: "p".into(),
                message: "no such key: \"x\"".into(),
                code: Code::CelFailed,
            },
        };
        let (before, old, new) = (value(before), answer(old), answer(new));
        let schemas = ObjectSchemas::new(KindSchemas::default());
        let pair = Pair { before: &before, old: &old, new: &new };
        difference(&pair, &schemas).map(|difference| (difference.kind, difference.cause))
    }

    fn pod(spec: &str) -> String {
        format!("{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{{spec}}}}}")
    }

    #[test]
    fn answers_are_compared_as_a_cluster_keeps_them() {
        let plain = pod("containers: [{name: a, image: i}]");
        let of = |old: &str, new: &str| compared(&plain, Some(&pod(old)), Some(&pod(new)));
        let two = "containers: [{name: a, image: i}, {name: b, image: i}]";
        let turned = "containers: [{name: b, image: i}, {name: a, image: i}]";
        let dns = "containers: [{name: a, image: i}], dnsPolicy: None";
        assert_eq!(of(dns, dns), None);
        assert_eq!(
            of(
                "containers: [{name: a, image: i, resources: {}}], volumes: []",
                "containers: [{name: a, image: i}]"
            ),
            None
        );
        assert_eq!(of(two, turned), Some((DifferenceKind::Order, String::new())));
        let named = |value: &str| format!("hostname: {value}, containers: [{{name: a, image: i}}]");
        let kind = |old: &str, new: &str| of(&named(old), &named(new)).map(|found| found.0);
        for (old, new, expected) in [
            ("5", "'5'", DifferenceKind::YamlTypes),
            ("null", "'null'", DifferenceKind::YamlTypes),
            ("[a, b]", "'[a, b]'", DifferenceKind::YamlTypes),
            ("5", "'6'", DifferenceKind::Result),
            ("\u{e9}a", "\u{c9}a", DifferenceKind::UnicodeCase),
            ("\u{e9}a", "\u{c9}A", DifferenceKind::Result),
        ] {
            assert_eq!(kind(old, new), Some(expected), "{old} {new}");
        }
        assert_eq!(of(dns, two), Some((DifferenceKind::Result, "spec.containers, spec.dnsPolicy".into())));
        assert_eq!(
            of(dns, "containers: [{name: a, image: i}]").map(|found| found.0),
            Some(DifferenceKind::Skips)
        );
        assert_eq!(
            of("containers: [{name: a, image: i}]", dns).map(|found| found.0),
            Some(DifferenceKind::Touches)
        );
        let refused = compared(&plain, Some(&plain), None);
        assert_eq!(refused, Some((DifferenceKind::RefusesUntouched, "no such key: ".into())));
        assert_eq!(compared(&plain, None, Some(&plain)).map(|found| found.0), Some(DifferenceKind::Admits));
        assert_eq!(compared(&plain, None, None), None);
    }

    #[test]
    fn replica_sets_that_new_is_not_for_are_a_named_difference() {
        let set = |labels: &str| {
            format!("{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: a, labels: {labels}}}}}")
        };
        let found = compared(&set("{}"), Some(&set("{a: b}")), Some(&set("{}")));
        assert_eq!(found, Some((DifferenceKind::Replicas, String::new())));
        let found = compared(&set("{}"), Some(&set("{a: b}")), Some(&set("{a: c}")));
        assert_eq!(found.map(|found| found.0), Some(DifferenceKind::Result));
    }
}
