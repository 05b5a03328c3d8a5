//! Small examples of both behaviors of legacy overlays.

use proptest::prelude::*;

use crate::patch::limits::MAX_STEPS;
use crate::patch::{LegacyBehavior, LegacyOverlay, LegacyPatches, Limit, Merged, PatchError, Schemas};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{MAX_DEPTH, Value};

const BEHAVIORS: [LegacyBehavior; 2] = [LegacyBehavior::Documented, LegacyBehavior::Native];

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

/// The result of an overlay: its JSON, `unmet at …`, or an error.
fn overlaid(overlay: &str, object: &str, behavior: LegacyBehavior) -> String {
    let overlay = match LegacyOverlay::prepare(&json(overlay), behavior) {
        Ok(overlay) => overlay,
        Err(error) => return format!("refused: {error}"),
    };
    match overlay.apply(&json(object), &Schemas::kubernetes(), &DivergenceTracker::default()) {
        Ok(Merged::Patched(after)) => after.to_json(),
        Ok(Merged::ConditionFailed(failed)) => {
            format!("unmet: {} at {}: {}", failed.overlay, failed.at, failed.reason)
        }
        Err(error) => format!("error: {}", error.original().unwrap_or_else(|| error.to_string())),
    }
}

#[test]
fn documented_overlays_follow_the_documentation() {
    for (overlay, object, expected) in [
        (r#"{"a":{"b":1}}"#, r#"{}"#, r#"{"a":{"b":1}}"#),
        (r#"{"a":{"b":1}}"#, r#"{"a":5}"#, r#"{"a":{"b":1}}"#),
        (r#"{"a":{}}"#, r#"{"a":{"b":1}}"#, r#"{"a":{"b":1}}"#),
        (r#"{"a":{}}"#, r#"{}"#, r#"{"a":{}}"#),
        (r#"{"a":{"+(b)":1}}"#, r#"{}"#, r#"{"a":{"b":1}}"#),
        (r#"{"+(a)":{"(b)":1,"c":2}}"#, r#"{}"#, r#"{"a":{"c":2}}"#),
        (r#"{"a":[1,"1"]}"#, r#"{"a":["1"]}"#, r#"{"a":["1",1]}"#),
        (r#"{"a":[[1]]}"#, r#"{"a":[[1],[2]]}"#, r#"{"a":[[1],[2]]}"#),
        (r#"{"a":[]}"#, r#"{"a":5}"#, r#"{"a":5}"#),
        (r#"{"a":[{"name":"x","v":1}]}"#, r#"{"a":[{"name":"x","v":2}]}"#, r#"{"a":[{"name":"x","v":1}]}"#),
        (
            r#"{"a":[{"k":"x","v":1}]}"#,
            r#"{"a":[{"k":"x","v":1,"w":2}]}"#,
            r#"{"a":[{"k":"x","v":1,"w":2}]}"#,
        ),
        (r#"{"a":[{"k":"x","+(v)":1}]}"#, r#"{"a":[{"k":"x"}]}"#, r#"{"a":[{"k":"x"},{"k":"x","v":1}]}"#),
        (r#"{"a":[{"+(v)":1}]}"#, r#"{"a":[{"k":1},{"v":2},3]}"#, r#"{"a":[{"k":1,"v":1},{"v":2},3]}"#),
        (r#"{"a":[{"+(v)":1}]}"#, r#"{"a":[]}"#, r#"{"a":[]}"#),
        (r#"{"a":[{"b":{"c":1}}]}"#, r#"{"a":[]}"#, r#"{"a":[{"b":{"c":1}}]}"#),
        (
            r#"{"a":[{"(n)":"x","v":1},{"(n)":"y","v":2}]}"#,
            r#"{"a":[{"n":"x"},{"n":"y"}]}"#,
            r#"{"a":[{"n":"x","v":1},{"n":"y","v":2}]}"#,
        ),
        (
            r#"{"a":[{"(n)":"x"},{"(n)":"z"}],"q":1}"#,
            r#"{"a":[{"n":"x"},{"n":"y"}]}"#,
            "unmet: a[1] at a: no element matches the conditions",
        ),
        (r#"{"a":[{"(n)":"x"}]}"#, "{}", "unmet: a at a: the list is missing"),
        (r#"{"a":[{"(n)":"x"}]}"#, r#"{"a":[]}"#, "unmet: a[0] at a: the list is empty"),
        (r#"{"a":[{"(n)":"x"}]}"#, r#"{"a":7}"#, "unmet: a at a: value is no list"),
        (
            r#"{"a":[{"(n)":"x"}]}"#,
            r#"{"a":[{"n":"y"}]}"#,
            "unmet: a[0].(n) at a[0].n: value does not match the pattern",
        ),
        // The entire value is the condition, and its type counts.
        (r#"{"(a)":"x"}"#, r#"{"a":["x"]}"#, "unmet: (a) at a: value is a list"),
        (r#"{"(a)":"*"}"#, r#"{"a":{}}"#, "unmet: (a) at a: value is an object"),
        (
            r#"{"(a)":{"b":{"c":"x*"}},"q":1}"#,
            r#"{"a":{"b":{"c":"xy","d":1}}}"#,
            r#"{"a":{"b":{"c":"xy","d":1}},"q":1}"#,
        ),
        (r#"{"(a)":{"b":1}}"#, r#"{"a":{}}"#, "unmet: (a) at a.b: key \"b\" is missing"),
        (r#"{"(a)":{"+(b)":1}}"#, r#"{"a":{}}"#, "unmet: (a) at a.b: key \"b\" is missing"),
        (r#"{"(a)":["x","y"],"q":1}"#, r#"{"a":["y","x"]}"#, r#"{"a":["y","x"],"q":1}"#),
        (r#"{"(a)":["x","y"]}"#, r#"{"a":["y"]}"#, "unmet: (a) at a: no element matches a listed pattern"),
        (r#"{"(a)":">=5","q":1}"#, r#"{"a":7}"#, r#"{"a":7,"q":1}"#),
        // A condition and the key that it tests may be in one map.
        (r#"{"(a)":"x","a":"y"}"#, r#"{"a":"x"}"#, r#"{"a":"y"}"#),
        // What a condition selects is decided before anything is written.
        (
            r#"{"a":[{"(n)":"x","n":"y"},{"(n)":"y","v":1}]}"#,
            r#"{"a":[{"n":"x"},{"n":"y"}]}"#,
            r#"{"a":[{"n":"y"},{"n":"y","v":1}]}"#,
        ),
        (r#"{"a":{"<(b)":1}}"#, "{}", "refused: anchor `<(b)` at `a` has no meaning in a patch"),
        (r#"{"f(b)":1}"#, "{}", "refused: anchor `f(b)` at `` has no meaning in a patch"),
        (r#"{"fn(b)":1}"#, "{}", r#"{"fn(b)":1}"#),
        (
            r#"{"a":[null]}"#,
            "{}",
            "refused: an overlay cannot delete: null at `a[0]`, use `patches` with `remove`",
        ),
        (r#"[]"#, "{}", "refused: an overlay must be an object, found array"),
    ] {
        assert_eq!(overlaid(overlay, object, LegacyBehavior::Documented), expected, "{overlay} on {object}");
    }
}

#[test]
fn native_overlays_follow_kyverno_1_1() {
    for (overlay, object, expected) in [
        (r#"{"a":["x"]}"#, r#"{"a":["x"]}"#, r#"{"a":["x","x"]}"#),
        (
            r#"{"a":["x"]}"#,
            r#"{"a":[1]}"#,
            "error: overlay and resource have different element types in the list at `a`",
        ),
        (
            r#"{"a":[{"(n)":"x","v":1}]}"#,
            r#"{"a":[{"n":"x"},{"n":"y"}]}"#,
            r#"{"a":[{"n":"x","v":1},{"n":"y","v":1}]}"#,
        ),
        (r#"{"a":[{"(n)":"x"},{"(n)":"z"}],"q":1}"#, r#"{"a":[{"n":"x"}]}"#, r#"{"a":[{"n":"x"}],"q":1}"#),
        (r#"{"(a)":5}"#, r#"{"a":5}"#, "unmet: (a) at a: value does not match the pattern"),
        (r#"{"(a)":">5"}"#, r#"{"a":7}"#, "unmet: (a) at a: value does not match the pattern"),
        (r#"{"a":null}"#, "{}", r#"{"a":null}"#),
        (r#"{"a":null}"#, r#"{"a":1}"#, "error: Overlay has unsupported type: <nil> at `a`"),
        (r#"{"a":1}"#, r#"{"a":"x"}"#, r#"{"a":1}"#),
    ] {
        assert_eq!(overlaid(overlay, object, LegacyBehavior::Native), expected, "{overlay} on {object}");
    }
}

#[test]
fn a_map_applied_to_a_list_is_a_divergence_if_it_changes_something() {
    let overlay = LegacyOverlay::prepare(&json(r#"{"a":{"+(b)":1}}"#), LegacyBehavior::Documented).unwrap();
    for (object, announced) in
        [(r#"{"a":[{"c":1}]}"#, true), (r#"{"a":[{"b":1}]}"#, false), (r#"{"a":{"c":1}}"#, false)]
    {
        let tracker = DivergenceTracker::default();
        overlay.apply(&json(object), &Schemas::kubernetes(), &tracker).unwrap();
        assert_eq!(tracker.reached().contains(Divergence::LegacyBroadcast), announced, "{object}");
    }
}

#[test]
fn depth_and_work_are_bounded() {
    let deep = (0..=MAX_DEPTH).fold(Value::from(1), |inner, _| Value::from_iter([("a", inner)]));
    for behavior in BEHAVIORS {
        let refused = LegacyOverlay::prepare(&deep, behavior).unwrap_err();
        assert_eq!(refused, PatchError::Limit(Limit::Depth));
        let operation =
            Value::from_iter([("op", "add".into()), ("path", "/a".into()), ("value", deep.clone())]);
        let patches = LegacyPatches::from_value(&Value::array(vec![operation]), behavior).unwrap();
        assert_eq!(patches.apply(&json("{}")).unwrap_err(), PatchError::Limit(Limit::Depth));
    }
    let many = |prefix: &str| -> Value {
        Value::array((0..2000).map(|number| Value::from(format!("{prefix}{number}"))).collect())
    };
    let item = |name: Value| Value::from_iter([("k", name)]);
    let items = |prefix: &str| -> Value {
        Value::array(many(prefix).as_array().unwrap().iter().cloned().map(item).collect())
    };
    const { assert!(2000 * 2000 > MAX_STEPS) };
    let overlay = Value::from_iter([("a", items("x"))]);
    let overlay = LegacyOverlay::prepare(&overlay, LegacyBehavior::Documented).unwrap();
    let object = Value::from_iter([("a", items("y"))]);
    let applied = overlay.apply(&object, &Schemas::kubernetes(), &DivergenceTracker::default());
    assert_eq!(applied.unwrap_err(), PatchError::Limit(Limit::Steps));
    let operation = Value::from_iter([("op", "add".into()), ("path", "/a/0".into()), ("value", many("x"))]);
    let patches =
        LegacyPatches::from_value(&Value::array(vec![operation]), LegacyBehavior::Documented).unwrap();
    let object = Value::from_iter([("a", many("y"))]);
    assert_eq!(patches.apply(&object).unwrap_err(), PatchError::Limit(Limit::Steps));
}

/// What patches make of an object.
fn patched(patches: &str, object: &str, behavior: LegacyBehavior) -> String {
    let words = |error: &PatchError| error.original().unwrap_or_else(|| error.to_string());
    match LegacyPatches::from_value(&json(patches), behavior).map(|patches| patches.apply(&json(object))) {
        Ok(Ok(after)) => after.to_json(),
        Ok(Err(error)) => format!("error: {}", words(&error)),
        Err(error) => format!("refused: {}", words(&error)),
    }
}

#[test]
fn documented_patches_follow_the_documentation() {
    for (patches, object, expected) in [
        (r#"[{"op":"add","path":"/l/0","value":[1,2]}]"#, r#"{}"#, r#"{"l":[1,2]}"#),
        (r#"[{"op":"add","path":"/l/-/","value":[1,2]}]"#, r#"{"l":[2,3]}"#, r#"{"l":[2,3,1]}"#),
        (r#"[{"op":"add","path":"/l/0","value":[1]}]"#, r#"{"l":[[2]]}"#, r#"{"l":[[1],[2]]}"#),
        (r#"[{"op":"replace","path":"/l/1","value":[1,2]}]"#, r#"{"l":[7,8,9]}"#, r#"{"l":[7,1,2,9]}"#),
        (r#"[{"op":"replace","path":"/l/0","value":[9]}]"#, r#"{"l":[7,9]}"#, r#"{"l":[7,9]}"#),
        (r#"[{"op":"replace","path":"/l/0","value":[7,8]}]"#, r#"{"l":[7,9]}"#, r#"{"l":[7,8,9]}"#),
        (r#"[{"op":"replace","path":"/l/2","value":5}]"#, r#"{"l":[7,9]}"#, r#"{"l":[7,9,5]}"#),
        (r#"[{"op":"add","path":"/l","value":[5]}]"#, r#"{"l":[7]}"#, r#"{"l":[5]}"#),
        (r#"[{"op":"add","path":"/a~1b/c","value":5}]"#, "{}", r#"{"a/b":{"c":5}}"#),
        (r#"[{"op":"remove","path":"/l/x"},{"op":"remove","path":"/a/b"}]"#, r#"{"l":[7]}"#, r#"{"l":[7]}"#),
        (
            r#"[{"op":"add","path":"/metadata","value":{"labels":{"a":1}}}]"#,
            "{}",
            r#"{"metadata":{"labels":{"a":"1"}}}"#,
        ),
        (
            r#"[{"op":"replace","path":"/l/3","value":5}]"#,
            r#"{"l":[7,9]}"#,
            "error: failed to process JSON patches: error in replace for path: '/l/3': \
             Unable to access invalid index: 3: invalid index referenced",
        ),
        (
            r#"[{"op":"add","path":"","value":{}}]"#,
            "{}",
            "refused: failed to decode patches: invalid operation 1 (): path must begin with a forward slash",
        ),
        (
            r#"[{"op":"test","path":"/a","value":1}]"#,
            "{}",
            "refused: failed to decode patches: invalid operation 1 (/a): unsupported operation, expected one of \
             add, replace, remove",
        ),
    ] {
        assert_eq!(patched(patches, object, LegacyBehavior::Documented), expected, "{patches} on {object}");
    }
}

#[test]
fn native_patches_create_no_parents_and_count_from_the_start() {
    for (patches, object, expected) in [
        (r#"[{"op":"replace","path":"/a","value":1}]"#, "{}", r#"{"a":1}"#),
        (r#"[{"op":"add","path":"/l/0","value":[1]}]"#, r#"{"l":[2]}"#, r#"{"l":[[1],2]}"#),
        (r#"[{"op":"remove","path":"/l/-1"}]"#, r#"{"l":[2]}"#, r#"{"l":[2]}"#),
        (
            r#"[{"op":"add","path":"/l/-1","value":1},{"op":"add","path":"/a/b","value":1}]"#,
            r#"{"l":[2]}"#,
            "error: failed to process JSON patches: error in add for path: '/l/-1': Unable to access invalid \
             index: -1: invalid index referenced; add operation does not apply: doc is missing path: /a/b: \
             missing value",
        ),
    ] {
        assert_eq!(patched(patches, object, LegacyBehavior::Native), expected, "{patches} on {object}");
    }
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        "[ab*?|]{0,2}".prop_map(Value::from),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let key = r"(\(|\+\()?(a|b|name|metadata|labels|0|-)\)?";
    leaf().prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::array),
            prop::collection::vec((key, inner), 0..4).prop_map(Value::from_iter),
        ]
    })
}

fn any_patches() -> impl Strategy<Value = Value> {
    let operation = (
        prop::sample::select(vec!["add", "replace", "remove"]),
        r"(/(a|b|name|metadata|labels|0|1|7|-|-1|)){1,4}",
        any_value(),
    );
    let operation = operation.prop_map(|(op, path, value)| {
        Value::from_iter([("op", op.into()), ("path", path.into()), ("value", value)])
    });
    prop::collection::vec(operation, 0..4).prop_map(Value::array)
}

proptest! {
    #[test]
    fn arbitrary_overlays_never_panic(overlay in any_value(), object in any_value()) {
        for behavior in BEHAVIORS {
            let Ok(overlay) = LegacyOverlay::prepare(&overlay, behavior) else { continue };
            let _merged = overlay.apply(&object, &Schemas::kubernetes(), &DivergenceTracker::default());
        }
    }

    #[test]
    fn arbitrary_patches_never_panic(patches in any_patches(), object in any_value()) {
        for behavior in BEHAVIORS {
            let Ok(patches) = LegacyPatches::from_value(&patches, behavior) else { continue };
            let _patched = patches.apply(&object);
        }
    }

    #[test]
    fn arbitrary_values_never_panic_as_patches(patches in any_value()) {
        for behavior in BEHAVIORS {
            let _read = LegacyPatches::from_value(&patches, behavior);
        }
    }
}
