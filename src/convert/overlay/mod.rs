//! Strategic merge patches as apply configurations and JSON patches.
//!
//! What an apply configuration can say is one; the rest follows as a JSON patch, because atomic lists and maps may not be
//! in a configuration. Classic patches move the elements that they name to the front of their list: steps before and
//! after do the same.

mod directives;
mod elements;
mod leaf;
mod legacy;
mod lists;
mod values;
mod written;

pub(super) use legacy::with_texts;
pub(super) use values::json;

use crate::patch::{Schemas, split_anchor};
use crate::value::{GroupVersionKind, Pointer, Text, Value};

use super::cel_text::{Cel, Entry};
use super::expression::{Scope, holds_variables};
use super::patches::{Patch, without_guards};
use super::place::Place;
use super::problem::{Problem, Refusal};
use super::ty::Merging;

/// What a part of an overlay does.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragment {
    /// The value in the apply configuration.
    pub(super) apply: Option<Cel>,
    /// Whether that value is there whatever the object is.
    pub(super) is_solid: bool,
    /// Steps after the configuration is applied.
    pub(super) patches: Vec<Patch>,
    /// What must hold for the object or the element of a list.
    pub(super) tests: Vec<Cel>,
    /// What must hold for the whole rule.
    pub(super) globals: Vec<Cel>,
    /// When it changes something: one must hold. `true` if it always does.
    pub(super) touches: Vec<Cel>,
    /// Steps before, which bring elements to the front; each in a mutation of its own.
    pub(super) before: Vec<Vec<Patch>>,
    /// The same after all others.
    pub(super) after: Vec<Vec<Patch>>,
    /// Top-level keys with a condition and a value.
    pub(super) unstable: bool,
}

/// A list that a loop of the rule visits.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    /// The names of its path.
    pub(super) names: Vec<String>,
    /// The variable that the expressions of the rule use for its elements.
    pub(super) variable: String,
    /// What must hold for an element.
    pub(super) condition: Cel,
}

/// Translates an overlay.
pub(super) struct Overlay<'o, 'a> {
    pub(super) scope: &'o Scope<'a>,
    pub(super) kinds: &'o [GroupVersionKind],
    pub(super) schemas: &'o Schemas,
    /// The lists that `foreach` visits.
    pub(super) loops: &'o [Loop],
    /// How many loops are around.
    pub(super) depth: usize,
    /// The names of variables of loops around.
    pub(super) used: Vec<String>,
    /// Whether the order of elements is preserved, also where it has no meaning.
    pub(super) keeps_order: bool,
    /// Whether it is one of before Kyverno 1.2.
    pub(super) is_legacy: bool,
    /// Whether a configuration lists the other elements of a list behind its own, so that these come first.
    pub(super) lists_others: bool,
    /// The variable for the elements around that no loop of the configuration visits, and these elements.
    pub(super) around: Option<(String, Cel)>,
    /// Whether it must do what Kyverno does where that is not what is documented.
    pub(super) follows_kyverno: bool,
}

type Result<T> = std::result::Result<T, Refusal>;

impl Fragment {
    /// Whether it becomes the same mutations.
    pub(super) fn has_same_steps(&self, other: &Self) -> bool {
        (&self.apply, &self.before, &self.after) == (&other.apply, &other.before, &other.after)
    }

    fn absorb(&mut self, other: Self) {
        self.patches.extend(other.patches);
        self.tests.extend(other.tests);
        self.globals.extend(other.globals);
        self.touches.extend(other.touches);
        self.unstable |= other.unstable;
        merge_stages(&mut self.before, other.before);
        merge_stages(&mut self.after, other.after);
    }
}

/// Joins stages that may run together.
pub(super) fn merge_stages(into: &mut Vec<Vec<Patch>>, stages: Vec<Vec<Patch>>) {
    for (index, stage) in stages.into_iter().enumerate() {
        match into.get_mut(index) {
            Some(known) => known.extend(stage),
            None => into.push(stage),
        }
    }
}

