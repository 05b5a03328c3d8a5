//! Overlays of Kyverno before 1.2, as its documentation describes them.
//!
//! All conditions are tested first: one in a list holds if some element meets it, and none of the rule applies otherwise.
//! What is written is merged in place: elements keep their order, and new ones follow at the end.

use crate::convert::cel_text::{Cel, Entry, Operator};
use crate::convert::patches::{Patch, index_name};
use crate::convert::path::Path;
use crate::convert::place::{Place, Strategy, list_strategy};
use crate::convert::ty::{Merging, Ty};
use crate::convert::val::literal;
use crate::patch::split_anchor;
use crate::value::{Pointer, Value};

use super::{Fragment, Overlay, Result, has_tests, is_dynamic, leaf};

/// What is appended to a list.
struct Appended {
    content: Cel,
    /// Whether the list has it already.
    is_there: Cel,
}

impl<'a> Overlay<'_, 'a> {
    /// `(k): v`.
    pub(super) fn legacy_condition(
        &self,
        name: &str,
        value: &Value,
        place: &Place<'a>,
        at: &Pointer,
        fragment: &mut Fragment,
    ) -> Result<()> {
        let member = place.member(name);
        let test = self.matches(&member.path, value, at)?;
        fragment.tests.push(test);
        if member.path.ty.is_list() && super::additions(value).is_some() {
            // What it adds is added to the elements that it selects.
            let conditions: Value = value
                .as_object()
                .into_iter()
                .flat_map(|members| members.iter())
                .map(|(key, member)| {
                    let key = if split_anchor(key).is_some() { key.to_string() } else { format!("({key})") };
                    (crate::value::Text::from(key), member.clone())
                })
                .collect();
            let added = self.for_elements(&conditions, &member, at)?;
            fragment.absorb(Fragment { tests: Vec::new(), ..added });
        }
        Ok(())
    }

    /// Whether a value is there and matches a condition. Anchors in it are keys like others.
    fn matches(&self, path: &Path<'_>, pattern: &Value, at: &Pointer) -> Result<Cel> {
        let problem = |problem: crate::convert::problem::Problem| problem.at(at);
        match (pattern, &path.ty) {
            (Value::Object(_), Ty::List(_)) => {
                let variable = self.variable_for(path);
                let tests = self.member_tests(&path.element(&variable), pattern, false, at)?;
                if tests.is_empty() {
                    let size = path.or(Cel::List(Vec::new())).call("size", []);
                    return Ok(size.compare(Operator::Greater, Cel::int(0)));
                }
                Ok(path.or(Cel::List(Vec::new())).call("exists", [Cel::atom(&*variable), Cel::all(tests)]))
            }
            (Value::Object(_), Ty::Map(_) | Ty::Object(_)) => {
                let mut tests = self.member_tests(path, pattern, true, at)?;
                if tests.is_empty() {
                    tests.push(path.has());
                }
                Ok(Cel::all(tests))
            }
            (Value::Array(items), Ty::List(_)) => {
                let variable = self.variable_for(path);
                let element = path.element(&variable);
                let tests =
                    items.iter().map(|item| self.matches(&element, item, at)).collect::<Result<Vec<_>>>()?;
                let name = || Cel::atom(&*variable);
                let mut all = vec![path.has(), path.strict().call("all", [name(), Cel::any(tests.clone())])];
                all.extend(tests.into_iter().map(|test| path.strict().call("exists", [name(), test])));
                Ok(Cel::all(all))
            }
            (Value::Object(_) | Value::Array(_), Ty::Any) => self.refuse(
                at,
                "a condition on a list or a map",
                "the schema does not say which it is",
                "give the definition of the kind with `--crds`",
            ),
            // A scalar matches no list and no map.
            (Value::Object(_) | Value::Array(_), _) | (_, Ty::List(_) | Ty::Map(_) | Ty::Object(_)) => {
                Ok(Cel::bool(false))
            }
            _ => leaf::anchor_test(path, pattern, self.scope).map_err(problem),
        }
    }

    fn member_tests(
        &self,
        path: &Path<'_>,
        pattern: &Value,
        with_added: bool,
        at: &Pointer,
    ) -> Result<Vec<Cel>> {
        let members = pattern.as_object().into_iter().flat_map(|members| members.iter());
        let mut tests = Vec::new();
        for (key, value) in members {
            let (name, is_test) = split_anchor(key).unwrap_or((key, true));
            if is_test || with_added {
                tests.push(self.matches(&path.member(name), value, at)?);
            }
        }
        Ok(tests)
    }

    fn variable_for(&self, path: &Path<'_>) -> String {
        let name = path.names().iter().rfind(|name| *name != "*").cloned().unwrap_or_default();
        crate::convert::expression::loop_variable(&name, &self.used)
    }

    /// A map where the object has a list: it is for each element.
    pub(super) fn broadcast(&self, node: &Value, place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        if !place.path.is_sure() {
            return self.refuse(
                at,
                "a map for the elements of a list",
                "where the list is missing or empty, the map would become the value",
                "write a list with one element",
            );
        }
        self.for_elements(node, place, at)
    }

    /// A list.
    pub(super) fn legacy_list(&self, items: &[Value], place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        let mut fragment = Fragment::default();
        let mut appended: Vec<Appended> = Vec::new();
        let mut elements: Vec<Cel> = Vec::new();
        let mut loops: Vec<Patch> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            let is_map = item.as_object().is_some();
            if is_map && (has_tests(item) || !has_identity(item)) {
                if items.len() > 1 {
                    return self.refuse(
                        &at,
                        "an element for several elements of the object beside others",
                        "both may change the same element",
                        "write a rule for each",
                    );
                }
                let mut own = self.for_elements(item, place, &at)?;
                loops.append(&mut own.patches);
                elements.extend(own.apply.take());
                fragment.absorb(own);
                if !has_tests(item) && has_plain_member(item) && !is_filled(place) {
                    let content = self.json(&content(item), place, &at)?;
                    let size = place.path.or(Cel::List(Vec::new())).call("size", []);
                    appended
                        .push(Appended { content, is_there: size.compare(Operator::Greater, Cel::int(0)) });
                }
                continue;
            }
            match self.item(item, place, &at, &mut loops)? {
                Item::Applied(cel) => elements.push(Cel::List(vec![cel])),
                Item::Appended(one) => appended.push(one),
            }
        }
        if elements.iter().any(|part| matches!(part, Cel::List(_))) {
            fragment.is_solid = true;
        }
        if !elements.is_empty() {
            fragment.apply = Some(Cel::joined(Operator::Plus, elements));
        }
        let mut patches = Vec::new();
        if !appended.is_empty() {
            patches.extend(place.guards());
            patches.push(append(place, appended));
        }
        patches.append(&mut loops);
        fragment.patches.splice(0..0, patches);
        fragment.touches.push(Cel::bool(true));
        Ok(fragment)
    }

    /// An element that is for all elements of the object that it selects.
    fn for_elements(&self, item: &Value, place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        let variable = self.variable_of(place);
        let index = index_name(self.depth);
        let mut inner_place = place.element(&variable, &index);
        let keys = match place.merging() {
            Merging::Keys(keys) if !place.is_patched && !inner_place.is_patched => keys,
            _ => Vec::new(),
        };
        let is_atomic_element = inner_place.merging() != Merging::Map;
        inner_place.is_patched |= keys.is_empty() || is_atomic_element;
        let scope = self.inside(&variable);
        let overlay = self.in_loop(&scope, &variable);
        let inner = overlay.map(item, &inner_place, at)?;
        let condition = Cel::all(inner.tests);
        let list = || place.path.or(Cel::List(Vec::new()));
        let name = || Cel::atom(&*variable);
        let mut fragment = Fragment::default();
        if has_tests(item) {
            let exists = if condition.is_true() {
                list().call("size", []).compare(Operator::Greater, Cel::int(0))
            } else {
                list().call("exists", [name(), condition.clone()])
            };
            if !(condition.is_true() && is_filled(place)) {
                fragment.tests.push(exists);
            }
        }
        if inner.apply.is_some() && !inner.patches.is_empty() && changes_test(item) {
            return self.refuse(
                at,
                "an element that changes what its condition reads",
                "a part of the change is a JSON patch, which would not find the element any more",
                "split the rule",
            );
        }
        if !inner.patches.is_empty() {
            fragment.patches.push(Patch::Each {
                list: list(),
                index,
                variable: variable.clone(),
                condition: condition.clone(),
                body: inner.patches,
                reversed: false,
            });
        }
        fragment.apply = inner.apply.map(|apply| {
            let own = |key: &String| Entry { key: key.clone(), value: name().member(key), optional: false };
            let apply = match apply {
                Cel::Message { name, fields } => {
                    let rest = fields.into_iter().filter(|field| !keys.contains(&field.key));
                    Cel::Message { name, fields: keys.iter().map(own).chain(rest).collect() }
                }
                other => other,
            };
            let selected =
                if condition.is_true() { list() } else { list().call("filter", [name(), condition]) };
            selected.call("map", [name(), apply])
        });
        Ok(fragment)
    }

    /// An element that means one of the object: merged into that, or appended.
    fn item(&self, item: &Value, place: &Place<'a>, at: &Pointer, loops: &mut Vec<Patch>) -> Result<Item> {
        if super::has_anchors(item) {
            return self.refuse(
                at,
                "an addition in an element that may be new",
                "it depends on the element that has the same key",
                "write it without `+()`, or a condition on the key",
            );
        }
        let Some(strategy) = list_strategy(self.kinds, self.schemas, &place.steps) else {
            return self.refuse(
                at,
                "a list",
                "the kinds of the rule merge it differently",
                "write a rule for each kind",
            );
        };
        let keys = match strategy {
            Strategy::Keys(keys) => keys,
            Strategy::Replace | Strategy::Set => vec!["name".to_owned()],
        };
        let variable = self.variable_of(place);
        let index = index_name(self.depth);
        let element = place.element(&variable, &index);
        let is_applied = matches!(place.merging(), Merging::Keys(known) if known == keys)
            && element.merging() == Merging::Map
            && !element.is_patched
            && keys.iter().all(|key| key == "protocol" || item.get(key).is_some());
        let list = || place.path.or(Cel::List(Vec::new()));
        let scope = self.inside(&variable);
        let overlay = self.in_loop(&scope, &variable);
        if is_applied {
            let inner = overlay.map(item, &element, at)?;
            if inner.patches.is_empty() {
                let empty = || Cel::message(element.constructor.clone(), Vec::new());
                return Ok(Item::Applied(inner.apply.unwrap_or_else(empty)));
            }
        }
        let content = self.json(item, place, at)?;
        if is_dynamic(item)
            && item.as_object().is_some()
            && keys.first().is_none_or(|key| item.get(key).is_none())
        {
            return self.refuse(
                at,
                "an element with variables but without a key",
                "it is added unless the list has it, and how its values compare is not known",
                "write constants",
            );
        }
        let key = keys.first().filter(|key| item.get(key).is_some());
        let name = || Cel::atom(&*variable);
        let is_there = match (key, item.as_object()) {
            (Some(key), Some(_)) => {
                let is_it = self.keyed_item(item, (key, keys.len()), (place, &element), at, loops)?;
                list().call("exists", [name(), is_it])
            }
            (None, Some(_)) => list().call("exists", [name(), contains(&element.path, item)]),
            _ => content.clone().compare(Operator::In, list()),
        };
        Ok(Item::Appended(Appended { content, is_there }))
    }

    /// An element with a key, in a list that server-side apply does not merge: the steps that merge it. Returns whether an
    /// element is the one that it means.
    fn keyed_item(
        &self,
        item: &Value,
        (key, keys): (&str, usize),
        (place, element): (&Place<'a>, &Place<'a>),
        at: &Pointer,
        loops: &mut Vec<Patch>,
    ) -> Result<Cel> {
        if keys > 1 {
            return self.refuse(
                at,
                "a list that merges by several keys",
                "server-side apply merges it by other ones",
                "write a JSON patch",
            );
        }
        let mut patched = element.clone();
        patched.is_patched = true;
        let own = patched.member(key);
        let value = self.json(item.get(key).unwrap_or(&Value::Null), &own, at)?;
        let is_it = own.path.or(Cel::text("")).equals(value);
        let members = item.as_object().into_iter().flat_map(|members| members.iter());
        let rest: Value = members
            .filter(|(member, _)| &***member != key)
            .map(|(member, value)| (member.clone(), value.clone()))
            .collect();
        if rest.as_object().is_some_and(|rest| !rest.is_empty()) {
            let variable = self.variable_of(place);
            let scope = self.inside(&variable);
            let overlay = self.in_loop(&scope, &variable);
            let inner = overlay.map(&rest, &patched, at)?;
            loops.push(Patch::Each {
                list: place.path.or(Cel::List(Vec::new())),
                index: index_name(self.depth),
                variable,
                condition: is_it.clone(),
                body: inner.patches,
                reversed: false,
            });
        }
        Ok(is_it)
    }
}

