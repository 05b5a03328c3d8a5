//! Results and errors of operations.

use super::*;

const BASE: &str = r#"{"spec":{"c":["a","b","c"],"m":{"x":1},"n":[null,"b"],"s":"t"}}"#;

fn applied(base: &str, patch: &str, semantics: Semantics) -> (Result<String, String>, String) {
    let tracker = DivergenceTracker::new(semantics);
    let base = Value::from_json(base).unwrap();
    let result = JsonPatch::parse(patch).and_then(|patch| patch.apply(&base, &tracker));
    let reached = tracker.reached().iter().map(|divergence| divergence.to_string());
    (
        result
            .map(|value| value.to_json())
            .map_err(|error| error.original().unwrap_or_else(|| error.to_string())),
        reached.collect::<Vec<_>>().join(" "),
    )
}

fn spec(result: Result<String, String>) -> Result<String, String> {
    result.map(|text| text.strip_prefix(r#"{"spec":"#).unwrap().strip_suffix('}').unwrap().into())
}

/// The result of one operation on [`BASE`], which is the same under both semantics.
fn agreed(operation: &str) -> Result<String, String> {
    let [documented, kyverno] = [Semantics::Documented, Semantics::Kyverno].map(|semantics| {
        let (result, reached) = applied(BASE, &format!("[{operation}]"), semantics);
        assert_eq!(reached, "", "{operation} {semantics}");
        result
    });
    assert_eq!(documented, kyverno, "{operation}");
    kyverno
}

#[test]
fn both_semantics_apply_operations_alike() {
    for (operation, expected) in [
        (r#"{"op":"add","path":"/spec/c/1","value":"q"}"#, r#""c":["a","q","b","c"]"#),
        (r#"{"op":"add","path":"/spec/c/3","value":"q"}"#, r#""c":["a","b","c","q"]"#),
        (r#"{"op":"add","path":"/spec/c/-","value":"q"}"#, r#""c":["a","b","c","q"]"#),
        (r#"{"op":"add","path":"/spec/c/-1","value":"q"}"#, r#""c":["a","b","c","q"]"#),
        (r#"{"op":"add","path":"/spec/c/-2","value":"q"}"#, r#""c":["a","b","q","c"]"#),
        (r#"{"op":"add","path":"/spec/c/-4","value":"q"}"#, r#""c":["q","a","b","c"]"#),
        (r#"{"op":"add","path":"/spec/c/-4/k","value":1}"#, r#""c":[{"k":1},"a","b","c"]"#),
        (r#"{"op":"add","path":"/spec/m","value":7}"#, r#""m":7"#),
        (r#"{"op":"add","path":"/spec/m/a~1b~0c","value":1}"#, r#""m":{"x":1,"a/b~c":1}"#),
        (r#"{"op":"add","path":"/spec/m/k/","value":1}"#, r#""m":{"x":1,"k":{"":1}}"#),
        (r#"{"op":"add","path":"/spec/z/0","value":"q"}"#, r#""z":["q"]"#),
        (r#"{"op":"add","path":"/spec/z/-","value":"q"}"#, r#""z":["q"]"#),
        (r#"{"op":"add","path":"/spec/z/-1","value":"q"}"#, r#""z":["q"]"#),
        (r#"{"op":"add","path":"/spec/z/0/k","value":"q"}"#, r#""z":[{"k":"q"}]"#),
        (r#"{"op":"add","path":"/spec/z/-1/k","value":"q"}"#, r#""z":[{"k":"q"}]"#),
        (r#"{"op":"add","path":"/spec/y/z/k","value":"q"}"#, r#""y":{"z":{"k":"q"}}"#),
        (r#"{"op":"replace","path":"/spec/c/-1","value":"q"}"#, r#""c":["a","b","q"]"#),
        (r#"{"op":"replace","path":"/spec/m/x","value":null}"#, r#""m":{"x":null}"#),
        (r#"{"op":"replace","path":"/spec/m/","value":2}"#, r#""m":{"x":1,"":2}"#),
        (r#"{"op":"remove","path":"/spec/c/-1"}"#, r#""c":["a","b"]"#),
        (r#"{"op":"remove","path":"/spec/c/007"}"#, r#""c":["a","b","c"]"#),
        (r#"{"op":"remove","path":"/spec/c/01"}"#, r#""c":["a","c"]"#),
        (r#"{"op":"remove","path":"/spec/c/-9"}"#, r#""c":["a","b","c"]"#),
        (r#"{"op":"remove","path":"/spec/q/r"}"#, r#""m":{"x":1}"#),
        (r#"{"op":"remove","path":""}"#, r#""m":{"x":1}"#),
        (r#"{"op":"move","from":"/spec/c/0","path":"/spec/c/2"}"#, r#""c":["b","c","a"]"#),
        (r#"{"op":"copy","from":"/spec/c/0","path":"/spec/c/-"}"#, r#""c":["a","b","c","a"]"#),
        (r#"{"op":"copy","from":"/spec/m","path":"/spec/m/y"}"#, r#""m":{"x":1,"y":{"x":1}}"#),
        (r#"{"op":"test","path":"/spec/m/x","value":1.0}"#, r#""m":{"x":1}"#),
        (r#"{"op":"test","path":"/spec/m/y"}"#, r#""m":{"x":1}"#),
    ] {
        let result = agreed(operation).unwrap();
        assert!(result.contains(expected), "{operation}: {result}");
    }
}

#[test]
fn both_semantics_refuse_operations_alike() {
    for (operation, expected) in [
        (
            r#"{"op":"add","path":"/spec/c/9","value":"q"}"#,
            "error in add for path: '/spec/c/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            r#"{"op":"add","path":"/spec/c/x","value":"q"}"#,
            "error in add for path: '/spec/c/x': value was not a proper array index: 'x'",
        ),
        (
            r#"{"op":"add","path":"/spec/c/-/y","value":"q"}"#,
            "add operation does not apply: doc is missing path: /spec/c/-/y: missing value",
        ),
        (
            r#"{"op":"add","path":"/spec//x","value":"q"}"#,
            "add operation does not apply: doc is missing path: /spec//x: missing value",
        ),
        (
            r#"{"op":"add","path":"/spec/z/-2","value":"q"}"#,
            "Unable to ensure path for negative index other than -1: -2: invalid index referenced",
        ),
        (
            r#"{"op":"add","path":"/spec/s/x","value":"q"}"#,
            "invalid state detected: a parent of '/spec/s/x' is neither an object nor a list",
        ),
        (
            r#"{"op":"replace","path":"/spec/c/9","value":"q"}"#,
            "replace operation does not apply: doc is missing key: /spec/c/9: missing value",
        ),
        (
            r#"{"op":"remove","path":"/spec/c/x"}"#,
            "error in remove for path: '/spec/c/x': value was not a proper array index: 'x'",
        ),
        (r#"{"op":"test","path":"/spec/m/x","value":"1"}"#, "testing value /spec/m/x failed: test failed"),
        (
            r#"{"op":"test","path":"/spec/q/x"}"#,
            "test operation does not apply: doc is missing path: /spec/q/x: missing value",
        ),
        (
            r#"{"op":"test","path":"/spec/c/9"}"#,
            "error in test for path: '/spec/c/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            r#"{"op":"move","from":"/spec/q","path":"/spec/z"}"#,
            "move operation does not apply: doc is missing from path: /spec/q: missing value",
        ),
        (
            r#"{"op":"move","from":"/spec/c/0","path":"/spec/z/y"}"#,
            "move operation does not apply: doc is missing destination path: /spec/z/y: missing value",
        ),
        (
            r#"{"op":"copy","from":"/spec/c/9","path":"/spec/z"}"#,
            "error in copy for path: '/spec/c/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            r#"{"op":"replace","path":"","value":1}"#,
            "replace of the whole document: value must be an object or a list",
        ),
    ] {
        assert_eq!(agreed(operation).unwrap_err(), expected, "{operation}");
    }
}

#[test]
fn divergences_are_named() {
    let missing = |part: &str, path: &str| {
        Err(format!("replace operation does not apply: doc is missing {part}: {path}: missing value"))
    };
    let data = |text: &str| Ok(text.to_owned());
    for (base, patch, documented, kyverno, divergence) in [
        (
            r#"{"spec":{"x":"z"}}"#,
            r#"{"op":"replace","path":"/spec/k","value":1}"#,
            data(r#"{"x":"z","k":1}"#),
            missing("key", "/spec/k"),
            "KYV-D01",
        ),
        (
            r#"{"spec":{}}"#,
            r#"{"op":"replace","path":"/spec/d/k","value":1}"#,
            data(r#"{"d":{"k":1}}"#),
            missing("path", "/spec/d/k"),
            "KYV-D01",
        ),
        (
            r#"{"spec":["b"]}"#,
            r#"{"op":"replace","path":"/spec/1","value":1}"#,
            data(r#"["b",1]"#),
            missing("key", "/spec/1"),
            "KYV-D01",
        ),
        (
            r#"{"spec":["b"]}"#,
            r#"{"op":"replace","path":"/spec/-","value":1}"#,
            data(r#"["b",1]"#),
            missing("key", "/spec/-"),
            "KYV-D01",
        ),
        (
            r#"{"spec":{}}"#,
            r#"{"op":"add","path":"/spec/data/3","value":"q"}"#,
            data(r#"{"data":{"3":"q"}}"#),
            data(r#"{"data":[null,null,null,"q"]}"#),
            "KYV-D26",
        ),
        (
            r#"{"spec":{}}"#,
            r#"{"op":"add","path":"/spec/zz/2/a","value":1}"#,
            data(r#"{"zz":{"2":{"a":1}}}"#),
            data(r#"{"zz":[null,null,{"a":1}]}"#),
            "KYV-D26",
        ),
        (
            r#"{"spec":{"c":["a"]}}"#,
            r#"{"op":"add","path":"/spec/c/3/a","value":1}"#,
            Err("error in add for path: '/spec/c/3/a': Unable to access invalid index: 3: invalid index referenced".into()),
            data(r#"{"c":["a",null,null,{"a":1}]}"#),
            "KYV-D26",
        ),
        (
            r#"{"spec":{"c":[null,"b"]}}"#,
            r#"{"op":"add","path":"/spec/c/0/a","value":1}"#,
            data(r#"{"c":[{"a":1},"b"]}"#),
            data(r#"{"c":[{"a":1},null,"b"]}"#),
            "KYV-D26",
        ),
        (
            r#"{"spec":{}}"#,
            r#"{"op":"add","path":"/spec/a~1b/c","value":1}"#,
            data(r#"{"a/b":{"c":1}}"#),
            Err("add operation does not apply: doc is missing path: /spec/a~1b/c: missing value".into()),
            "KYV-D26",
        ),
    ] {
        let patch = format!("[{patch}]");
        let (result, reached) = applied(base, &patch, Semantics::Documented);
        assert_eq!((spec(result), reached.as_str()), (documented, divergence), "{patch} documented");
        let (result, reached) = applied(base, &patch, Semantics::Kyverno);
        assert_eq!((spec(result), reached.as_str()), (kyverno, divergence), "{patch} kyverno");
    }
}

#[test]
fn later_operations_see_earlier_results_and_the_input_stays() {
    let base = Value::from_json(BASE).unwrap();
    let patch = JsonPatch::parse(
        r#"[{"op":"test","path":"/spec/m/x","value":1},{"op":"add","path":"/spec/m/y","value":2},
            {"op":"move","from":"/spec/m/y","path":"/spec/m/z"}]"#,
    );
    let patched = patch.unwrap().apply(&base, &DivergenceTracker::default()).unwrap();
    assert_eq!(patched.path(&["spec", "m"]).unwrap().to_json(), r#"{"x":1,"z":2}"#);
    assert_eq!(base, Value::from_json(BASE).unwrap());
    let untouched = |value: &Value| value.path(&["spec", "c"]).cloned().unwrap();
    assert!(untouched(&patched).same_storage(&untouched(&base)));
}

#[test]
fn growth_by_copies_and_nesting_by_moves_are_bounded() {
    let doubling = vec![r#"{"op":"copy","from":"/a","path":"/a/-"}"#; 60].join(",");
    for (element, limit) in [("0123456789", "100000 values"), (&"0123456789".repeat(10_000), "64 MiB")] {
        let base = format!(r#"{{"a":["{element}"]}}"#);
        let (result, _) = applied(&base, &format!("[{doubling}]"), Semantics::Documented);
        let error = format!("patch limit: more than {limit} copied, which no option changes");
        assert_eq!(result.unwrap_err(), error);
    }
    let nesting = vec![
        r#"{"op":"copy","from":"/a","path":"/b/a"},{"op":"move","from":"/b","path":"/a"},
        {"op":"add","path":"/b","value":{}}"#;
        300
    ]
    .join(",");
    let (result, _) = applied(r#"{"a":{},"b":{}}"#, &format!("[{nesting}]"), Semantics::Documented);
    assert_eq!(result.unwrap_err(), "patch limit: nested deeper than 256 levels");
    let padding = r#"[{"op":"add","path":"/a/100001","value":1}]"#;
    let (result, _) = applied("{}", padding, Semantics::Kyverno);
    assert_eq!(result.unwrap_err(), "patch limit: a list padded to more than 100000 elements");
}

#[test]
fn many_operations_on_a_long_list_do_what_each_alone_does() {
    let elements: Vec<String> = (0..5000).map(|number| format!("{{\"n\":{number}}}")).collect();
    let base = format!(r#"{{"spec":{{"c":[{}],"m":{{}}}}}}"#, elements.join(","));
    let apply = |document: &Value, operation: &str| {
        let patch = JsonPatch::parse(&format!("[{operation}]")).unwrap();
        patch.apply(document, &DivergenceTracker::default()).map_err(|error| error.to_string())
    };
    let add = |at: &str| format!(r#"{{"op":"add","path":"/spec/c/{at}","value":{{"at":"{at}"}}}}"#);
    let remove = |at: &str| format!(r#"{{"op":"remove","path":"/spec/c/{at}"}}"#);
    let moved = |kind: &str, from: &str, to: &str| {
        format!(r#"{{"op":"{kind}","from":"/spec/c/{from}","path":"/spec/c/{to}"}}"#)
    };
    let long: Vec<String> = [
        vec![add("0"); 1100],
        vec![add("2500"), remove("2500"), remove("9999"), remove("-1"), add("-"), add("-3"), add("-1")],
        vec![remove("1024"); 1100],
        vec![
            moved("move", "0", "-"),
            moved("move", "-1", "0"),
            moved("copy", "7", "4000"),
            moved("copy", "1", "1"),
        ],
        vec![r#"{"op":"replace","path":"/spec/c/3/n","value":"x"}"#.to_owned()],
        vec![add("3"); 9],
    ]
    .concat();
    let start = Value::from_json(&base).unwrap();
    let before = long.iter().fold(start.clone(), |document, operation| apply(&document, operation).unwrap());
    for last in [
        add("1"),
        add("9999"),
        add("x"),
        remove("x"),
        remove("-9999"),
        moved("move", "9999", "0"),
        moved("copy", "0", "9999"),
        moved("copy", "-", "0"),
        r#"{"op":"add","path":"/spec/c/0/k/l/m","value":1}"#.to_owned(),
        r#"{"op":"test","path":"/spec/c/0","value":1}"#.to_owned(),
    ] {
        let result = apply(&start, &format!("{},{last}", long.join(",")));
        assert!(result == apply(&before, &last), "{last}");
    }
}