impl<'a> Overlay<'_, 'a> {
    fn refuse<T>(&self, at: &Pointer, construct: impl Into<String>, reason: &str, advice: &str) -> Result<T> {
        Err(Problem::new(construct, reason, advice).at(at))
    }

    /// Translates a map of the overlay.
    pub(super) fn map(&self, node: &Value, place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        if self.is_legacy && place.path.ty.is_list() {
            return self.broadcast(node, place, at);
        }
        if matches!(
            place.path.ty,
            super::ty::Ty::List(_) | super::ty::Ty::Text(_) | super::ty::Ty::Number | super::ty::Ty::Bool
        ) {
            return self.refuse(at, "a map", "the kind has no map there", "correct the overlay");
        }
        if let Some(directive) = node.get(directives::DIRECTIVE) {
            return self.directed_map(directive, node, place, at);
        }
        let mut fragment = Fragment::default();
        let mut fields: Vec<Entry<String>> = Vec::new();
        let mut entries: Vec<Entry<Cel>> = Vec::new();
        let members = node.as_object().into_iter().flat_map(|members| members.iter());
        let is_struct = matches!(place.path.ty, super::ty::Ty::Object(_));
        // A map that the user wrote empty is created.
        if node.as_object().is_some_and(|members| members.is_empty()) {
            return Ok(self.empty_map(place));
        }
        for (key, value) in members {
            let below = at.key(key.clone());
            self.check_key(key, &below)?;
            match split_anchor(key) {
                Some((name, _)) if name.contains("{{") => {
                    return self.refuse(
                        &below,
                        format!("the anchor `{key}`"),
                        "its key has a variable",
                        "write the key, or a precondition",
                    );
                }
                Some((name, true)) if self.is_legacy => {
                    self.legacy_condition(name, value, place, &below, &mut fragment)?;
                }
                Some((name, true)) => {
                    self.condition(key, name, value, place, &below, &mut fragment)?;
                    if let Some(adds) = additions(value) {
                        let added = self.added_inside(key, &adds, &place.member(name), &below)?;
                        push_member(&mut fields, &mut entries, is_struct, name, added, &mut fragment, false);
                    }
                }
                Some((name, false)) => {
                    let member = place.member(name);
                    let added = self.added(value, &member, &below)?;
                    let is_sure = matches!(added.apply, Some(Cel::Call { name: "orValue", .. }));
                    push_member(&mut fields, &mut entries, is_struct, name, added, &mut fragment, !is_sure);
                }
                None if key.contains("{{") => {
                    self.computed_key(key, value, place, &below, &mut entries, &mut fragment)?;
                }
                None => {
                    let member = place.member(key);
                    let written = self.node(value, &member, &below)?;
                    push_member(&mut fields, &mut entries, is_struct, key, written, &mut fragment, false);
                }
            }
        }
        let has_fields = !fields.is_empty() || !entries.is_empty();
        if has_fields {
            fragment.is_solid =
                fields.iter().any(|field| !field.optional) || entries.iter().any(|entry| !entry.optional);
            fragment.apply = Some(if is_struct {
                Cel::message(place.constructor.clone(), fields)
            } else {
                Cel::Map(super::val::homogeneous_members(entries))
            });
        }
        if fragment.is_solid {
            without_guards(&mut fragment.patches, &place.location);
        }
        Ok(fragment)
    }

    fn empty_map(&self, place: &Place<'a>) -> Fragment {
        let is_granular = place.merging() == Merging::Map;
        if is_granular && matches!(place.path.ty, super::ty::Ty::Object(_)) {
            return Fragment {
                apply: Some(Cel::message(place.constructor.clone(), Vec::new())),
                is_solid: true,
                touches: vec![Cel::bool(true)],
                ..Fragment::default()
            };
        }
        Fragment { patches: place.guards_below(), touches: vec![Cel::bool(true)], ..Fragment::default() }
    }

    fn check_key(&self, key: &str, at: &Pointer) -> Result<()> {
        if key.starts_with("$setElementOrder")
            || key.starts_with("$retainKeys")
            || key.starts_with("$deleteFrom")
        {
            return self.refuse(
                at,
                format!("the directive `{key}`"),
                "directives have no counterpart in apply configurations",
                "write a JSON patch",
            );
        }
        let is_other_anchor =
            key.ends_with(')') && ["=(", "^(", "X("].iter().any(|start| key.starts_with(start));
        if is_other_anchor {
            return self.refuse(
                at,
                format!("the anchor `{key}`"),
                "it has no meaning in an overlay",
                "use `(key)` or `+(key)`",
            );
        }
        Ok(())
    }

    /// `(k): v` and `<(k): v`.
    fn condition(
        &self,
        key: &Text,
        name: &str,
        value: &Value,
        place: &Place<'a>,
        at: &Pointer,
        fragment: &mut Fragment,
    ) -> Result<()> {
        let member = place.path.member(name);
        let test = leaf::anchor_test(&member, value, self.scope).map_err(|problem| problem.at(at))?;
        if key.trim_start().starts_with('<') {
            fragment.globals.push(test);
        } else {
            fragment.tests.push(test);
        }
        Ok(())
    }

    /// What `+(k)` inside of a condition adds.
    fn added_inside(&self, key: &str, adds: &Value, place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        if key.trim_start().starts_with('<') {
            return self.refuse(
                at,
                "an addition inside of a global condition",
                "classic patches leave it out in an element of a list",
                "write the condition and the addition side by side",
            );
        }
        if self.follows_kyverno {
            return self.refuse(
                at,
                "an addition inside of a condition",
                "Kyverno tests only whether the key is there then, and writes the rest of the condition",
                "write the condition and the addition side by side",
            );
        }
        self.node(adds, place, at)
    }

    /// A value of an overlay.
    pub(super) fn node(&self, value: &Value, place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        match value {
            Value::Object(_) => {
                let is_granular = place.merging() == Merging::Map;
                let mut place = place.clone();
                place.is_patched |= !is_granular;
                self.map(value, &place, at)
            }
            Value::Array(items) if self.is_legacy && place.path.ty.is_list() => {
                self.legacy_list(items, place, at)
            }
            Value::Array(items) => self.list(items, place, at),
            _ => self.scalar(value, place, at),
        }
    }

    /// Whether the order of a list is preserved: init containers run one after the other.
    fn keeps_order_of(&self, place: &Place<'_>) -> bool {
        self.keeps_order || matches!(place.steps.last(), Some(Some(name)) if name == "initContainers")
    }

    /// `+(k): v`: the value is set if the key is missing.
    fn added(&self, value: &Value, place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        let missing = place.path.has().negated();
        if missing.is_false() {
            return Ok(Fragment::default());
        }
        let plain = if self.is_legacy { legacy::content(value) } else { without_add_anchors(value) };
        let has_test = has_tests(&plain);
        if has_test {
            return self.refuse(
                at,
                "a condition inside of an addition",
                "it is tested against what is missing, so it never holds",
                "remove it",
            );
        }
        // Where it is added there are no other elements.
        let whole = Overlay {
            lists_others: false,
            used: self.used.clone(),
            around: self.around.clone(),
            ..*self.parts()
        };
        let mut written = whole.node(&plain, place, at)?;
        let is_conditional = |patch: &Patch| matches!(patch, Patch::Step { condition, guards: None, .. } if !condition.is_true());
        if written.patches.iter().any(is_conditional) && written.apply.is_none() {
            return Ok(added_if_present(written, place, missing));
        }
        if !written.patches.is_empty() || (written.apply.is_none() && !plain.is_null()) {
            // The whole value at once.
            let value = self.json(&plain, place, at)?;
            let mut patches = place.guards();
            patches.push(if matches!(plain, Value::Object(_) | Value::Array(_)) || !place.is_never_null() {
                Patch::when(missing.clone(), Cel::patch("add", place.location.cel(), Some(value)))
            } else {
                // What is there is written again.
                let optional = place.path.optional();
                Patch::add(&place.location, optional.clone().or_value(value.without(&optional)))
            });
            return Ok(Fragment { patches, touches: vec![missing], ..Fragment::default() });
        }
        written.before.clear();
        written.after.clear();
        written.is_solid = false;
        written.touches = vec![missing];
        // A null that is there stays, and cannot be written again.
        let is_scalar = place.merging() == Merging::Scalar && place.is_never_null();
        written.apply = written.apply.map(|cel| match cel {
            Cel::Call { of: None, name: "optional.of", .. } => cel,
            // A value that may be missing, too.
            cel if cel.is_optional() && is_scalar => {
                let path = place.path.optional();
                path.clone().call("or", [cel.without(&path)])
            }
            cel if cel.is_optional() => Cel::if_else(place.path.has(), Cel::none(), cel),
            // What is there is written again: `place.orValue(value)`.
            cel if is_scalar => place.path.or(cel.without(&place.path.optional())),
            cel => Cel::if_else(place.path.has(), Cel::none(), Cel::some(cel)),
        });
        Ok(written)
    }
}

