//! Faults of classic rules.

use crate::patch::split_anchor;
use crate::pattern::Operator;
use crate::value::{Pointer, Segment, Text, Value};
use crate::yaml;

use super::Maker;

/// What narrows the objects that a rule matches, besides their kinds.
const FILTERS: [&str; 7] =
    ["annotations", "name", "names", "namespaces", "namespaceSelector", "operations", "selector"];

/// The faults of the rule at a pointer, if it mutates.
pub(super) fn rule(maker: &mut Maker<'_>, at: &Pointer) {
    if maker.node(&at.key("mutate")).is_none() {
        return;
    }
    let name = maker.node(&at.key("name")).and_then(Value::as_text);
    maker.rule = name.cloned().unwrap_or_default();
    maker.without(&at.key("exclude"), "`exclude`");
    matches(maker, &at.key("match"));
    conditions(maker, &at.key("preconditions"));
    let mut open = vec![at.key("mutate")];
    while let Some(body) = open.pop() {
        for overlay in ["patchStrategicMerge", "overlay"] {
            self::overlay(maker, &body.key(overlay));
        }
        for operations in ["patchesJson6902", "patches"] {
            json_patch(maker, &body.key(operations));
        }
        let loops = body.key("foreach");
        for index in (0..maker.length(&loops)).rev() {
            conditions(maker, &loops.index(index).key("preconditions"));
            open.push(loops.index(index));
        }
    }
}

fn matches(maker: &mut Maker<'_>, at: &Pointer) {
    let mut filters = vec![at.key("resources")];
    for list in ["any", "all"].map(|list| at.key(list)) {
        filters.extend((0..maker.length(&list)).map(|index| list.index(index).key("resources")));
    }
    for filter in filters {
        for name in FILTERS {
            maker.without(&filter.key(name), &format!("`{name}`"));
        }
    }
}

fn conditions(maker: &mut Maker<'_>, at: &Pointer) {
    for list in [at.clone(), at.key("any"), at.key("all")] {
        for index in 0..maker.length(&list) {
            maker.without_element(&list, index, "condition");
            let operator = list.index(index).key("operator");
            let known = maker.node(&operator).and_then(Value::as_str).and_then(Operator::from_name);
            if let Some(known) = known {
                let other = known.opposite().name();
                maker.with(&operator, other.into(), format!("`{}` is `{other}`", known.name()));
            }
        }
    }
}

fn overlay(maker: &mut Maker<'_>, at: &Pointer) {
    let mut open = vec![at.clone()];
    while let Some(at) = open.pop() {
        match maker.node(&at) {
            Some(Value::Object(members)) => {
                open.extend(members.keys().rev().map(|key| at.key(key.clone())));
            }
            Some(Value::Array(items)) => open.extend((0..items.len()).rev().map(|index| at.index(index))),
            None | Some(Value::Null) => {}
            Some(scalar) => {
                without_anchor(maker, &at);
                let other = other(scalar);
                let fault = format!("{} is {}", scalar.to_json(), other.to_json());
                maker.with(&at, other, fault);
                continue;
            }
        }
        without_anchor(maker, &at);
    }
}

/// A mutant with the plain key of an anchored one.
fn without_anchor(maker: &mut Maker<'_>, at: &Pointer) {
    let Some(Segment::Key(key)) = at.segments().last() else { return };
    let Some((name, _)) = split_anchor(key) else { return };
    let name: Text = name.into();
    maker.add(at, "anchor removed", |policy| {
        let members = policy.pointed_mut(at.parent().segments())?.as_object_mut()?;
        if members.contains_key(&name) {
            return None;
        }
        let (index, _, value) = members.shift_remove_full(key)?;
        members.shift_insert(index, name, value);
        Some(())
    });
}

/// Another value of the same type.
fn other(scalar: &Value) -> Value {
    match scalar {
        Value::Bool(value) => Value::from(!value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Value::from(number.wrapping_add(1)),
            None => Value::from(1),
        },
        _ => format!("{}-other", scalar.as_str().unwrap_or_default()).into(),
    }
}

fn json_patch(maker: &mut Maker<'_>, at: &Pointer) {
    let Some(written) = maker.node(at) else { return };
    let operations = match written {
        Value::String(text) => yaml::parse_value(text).unwrap_or_default(),
        list => list.clone(),
    };
    let Some(list) = operations.as_array() else { return };
    for index in 0..list.len() {
        let member = |name: &str| list[index].get(name).and_then(Value::as_str).unwrap_or_default();
        let fault = format!("operation {} ({} {}) removed", index + 1, member("op"), member("path"));
        let mut rest = list.to_vec();
        rest.remove(index);
        let rest = Value::array(rest);
        let rest = if written.as_str().is_some() { rest.to_json().into() } else { rest };
        maker.with(at, rest, fault);
    }
}
