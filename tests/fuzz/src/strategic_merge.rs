//! Overlays: plain values arrive, a second time changes nothing where no condition asks, and where the two
//! semantics part a difference is named.

use kyv::patch::{MergeContext, Merged, Overlay, PatchError, Schemas};
use kyv::semantics::{Divergence, DivergenceSet, DivergenceTracker, Semantics};
use kyv::value::{GroupVersionKind, MAX_DEPTH, Value};

use super::input::{Choices, Input};
use super::values;

const OBJECT: &str = include_str!("rich-object.yaml");

/// Checks one input.
pub fn run(data: &[u8]) {
    let (overlay, object) = match Input::new(data) {
        Input::Text(parts) => {
            let (Some(overlay), Some(object)) = (values::parsed(parts.at(0)), values::parsed(parts.at(1)))
            else {
                return;
            };
            (overlay, object)
        }
        Input::Choices(mut choices) => {
            let Some(rich) = values::parsed(OBJECT) else { return };
            let object = values::edited(rich.clone(), &mut choices);
            let part =
                if choices.once_in(3) { values::value(&mut choices, 5) } else { pruned(&rich, &mut choices) };
            (values::edited(part, &mut choices), object)
        }
    };
    if object.depth() > MAX_DEPTH {
        return;
    }
    let (Some(documented), Some(kyverno)) = (
        Side::new(&overlay, &object, Semantics::Documented),
        Side::new(&overlay, &object, Semantics::Kyverno),
    ) else {
        return;
    };
    let input = || format!("{} on {}", overlay.to_json(), object.to_json());
    let differ = documented.state(&object) != kyverno.state(&object);
    let named = !documented.reached.is_empty();
    // Kyverno rounds integers when the overlay is prepared: then the sides merge different overlays.
    if !documented.prepared.contains(Divergence::RoundedInteger) {
        assert_eq!(documented.reached, kyverno.reached, "the sides name other differences: {}", input());
        assert!(differ || !named, "{:?} both times, and yet a difference: {}", documented.merged, input());
    }
    // What preparing reaches does not depend on the object, and need not show.
    let may_differ = named || !documented.prepared.is_empty();
    assert!(!differ || may_differ, "{:?} or {:?}: {}", documented.merged, kyverno.merged, input());
    if is_plain(&overlay) {
        for side in [&documented, &kyverno] {
            let Ok(Merged::Patched(once)) = &side.merged else { continue };
            // What Kyverno does otherwise, such as to elements that share a key, need not come to rest.
            if may_differ && side.semantics == Semantics::Kyverno {
                continue;
            }
            arrived(&overlay, once);
            // Lists of another kind may have other keys.
            if GroupVersionKind::of(once) != GroupVersionKind::of(&object) {
                continue;
            }
            let again = Side::new(&overlay, once, side.semantics).expect("prepared before");
            assert_eq!(
                again.state(once).as_ref(),
                Some(once),
                "a second time changes something: {}",
                input()
            );
        }
    }
}

struct Side {
    semantics: Semantics,
    prepared: DivergenceSet,
    merged: Result<Merged, PatchError>,
    reached: DivergenceSet,
}

impl Side {
    fn new(overlay: &Value, object: &Value, semantics: Semantics) -> Option<Self> {
        let tracker = DivergenceTracker::new(semantics);
        let overlay = match Overlay::prepare(overlay, &tracker) {
            Ok(overlay) => overlay,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return None;
            }
        };
        let prepared = tracker.reached();
        let tracker = DivergenceTracker::new(semantics);
        let before = object.to_json();
        let merged = overlay.apply(object, &MergeContext::new(&Schemas::kubernetes()), &tracker, None);
        assert_eq!(object.to_json(), before, "the object itself was changed");
        Some(Self { semantics, prepared, merged, reached: tracker.reached() })
    }

    /// What the object is afterwards; `None` after an error.
    fn state(&self, before: &Value) -> Option<Value> {
        match &self.merged {
            Ok(Merged::Patched(value)) => Some(value.clone()),
            Ok(Merged::ConditionFailed(_)) => Some(before.clone()),
            Err(_) => None,
        }
    }
}

/// Some of an object's nodes.
fn pruned(value: &Value, choices: &mut Choices<'_>) -> Value {
    const ANCHORS: &[&str] = &["", "", "", "", "(", "+(", "<("];
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|_| !choices.once_in(2))
            .map(|(key, member)| (key.clone(), member))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|(key, member)| {
                let anchor = *choices.one(ANCHORS);
                let key = if anchor.is_empty() { key.to_string() } else { format!("{anchor}{key})") };
                (key, pruned(member, choices))
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| pruned(item, choices)).collect::<Vec<_>>().into(),
        _ if choices.once_in(3) => values::value(choices, 1),
        other => other.clone(),
    }
}

/// Whether an overlay has neither anchors nor directives nor lists nor removals.
fn is_plain(overlay: &Value) -> bool {
    match overlay {
        Value::Object(members) => members
            .iter()
            .all(|(key, member)| !key.contains(['(', ')']) && !key.starts_with('$') && is_plain(member)),
        Value::Array(_) | Value::Null => false,
        _ => true,
    }
}

/// Checks that the object contains the values of the overlay.
fn arrived(overlay: &Value, object: &Value) {
    match overlay {
        Value::Object(members) => {
            for (key, member) in members.iter() {
                match object.get(key) {
                    Some(found) => arrived(member, found),
                    None => assert!(is_hollow(member), "`{key}` did not arrive"),
                }
            }
        }
        // The values of labels and annotations become texts.
        Value::Bool(_) if object.as_str() == Some(&overlay.to_json()) => {}
        Value::Number(number)
            if object.as_str().and_then(values::parsed).and_then(|text| Some(text.as_number()?.as_f64()))
                == Some(number.as_f64()) => {}
        scalar => assert_eq!(scalar, object, "another value arrived"),
    }
}

/// Whether a value holds no scalar.
fn is_hollow(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.values().all(is_hollow))
}