/// What may be missing, too, where the key is missing.
fn added_if_present(mut written: Fragment, place: &Place<'_>, missing: Cel) -> Fragment {
    let path = place.path.optional();
    let patches = written.patches.drain(..).filter_map(|patch| match patch {
        Patch::Step { condition, step, guards: None } => {
            let condition = condition.without(&path);
            let condition = Cel::all(vec![missing.clone(), condition]);
            (!condition.is_false()).then(|| Patch::when(condition, step.without(&path)))
        }
        other => Some(other),
    });
    Fragment { patches: patches.collect(), touches: vec![missing.clone()], ..Fragment::default() }
}

fn push_member(
    fields: &mut Vec<Entry<String>>,
    entries: &mut Vec<Entry<Cel>>,
    is_struct: bool,
    name: &str,
    written: Fragment,
    fragment: &mut Fragment,
    optional: bool,
) {
    if let Some(value) = written.apply.clone() {
        let (value, optional) = match value {
            // A value that may be missing.
            value if !optional && value.is_optional() => (value, true),
            value => (value, optional),
        };
        if is_struct {
            fields.push(Entry { key: name.to_owned(), value, optional });
        } else {
            entries.push(Entry { key: Cel::text(name), value, optional });
        }
    }
    fragment.absorb(Fragment { apply: None, ..written });
}

