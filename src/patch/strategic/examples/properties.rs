//! Properties of all objects and overlays.

use proptest::collection::{btree_map, vec};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::sample::select;

use crate::patch::{JsonPatch, Merged};
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::Value;

use super::{BOTH, applied_value};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        select(vec!["a", "b", "x*", "*", "1", "(t)", ""]).prop_map(Value::from),
        (0_i64..3).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ]
}

fn anchored(plain: &'static str, anchors: bool) -> impl Strategy<Value = String> {
    select(if anchors { vec!["", "", "", "(", "+(", "<("] } else { vec![""] }).prop_map(move |anchor| {
        let end = if anchor.is_empty() { "" } else { ")" };
        format!("{anchor}{plain}{end}")
    })
}

fn members(names: &'static [&'static str], anchors: bool) -> impl Strategy<Value = Value> {
    let key = select(names).prop_flat_map(move |name| anchored(name, anchors));
    btree_map(key, scalar(), 0..3).prop_map(|members| members.into_iter().collect())
}

/// A list of maps that have at most one of each name.
fn list(key: &'static str, names: &'static [&'static str], anchors: bool) -> impl Strategy<Value = Value> {
    let key = anchored(key, anchors);
    let element = (key, select(vec!["a", "b", "c", "d"]), members(names, anchors));
    vec(element, 0..4).prop_map(move |elements| {
        let mut seen = Vec::new();
        let mut items = Vec::new();
        for (key, name, mut element) in elements {
            if anchors || !seen.contains(&name) {
                element.insert(key.as_str(), Value::from(name));
                items.push(element);
            }
            seen.push(name);
        }
        Value::array(items)
    })
}

fn document(anchors: bool) -> impl Strategy<Value = Value> {
    (
        anchored("hostNetwork", anchors),
        scalar(),
        anchored("selector", anchors),
        members(&["u", "v", "w"], anchors),
        list("name", &["image", "u", "v"], anchors),
        list("key", &["operator", "u"], anchors),
        members(&["a", "b"], anchors),
    )
        .prop_map(|(host, host_value, selector, map, containers, tolerations, labels)| {
            let spec = [
                (host.as_str(), host_value),
                (selector.as_str(), map),
                ("containers", containers),
                ("tolerations", tolerations),
            ];
            let metadata: Value = [("labels", labels)].into_iter().collect();
            [("metadata", metadata), ("spec", spec.into_iter().collect())].into_iter().collect()
        })
}

fn object() -> impl Strategy<Value = Value> {
    (document(false), any::<bool>()).prop_map(|(mut object, known)| {
        object.insert("apiVersion", Value::from(if known { "v1" } else { "ex.io/v1" }));
        object.insert("kind", Value::from(if known { "Pod" } else { "Widget" }));
        object
    })
}

proptest! {
    #[test]
    fn an_empty_overlay_changes_nothing(base in object()) {
        let (merged, _) = applied_value(&base, &Value::empty_object(), Semantics::Documented);
        assert_eq!(merged.unwrap(), Merged::Patched(base));
    }

    #[test]
    fn overlays_without_anchors_are_idempotent(base in object(), overlay in document(false)) {
        for semantics in BOTH {
            let apply = |object: &Value| applied_value(object, &overlay, semantics).0;
            if let Ok(Merged::Patched(once)) = apply(&base) {
                assert_eq!(apply(&once).unwrap(), Merged::Patched(once.clone()), "{semantics}");
            }
        }
    }

    #[test]
    fn a_failed_condition_changes_nothing(base in object(), mut overlay in document(true)) {
        let failing: Value = [("(nowhere)", Value::from("*"))].into_iter().collect();
        overlay.insert("status", failing);
        for semantics in BOTH {
            let before = base.to_json();
            let merged = applied_value(&base, &overlay, semantics).0.unwrap();
            assert!(matches!(merged, Merged::ConditionFailed(_)), "{semantics} {merged:?}");
            assert_eq!(base.to_json(), before);
        }
    }

    #[test]
    fn divergent_results_have_a_divergence(base in object(), overlay in document(true)) {
        let run = |semantics| {
            let (merged, reached) = applied_value(&base, &overlay, semantics);
            let state = match merged {
                Ok(Merged::Patched(value)) => Some(value),
                Ok(Merged::ConditionFailed(_)) => Some(base.clone()),
                Err(_) => None,
            };
            (state, reached)
        };
        let (documented, reached) = run(Semantics::Documented);
        let (kyverno, reached_there) = run(Semantics::Kyverno);
        assert_eq!(reached, reached_there);
        assert_eq!(documented != kyverno, !reached.is_empty());
    }

    #[test]
    fn elements_do_not_depend_on_each_other(
        items in list("key", &["operator", "u"], false),
        chosen in select(vec!["*", "a", "b | c"]),
        mut element in members(&["operator", "u", "v"], true),
    ) {
        element.insert("(key)", Value::from(chosen));
        let nested = |items: Value| -> Value {
            let spec: Value = [("tolerations", items)].into_iter().collect();
            [("spec", spec)].into_iter().collect()
        };
        let overlay = nested(Value::array(vec![element]));
        let apply = |items: &[Value]| {
            let object = nested(Value::array(items.to_vec()));
            match applied_value(&object, &overlay, Semantics::Documented).0.unwrap() {
                Merged::Patched(value) => value.path(&["spec", "tolerations"]).unwrap().as_array().unwrap().to_vec(),
                Merged::ConditionFailed(_) => items.to_vec(),
            }
        };
        let items = items.as_array().unwrap();
        let alone: Vec<Value> = items.iter().flat_map(|item| apply(std::slice::from_ref(item))).collect();
        assert_eq!(apply(items), alone);
    }

    #[test]
    fn json_patches_do_not_panic(
        base in object(),
        steps in vec((0_usize..6, "(/(spec|containers|[-]?[0-9]|a|~1|-)){0,4}", "(/(spec|tolerations|0|u)){0,3}"), 0..6),
    ) {
        let names = ["add", "remove", "replace", "move", "copy", "test"];
        let operations = steps.iter().map(|(kind, path, from)| {
            let text = |text: &str| Value::from(text);
            [("op", text(names[*kind])), ("path", text(path)), ("from", text(from)), ("value", text("v"))]
                .into_iter()
                .collect()
        });
        let patch = JsonPatch::from_value(&operations.collect::<Vec<Value>>().into()).unwrap();
        for semantics in BOTH {
            let before = base.to_json();
            drop(patch.apply(&base, &DivergenceTracker::new(semantics)));
            assert_eq!(base.to_json(), before);
        }
    }
}
