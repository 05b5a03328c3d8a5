//! What a translation by hand falls into, told from a counterexample.

use crate::policy::{CelPatch, Policy};
use crate::value::{GroupVersionKind, Value};

use super::Counterexample;
use super::compare::DifferenceKind;
use super::request::Answer;
use super::schema::pod_spec;

/// A way in which CEL policies differ from classic ones, and what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trap {
    /// Lists, maps and structs that server-side apply replaces as a whole.
    Atomic,
    /// Autogen is on by default, and rewrites only a part of the policy.
    Autogen,
    /// The index of an element by its value.
    IndexOf,
    /// An addition below a missing parent.
    MissingParent,
    /// A removal of a missing path.
    MissingPath,
    /// A key that is missing.
    MissingKey,
    /// Kinds that autogen does not know.
    Replicas,
    /// An `ApplyConfiguration` appends to lists and keeps their order.
    Order,
    /// The type of a value follows from its text.
    Types,
    /// The case of letters beyond ASCII.
    Case,
    /// An error of a classic rule denies the request.
    Errors,
}

impl Trap {
    /// What it is.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Atomic => "an ApplyConfiguration may not set atomic fields",
            Self::Autogen => "autogen is on by default, and rewrites neither variables nor JSON patches",
            Self::IndexOf => "indexOf finds the first of equal elements",
            Self::MissingParent => "a JSON patch of CEL does not create parents",
            Self::MissingPath => "remove fails if the path is missing",
            Self::MissingKey => "a missing key is an error",
            Self::Replicas => {
                "autogen of CEL policies never covers ReplicationController, and ReplicaSet only where it is named"
            }
            Self::Order => "classic rules move patched elements to the front",
            Self::Types => "YAML reads the value of a variable that is not in quotes",
            Self::Case => "lowerAscii and upperAscii change ASCII letters alone",
            Self::Errors => "a missing key in a classic rule is an error, which denies the request",
        }
    }

    /// What to write.
    pub const fn cure(self) -> &'static str {
        match self {
            Self::Atomic => "a JSONPatch for the field",
            Self::Autogen => "autogen.podControllers.controllers: []",
            Self::IndexOf => "list.transformList(i, element, condition, JSONPatch{…}) has the index",
            Self::MissingParent => "add the parent first where has() does not find it",
            Self::MissingPath => "has(object.path) ? [JSONPatch{op: \"remove\", …}] : []",
            Self::MissingKey => "object.?field.orValue(…), or has() at each level",
            Self::Replicas => "write the resources to matchConstraints, or --accept replicationcontroller",
            Self::Order => "replace the list, or --accept order",
            Self::Types => "--accept yaml-types",
            Self::Case => "--accept unicode-case",
            Self::Errors => "read the field without orValue, or --accept errors",
        }
    }
}

/// The traps that explain a counterexample.
pub(super) fn of(found: &Counterexample, old: &[Policy], new: &[Policy]) -> Vec<Trap> {
    let mut traps = Vec::new();
    if found.kind == DifferenceKind::Replicas {
        traps.push(Trap::Replicas);
    }
    if found.kind == DifferenceKind::Order {
        traps.push(Trap::Order);
    }
    match found.kind {
        DifferenceKind::YamlTypes => traps.push(Trap::Types),
        DifferenceKind::UnicodeCase => traps.push(Trap::Case),
        _ => {}
    }
    let has_cel = new.iter().any(|policy| matches!(policy, Policy::Cel(_)));
    if !has_cel {
        return traps;
    }
    if found.kind == DifferenceKind::Admits {
        traps.push(Trap::Errors);
    }
    let is_unmatched = !old.iter().any(|policy| changes_kind(policy, &found.case.object));
    if is_controller(&found.case.object)
        && is_unmatched
        && (found.kind.is_refusal() || found.kind == DifferenceKind::Touches)
    {
        traps.push(Trap::Autogen);
    }
    if let Answer::Denied { message, .. } = &found.new {
        let has = |text: &str| message.contains(text);
        if has("atomic") {
            traps.push(Trap::Atomic);
        } else if has("unexpected type name") || has("type mismatch") {
            traps.push(Trap::Autogen);
        } else if has("no such key") || has("no such field") {
            traps.push(Trap::MissingKey);
        } else if has("remove") {
            traps.push(Trap::MissingPath);
        } else if has("add") || has("missing path") || has("does not exist") {
            traps.push(Trap::MissingParent);
        }
    }
    if found.kind == DifferenceKind::Result && has_equal_elements(&found.case.object) && uses_index_of(new) {
        traps.push(Trap::IndexOf);
    }
    traps.sort_unstable();
    traps.dedup();
    traps
}

/// Why no rules are generated for the controller of a Pod.
pub(super) fn no_autogen(object: &Value, policies: &[Policy]) -> Vec<String> {
    let classic = policies.iter().filter_map(Policy::as_classic).filter(|_| is_controller(object));
    let why = classic.filter_map(|policy| Some((&policy.meta.name, policy.no_autogen.as_ref()?)));
    why.map(|(name, why)| format!("{name}: no rules for controllers: {why}")).collect()
}

/// Whether rules of a classic policy may be for objects of this kind.
fn changes_kind(policy: &Policy, object: &Value) -> bool {
    let Some(kind) = GroupVersionKind::of(object) else { return false };
    policy.may_change(&kind, (&kind, ""))
}

fn is_controller(object: &Value) -> bool {
    let kind = GroupVersionKind::of(object);
    kind.is_some_and(|kind| pod_spec(&kind).is_some_and(|path| path.len() > 1))
}

/// Whether some list has the same element twice.
fn has_equal_elements(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            let is_repeated = |(index, item): (usize, &Value)| items[..index].contains(item);
            items.iter().enumerate().any(is_repeated) || items.iter().any(has_equal_elements)
        }
        Value::Object(members) => members.values().any(has_equal_elements),
        _ => false,
    }
}

fn uses_index_of(policies: &[Policy]) -> bool {
    let uses = |patch: &CelPatch| match patch {
        CelPatch::ApplyConfiguration(program) | CelPatch::JsonPatch(program) => {
            program.source().contains("indexOf")
        }
        CelPatch::Ignored(_) => false,
    };
    policies.iter().any(|policy| match policy {
        Policy::Cel(policy) => {
            let mut mutations = policy.variants.iter().flat_map(|variant| &variant.mutations);
            mutations.any(|mutation| uses(&mutation.patch))
        }
        _ => false,
    })
}
