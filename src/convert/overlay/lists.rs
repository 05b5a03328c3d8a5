//! Lists of overlays.

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::patches::Patch;
use crate::convert::place::{Place, Strategy, list_strategy};
use crate::convert::ty::Merging;
use crate::convert::val::literal;
use crate::value::{Pointer, Text, Value};

use super::directives::DIRECTIVE;
use super::elements::Element;
use super::{Fragment, Overlay, Result, has_anchors, is_dynamic};

impl<'a> Overlay<'_, 'a> {
    /// A list at a place.
    pub(super) fn list(&self, items: &[Value], place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        let whole = Value::array(items.to_vec());
        if matches!(place.path.ty, crate::convert::ty::Ty::Map(_) | crate::convert::ty::Ty::Object(_)) {
            return self.refuse(at, "a list", "the kind has a map there", "correct the overlay");
        }
        if items.iter().any(|item| item.get(DIRECTIVE).is_some()) {
            return self.directed_list(items, place, at);
        }
        let Some(strategy) = list_strategy(self.kinds, self.schemas, &place.steps) else {
            return self.refuse(
                at,
                "a list",
                "the kinds of the rule merge it differently",
                "write a rule for each kind",
            );
        };
        let is_of_maps = matches!(items.first(), Some(Value::Object(_)));
        let keys: &[String] = if let Strategy::Keys(keys) = &strategy { keys } else { &[] };
        if has_anchors(&whole) && is_of_maps && self.is_only_tests(items, keys) {
            return self.tests_of(items, place, at);
        }
        match strategy {
            Strategy::Set => self.set(&whole, items, place, at),
            Strategy::Keys(_) if items.is_empty() => Ok(Fragment::default()),
            Strategy::Keys(keys) if is_of_maps => self.keyed(items, &keys, place, at),
            Strategy::Replace if has_anchors(&whole) => self.refuse(
                at,
                "an anchor in a list without merge key",
                "the classic patch replaces the whole list by the elements that match",
                "write a JSON patch in `foreach`",
            ),
            Strategy::Replace | Strategy::Keys(_) => {
                let value = self.json(&whole, place, at)?;
                let mut patches = place.guards();
                patches.push(Patch::add(&place.location, value));
                Ok(Fragment { patches, touches: vec![Cel::bool(true)], ..Fragment::default() })
            }
        }
    }

    /// Scalars that are added to the front of a list, each at most once.
    fn set(&self, whole: &Value, items: &[Value], place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        if is_dynamic(whole) || items.iter().any(|item| item.as_str().is_none()) {
            return self.refuse(at, "a list that merges", "its elements are computed", "write constants");
        }
        let list = literal(whole);
        let name = "e";
        let others = place
            .path
            .or(Cel::List(Vec::new()))
            .call("filter", [Cel::atom(name), Cel::atom(name).compare(Operator::In, list.clone()).negated()]);
        let mut patches = place.guards();
        patches.push(Patch::add(&place.location, list.plus(others)));
        Ok(Fragment { patches, touches: vec![Cel::bool(true)], ..Fragment::default() })
    }

    /// Whether all elements only test, so that nothing is merged: maps whose leaves are all anchored.
    fn is_only_tests(&self, items: &[Value], keys: &[String]) -> bool {
        let only_tests =
            |item: &Value| (holds_global(item) && !self.writes_beside(item, keys)) || is_test_only(item);
        items.iter().all(only_tests)
    }

    /// Whether an element with a global anchor writes something, as documented: its merge keys are those of the object.
    fn writes_beside(&self, item: &Value, keys: &[String]) -> bool {
        !self.follows_kyverno && !is_test_only(&super::elements::without_keys(item, keys))
    }

    /// A list whose elements only test.
    fn tests_of(&self, items: &[Value], place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        let mut fragment = Fragment::default();
        for (index, item) in items.iter().enumerate() {
            if !holds_global(item) {
                // An element without anything to write selects nothing.
                continue;
            }
            let at = at.index(index);
            let variable = self.variable_of(place);
            let element = place.element(&variable, "i");
            let mut tests = Fragment::default();
            let only = tests_only(item);
            let inner = self.inside(&variable);
            let overlay =
                Overlay { scope: &inner, used: self.used_with(&variable), around: None, ..*self.parts() };
            let found = overlay.map(&only, &element, &at)?;
            tests.globals.extend(found.globals);
            let mut all = tests.globals;
            all.extend(found.tests);
            let exists = if all.is_empty() {
                return self.refuse(&at, "a global anchor", "it tests nothing", "remove it");
            } else {
                let list = place.path.or(Cel::List(Vec::new()));
                list.call("exists", [Cel::atom(&*variable), Cel::all(all)])
            };
            // A list that is there and empty passes, one that is missing does not.
            let passes_empty = if place.path.is_never_empty() {
                Cel::bool(false)
            } else {
                let list = place.path.strict();
                Cel::all(vec![place.path.has(), list.call("size", []).equals(Cel::int(0))])
            };
            fragment.globals.push(Cel::any(vec![exists, passes_empty]));
        }
        Ok(fragment)
    }

    /// A list whose elements merge by keys.
    fn keyed(&self, items: &[Value], keys: &[String], place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        let mut fragment = Fragment::default();
        let mut plain: Vec<Element<'_>> = Vec::new();
        let mut selected: Vec<Element<'_>> = Vec::new();
        let conditional: Vec<Value> = items.iter().map(with_conditions).collect();
        for ((index, value), conditional) in items.iter().enumerate().zip(&conditional) {
            let at = at.index(index);
            let element = Element::of(value, keys, at);
            if holds_global(value) {
                fragment.absorb(self.tests_of(std::slice::from_ref(value), place, &element.at)?);
                if self.writes_beside(value, keys) {
                    selected.push(Element::of(conditional, keys, element.at));
                }
            } else if self.loop_of(value, keys, place).is_some() || has_anchors(value) {
                selected.push(element);
            } else {
                plain.push(element);
            }
        }
        if selected.len() > 1 && (self.follows_kyverno || !self.select_others(&selected, keys)) {
            let reason = if self.follows_kyverno {
                "Kyverno keeps only what the last of them selects"
            } else {
                "an element of the object may match more than one"
            };
            return self.refuse(
                at,
                "several elements with anchors in one list",
                reason,
                "write a rule for each, or conditions on different names",
            );
        }
        if !selected.is_empty() && !plain.is_empty() && !self.are_apart(&selected, &plain, keys) {
            return self.refuse(
                at,
                "an element with anchors beside one without",
                "both may mean the same element of the object",
                "write a rule for each",
            );
        }
        let is_same_in_apply = matches!(place.merging(), Merging::Keys(known) if known == keys);
        let is_atomic_element = place
            .schemas
            .as_ref()
            .and_then(|schemas| crate::convert::ty::elements(schemas))
            .is_none_or(|schemas| crate::convert::ty::merging(&schemas) != Merging::Map);
        let is_patched = place.is_patched || !is_same_in_apply || is_atomic_element;
        if is_patched && plain.is_empty() && place.schemas.is_some() {
            // Elements of the object, by their indexes.
            let mut place = place.clone();
            place.is_patched = true;
            return self.merged(&[], &selected, keys, &place, fragment);
        }
        if !is_same_in_apply || is_atomic_element {
            if selected.is_empty() {
                return self.written(&plain, keys, place, at, fragment);
            }
            return self.refuse(
                at,
                "an anchor in a list",
                "server-side apply merges it by other keys, or replaces its elements",
                "write a JSON patch in `foreach`",
            );
        }
        self.check_ports(&plain, keys, at)?;
        self.merged(&plain, &selected, keys, place, fragment)
    }

    /// Ports without protocol, or with another one than TCP, are found differently.
    fn check_ports(&self, plain: &[Element<'_>], keys: &[String], at: &Pointer) -> Result<()> {
        let [_, second] = keys else { return Ok(()) };
        for element in plain {
            if element.value.get(second).is_none() {
                return self.refuse(
                    at,
                    format!("an element of a list that merges by `{second}`, too"),
                    "the two patches find the element to merge with differently if `protocol` is missing",
                    "write a JSON patch in `foreach`",
                );
            }
        }
        Ok(())
    }
}

