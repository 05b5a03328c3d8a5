//! Random configurations for an object, made of parts of another object of its kind.

use kyv::value::Value;
use kyv_fuzz::seeds::Random;

/// A configuration as JSON: a few parts of the other object, and of the object itself.
pub(super) fn members(random: &mut Random, object: &Value, donor: &Value) -> Value {
    let mut configuration = part(random, Some(object), donor, 0);
    if configuration.as_object().is_none() {
        configuration = Value::empty_object();
    }
    configuration
}

/// The same as an expression.
pub(super) fn expression(random: &mut Random, object: &Value, donor: &Value) -> String {
    let configuration = members(random, object, donor);
    let mut out = String::new();
    write(random, &configuration, "Object", Place::Field, &mut out);
    out
}

fn one_in(random: &mut Random, bound: usize) -> bool {
    random.below(bound) == 0
}

/// A part of a value. The keys of list elements come from the object now and then, so that elements merge.
fn part(random: &mut Random, object: Option<&Value>, donor: &Value, depth: usize) -> Value {
    if one_in(random, 60) {
        return odd_value(random);
    }
    match donor {
        Value::Object(members) => {
            // Few fields at the top and many below, so that most have nothing that is replaced as a whole.
            let odds = if depth < 2 { 3 } else { 2 };
            let mut taken = Value::empty_object();
            for (name, member) in members.iter() {
                if depth == 0 && &**name != "metadata" && one_in(random, 3) {
                    continue;
                }
                if depth > 0 && !one_in(random, odds) {
                    continue;
                }
                let same = object.and_then(|object| object.get(name));
                taken.insert(name.clone(), part(random, same, member, depth + 1));
            }
            if one_in(random, 40) {
                taken.insert("unknwon", Value::from("x"));
            }
            taken
        }
        Value::Array(items) => {
            let own = object.and_then(Value::as_array).unwrap_or_default();
            let mut taken: Vec<Value> = Vec::new();
            for item in items.iter().chain(own) {
                if one_in(random, 3) {
                    continue;
                }
                taken.push(element(random, own, item, depth));
            }
            if one_in(random, 2) && taken.len() > 1 {
                let from = random.below(taken.len());
                let item = taken.remove(from);
                taken.insert(0, item);
            }
            Value::array(taken)
        }
        Value::String(_) if one_in(random, 3) => Value::from(["a", "b", "new"][random.below(3)]),
        scalar => scalar.clone(),
    }
}

/// An element of a list: one as it is, or with some fields of another one.
fn element(random: &mut Random, own: &[Value], item: &Value, depth: usize) -> Value {
    let Value::Object(members) = item else { return item.clone() };
    let model = own.get(random.below(own.len().max(1)));
    let mut taken = Value::empty_object();
    for (name, member) in members.iter() {
        let is_scalar = !matches!(member, Value::Object(_) | Value::Array(_));
        if is_scalar && !one_in(random, 6) {
            let shared = model.and_then(|model| model.get(name)).filter(|_| one_in(random, 3));
            taken.insert(name.clone(), shared.unwrap_or(member).clone());
        } else if !is_scalar && one_in(random, 4) {
            let same = model.and_then(|model| model.get(name));
            taken.insert(name.clone(), part(random, same, member, depth + 1));
        }
    }
    taken
}

/// A value that most places do not take.
fn odd_value(random: &mut Random) -> Value {
    let all =
        ["null", "1", "1.5", "true", r#""x""#, "[]", "{}", r#"["a"]"#, r#"{"a":"b"}"#, "[null]", "[[1]]"];
    Value::from_json(all[random.below(all.len())]).expect("JSON")
}

/// Where a value is written.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Field,
    Inside,
}

/// Writes a value as an expression of the type `name`.
fn write(random: &mut Random, value: &Value, name: &str, place: Place, out: &mut String) {
    if name != "Object" && one_in(random, 80) {
        let odd = [
            "5u",
            "b'x'",
            "duration('1h')",
            "null",
            "type(1)",
            "optional.none()",
            "Object.wrong{}",
            "object.metadata",
            "[[1] + [2]]",
            "optional.of('x')",
            "2.0",
        ];
        let odd = odd[random.below(odd.len())];
        // The API server drops these two, unless there are such keys in them.
        let is_dropped = ["Object.apiVersion", "Object.kind"].contains(&name);
        return out.push_str(if odd == "2.0" && !is_dropped { "{1: 'a'}" } else { odd });
    }
    match value {
        Value::Object(members) => {
            let is_type = members.iter().all(|(key, _)| is_identifier(key));
            let is_map = !is_type || name != "Object" && one_in(random, 12);
            // Inside of a list or map only types nest.
            if is_map && place == Place::Inside && !one_in(random, 20) && !is_type {
                return out.extend([name, "{}"]);
            }
            out.push_str(if is_map { "{" } else { name });
            out.push_str(if is_map { "" } else { "{" });
            for (index, (key, member)) in members.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                let below = format!("{name}.{key}");
                if is_map {
                    out.push_str(&Value::from(&**key).to_json());
                    out.push_str(": dyn(");
                    write(random, member, &below, Place::Inside, out);
                    out.push(')');
                } else {
                    out.push_str(key);
                    out.push_str(": ");
                    write(random, member, &below, Place::Field, out);
                }
            }
            out.push('}');
        }
        Value::Array(items) => {
            let is_joined = items.len() > 1 && one_in(random, 6);
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(if is_joined && index == 1 { "] + [" } else { ", " });
                }
                out.push_str("dyn(");
                write(random, item, name, Place::Inside, out);
                out.push(')');
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_json()),
    }
}

fn is_identifier(text: &str) -> bool {
    const RESERVED: [&str; 6] = ["in", "true", "false", "null", "as", "if"];
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty()
        && !text.as_bytes()[0].is_ascii_digit()
        && text.bytes().all(is_word)
        && !RESERVED.contains(&text)
}
