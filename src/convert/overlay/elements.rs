//! Elements of lists that merge by keys.

use crate::convert::cel_text::{Cel, Entry, Operator};
use crate::convert::expression::{Scope, loop_variable};
use crate::convert::patches::{Patch, index_name};
use crate::convert::place::Place;
use crate::convert::problem::Problem;
use crate::patch::split_anchor;
use crate::value::{Pointer, Value};

use super::{Fragment, Loop, Overlay, Result, has_tests};

/// An element of an overlay.
#[derive(Debug)]
pub(super) struct Element<'v> {
    pub(super) value: &'v Value,
    pub(super) at: Pointer,
}

impl<'v> Element<'v> {
    pub(super) const fn of(value: &'v Value, _keys: &[String], at: Pointer) -> Self {
        Self { value, at }
    }
}

impl<'a> Overlay<'_, 'a> {
    pub(super) const fn parts(&self) -> &Self {
        self
    }

    /// The variable for the elements of a list.
    pub(super) fn variable_of(&self, place: &Place<'a>) -> String {
        let name = place.path.names().iter().rfind(|name| *name != "*").cloned().unwrap_or_default();
        loop_variable(&name, &self.used)
    }

    pub(super) fn used_with(&self, variable: &str) -> Vec<String> {
        self.used.iter().cloned().chain([variable.to_owned()]).collect()
    }

    /// For the elements of a list.
    pub(super) fn in_loop<'s>(&'s self, scope: &'s Scope<'a>, variable: &str) -> Overlay<'s, 'a> {
        let used = self.used_with(variable);
        Overlay { scope, depth: self.depth + 1, used, around: None, ..*self.parts() }
    }

    pub(super) fn inside(&self, variable: &str) -> Scope<'a> {
        self.scope.in_loop(variable)
    }

    /// The loop of the rule that visits this list, if the element means the one that it visits.
    pub(super) fn loop_of(&self, value: &Value, keys: &[String], place: &Place<'a>) -> Option<&Loop> {
        let [key] = keys else { return None };
        let members = value.as_object()?;
        let name = members.iter().find_map(|(name, value)| {
            let name = split_anchor(name).map_or(&**name, |(name, _)| name);
            (name == key).then_some(value)
        })?;
        let text = name.as_str()?.trim();
        let inner = text.strip_prefix("{{")?.strip_suffix("}}")?.trim();
        let is_element = inner == format!("element.{key}") || inner == format!("element0.{key}");
        self.loops.iter().find(|one| is_element && one.names == place.path.names())
    }

    /// Whether elements with anchors never mean one without: their names differ.
    pub(super) fn are_apart(&self, selected: &[Element<'_>], plain: &[Element<'_>], keys: &[String]) -> bool {
        let [key] = keys else { return false };
        let literal = |element: &Element<'_>, name: &str| {
            element
                .value
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.contains("{{"))
                .map(str::to_owned)
        };
        selected.iter().all(|one| {
            let Some(pattern) = literal(one, &format!("({key})")) else { return false };
            !pattern.contains(['|', '&', '!', '<', '>'])
                && plain.iter().all(|other| {
                    literal(other, key).is_some_and(|name| !crate::pattern::matches(&pattern, &name))
                })
        })
    }

    /// Whether no element of the object fits two of these: they are for different constant names.
    pub(super) fn select_others(&self, selected: &[Element<'_>], keys: &[String]) -> bool {
        let [key] = keys else { return false };
        let name = |element: &Element<'_>| {
            let text = element.value.get(&format!("({key})"))?.as_str()?;
            let is_plain = !text.contains(['|', '&', '!', '<', '>', '*', '?']) && !text.contains("{{");
            is_plain.then(|| text.to_owned())
        };
        let names: Option<Vec<String>> = selected.iter().map(name).collect();
        let are_apart = |names: Vec<String>| {
            names.iter().enumerate().all(|(index, name)| !names.iter().skip(index + 1).any(|one| one == name))
        };
        names.is_some_and(are_apart)
    }

    /// A list that both patches merge by the same keys.
    pub(super) fn merged(
        &self,
        plain: &[Element<'_>],
        selected: &[Element<'_>],
        keys: &[String],
        place: &Place<'a>,
        mut fragment: Fragment,
    ) -> Result<Fragment> {
        let variable = self.variable_of(place);
        let index = index_name(self.depth);
        let mut parts: Vec<Cel> = Vec::new();
        let mut constants = Vec::new();
        let mut names: Vec<Vec<Cel>> = Vec::new();
        for element in plain {
            let (value, name) = self.plain(element, keys, place, &variable, &index, &mut fragment)?;
            constants.push(value);
            names.push(name);
        }
        if !constants.is_empty() {
            parts.push(Cel::List(constants));
            fragment.is_solid = true;
            fragment.touches.push(Cel::bool(true));
        }
        let mut moves: Vec<(String, Cel)> = Vec::new();
        for element in selected {
            let names = (&*variable, &*index);
            let mapped = self.selected(element, keys, place, names, &mut fragment, &mut moves)?;
            parts.extend(mapped);
        }
        if !moves.is_empty() {
            super::merge_stages(&mut fragment.before, vec![vec![fronted(place, &moves)]]);
        }
        // Lists with several keys keep their order.
        if let ([key], false, true) = (keys, names.is_empty(), self.keeps_order_of(place)) {
            let is_other = other_than(&variable, keys, &names);
            if selected.is_empty() && self.lists_others && has_unique_keys(place) {
                parts.push(self.others(place, &variable, key, is_other));
            } else {
                let reorder = reordered(place, &variable, keys, &names);
                super::merge_stages(&mut fragment.after, vec![vec![reorder]]);
            }
        }
        if !parts.is_empty() {
            fragment.apply = Some(Cel::joined(Operator::Plus, parts));
        }
        Ok(fragment)
    }

    /// A list of the object, as a configuration reads it.
    fn read(&self, place: &Place<'a>) -> Cel {
        let list = place.path.or(Cel::List(Vec::new()));
        match &self.around {
            Some((variable, own)) => {
                own.clone().call("map", [Cel::atom(&**variable), list]).call("flatten", [])
            }
            None => list,
        }
    }

    /// The other elements of a list, by their keys alone: listed behind those of an overlay, they follow them.
    fn others(&self, place: &Place<'a>, variable: &str, key: &str, is_other: Cel) -> Cel {
        let value = Cel::atom(variable).member(key);
        let only_key = vec![Entry { key: key.to_owned(), value, optional: false }];
        let element = Cel::message(place.constructor.clone(), only_key);
        self.read(place).call("map", [Cel::atom(variable), is_other, element])
    }

    /// An element without anchors, and the values of its keys.
    fn plain(
        &self,
        element: &Element<'_>,
        keys: &[String],
        place: &Place<'a>,
        variable: &str,
        index: &str,
        fragment: &mut Fragment,
    ) -> Result<(Cel, Vec<Cel>)> {
        let mut names = Vec::new();
        for key in keys {
            let Some(value) = element.value.get(key).filter(|value| !value.is_null()) else {
                return Err(missing_key(key, &element.at));
            };
            names.push(self.json(value, &place.member(key), &element.at.key(&**key))?);
        }
        let inner_place = place.element(variable, index);
        let scope = self.scope.in_loop(variable);
        let is_it = key_test(variable, keys, &names);
        let own = self.read(place).call("filter", [Cel::atom(variable), is_it.clone()]);
        let mut overlay = self.in_loop(&scope, variable);
        overlay.around = Some((variable.to_owned(), own));
        let inner = overlay.map(element.value, &inner_place, &element.at)?;
        if !inner.tests.is_empty() || !inner.globals.is_empty() {
            return self.refuse(
                &element.at,
                "a condition in an element",
                "it is not the element's own",
                "split the rule",
            );
        }
        let each = |body: Vec<Patch>| Patch::Each {
            list: place.path.strict(),
            index: index.to_owned(),
            variable: variable.to_owned(),
            condition: is_it.clone(),
            body,
            reversed: false,
        };
        if !inner.patches.is_empty() {
            fragment.patches.push(each(inner.patches));
        }
        let mut before: Vec<Vec<Patch>> = vec![Vec::new()];
        before.extend(inner.before.into_iter().map(|stage| vec![each_of(&each(stage), place)]));
        if before.len() > 1 {
            super::merge_stages(&mut fragment.before, before);
        }
        let mut after: Vec<Vec<Patch>> = vec![Vec::new()];
        after.extend(inner.after.into_iter().map(|stage| vec![each(stage)]));
        if after.len() > 1 {
            super::merge_stages(&mut fragment.after, after);
        }
        let value = inner.apply.unwrap_or_else(|| Cel::message(inner_place.constructor.clone(), Vec::new()));
        Ok((value, names))
    }

    /// The elements of the object that an element with anchors selects.
    fn selected(
        &self,
        element: &Element<'_>,
        keys: &[String],
        place: &Place<'a>,
        (variable, index): (&str, &str),
        fragment: &mut Fragment,
        moves: &mut Vec<(String, Cel)>,
    ) -> Result<Option<Cel>> {
        let visits = self.loop_of(element.value, keys, place);
        let variable = visits.map_or(variable, |visits| &*visits.variable);
        let value = match visits {
            // Its key is that of the visited element.
            Some(_) => without_keys(element.value, keys),
            // A key without an anchor is no condition, and the element keeps its own.
            None if place.is_patched => without_plain_keys(element.value, keys),
            None => element.value.clone(),
        };
        let inner_place = place.element(variable, index);
        let scope = self.scope.in_loop(variable);
        let overlay = self.in_loop(&scope, variable);
        let inner = overlay.map(&value, &inner_place, &element.at)?;
        if !inner.globals.is_empty() {
            return self.refuse(
                &element.at,
                "a global anchor beside conditions",
                "it is not the element's own",
                "split the rule",
            );
        }
        // A value of a key in the element is that of the element of the object.
        let mut tests = inner.tests;
        tests.extend(visits.map(|visits| visits.condition.clone()));
        let condition = Cel::all(tests);
        if inner.apply.is_none() && inner.patches.is_empty() {
            return Ok(None);
        }
        let list = || place.path.or(Cel::List(Vec::new()));
        let is_split = !inner.patches.is_empty() && (inner.apply.is_some() || !inner.before.is_empty());
        if changes_own_test(&value) && (is_split || !inner.after.is_empty()) {
            return self.refuse(
                &element.at,
                "an element that changes what its condition reads",
                "a part of the change is a JSON patch, which would not find the element any more",
                "split the rule",
            );
        }
        let each = |body: Vec<Patch>| Patch::Each {
            list: list(),
            index: index.to_owned(),
            variable: variable.to_owned(),
            condition: condition.clone(),
            body,
            reversed: false,
        };
        if !inner.patches.is_empty() {
            fragment.patches.push(each(inner.patches));
        }
        let touched = Cel::any(inner.touches.clone());
        if self.keeps_order_of(place) {
            let is_moved = Cel::all(vec![condition.clone(), touched.clone()]);
            if !is_moved.is_true() {
                moves.push((variable.to_owned(), is_moved));
            }
        }
        // The elements inside follow when those around are at their places.
        add_stages(&mut fragment.before, inner.before, each);
        add_stages(&mut fragment.after, inner.after, each);
        fragment.touches.push(if condition.is_true() { touched } else { Cel::bool(true) });
        let Some(apply) = inner.apply else { return Ok(None) };
        let own = |key: &String| Entry {
            key: key.clone(),
            value: Cel::atom(variable).member(key),
            optional: false,
        };
        let apply = match apply {
            Cel::Message { name, fields } => {
                let rest = fields.into_iter().filter(|field| !keys.contains(&field.key));
                Cel::Message { name, fields: keys.iter().map(own).chain(rest).collect() }
            }
            other => other,
        };
        let filtered = if condition.is_true() {
            list()
        } else {
            list().call("filter", [Cel::atom(variable), condition])
        };
        Ok(Some(filtered.call("map", [Cel::atom(variable), apply])))
    }
}

fn without_plain_keys(value: &Value, keys: &[String]) -> Value {
    let Some(members) = value.as_object() else { return value.clone() };
    let is_plain = |key: &str| keys.iter().any(|one| one == key);
    members
        .iter()
        .filter(|(key, _)| !is_plain(key))
        .map(|(key, member)| (key.clone(), member.clone()))
        .collect()
}

/// The element lacks its merge key.
pub(super) fn missing_key(key: &str, at: &Pointer) -> crate::convert::problem::Refusal {
    Problem::new(
        format!("an element without `{key}`"),
        "the list merges by that key; Kyverno removes all elements then, so there is no meaning to preserve",
        format!("write `{key}`, or `({key}): \"*\"` for all elements"),
    )
    .at(at)
}

/// Whether an element writes a key that it also tests.
fn changes_own_test(value: &Value) -> bool {
    let Some(members) = value.as_object() else { return false };
    members.iter().any(|(key, member)| match split_anchor(key) {
        Some((name, true)) => members.contains_key(name),
        Some((_, false)) => false,
        None => has_tests(member) && changes_own_test(member),
    })
}

/// Whether an element has these keys.
fn key_test(variable: &str, keys: &[String], values: &[Cel]) -> Cel {
    let tests = keys.iter().zip(values).map(|(key, value)| {
        let own = Cel::atom(variable);
        let is_required = !matches!(&**key, "protocol" | "whenUnsatisfiable" | "uid" | "ip");
        if is_required {
            own.member(key).equals(value.clone())
        } else {
            own.maybe(key)
                .or_value(Cel::text(if key == "protocol" { "TCP" } else { "" }))
                .equals(value.clone())
        }
    });
    Cel::all(tests.collect())
}

/// Brings the elements of some conditions to the front, in this order. Each has the variable of its list.
fn fronted(place: &Place<'_>, moves: &[(String, Cel)]) -> Patch {
    let chosen =
        |variable: &str, condition: Cel| place.path.strict().call("filter", [Cel::atom(variable), condition]);
    let mut parts: Vec<Cel> =
        moves.iter().map(|(variable, condition)| chosen(variable, condition.clone())).collect();
    if let Some((variable, _)) = moves.first() {
        let any = Cel::any(moves.iter().map(|(_, condition)| condition.clone()).collect());
        parts.push(chosen(variable, any.negated()));
    }
    let joined = Cel::joined(Operator::Plus, parts);
    Patch::when(place.path.has(), Cel::patch("replace", place.location.cel(), Some(joined)))
}

/// Brings elements with these keys to the front, in this order.
fn reordered(place: &Place<'_>, variable: &str, keys: &[String], names: &[Vec<Cel>]) -> Patch {
    let list = || place.path.strict();
    let name = || Cel::atom(variable);
    let tests: Vec<Cel> = names.iter().map(|values| key_test(variable, keys, values)).collect();
    let mut parts: Vec<Cel> =
        tests.iter().map(|test| list().call("filter", [name(), test.clone()])).collect();
    let rest = other_than(variable, keys, names);
    parts.push(list().call("filter", [name(), rest]));
    Patch::step(Cel::patch("replace", place.location.cel(), Some(Cel::joined(Operator::Plus, parts))))
}

/// Whether an element has none of these keys.
fn other_than(variable: &str, keys: &[String], names: &[Vec<Cel>]) -> Cel {
    match (keys, names) {
        ([key], [_, _, ..]) => {
            let values = names.iter().filter_map(|values| values.first().cloned()).collect();
            Cel::atom(variable).member(key).compare(Operator::In, Cel::List(values)).negated()
        }
        _ => Cel::any(names.iter().map(|values| key_test(variable, keys, values)).collect()).negated(),
    }
}

/// Whether the API server refuses two elements with the same key, so that a configuration may list all of them.
pub(super) fn has_unique_keys(place: &Place<'_>) -> bool {
    const LISTS: [&str; 5] = ["containers", "initContainers", "volumes", "volumeMounts", "volumeDevices"];
    place.steps.last().and_then(Option::as_deref).is_some_and(|name| LISTS.contains(&name))
}

/// A loop over a list that may be missing before it is merged.
fn each_of(patch: &Patch, place: &Place<'_>) -> Patch {
    match patch {
        Patch::Each { index, variable, condition, body, reversed, .. } => Patch::Each {
            list: place.path.or(Cel::List(Vec::new())),
            index: index.clone(),
            variable: variable.clone(),
            condition: condition.clone(),
            body: body.clone(),
            reversed: *reversed,
        },
        other => other.clone(),
    }
}

/// Adds steps for each element behind the first stage.
fn add_stages(stages: &mut Vec<Vec<Patch>>, inner: Vec<Vec<Patch>>, each: impl Fn(Vec<Patch>) -> Patch) {
    if !inner.is_empty() {
        let all = std::iter::once(Vec::new()).chain(inner.into_iter().map(|stage| vec![each(stage)]));
        super::merge_stages(stages, all.collect());
    }
}

/// The members of an element but for its keys, with or without anchors.
pub(super) fn without_keys(element: &Value, keys: &[String]) -> Value {
    let is_key = |key: &str| keys.iter().any(|name| split_anchor(key).map_or(key, |(name, _)| name) == name);
    let members = element.as_object().into_iter().flat_map(|members| members.iter());
    members.filter(|(key, _)| !is_key(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}
