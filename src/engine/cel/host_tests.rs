//! Functions that reach outside, on a world with a few objects.

use jiff::Timestamp;

use crate::diagnostics::Code;
use crate::engine::{Engine, Lookup, LookupError, LookupSource, Settings, World};
use crate::policy::{PolicySet, parse};
use crate::report::Outcome;
use crate::semantics::Semantics;
use crate::value::Value;
use crate::yaml::parse_value;

/// Objects, image metadata, a global context entry, a response.
struct Inputs;

impl World for Inputs {
    fn now(&self) -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    fn random(&self, key: &str, call: u64) -> u64 {
        key.bytes().fold(call, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)))
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        let found = match lookup.source {
            LookupSource::Api("/api/v1/namespaces/shop/configmaps/cm") => {
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {env: prod}, count: 3}"
            }
            LookupSource::Api("/apis/apps/v1/namespaces/shop/deployments/web/scale") => {
                "{spec: {replicas: 3}}"
            }
            LookupSource::Api("/api/v1/namespaces/a%20b/configmaps/cm") => "{data: {env: spaced}}",
            LookupSource::Api(
                "/api/v1/namespaces/shop/configmaps" | "/api/v1/configmaps?labelSelector=a%2Fb%3Dc%2Cx%3Dy",
            ) => {
                "{apiVersion: v1, kind: ConfigMapList, metadata: {}, items: [{metadata: {name: cm}}, {metadata: \
                 {name: other}}]}"
            }
            LookupSource::Api("/api/v1/nodes") => "{apiVersion: v1, kind: NodeList, items: []}",
            LookupSource::Api("/api/v1/secrets") => {
                return Err(LookupError::Unanswerable("secrets is forbidden".to_owned()));
            }
            LookupSource::Api("/api/v1/namespaces/shop/secrets") => return Err(LookupError::NotGiven),
            LookupSource::Api("/api/v1/pods/known") => return Err(LookupError::NotGiven),
            LookupSource::Api(_) => return Err(LookupError::NotFound),
            LookupSource::Global("objects") => {
                "[{metadata: {name: a}, count: 1}, {metadata: {name: b}, count: 2}]"
            }
            LookupSource::GlobalEntry("objects") => {
                "{kubernetesResource: {version: v1, resource: pods}, projections: [{name: names, jmesPath: \
                 '[].metadata.name'}, {name: bad, jmesPath: 'to_number(@)'}]}"
            }
            LookupSource::Global("called") => "{count: 1}",
            LookupSource::GlobalEntry("called") => {
                "{apiCall: {urlPath: /api/v1/x}, projections: [{name: one, jmesPath: count}]}"
            }
            LookupSource::Global("spoilt") => "{count: null}",
            LookupSource::GlobalEntry("spoilt") => {
                "{apiCall: {urlPath: /api/v1/x}, projections: [{name: none, jmesPath: count}, {name: bad, \
                 jmesPath: missing}]}"
            }
            LookupSource::Global("absent") => return Err(LookupError::NotFound),
            LookupSource::Image("nginx:1") => "{image: 'nginx:1', config: {architecture: amd64, layers: 2}}",
            LookupSource::Http { method: "GET", url: "https://a.example/x" } => {
                "{statusCode: 404, body: {count: 1}}"
            }
            _ => return Err(LookupError::NotGiven),
        };
        Ok(parse_value(found).unwrap())
    }
}

/// A policy that writes the value of an expression into the label `v`.
fn policy(kind: &str, name: &str, expression: &str) -> String {
    let namespace = if kind == "NamespacedMutatingPolicy" { ", namespace: shop" } else { "" };
    let patch =
        format!("[JSONPatch{{op: \"add\", path: \"/metadata/labels/v\", value: string({expression})}}]");
    format!(
        "{{apiVersion: policies.kyverno.io/v1, kind: {kind}, metadata: {{name: {name}{namespace}}}, spec: \
         {{matchConstraints: {{resourceRules: [{{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], \
         resources: ['*']}}]}}, mutations: [{{patchType: JSONPatch, jsonPatch: {{expression: {}}}}}]}}}}",
        Value::from(patch).to_json()
    )
}

