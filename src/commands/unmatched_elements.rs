//! Why a rule that matched changed nothing: lists in which no element meets the conditions of the overlay.

use crate::pattern::LeafPattern;
use crate::render::RuleSource;
use crate::value::{Pointer, Text, Value};

/// How many elements of a list are named.
const NAMED_ELEMENTS: usize = 3;

/// A line for each list of the object in which no element meets the conditions of the rule's overlay. Conditions that are
/// not texts, or have variables, count as met.
pub(super) fn unfit_lists(source: &RuleSource, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    visit(&source.overlay, object, &mut Pointer::default(), &mut found);
    found
}

fn visit(overlay: &Value, object: &Value, at: &mut Pointer, found: &mut Vec<String>) {
    match (overlay, object) {
        (Value::Object(members), Value::Object(_)) => {
            for (key, expected) in members.iter() {
                if let Some(has) = object.get(key) {
                    at.push_key(key.clone());
                    visit(expected, has, at, found);
                    at.pop();
                }
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
                    visit(element, item, at, found);
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
            (r#"{"spec":{"containers":[{"name":"c","x":1}],"volumes":[{"(name)":"v"}]}}"#, ""),
            (
                r#"{"spec":{"containers":[{"(image)":"c:*","(tty)":"?*","x":1}]}}"#,
                "spec.containers: expected image `c:*` and tty `?*`; found image `a:1` and no tty, image `b:1` and no tty",
            ),
            (
                r#"{"spec":{"containers":[{"(image)":"a:*","ports":[{"<(port)":"8080","x":1}]}]}}"#,
                "spec.containers[0].ports: expected port `8080`; found port `80`",
            ),
        ] {
            let mut found = Vec::new();
            visit(&Value::from_json(overlay).unwrap(), &object, &mut Pointer::default(), &mut found);
            assert_eq!(found.join("\n"), expected, "{overlay}");
        }
    }
}
