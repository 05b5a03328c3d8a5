//! The objects that are sent: creations and updates.

use std::collections::BTreeMap;

use kyv::{Mutator, Report};
use kyv_fuzz::seeds::Random;
use serde_json::{Value, json};
use test_support::objects::without_server_fields;
use test_support::rest::{Answer, Request, Rest};

use super::policies::Case;
use crate::apply::widgets;
use crate::controllers::sample_objects;

/// The namespace without policies.
pub(super) const PLAIN: &str = "plain";

const WIDGETS: usize = 8;

/// Of how many objects one is updated.
const UPDATED: usize = 7;

type Labels = BTreeMap<String, String>;

/// An object of a request, in the namespace [`PLAIN`].
pub(super) struct Sample {
    pub(super) object: Value,
    /// What is stored before an update.
    old: Option<Value>,
    /// What the API server makes of it without policies.
    pub(super) plain_answer: Answer,
}

impl Sample {
    pub(super) fn name(&self) -> String {
        let operation = if self.old.is_some() { "update of" } else { "creation of" };
        let metadata = &self.object["metadata"];
        let name = metadata["name"].as_str().or(metadata["generateName"].as_str()).unwrap_or_default();
        format!("{operation} {} {name}", self.object["kind"].as_str().unwrap_or_default())
    }

    /// What is stored before an update in a namespace.
    pub(super) fn stored(&self, namespace: &str, labels: &Labels) -> Option<Value> {
        self.old.as_ref().map(|old| placed(old, namespace, labels))
    }

    /// The request in a namespace.
    pub(super) fn request(&self, namespace: &str, labels: &Labels) -> (Value, bool) {
        self.request_of(self.object.clone(), namespace, labels)
    }

    /// The same with a changed object.
    pub(super) fn request_of(&self, object: Value, namespace: &str, labels: &Labels) -> (Value, bool) {
        (placed(&object, namespace, labels), self.old.is_some())
    }

    /// What this program makes of the request in the namespace of a case.
    pub(super) fn mutate(&self, mutator: &Mutator, case: &Case) -> Report {
        let (object, _) = self.request(&case.name, &case.labels);
        let object = object.to_string();
        let report = match self.stored(&case.name, &case.labels) {
            Some(old) => mutator.mutate_update(&object, &old.to_string()),
            None => mutator.mutate(&object),
        };
        report.expect("an object")
    }
}

/// Objects that the API server takes. Those of updates are stored in [`PLAIN`].
pub(super) fn samples(rest: &Rest) -> Vec<Sample> {
    rest.create(&namespace(PLAIN, &Labels::new()), "").expect("a namespace");
    let objects = manifests();
    let mut requests: Vec<(Value, Option<Value>)> =
        objects.iter().map(|object| (object.clone(), None)).collect();
    for (number, object) in objects.iter().enumerate().filter(|(number, _)| number % UPDATED == 0) {
        let mut object = object.clone();
        if ["Pod", "Deployment", "CronJob", "ConfigMap", "Widget"].iter().any(|kind| object["kind"] == *kind)
            && object["metadata"]["name"].is_string()
        {
            object["metadata"]["name"] = json!(format!("stored-{number}"));
            let held = rest.create(&object, "").expect("the object is stored");
            let mut update = without_server_fields(&held);
            update["metadata"]["labels"]["updated"] = json!("yes");
            if number % 2 == 0 {
                update["metadata"]["labels"].as_object_mut().expect("labels").remove("app");
            }
            requests.push((update, Some(without_server_fields(&held))));
        }
    }
    let sent: Vec<_> = requests.iter().map(|(object, old)| (object.clone(), old.is_some())).collect();
    let answers = send(rest, &sent);
    let samples = requests.into_iter().zip(answers).filter(|(_, answer)| answer.is_ok());
    let samples: Vec<Sample> =
        samples.map(|((object, old), plain_answer)| Sample { object, old, plain_answer }).collect();
    assert!(samples.len() >= 100, "only {} objects", samples.len());
    samples
}

/// All objects, in the namespace [`PLAIN`].
pub(super) fn manifests() -> Vec<Value> {
    let made = sample_objects::made().into_iter();
    let made = made.filter(|object| object["metadata"]["namespace"].is_string()).chain(others());
    let mut random = Random(7);
    let widgets = (0..WIDGETS).map(|number| {
        let mut widget: Value = serde_json::from_str(&widgets::object(&mut random).to_json()).expect("JSON");
        widget["metadata"]["name"] = json!(format!("widget-{number}"));
        widget
    });
    made.chain(widgets).map(|object| placed(&object, PLAIN, &Labels::new())).collect()
}

/// Objects with generated names, without labels, and namespaces.
fn others() -> Vec<Value> {
    let containers = json!([{"name": "a", "image": "nginx:1", "args": ["one"], "env": [{"name": "FOO", "value": "1"}],
        "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}}}, {"name": "b", "image": "busybox"}]);
    let pod = |metadata: Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {"containers": containers, "nodeSelector": {"n1": "v1"}}})
    };
    vec![
        pod(json!({"name": "bare"})),
        pod(json!({"generateName": "named-x-", "labels": {"app": "x"}})),
        pod(json!({"name": "named", "labels": {"app": "x", "color": "red"}, "finalizers": ["example.com/f"],
            "annotations": {"k1": "v1", "a/b": "s"}})),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bare"}, "data": {"k": "v"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "named-x-"}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made", "labels": {"app": "x"}}}),
    ]
}

/// A namespace with labels.
pub(super) fn namespace(name: &str, labels: &Labels) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

/// An object in a namespace; a namespace with the labels of it.
pub(super) fn placed(object: &Value, namespace: &str, labels: &Labels) -> Value {
    let mut object = object.clone();
    if object["kind"] != "Namespace" {
        object["metadata"]["namespace"] = json!(namespace);
        return object;
    }
    for name in ["policy", "kubernetes.io/metadata.name"] {
        if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
            labels.remove(name);
        }
    }
    for (name, value) in labels {
        object["metadata"]["labels"][name] = json!(value);
    }
    object
}

/// Sends objects as dry runs. Those with `true` are updates.
pub(super) fn send(rest: &Rest, objects: &[(Value, bool)]) -> Vec<Answer> {
    let request = |(object, is_update): &(Value, bool)| {
        let (method, path) =
            if *is_update { ("PUT", rest.path(object)) } else { ("POST", rest.collection(object)) };
        let path = format!("{}?dryRun=All", path?);
        Ok(Request { method, path, body: Some(object.clone()) })
    };
    rest.ask_each(objects.iter().map(request).collect(), 2)
}
