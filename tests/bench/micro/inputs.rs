//! What the workloads are made of.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use kyv::engine::{Engine, Settings};
use kyv::policy::{self, Policy, PolicySet};
use kyv::semantics::Semantics;
use kyv::source::{ContextObjectLoader, OfflineWorld};
use kyv::value::Value;
use kyv::yaml::{self, Document, Limits, Source};

use test_support::sample_objects::{self, NAMESPACES};

/// A workload as people write one, with comments, quotes and brackets.
pub(crate) const DEPLOYMENT: &str = include_str!("deployment.yaml");

/// Texts of several lines, in each of the ways to write them.
pub(crate) const CONFIG_MAP: &str = include_str!("config-map.yaml");

/// What some of the thirty policies read.
pub(crate) const SETTINGS: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: team-000}, data: {zone: north}}\n";

/// The value of a text with one document.
pub(crate) fn value(text: &str) -> Value {
    yaml::parse_value(text).expect("it is YAML")
}

/// The documents of a text.
pub(crate) fn documents(source: &Arc<Source>) -> Vec<Document> {
    yaml::read(source, &Limits::default()).expect("it is YAML")
}

/// The one document of a text.
pub(crate) fn document(text: &str) -> Document {
    documents(&source(text)).remove(0)
}

/// A text, as a file gives it.
pub(crate) fn source(text: impl Into<String>) -> Arc<Source> {
    Arc::new(Source::new("input.yaml", text.into()))
}

/// So many objects of twelve kinds.
pub(crate) fn objects(number: usize) -> Vec<Value> {
    (0..number).map(|index| of_json(&sample_objects::object(index))).collect()
}

/// The same as manifests.
pub(crate) fn manifests(number: usize) -> String {
    stream(&objects(number))
}

/// Thirty policies, as teams have them.
pub(crate) fn thirty_policies() -> Vec<Policy> {
    sample_objects::policies().iter().map(|(_, text)| compiled(text)).collect()
}

/// A policy from its text.
pub(crate) fn compiled(text: &str) -> Policy {
    match policy::parse(&value(text), Semantics::Documented) {
        Ok(policy) => policy,
        Err(faults) => panic!("{}: {text}", faults[0]),
    }
}

/// A policy with one rule that matches and mutates so.
pub(crate) fn policy(name: &str, matching: &str, mutate: &str) -> Policy {
    compiled(&format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  background: false\n  rules:\n  - name: rule\n    \
         match: {{any: [{{resources: {matching}}}]}}\n    mutate: {mutate}\n"
    ))
}

/// An engine for policies, as a run without flags has it.
pub(crate) fn engine(policies: Vec<Policy>) -> Engine {
    Engine::new(PolicySet::new(policies), Settings::default())
}

/// The namespaces that the objects live in.
pub(crate) fn namespaces() -> Vec<Value> {
    (0..NAMESPACES).map(|number| of_json(&sample_objects::namespace(number))).collect()
}

/// A world that knows what the thirty policies ask for.
pub(crate) fn world() -> OfflineWorld {
    let mut world = OfflineWorld::new(Timestamp::UNIX_EPOCH, 0);
    let mut loader = ContextObjectLoader::new("default", &[], Limits::default());
    loader.object(&value(SETTINGS));
    for namespace in namespaces() {
        loader.object(&namespace);
        world.add_namespace(&namespace);
    }
    world.set_objects(loader.finish().expect("objects, each once"));
    world
}

/// A Pod with so many containers, every third with an image that may change.
pub(crate) fn pod(containers: usize) -> Value {
    let mut text =
        "{apiVersion: v1, kind: Pod, metadata: {name: front, namespace: shop-prod}, spec: {containers: ["
            .to_owned();
    for index in 0..containers {
        let tag = if index.is_multiple_of(3) { "latest" } else { "1.27.3" };
        let _ = write!(
            text,
            "{{name: c{index}, image: 'registry.example/shop/part-{index}:{tag}', env: [{{name: NUMBER, value: '{index}'}}]}}, "
        );
    }
    text.push_str("]}}");
    value(&text)
}

/// Documents one behind the other.
pub(crate) fn stream(objects: &[Value]) -> String {
    let mut out = String::new();
    for object in objects {
        out.push_str("---\n");
        yaml::print(object, &mut out);
    }
    out
}

fn of_json(object: &serde_json::Value) -> Value {
    Value::from_json(&object.to_string()).expect("it is JSON")
}