/// What `+(k)` in the value of a condition adds, as an overlay.
fn additions(value: &Value) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let mut added = Value::empty_object();
            let mut any = false;
            for (key, member) in members.iter() {
                match split_anchor(key) {
                    Some((_, false)) => {
                        added.insert(key.clone(), member.clone());
                        any = true;
                    }
                    Some((name, true)) => {
                        if let Some(below) = additions(member) {
                            added.insert(Text::from(name), below);
                            any = true;
                        }
                    }
                    None => {
                        if let Some(below) = additions(member) {
                            added.insert(key.clone(), below);
                            any = true;
                        }
                    }
                }
            }
            any.then_some(added)
        }
        _ => None,
    }
}

/// A value without its `+( )`: all of it is added.
fn without_add_anchors(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| {
                let name = match split_anchor(key) {
                    Some((name, false)) => Text::from(name),
                    _ => key.clone(),
                };
                (name, without_add_anchors(member))
            })
            .collect(),
        Value::Array(items) => Value::array(items.iter().map(without_add_anchors).collect()),
        other => other.clone(),
    }
}

/// Whether some key is a condition.
pub(super) fn has_tests(value: &Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(key, member)| split_anchor(key).is_some_and(|(_, is_test)| is_test) || has_tests(member)),
        Value::Array(items) => items.iter().any(has_tests),
        _ => false,
    }
}

/// Whether some key has an anchor.
pub(in crate::convert) fn has_anchors(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(key, member)| split_anchor(key).is_some() || has_anchors(member))
        }
        Value::Array(items) => items.iter().any(has_anchors),
        _ => false,
    }
}

/// Whether a value has variables.
pub(super) fn is_dynamic(value: &Value) -> bool {
    holds_variables(value)
}
