//! Why a rule that matched changed nothing: lists in which no element meets the conditions of the overlay.

use crate::pattern::LeafPattern;
use crate::render::RuleSource;
use crate::value::{Pointer, Text, Value};

/// How many elements of a list are named.
const NAMED_ELEMENTS: usize = 3;

/// A line for each list of the object in which no element meets the conditions of the rule's overlay, and for each such
/// list that an unchanged object does not have. Conditions that are not texts, or have variables, count as met.
pub(super) fn unfit_lists(source: &RuleSource, object: &Value, is_changed: bool) -> Vec<String> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    visit(&source.overlay, object, &mut Pointer::default(), &mut found, &mut missing);
    if !is_changed {
        found.append(&mut missing);
    }
    found
}

fn visit(
    overlay: &Value,
    object: &Value,
    at: &mut Pointer,
    found: &mut Vec<String>,
    missing: &mut Vec<String>,
) {
    match (overlay, object) {
        (Value::Object(members), Value::Object(_)) => {
            for (key, expected) in members.iter() {
                at.push_key(key.clone());
                match object.get(key) {
                    Some(has) if !has.is_null() => visit(expected, has, at, found, missing),
                    _ => missing.extend(missing_list(at, expected)),
                }
                at.pop();
            }
        }
        (Value::Array(expected), Value::Array(items)) => {
            for element in expected.iter() {
                let conditions = conditions(element);
                let fitting: Vec<(usize, &Value)> = items
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| conditions.iter().all(|condition| condition.fits(item)))
                    .collect();
                if fitting.is_empty() && !conditions.is_empty() {
                    found.push(unfit(at, &conditions, items));
                }
                for (index, item) in fitting {
                    at.push_index(index);
                    visit(element, item, at, found, missing);
                    at.pop();
                }
            }
        }
        _ => {}
    }
}

/// A condition of an element on one of its fields.
struct Condition<'a> {
    name: &'a str,
    expected: &'a Text,
    pattern: LeafPattern,
}

impl Condition<'_> {
    fn fits(&self, element: &Value) -> bool {
        element.get(self.name).is_some_and(|value| match value {
            Value::String(text) => self.pattern.matches_text(text),
            other => self.pattern.matches_text(&other.to_json()),
        })
    }
}

fn conditions(element: &Value) -> Vec<Condition<'_>> {
    let members = element.as_object().into_iter().flat_map(|members| members.iter());
    let conditions = members.filter_map(|(key, value)| {
        let name = key.strip_prefix("<(").or_else(|| key.strip_prefix('('))?.strip_suffix(')')?;
        let expected = value.as_text().filter(|text| !text.contains("{{"))?;
        Some(Condition { name, expected, pattern: LeafPattern::text(&**expected) })
    });
    conditions.collect()
}

/// A line for a list that the object does not have, if all elements of the overlay have conditions.
fn missing_list(at: &Pointer, expected: &Value) -> Option<String> {
    let elements = expected.as_array().filter(|elements| !elements.is_empty())?;
    let tests = |element: &Value| -> Option<String> {
        let (key, value) = element.as_object()?.iter().find(|(key, _)| is_test(key))?;
        Some(format!("`{key}: {}`", value.to_json()))
    };
    let tests: Option<Vec<String>> = elements.iter().map(tests).collect();
    Some(format!("the object has no {at}, so no element meets {}", tests?.join(" or ")))
}

fn is_test(key: &str) -> bool {
    (key.starts_with("<(") || key.starts_with('(')) && key.ends_with(')')
}

fn unfit(at: &Pointer, conditions: &[Condition<'_>], items: &[Value]) -> String {
    let expected: Vec<String> =
        conditions.iter().map(|condition| format!("{} `{}`", condition.name, condition.expected)).collect();
    let expected = expected.join(" and ");
    if items.is_empty() {
        return format!("{at} is empty; expected an element with {expected}");
    }
    let has = |item: &Value| -> String {
        let values = conditions.iter().map(|condition| match item.get(condition.name) {
            Some(Value::String(text)) => format!("{} `{text}`", condition.name),
            Some(value) => format!("{} `{}`", condition.name, value.to_json()),
            None => format!("no {}", condition.name),
        });
        values.collect::<Vec<_>>().join(" and ")
    };
    let mut seen: Vec<String> = items.iter().take(NAMED_ELEMENTS).map(has).collect();
    if items.len() > NAMED_ELEMENTS {
        seen.push(format!("{} more", items.len() - NAMED_ELEMENTS));
    }
    format!("{at}: expected {expected}; found {}", seen.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_without_any_fitting_element_are_named() {
        let object = r#"{"spec":{"containers":[{"image":"a:1","ports":[{"name":"http","port":80}]},{"image":"b:1"}]}}"#;
        let object = Value::from_json(object).unwrap();
        for (overlay, expected) in [
            (r#"{"spec":{"containers":[{"(image)":"a:*","x":1}]}}"#, ""),
            (r#"{"spec":{"containers":[{"(image)":"{{ x }}","x":1}]}}"#, ""),
            (r#"{"spec":{"containers":[{"name":"c","x":1}],"volumes":[{"name":"v"}]}}"#, ""),
            (
                r#"{"spec":{"containers":[{"name":"c","x":1}],"volumes":[{"(name)":"v"}]}}"#,
                r#"the object has no spec.volumes, so no element meets `(name): "v"`"#,
            ),
            (
                r#"{"spec":{"volumes":[{"(x)":true,"y":1},{"<(x)":false}]}}"#,
                "the object has no spec.volumes, so no element meets `(x): true` or `<(x): false`",
            ),
            (r#"{"spec":{"volumes":[{"(name)":"v"},{"name":"w"}]}}"#, ""),
            (
                r#"{"spec":{"containers":[{"(image)":"c:*","(tty)":"?*","x":1}]}}"#,
                "spec.containers: expected image `c:*` and tty `?*`; found image `a:1` and no tty, image `b:1` and no tty",
            ),
            (
                r#"{"spec":{"containers":[{"(image)":"a:*","ports":[{"<(port)":"8080","x":1}]}]}}"#,
                "spec.containers[0].ports: expected port `8080`; found port `80`",
            ),
        ] {
            let (mut found, mut missing) = (Vec::new(), Vec::new());
            let parsed = Value::from_json(overlay).unwrap();
            visit(&parsed, &object, &mut Pointer::default(), &mut found, &mut missing);
            found.append(&mut missing);
            assert_eq!(found.join("\n"), expected, "{overlay}");
        }
    }
}