/// Whether a value contains all of another one.
fn contains(path: &Path<'_>, item: &Value) -> Cel {
    match item {
        Value::Object(members) if members.is_empty() => path.has(),
        Value::Object(members) => {
            Cel::all(members.iter().map(|(key, member)| contains(&path.member(key), member)).collect())
        }
        Value::String(text) if path.ty.is_text() && !text.is_empty() => {
            path.or(Cel::text("")).equals(Cel::text(&**text))
        }
        other => Cel::all(vec![path.has(), path.strict().equals(literal(other))]),
    }
}

/// What becomes of an element.
enum Item {
    /// It is a part of an apply configuration.
    Applied(Cel),
    Appended(Appended),
}

/// Appends elements that a list lacks.
fn append(place: &Place<'_>, mut appended: Vec<Appended>) -> Patch {
    let add = |path: Cel, value: Cel| Cel::patch("add", path, Some(value));
    if appended.len() == 1
        && let Some(Appended { content, is_there }) = appended.pop()
    {
        let end = add(place.location.key("-").cel(), content.clone());
        if place.path.is_sure() {
            return Patch::when(is_there.negated(), end);
        }
        let new = add(place.location.cel(), Cel::List(vec![content]));
        let some = Cel::if_else(place.path.has(), Cel::List(vec![end]), Cel::List(vec![new]));
        return Patch::List(Cel::if_else(is_there, Cel::List(Vec::new()), some));
    }
    let mut parts = vec![place.path.or(Cel::List(Vec::new()))];
    parts.extend(
        appended
            .into_iter()
            .map(|one| Cel::if_else(one.is_there, Cel::List(Vec::new()), Cel::List(vec![one.content]))),
    );
    Patch::add(&place.location, Cel::joined(Operator::Plus, parts))
}