fn run(policy: &str, object: &str) -> Result<String, (Code, String)> {
    let document = parse_value(policy).unwrap();
    let policy = parse(&document, Semantics::Kyverno).unwrap_or_else(|errors| panic!("{policy}: {errors:?}"));
    let engine = Engine::new(PolicySet::new(vec![policy]), Settings::default());
    let report = engine.mutate(&parse_value(object).unwrap(), None, &Inputs);
    match &report.policies[0].rules[0].outcome {
        Outcome::Error(error) => {
            let message = error.message.split_once(": ").map(|(_, message)| message.to_owned());
            Err((error.code, message.unwrap_or_default()))
        }
        _ => {
            let value = report.after.path(&["metadata", "labels", "v"]);
            Ok(value.and_then(Value::as_str).unwrap_or_default().to_owned())
        }
    }
}

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, labels: {app: x}}}";

fn value(expression: &str) -> Result<String, (Code, String)> {
    run(&policy("MutatingPolicy", "p", expression), POD)
}

#[test]
fn functions_have_their_values_from_the_world() {
    for (expression, expected) in [
        (r#"resource.Get("v1", "configmaps", "shop", "cm").data.env"#, "prod"),
        (r#"resource.get("v1", "configmaps", "shop", "cm").count + 1"#, "4"),
        (r#"resource.get(resource.toGVR("v1", "ConfigMap"), "shop", "cm").data.env"#, "prod"),
        (r#"resource.get("apps/v1", "deployments/scale", "shop", "web").spec.replicas"#, "3"),
        (r#"resource.get("v1", "configmaps", "a b", "cm").data.env"#, "spaced"),
        (r#"dyn(resource.get("v1", "configmaps", "shop", "none")) == null"#, "true"),
        (r#"resource.List("v1", "configmaps", "shop").items.map(i, i.metadata.name).join(",")"#, "cm,other"),
        (r#"resource.list("v1", "configmaps", "shop").items[0].kind"#, "ConfigMap"),
        (r#"size(resource.list("v1", "configmaps", "", {"x": "y", "a/b": "c"}).items)"#, "2"),
        (r#"size(resource.list(resource.ToGVR("v1", "ConfigMap"), "shop").items)"#, "2"),
        (r#"size(resource.list("v1", "nodes", "").items)"#, "0"),
        (r#"globalContext.Get("objects", "names").join(",")"#, "a,b"),
        (r#"globalContext.get("objects")[1].count + 1"#, "3"),
        (r#"type(globalContext.get("called").count) == double"#, "true"),
        (r#"globalContext.get("called", "one") == 1.0"#, "true"),
        (r#"globalContext.get("absent") == null"#, "true"),
        (r#"image.GetMetadata("nginx:1").config.architecture"#, "amd64"),
        (r#"type(image.getMetadata("nginx:1").config.layers) == double"#, "true"),
        (r#"http.Get("https://a.example/x").statusCode + 1"#, "405"),
        (r#"http.get("https://a.example/x", {"h": "v"}).body.count == 1.0"#, "true"),
        (r#"http.client("").get("https://a.example/x").statusCode"#, "404"),
        ("time.now()", "2026-01-02T03:04:05Z"),
        ("time.now() == time.now()", "true"),
        (r#"random().matches("^[0-9a-z]{8}$")"#, "true"),
        (r#"random.random("[A-F]{3}x?").matches("^[A-F]{3}x?$")"#, "true"),
        ("random() == random()", "false"),
        (r#"random("") == """#, "true"),
    ] {
        assert_eq!(value(expression), Ok(expected.to_owned()), "{expression}");
    }
}

#[test]
fn failed_lookups_say_what_is_missing() {
    const OBJECTS: &str = "pass the objects with `--context-from PATH`";
    let no_data = |call: &str, hint: &str| (Code::NoData, format!("no data for {call}; {hint}"));
    let failed = |message: &str| (Code::CelFailed, message.to_owned());
    let requests = "such requests are never sent, only `apiCallResponses` of a test suite have responses";
    for (expression, expected) in [
        (
            r#"resource.Get("v1", "pods", "", "known").x"#,
            no_data(r#"resource.Get("v1", "pods", "", "known")"#, OBJECTS),
        ),
        (
            r#"resource.list("v1", "secrets", "shop").items"#,
            no_data(r#"resource.list("v1", "secrets", "shop")"#, OBJECTS),
        ),
        (
            r#"resource.post("v1", "pods", "shop", {"a": object}).x"#,
            no_data(r#"resource.post("v1", "pods", "shop", {…})"#, requests),
        ),
        (
            r#"http.Post("https://a.example/x", 1)"#,
            no_data(r#"http.Post("https://a.example/x", 1)"#, requests),
        ),
        (
            r#"http.client("").get("https://b.example")"#,
            no_data(r#"get(http.Context, "https://b.example")"#, requests),
        ),
        (
            r#"image.GetMetadata("other").x"#,
            no_data(r#"image.GetMetadata("other")"#, "pass the image with `--images FILE`"),
        ),
        (
            r#"globalContext.Get("unknown")"#,
            no_data(
                r#"globalContext.Get("unknown")"#,
                "pass the GlobalContextEntry and the objects that it needs with `--context-from PATH`",
            ),
        ),
        (r#"resource.Get("v1", "configmaps", "shop", "none").data"#, failed("no such key: data")),
        (
            r#"resource.List("v1", "secrets", "").items"#,
            failed("failed to list resource: secrets is forbidden"),
        ),
        (
            r#"resource.List("v1", "nothing", "").items"#,
            failed("failed to list resource: the server could not find the requested resource"),
        ),
        (
            r#"resource.Get("a/b/c", "x", "", "y").z"#,
            failed("failed to get resource: unexpected GroupVersion string: a/b/c"),
        ),
        (r#"resource.Get("v1", "pods", "", "").z"#, failed("failed to get resource: name is required")),
        (
            r#"resource.Get("v1", "pods", "", "a/b").z"#,
            failed(r#"failed to get resource: invalid resource name "a/b": [may not contain '/']"#),
        ),
        (
            r#"resource.Get("v1", "pods", "..", "a").z"#,
            failed(r#"failed to get resource: invalid namespace "..": [may not be '..']"#),
        ),
        (
            r#"globalContext.Get("objects", "other")"#,
            failed("failed to get global reference: projection other: not found"),
        ),
        (
            r#"globalContext.Get("spoilt", "none")"#,
            failed("failed to get global reference: projection bad: there is no key `missing`"),
        ),
        (r#"http.client("x").get("y")"#, failed("request failed: failed to parse PEM CA bundle for APICall")),
    ] {
        assert_eq!(value(expression), Err(expected), "{expression}");
    }
}

#[test]
fn random_texts_depend_on_object_and_policy() {
    let [pod, other] = ["p", "q"].map(|name| POD.replace("name: p", &format!("name: {name}")));
    let text = |name: &str, object: &str| run(&policy("MutatingPolicy", name, "random()"), object).unwrap();
    assert_eq!(text("a", &pod), text("a", &pod));
    assert_ne!(text("a", &pod), text("a", &other));
    assert_ne!(text("a", &pod), text("b", &pod));
}

#[test]
fn namespaced_policies_look_only_into_their_namespace() {
    let value = |expression: &str| run(&policy("NamespacedMutatingPolicy", "p", expression), POD);
    for (expression, expected) in [
        (r#"resource.Get("v1", "configmaps", "cm").data.env"#, "prod"),
        (r#"resource.get(resource.toGVR("v1", "ConfigMap"), "cm").data.env"#, "prod"),
        (r#"size(resource.List("v1", "configmaps").items)"#, "2"),
        (r#"size(resource.list(resource.toGVR("v1", "ConfigMap")).items)"#, "2"),
    ] {
        assert_eq!(value(expression), Ok(expected.to_owned()), "{expression}");
    }
    for (kind, expression) in [
        ("NamespacedMutatingPolicy", r#"resource.Get("v1", "configmaps", "shop", "cm")"#),
        ("NamespacedMutatingPolicy", r#"resource.List("v1", "configmaps", "shop", {"a": "b"})"#),
        ("MutatingPolicy", r#"resource.Get("v1", "configmaps", "cm")"#),
        ("MutatingPolicy", r#"resource.List("v1", "configmaps")"#),
    ] {
        let document = parse_value(&policy(kind, "p", expression)).unwrap();
        let errors = parse(&document, Semantics::Kyverno).err().unwrap_or_default();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(errors.concat().contains("found no matching overload"), "{expression}: {errors:?}");
    }
}

#[test]
fn lookups_without_end_are_stopped() {
    let list = "[1,2,3,4,5,6,7,8,9,10]";
    let expression = format!(
        "{list}.map(a, {list}.map(b, {list}.map(c, {list}.map(d, {list}.map(e, random(\"a{{900}}\"))))))"
    );
    let error = value(&format!("size({expression})")).unwrap_err();
    assert_eq!(error.0, Code::EvaluationLimit, "{error:?}");
}
