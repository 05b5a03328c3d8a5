//! Examples of strategic merge, for both semantics.

mod properties;

use crate::diagnostics::Code;
use crate::patch::{
    FailedCondition, InlineError, InlineResolver, Limit, MergeContext, Merged, Overlay, PatchError, Schemas,
};
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Pointer, Segment, Value};
use crate::yaml::parse_value;

const BOTH: [Semantics; 2] = [Semantics::Documented, Semantics::Kyverno];

fn yaml(text: &str) -> Value {
    parse_value(text).unwrap()
}

/// An object of this kind.
fn object(kind: &str, text: &str) -> Value {
    let api_version = match kind {
        "Deployment" | "StatefulSet" => "apps/v1",
        "Widget" => "ex.io/v1",
        _ => "v1",
    };
    let mut object = yaml(text);
    object.insert("apiVersion", Value::from(api_version));
    object.insert("kind", Value::from(kind));
    object
}

/// The result of an overlay, and the divergences.
type Applied = (Result<Merged, PatchError>, String);

fn applied(base: &Value, overlay: &str, semantics: Semantics) -> Applied {
    applied_value(base, &yaml(overlay), semantics)
}

fn applied_value(base: &Value, overlay: &Value, semantics: Semantics) -> Applied {
    applied_with(base, overlay, semantics, &Schemas::kubernetes(), None)
}

fn applied_with(
    base: &Value,
    overlay: &Value,
    semantics: Semantics,
    schemas: &Schemas,
    inline: Option<&dyn InlineResolver>,
) -> Applied {
    let tracker = DivergenceTracker::new(semantics);
    let result = Overlay::prepare(overlay, &tracker)
        .and_then(|overlay| overlay.apply(base, &MergeContext::new(schemas), &tracker, inline));
    let reached: Vec<_> = tracker.reached().iter().map(|divergence| divergence.to_string()).collect();
    (result, reached.join(" "))
}

