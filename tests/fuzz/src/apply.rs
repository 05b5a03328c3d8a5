//! Apply configurations: what is merged is merged the same each time, and a second time changes nothing.

use kyv::admission::{KindSchemas, Schema};
use kyv::patch::{ApplyError, Atomics, apply};
use kyv::value::{GroupVersionKind, MAX_DEPTH, Value};

use super::input::{Choices, Input};
use super::values;

const OBJECT: &str = include_str!("rich-object.yaml");

/// Checks one input.
pub fn run(data: &[u8]) {
    let (configuration, object) = match Input::new(data) {
        Input::Text(parts) => {
            let (Some(configuration), Some(object)) =
                (values::parsed(parts.at(0)), values::parsed(parts.at(1)))
            else {
                return;
            };
            (configuration, object)
        }
        Input::Choices(mut choices) => {
            let Some(rich) = values::parsed(OBJECT) else { return };
            let object = values::edited(rich.clone(), &mut choices);
            let part =
                if choices.once_in(4) { values::value(&mut choices, 5) } else { part(&rich, &mut choices) };
            let configuration = if choices.once_in(2) { values::edited(part, &mut choices) } else { part };
            (configuration, object)
        }
    };
    if object.depth() > MAX_DEPTH {
        return;
    }
    let schemas = KindSchemas::default();
    let known = GroupVersionKind::of(&object).and_then(|kind| schemas.of(&kind));
    for schema in known.into_iter().chain([Schema::FREE]) {
        check(&object, &configuration, schema);
    }
}

fn check(object: &Value, configuration: &Value, schema: Schema<'_>) {
    let before = object.to_json();
    let [refused, replaced] = [Atomics::Refused, Atomics::Replaced].map(|atomics| {
        let merged = apply(object, configuration, schema, atomics);
        assert_eq!(object.to_json(), before, "the object itself was changed");
        assert_eq!(merged, apply(object, configuration, schema, atomics), "another result the second time");
        merged
    });
    let input = || format!("{} on {before}", configuration.to_json());
    match (&refused, &replaced) {
        (Ok(refused), Ok(replaced)) => assert_eq!(refused, replaced, "{}", input()),
        (Err(ApplyError::Atomic(paths)), _) => assert!(!paths.is_empty(), "{}", input()),
        (Err(refused), Err(replaced)) => {
            assert_eq!(refused, replaced, "{}", input());
            assert!(!refused.to_string().is_empty());
        }
        _ => panic!("{refused:?} and {replaced:?}: {}", input()),
    }
    if let Ok(merged) = replaced {
        let again = apply(&merged, configuration, schema, Atomics::Replaced);
        assert_eq!(again.as_ref(), Ok(&merged), "a second time changes something: {}", input());
    }
}

/// The value without some of its members and elements, and in another order.
fn part(value: &Value, choices: &mut Choices<'_>) -> Value {
    match value {
        Value::Object(members) => {
            let mut kept = Value::empty_object();
            for (key, member) in members.iter() {
                if !choices.once_in(2) {
                    kept.insert(key.clone(), part(member, choices));
                }
            }
            kept
        }
        Value::Array(items) => {
            let mut kept: Vec<Value> = Vec::new();
            for item in items.iter() {
                let at = choices.below(kept.len() + 1);
                if !choices.once_in(3) {
                    kept.insert(at, part(item, choices));
                }
            }
            kept.into()
        }
        _ if choices.once_in(4) => values::value(choices, 1),
        other => other.clone(),
    }
}
