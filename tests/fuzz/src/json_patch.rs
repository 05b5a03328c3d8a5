//! JSON patches: what RFC 6902 allows gives what it says, and a failed patch leaves no trace.

use kyv::patch::{JsonPatch, OperationKind};
use kyv::semantics::{DivergenceTracker, Semantics};
use kyv::value::{MAX_DEPTH, Value};

use super::input::{Choices, Input};
use super::values;

/// Checks one input.
pub fn run(data: &[u8]) {
    let (patch, object) = match Input::new(data) {
        Input::Text(parts) => {
            let Some(object) = values::parsed(parts.at(1)) else { return };
            (JsonPatch::parse(parts.at(0)), object)
        }
        Input::Choices(mut choices) => {
            let object = values::value(&mut choices, 4);
            let operations: Vec<Value> =
                (0..1 + choices.below(6)).map(|_| operation(&mut choices, &object)).collect();
            (JsonPatch::from_value(&operations.into()), object)
        }
    };
    let patch = match patch {
        Ok(patch) => patch,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if object.depth() > MAX_DEPTH {
        return;
    }
    let before = object.to_json();
    let [documented, kyverno] = [Semantics::Documented, Semantics::Kyverno].map(|semantics| {
        let tracker = DivergenceTracker::new(semantics);
        let outcome = patch.apply(&object, &tracker);
        assert_eq!(object.to_json(), before, "the object itself was changed");
        (outcome, tracker.reached())
    });
    if documented.0.as_ref().ok() != kyverno.0.as_ref().ok() {
        let named = !documented.1.is_empty() && !kyverno.1.is_empty();
        assert!(named, "the sides differ, unnamed: {:?} {:?}", documented.0, kyverno.0);
    }
    if documented.1.is_empty()
        && let Some(wanted) = by_the_book(&patch, &object)
    {
        let found = documented.0.unwrap_or_else(|error| panic!("{error}, and RFC 6902 allows it"));
        assert_eq!(found, wanted, "not what RFC 6902 says of {patch:?} on {before}");
    }
}

fn operation(choices: &mut Choices<'_>, object: &Value) -> Value {
    let mut members = vec![
        ("op", Value::from(*choices.one(&["add", "remove", "replace", "move", "copy", "test", "Add"]))),
        ("path", path(choices, object).into()),
    ];
    if !choices.once_in(8) {
        members.push(("from", path(choices, object).into()));
    }
    if !choices.once_in(8) {
        members.push(("value", values::value(choices, 2)));
    }
    members.into_iter().collect()
}

/// A path to a node of the object or near one.
fn path(choices: &mut Choices<'_>, object: &Value) -> String {
    let mut path = choices.one(&values::places(object)).to_json_pointer();
    for _ in 0..choices.below(3) {
        path.push('/');
        const INDEXES: &[&str] =
            &["-", "0", "1", "-1", "-2", "01", "+1", "99", "100001", "9999999999999999999"];
        if choices.once_in(2) {
            path += *choices.one(INDEXES);
        } else {
            path.push_str(&values::key(choices));
        }
    }
    path
}

/// What another implementation makes of the patch; `None` where it fails, or where numbers do not fit it.
fn by_the_book(patch: &JsonPatch, object: &Value) -> Option<Value> {
    let operations: Vec<Value> = patch
        .operations()
        .iter()
        .map(|operation| {
            let text = |text: &str| Value::from(text);
            Value::from_iter([
                ("op", text(operation.kind().name())),
                ("path", text(operation.path())),
                ("from", text(operation.from())),
                ("value", operation.value().clone()),
            ])
        })
        .collect();
    if patch.operations().iter().any(|operation| operation.path().is_empty() || !is_strict(operation.path()))
    {
        return None;
    }
    // It has no limits: copies of copies would not fit any memory.
    if patch.operations().iter().filter(|operation| operation.kind() == OperationKind::Copy).count() > 10 {
        return None;
    }
    let patch: json_patch::Patch = serde_json::from_value(theirs(&operations.into())?).ok()?;
    let mut document = theirs(object)?;
    // Without taking back what was done of a patch that fails: that panics.
    json_patch::patch_unsafe(&mut document, &patch).ok()?;
    Value::from_json(&document.to_string()).ok()
}

/// A value as the other implementation holds it; `None` where that is another value, as for long numbers.
fn theirs(value: &Value) -> Option<serde_json::Value> {
    let theirs: serde_json::Value = serde_json::from_str(&value.to_json()).ok()?;
    (Value::from_json(&theirs.to_string()).ok()? == *value).then_some(theirs)
}

/// Whether every `~` of a pointer starts an escape.
fn is_strict(pointer: &str) -> bool {
    pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']))
}