/// Whether every object has elements in a list.
fn is_filled(place: &Place<'_>) -> bool {
    place.path.is_sure() && place.path.names().last().is_some_and(|name| name == "containers")
}

/// Whether an element has a plain scalar member, which identifies it.
fn has_identity(item: &Value) -> bool {
    let is_scalar = |value: &Value| !matches!(value, Value::Object(_) | Value::Array(_));
    item.as_object().is_some_and(|members| {
        members.iter().any(|(key, member)| split_anchor(key).is_none() && is_scalar(member))
    })
}

fn has_plain_member(item: &Value) -> bool {
    item.as_object().is_some_and(|members| members.keys().any(|key| split_anchor(key).is_none()))
}

/// Whether an element writes a key that it also tests.
fn changes_test(item: &Value) -> bool {
    let Some(members) = item.as_object() else { return false };
    members.iter().any(|(key, member)| match split_anchor(key) {
        Some((name, true)) => members.contains_key(name),
        Some((_, false)) => false,
        None => has_tests(member),
    })
}

/// What is written of a value where the object has none: without conditions and anchors.
pub(super) fn content(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter_map(|(key, member)| match split_anchor(key) {
                Some((_, true)) => None,
                Some((name, false)) => Some((crate::value::Text::from(name), content(member))),
                None => Some((key.clone(), content(member))),
            })
            .collect(),
        Value::Array(items) => Value::array(items.iter().map(content).collect()),
        other => other.clone(),
    }
}

/// An overlay whose labels and annotations are texts.
pub(in crate::convert) fn with_texts(overlay: &Value) -> Value {
    typed(overlay, ("", ""))
}

/// A value below these two keys.
fn typed(value: &Value, parents: (&str, &str)) -> Value {
    let is_text = parents.0 == "metadata" && matches!(parents.1, "labels" | "annotations");
    match value {
        Value::Object(members) => {
            let member = |(key, member): (&crate::value::Text, &Value)| {
                let (name, is_test) = split_anchor(key).unwrap_or((key, false));
                // Conditions are compared, not written.
                let typed = match member {
                    _ if is_test => member.clone(),
                    Value::Bool(flag) if is_text => Value::from(flag.to_string()),
                    Value::Number(number) if is_text => Value::from(number.to_string()),
                    other => typed(other, (parents.1, name)),
                };
                (key.clone(), typed)
            };
            members.iter().map(member).collect()
        }
        Value::Array(items) => Value::array(items.iter().map(|item| typed(item, ("", ""))).collect()),
        other => other.clone(),
    }
}