/// Checks examples, separated by empty lines. Each has the kind of an object and the object, a `patch`, the `documented`
/// result, the result of `kyverno` if it differs, and the expected `differences`. `=` is an unchanged object.
fn check(examples: &str) {
    let mut wrong = Vec::new();
    for example in examples.split("\n\n") {
        let lines: Vec<_> = example.lines().filter_map(|line| line.split_once(' ')).collect();
        let line = |name: &str| lines.iter().find(|line| line.0 == name).map(|line| line.1);
        let (kind, base) = lines.iter().find(|line| line.0 != "#").unwrap();
        let overlay = line("patch").unwrap();
        let documented = line("documented").unwrap();
        let kyverno = line("kyverno").unwrap_or(documented);
        for (semantics, expected) in [(Semantics::Documented, documented), (Semantics::Kyverno, kyverno)] {
            let base = object(kind, base);
            let (result, reached) = applied(&base, overlay, semantics);
            let shown = match &result {
                Ok(Merged::Patched(value)) if *value == base => "=".into(),
                Ok(Merged::Patched(value)) => value.to_json(),
                Ok(Merged::ConditionFailed(_)) => "=".into(),
                Err(error) => format!("error: {}", error.original().unwrap_or_else(|| error.to_string())),
            };
            let fits = match &result {
                Ok(Merged::Patched(value)) if expected.starts_with('{') => *value == object(kind, expected),
                _ => shown == expected,
            };
            if !fits || reached != line("differences").unwrap_or_default() {
                wrong.push(format!("{semantics}\n{example}\n{shown}\n{reached}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn both_semantics_agree() {
    check(include_str!("agreeing.txt"));
}

#[test]
fn the_semantics_diverge_as_listed() {
    check(include_str!("diverging.txt"));
}

/// Policies of Kyverno's documentation.
#[test]
fn policies_of_the_documentation_work() {
    check(include_str!("documentation.txt"));
}

/// Results of Kyverno 1.19, recorded from the real program. One line per case, tab-separated: kind, object, overlay and
/// result. The result is `=` if nothing changed, `crash` if the program crashed, or the start of the message after
/// `error: `.
#[test]
fn results_are_those_of_the_real_program() {
    let mut wrong = Vec::new();
    for line in include_str!("results.tsv").lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let [kind, base, overlay, expected] = fields[..] else { panic!("{line}") };
        let base = object(kind, base);
        let (result, _) = applied(&base, overlay, Semantics::Kyverno);
        let matches = match &result {
            Ok(Merged::Patched(value)) if expected == "=" => *value == base,
            Ok(Merged::ConditionFailed(_)) => expected == "=",
            Ok(Merged::Patched(value)) => {
                !expected.starts_with(['c', 'e']) && *value == object(kind, expected)
            }
            Err(error) => match expected.strip_prefix("error: ") {
                Some(text) => error.original().unwrap_or_else(|| error.to_string()).starts_with(text),
                None => expected == "crash",
            },
        };
        if !matches {
            wrong.push(format!("{line}\n  {result:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_failed_condition_has_paths_and_a_reason() {
    for (base, overlay, expected) in [
        (
            "{spec: {a: 1}}",
            "{spec: {(hostNetwork): true, x: 1}}",
            "spec.(hostNetwork) at spec.hostNetwork: key \"hostNetwork\" is missing",
        ),
        (
            "{spec: {hostNetwork: false}}",
            "{spec: {(hostNetwork): true}}",
            "spec.(hostNetwork) at spec.hostNetwork: value does not match the pattern",
        ),
        (
            "{spec: {s: {u: 1, w: {z: 2}}}}",
            "{spec: {(s): {u: 1, w: {z: 3}}}}",
            "spec.(s) at spec.s.w.z: value does not match the pattern",
        ),
        ("{spec: {s: {u: 1}}}", "{spec: {(s): {v: 1}}}", "spec.(s) at spec.s.v: key \"v\" is missing"),
        (
            "{spec: {containers: [{name: a, image: x}, {name: b, image: y}]}}",
            "{spec: {(containers): [{image: x}]}}",
            "spec.(containers) at spec.containers[1].image: value does not match the pattern",
        ),
        (
            "{spec: {containers: [{name: a, image: x}]}}",
            "{spec: {(containers): [{(image): y}]}}",
            "spec.(containers) at spec.containers: no element matches a listed pattern",
        ),
        (
            "{spec: {containers: [{name: a, image: x}, {name: b, image: y}]}}",
            "{spec: {containers: [{<(image): z}]}}",
            "global spec.containers[0].<(image) at spec.containers[0].image: value does not match the pattern",
        ),
        (
            "{spec: {q: 1}}",
            "{spec: {volumes: [{<(emptyDir): {}}]}}",
            "global spec.volumes[0].<(emptyDir) at spec.volumes: list is missing",
        ),
        (
            "{spec: {volumes: []}}",
            "{spec: {volumes: [{<(emptyDir): {}}]}}",
            "global spec.volumes[0].<(emptyDir) at spec.volumes: list is empty",
        ),
    ] {
        let (result, _) = applied(&object("Pod", base), overlay, Semantics::Documented);
        let Ok(Merged::ConditionFailed(FailedCondition { overlay: place, at, reason, global })) = result
        else {
            panic!("{base} {overlay}: {result:?}")
        };
        let kind = if global { "global " } else { "" };
        assert_eq!(format!("{kind}{place} at {at}: {reason}"), expected, "{base} {overlay}");
    }
}

#[test]
fn values_of_conditions_are_patterns() {
    for (value, pattern, holds) in [
        ("3", "'>1'", true),
        ("3", "3", true),
        ("false", "'false'", true),
        ("'true'", "true", true),
        ("[a1, a2]", "'a*'", true),
        ("[a1, b]", "'a*'", false),
        ("[]", "'a*'", true),
        ("[1, {a: 1}]", "'*'", false),
        ("{}", "'*'", false),
        ("{a: 1}", "{}", true),
        ("1", "{}", false),
        ("null", "null", true),
        ("null", "'*'", true),
        ("''", "null", false),
        ("0", "null", false),
        ("1Gi", "1024Mi", true),
        ("60s", "1m", true),
        ("a|b", "'a|b'", true),
        ("{a: 1, b: 2}", "{a: '*'}", true),
        ("{a: 1}", "{b: '*'}", false),
        ("{a: null}", "{a: '*'}", false),
        ("{a: 1}", "{b: null}", true),
        ("{a: 1}", "{(a): 1}", true),
        ("{a: 1}", "{(b): 1}", false),
        ("{a: 1}", "{<(b): 1}", true),
        ("{a: 1}", "{<(a): 2}", false),
        ("{a: 1}", "{=(b): 1, =(a): 1}", true),
        ("{a: 1}", "{=(a): 2}", false),
        ("{a: 1}", "{X(b): null}", true),
        ("{a: 1}", "{X(a): null}", false),
        ("{a: [{b: 1}, {b: 2}]}", "{^(a): [{b: 2}]}", true),
        ("{a: [{b: 1}, {b: 2}]}", "{^(a): [{b: 3}]}", false),
        ("{a: 1}", "{^(b): [{b: 3}]}", true),
        ("[{a: 1}, {a: 2}]", "[{a: '>0'}]", true),
        ("[{a: 1}, {a: 0}]", "[{a: '>0'}]", false),
        ("[{a: 1}, {b: 0}]", "[{(a): '>0'}]", true),
        ("[{b: 1}]", "[{(a): '>0'}]", false),
        ("[a, b]", "[a, b]", true),
        ("[b, a]", "[a, b]", true),
        ("[a]", "[a, b]", false),
        ("[a, b, c]", "[a, b]", false),
        ("[]", "[]", false),
        ("{a: 1}", "[a]", false),
        ("[[1, 2], [3]]", "[['>0']]", true),
        ("{metadata: {labels: {app1: x}}}", "{metadata: {labels: {app*: x}}}", true),
        ("{metadata: {labels: {app1: y}}}", "{metadata: {labels: {app*: x}}}", false),
        (
            "{w: {metadata: {annotations: {app1: x}}}}",
            "{w: {(metadata): {(annotations): {(app*): x}}}}",
            true,
        ),
        ("{labels: {app1: x}}", "{labels: {app*: x}}", false),
    ] {
        let base = object("Widget", &format!("{{spec: {{q: {value}}}}}"));
        let (result, _) =
            applied(&base, &format!("{{spec: {{(q): {pattern}, z: 1}}}}"), Semantics::Documented);
        let held = matches!(result.unwrap(), Merged::Patched(_));
        assert_eq!(held, holds, "{value} against {pattern}");
    }
}

#[test]
fn new_keys_follow_old_ones_in_the_order_of_the_overlay() {
    let base = Value::from_json(r#"{"apiVersion":"v1","kind":"Pod","z":{"b":1,"a":2}}"#).unwrap();
    let overlay = "{z: {x: 1, b: 2, +(c): {k: 1, j: 2}}, o: 1, m: [{q: 1, p: 2}]}";
    for semantics in BOTH {
        let Ok(Merged::Patched(value)) = applied(&base, overlay, semantics).0 else { panic!("{semantics}") };
        assert_eq!(
            value.to_json(),
            r#"{"apiVersion":"v1","kind":"Pod","z":{"b":2,"a":2,"x":1,"c":{"k":1,"j":2}},"o":1,"m":[{"q":1,"p":2}]}"#
        );
    }
}

#[test]
fn unchanged_nodes_are_shared() {
    let base = object("Pod", "{metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: i}]}}");
    for overlay in ["{}", "{metadata: {labels: {a: b}}}", "{spec: {containers: [{name: a, image: i}]}}"] {
        let Ok(Merged::Patched(same)) = applied(&base, overlay, Semantics::Documented).0 else {
            panic!("{overlay}")
        };
        assert!(same.same_storage(&base), "{overlay}");
    }
    let Ok(Merged::Patched(changed)) =
        applied(&base, "{metadata: {labels: {a: c}}}", Semantics::Documented).0
    else {
        panic!("it fits")
    };
    assert!(changed.get("spec").unwrap().same_storage(base.get("spec").unwrap()));
}

struct InPlace;

impl InlineResolver for InPlace {
    fn resolve(
        &self,
        overlay: &Pointer,
        at: &Pointer,
        base: Option<&Value>,
    ) -> Option<Result<Value, InlineError>> {
        // The leaves under a key `image` or `tag` are references.
        let last = overlay.segments().last()?;
        if !matches!(last, Segment::Key(key) if key.contains("image") || key.contains("tag")) {
            return None;
        }
        let text = |value: &Value| Value::from(format!("reg/{}", value.as_str().unwrap_or_default()));
        Some(base.map(text).ok_or_else(|| InlineError {
            code: Code::KeyNotFound,
            message: format!("nothing there for {at}"),
            original: None,
        }))
    }
}

fn inlined(kind: &str, base: &str, overlay: &str, semantics: Semantics) -> (String, String) {
    let (base, overlay) = (object(kind, base), yaml(overlay));
    let (merged, reached) = applied_with(&base, &overlay, semantics, &Schemas::kubernetes(), Some(&InPlace));
    let shown = match merged {
        Ok(Merged::Patched(value)) => value.get("spec").unwrap().to_json(),
        Ok(Merged::ConditionFailed(failed)) => failed.reason,
        Err(error) => error.original().unwrap_or_else(|| error.to_string()),
    };
    (shown, reached)
}

#[test]
fn references_resolve_to_the_patched_element() {
    for (kind, base, overlay, documented, kyverno, difference) in [
        ("Pod", "{spec: {image: a}}", "{spec: {image: '@'}}", r#"{"image":"reg/a"}"#, "", ""),
        (
            "Pod",
            "{spec: {containers: [{name: a, image: x}, {name: b, image: z}]}}",
            "{spec: {containers: [{(name): '*', image: '@'}]}}",
            r#"{"containers":[{"name":"a","image":"reg/x"},{"name":"b","image":"reg/z"}]}"#,
            r#"{"containers":[{"name":"a","image":"reg/x"},{"name":"b","image":"reg/x"}]}"#,
            "KYV-D03",
        ),
        (
            "Pod",
            "{spec: {containers: [{name: a, image: x}, {name: b, image: z}]}}",
            "{spec: {containers: [{name: b, image: '@'}]}}",
            r#"{"containers":[{"name":"b","image":"reg/z"},{"name":"a","image":"x"}]}"#,
            r#"{"containers":[{"name":"b","image":"reg/x"},{"name":"a","image":"x"}]}"#,
            "KYV-D03",
        ),
        (
            "Pod",
            "{spec: {containers: [{name: a}]}}",
            "{spec: {containers: [{(name): a, image: '@'}]}}",
            "nothing there for spec.containers[0].image at `spec.containers[0].image`",
            "",
            "",
        ),
        (
            "Pod",
            "{spec: {q: 1}}",
            "{spec: {+(image): '@'}}",
            "nothing there for spec.image at `spec.image`",
            "nothing there for spec.+(image) at `spec.+(image)`",
            "",
        ),
        (
            "Widget",
            "{spec: {tag: x}}",
            "{spec: {(tag): '@', q: 1}}",
            "value does not match the pattern",
            "nothing there for spec.(tag) at `spec.(tag)`",
            "KYV-D03",
        ),
    ] {
        let kyverno = if kyverno.is_empty() { documented } else { kyverno };
        let found = inlined(kind, base, overlay, Semantics::Documented);
        assert_eq!(found, (documented.into(), difference.into()), "{overlay}");
        let found = inlined(kind, base, overlay, Semantics::Kyverno);
        assert_eq!(found, (kyverno.into(), difference.into()), "{overlay}");
    }
}

#[test]
fn lists_of_custom_resources_merge_as_their_definition_says() {
    let definition = yaml(
        "{kind: CustomResourceDefinition, spec: {group: ex.io, names: {kind: Widget}, versions: [{name: v1,
          schema: {openAPIV3Schema: {properties: {spec: {properties: {items: {type: array,
          x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id]}, tags: {type: array,
          x-kubernetes-list-type: set}}}}}}}]}}",
    );
    let mut schemas = Schemas::kubernetes();
    schemas.add_crd(&definition).unwrap();
    let base = object(
        "Widget",
        "{metadata: {finalizers: [a]}, spec: {items: [{id: a, v: 1}, {id: b}], tags: [a, b]}}",
    );
    for (overlay, documented, kyverno) in [
        (
            "{spec: {items: [{id: b, w: 1}]}}",
            r#""items":[{"id":"b","w":1},{"id":"a","v":1}]"#,
            r#""items":[{"id":"b","w":1}]"#,
        ),
        ("{spec: {tags: [c, a]}}", r#""tags":["c","a","b"]"#, r#""tags":["c","a"]"#),
        ("{metadata: {finalizers: [b]}}", r#""finalizers":["b","a"]"#, r#""finalizers":["b"]"#),
    ] {
        for (semantics, expected) in [(Semantics::Documented, documented), (Semantics::Kyverno, kyverno)] {
            let (result, reached) = applied_with(&base, &yaml(overlay), semantics, &schemas, None);
            let Ok(Merged::Patched(value)) = result else { panic!("{expected}") };
            assert!(value.to_json().contains(expected), "{expected} {}", value.to_json());
            assert!(reached.contains(&Divergence::SchemaOfTheCluster.to_string()));
        }
    }
}

#[test]
fn work_on_large_lists_is_bounded() {
    let item = |index: usize| format!("{{\"name\":\"n{index}\",\"value\":\"v\"}}");
    let items: Vec<_> = (0..20_000).map(item).collect();
    let base = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","spec":{{"containers":[{{"name":"a","env":[{}]}}]}}}}"#,
        items.join(",")
    );
    let base = Value::from_json(&base).unwrap();
    let reversed: Vec<_> = items.into_iter().rev().collect();
    let overlay = format!(r#"{{"spec":{{"containers":[{{"name":"a","env":[{}]}}]}}}}"#, reversed.join(","));
    for semantics in BOTH {
        let (result, _) = applied_value(&base, &Value::from_json(&overlay).unwrap(), semantics);
        let Ok(Merged::Patched(value)) = result else { panic!("{semantics}") };
        let first = value.path(&["spec", "containers"]).and_then(|list| list.at(0)?.get("env")?.at(0));
        assert_eq!(first.unwrap().get("name"), Some(&Value::from("n19999")));
    }
    let many = vec![r#"{"(name)":"nothing","x":1}"#; 200].join(",");
    let overlay = format!(r#"{{"spec":{{"containers":[{{"(name)":"a","env":[{many}]}}]}}}}"#);
    let (result, _) = applied_value(&base, &Value::from_json(&overlay).unwrap(), Semantics::Documented);
    assert_eq!(result.unwrap_err(), PatchError::Limit(Limit::Steps));
}

#[test]
fn invalid_overlays_are_refused() {
    let tracker = DivergenceTracker::default();
    let refused = |overlay: &Value| Overlay::prepare(overlay, &tracker).unwrap_err();
    assert_eq!(refused(&yaml("[a]")).to_string(), "a strategic merge patch must be an object, found array");
    assert_eq!(
        refused(&yaml("{spec: {' (a)': 1}}")).to_string(),
        "anchor ` (a)` at `spec` has blanks around it"
    );
    let mut deep = Value::empty_object();
    for _ in 0..300 {
        deep = [("a", deep)].into_iter().collect();
    }
    assert_eq!(refused(&deep), PatchError::Limit(Limit::Depth));
}
