//! JSON patches between objects: another implementation applies them, and none is obviously longer than needed.

use kyv::render::json_patch;
use kyv::value::{Pointer, Segment, Value, shortest_changes};
use proptest::prelude::*;

fn theirs(value: &Value) -> serde_json::Value {
    serde_json::from_str(&value.to_json()).expect("what is written as JSON is JSON")
}

/// The patch, and the result of applying it with another implementation.
fn patched(before: &Value, after: &Value) -> (String, serde_json::Value) {
    let patch = json_patch(&shortest_changes(before, after));
    let operations: ::json_patch::Patch = serde_json::from_value(theirs(&patch)).expect("RFC 6902");
    let mut made = theirs(before);
    ::json_patch::patch(&mut made, &operations).expect("the patch applies");
    (patch.to_json(), made)
}

#[test]
fn patches_are_minimal() {
    for (before, after, expected) in [
        (r#"{"a":1}"#, r#"{"a":1}"#, "[]"),
        (
            r#"{"metadata":{"name":"web"},"spec":{"replicas":1}}"#,
            r#"{"metadata":{"name":"web","labels":{"a/b":"c"}},"spec":{"replicas":2}}"#,
            r#"[{"op":"add","path":"/metadata/labels","value":{"a/b":"c"}},{"op":"replace","path":"/spec/replicas","value":2}]"#,
        ),
        (
            r#"{"metadata":{"annotations":{"a/b":"c","d":"e"}}}"#,
            r#"{"metadata":{"annotations":{"d":"e"}}}"#,
            r#"[{"op":"remove","path":"/metadata/annotations/a~1b"}]"#,
        ),
        (
            r#"{"args":["--port=80","--verbose","--name=web","--address=0.0.0.0","--level=2"]}"#,
            r#"{"args":["--first","--port=80","--name=web","--address=0.0.0.0","--level=2"]}"#,
            r#"[{"op":"add","path":"/args/0","value":"--first"},{"op":"remove","path":"/args/2"}]"#,
        ),
        (
            r#"{"containers":[{"name":"one","image":"one:1"},{"name":"two","image":"registry.example/two:1","args":["--verbose"]}]}"#,
            r#"{"containers":[{"name":"two","image":"registry.example/two:1","args":["--verbose"],"tty":true}]}"#,
            r#"[{"op":"remove","path":"/containers/0"},{"op":"add","path":"/containers/0/tty","value":true}]"#,
        ),
        (
            r#"{"data":{"one":"1","two":"2","three":"3"}}"#,
            r#"{"data":{"four":"4"}}"#,
            r#"[{"op":"replace","path":"/data","value":{"four":"4"}}]"#,
        ),
        (r#"{"a":null}"#, r#"{"a":{}}"#, r#"[{"op":"replace","path":"/a","value":{}}]"#),
        (
            r#"{"a":1,"b":2}"#,
            r#"{"c":1}"#,
            r#"[{"op":"remove","path":"/a"},{"op":"remove","path":"/b"},{"op":"add","path":"/c","value":1}]"#,
        ),
    ] {
        let (before, after) = (Value::from_json(before).unwrap(), Value::from_json(after).unwrap());
        let (patch, made) = patched(&before, &after);
        assert_eq!(patch, expected);
        assert_eq!(made, theirs(&after), "{patch}");
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4i64).prop_map(Value::from),
        "[ab~/\"é]{0,6}".prop_map(Value::from),
        Just(Value::from("a longer text that costs something")),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::array),
            proptest::collection::vec(("[abc/~]{0,3}", inner), 0..6).prop_map(|members| members
                .iter()
                .map(|(key, value)| (key.as_str(), value.clone()))
                .collect()),
        ]
    })
}

/// Random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A value that is similar to another.
fn near(value: &Value, other: &Value, dice: &mut Dice) -> Value {
    match value {
        _ if dice.roll(12) == 0 => other.clone(),
        Value::Array(items) => {
            let mut made = Vec::new();
            for item in items.iter() {
                match dice.roll(6) {
                    0 => {}
                    1 => made.extend([other.clone(), item.clone()]),
                    2 => made.insert(0, item.clone()),
                    3 => made.push(near(item, other, dice)),
                    _ => made.push(item.clone()),
                }
            }
            Value::array(made)
        }
        Value::Object(members) => {
            let mut made = Value::empty_object();
            for (key, member) in members.iter().filter(|_| dice.roll(7) > 0).collect::<Vec<_>>() {
                made.insert(key.clone(), near(member, other, dice));
            }
            if dice.roll(5) == 0 {
                made.insert("new", other.clone());
            }
            made
        }
        value => value.clone(),
    }
}

/// The pointers of all objects and lists that are in no list.
fn parents(value: &Value, at: &Pointer, found: &mut Vec<Pointer>) {
    for (key, member) in value.as_object().into_iter().flatten() {
        let at = at.key(key.clone());
        if member.as_object().is_some() || member.as_array().is_some() {
            found.push(at.clone());
        }
        parents(member, &at, found);
    }
}

fn check(before: &Value, after: &Value) -> Result<(), TestCaseError> {
    let (patch, made) = patched(before, after);
    let shown = format!("{}\n{}\n{patch}", before.to_json(), after.to_json());
    prop_assert_eq!(made, theirs(after), "{}", shown);
    let changes = shortest_changes(before, after);
    let taken = |from: &Pointer| {
        let below: Vec<_> = changes.iter().filter(|change| from.contains(&change.pointer)).cloned().collect();
        (below.len(), json_patch(&below).to_json().len())
    };
    let mut places = Vec::new();
    parents(before, &Pointer::ROOT, &mut places);
    for place in places {
        let Some(value) = after.pointed(&place) else { continue };
        let keys = place.segments().iter().all(|segment| matches!(segment, Segment::Key(_)));
        let whole = format!(
            "[{{\"op\":\"replace\",\"path\":{},\"value\":{}}}]",
            Value::from(place.to_json_pointer()).to_json(),
            value.to_json()
        );
        let (count, length) = taken(&place);
        prop_assert!(!keys || count == 0 || length <= whole.len() + 4, "{} is shorter: {}", whole, shown);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn patches_of_any_values_apply(before in value(), after in value()) {
        check(&before, &after)?;
    }

    #[test]
    fn patches_of_similar_values_apply(before in value(), other in value(), seed in any::<u64>()) {
        let after = near(&before, &other, &mut Dice(seed));
        check(&before, &after)?;
    }
}
