//! When objects of two clusters are equal.

use serde_json::Value;
use test_support::objects::without_server_fields;
use test_support::rest::Answer;

/// How the names of volumes with the token of a service account begin, which an admission plugin adds to Pods.
pub(super) const TOKEN_VOLUME: &str = "kube-api-access-";

/// What became of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// The object that a cluster holds, without what differs between two creations of one object.
    Held(Value),
    /// Kyverno denied the request.
    Denied(String),
    /// The API server refused the object.
    Refused(u16, String),
}

impl Outcome {
    pub(crate) fn of(answer: Answer, sent: &Value) -> Self {
        match answer {
            Ok(object) => Self::Held(comparable(&object, sent)),
            Err(refusal) if refusal.is_of_kyverno() => Self::Denied(refusal.message),
            Err(refusal) => Self::Refused(refusal.code, refusal.message),
        }
    }

    /// Whether two clusters hold the same. Where a webhook's patch cannot be decoded the server calls that an error of its
    /// own; without webhooks it is one of the request.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Held(one), Self::Held(other)) => one == other,
            (Self::Denied(_), Self::Denied(_)) => true,
            (Self::Refused(..), Self::Refused(..)) => true,
            _ => false,
        }
    }
}

/// An object of a cluster without uid, times, generated names and addresses.
fn comparable(object: &Value, sent: &Value) -> Value {
    let mut object = without_server_fields(object);
    if sent["metadata"]["name"].is_null() {
        forget(&mut object["metadata"], &["name"]);
    }
    if let Some(annotations) = object["metadata"].get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("policies.kyverno.io/last-applied-patches");
    }
    match object["kind"].as_str() {
        Some("Job") => {
            if sent["spec"]["selector"].is_null() {
                forget(&mut object["spec"], &["selector"]);
            }
            forget_job_labels(&mut object["spec"]["template"]["metadata"], &Value::Null);
            // Without labels the defaults of a Job are those of its template, as one map in the server's memory: what it
            // adds to the latter shows in both, unless a webhook changes the Job.
            forget_job_labels(&mut object["metadata"], &sent["metadata"]);
        }
        Some("Service") => forget_allocations(&mut object["spec"], &sent["spec"]),
        Some("Pod") => {
            sort_tolerations(&mut object);
            forget_token_volume(&mut object["spec"]);
        }
        _ => {}
    }
    object
}

/// The order of tolerations has no meaning: admission appends its own to those that are written.
pub(super) fn sort_tolerations(pod: &mut Value) {
    let tolerations = pod.get_mut("spec").and_then(|spec| spec.get_mut("tolerations"));
    if let Some(tolerations) = tolerations.and_then(Value::as_array_mut) {
        tolerations.sort_by_key(Value::to_string);
    }
}

/// The labels that the API server adds to Jobs and their templates.
fn forget_job_labels(metadata: &mut Value, sent: &Value) {
    const ADDED: [&str; 4] =
        ["batch.kubernetes.io/controller-uid", "controller-uid", "batch.kubernetes.io/job-name", "job-name"];
    if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
        labels.retain(|label, _| !ADDED.contains(&&**label) || !sent["labels"][label].is_null());
        if labels.is_empty() {
            forget(metadata, &["labels"]);
        }
    }
}

/// Addresses and ports that the API server chose.
fn forget_allocations(spec: &mut Value, sent: &Value) {
    if sent["clusterIP"].as_str().is_none_or(str::is_empty) && sent["type"] != "ExternalName" {
        forget(spec, &["clusterIP", "clusterIPs"]);
    }
    if sent["healthCheckNodePort"].is_null() {
        forget(spec, &["healthCheckNodePort"]);
    }
    let written: Vec<&Value> = sent["ports"].as_array().into_iter().flatten().collect();
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
    for port in ports {
        let is_written =
            |written: &&Value| written["nodePort"] == port["nodePort"] && !port["nodePort"].is_null();
        if !written.iter().any(is_written) {
            forget(port, &["nodePort"]);
        }
    }
}

/// Removes the volume with the token of the service account, which an admission plugin adds before webhooks, under a
/// generated name: what a policy changes about it has no effect in a cluster.
fn forget_token_volume(spec: &mut Value) {
    forget_named(spec, "volumes");
    for containers in ["containers", "initContainers"] {
        let containers = spec.get_mut(containers).and_then(Value::as_array_mut);
        containers.into_iter().flatten().for_each(|container| forget_named(container, "volumeMounts"));
    }
}

fn forget_named(parent: &mut Value, list: &str) {
    let Some(entries) = parent.get_mut(list).and_then(Value::as_array_mut) else { return };
    entries.retain(|entry| entry["name"].as_str().is_none_or(|name| !name.starts_with(TOKEN_VOLUME)));
    if entries.is_empty() {
        forget(parent, &[list]);
    }
}

fn forget(object: &mut Value, fields: &[&str]) {
    if let Some(members) = object.as_object_mut() {
        fields.iter().for_each(|field| drop(members.remove(*field)));
    }
}

/// An object under another name, where one of its name exists.
pub(super) fn renamed(object: &Value, suffix: &str) -> Value {
    let mut object = object.clone();
    if let Some(name) = object["metadata"]["name"].as_str().map(|name| format!("{name}{suffix}")) {
        object["metadata"]["name"] = Value::String(name);
    }
    object
}