/// Whether there is a global anchor in an element.
pub(super) fn holds_global(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, member)| {
            (key.trim_start().starts_with("<(") && key.trim_end().ends_with(')')) || holds_global(member)
        }),
        Value::Array(items) => items.iter().any(holds_global),
        _ => false,
    }
}

/// With conditions in place of global anchors: what stands beside them is for the elements that meet them.
fn with_conditions(value: &Value) -> Value {
    let Some(members) = value.as_object() else { return value.clone() };
    let own = |(key, member): (&Text, &Value)| {
        let name = key.trim().strip_prefix('<').filter(|name| name.starts_with('('));
        (name.map_or_else(|| key.clone(), Text::from), with_conditions(member))
    };
    members.iter().map(own).collect()
}

/// Whether an element has nothing but conditions.
fn is_test_only(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().all(|(key, member)| {
            let is_test = crate::patch::split_anchor(key).is_some_and(|(_, is_test)| is_test);
            is_test && super::additions(member).is_none()
                || (matches!(member, Value::Object(members) if !members.is_empty()) && is_test_only(member))
        }),
        _ => false,
    }
}

/// An element without what it would write.
fn tests_only(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter_map(|(key, member)| match crate::patch::split_anchor(key) {
                Some((_, true)) => Some((key.clone(), member.clone())),
                Some((_, false)) => None,
                None => {
                    let below = tests_only(member);
                    let holds = below.as_object().is_some_and(|members| !members.is_empty());
                    holds.then(|| (key.clone(), below))
                }
            })
            .collect(),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Value::Null,
    }
}
