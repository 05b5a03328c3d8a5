//! One manifest under both: the admitted view, and what the API server passed to webhooks.

use std::fmt;

use kyv::admission::{Admission, NotAdmitted};
use kyv::value::{GroupVersionKind, Pointer, Quantity, Segment, Value};
use test_support::admission_recorder::Recording;

/// How the two compare.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The same object.
    Equal,
    /// Refused by both.
    BothRefuse,
    /// At least one difference.
    Different(Vec<Difference>),
    /// There is no admitted view of the kind.
    NoTable,
    /// The server refused the request before webhooks, but decoded the object.
    NotRecorded(String),
}

/// A difference at one place.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) at: Pointer,
    pub(crate) view: Side,
    pub(crate) server: Side,
}

/// What one side has at a place.
#[derive(Clone, Debug)]
pub(crate) enum Side {
    Absent,
    Value(Value),
    Refused(String),
}

impl Difference {
    /// What differences of one cause share, as far as their place shows it.
    pub(crate) fn group(&self) -> String {
        let mut path = String::new();
        for segment in self.at.segments() {
            match segment {
                Segment::Key(key) => path = format!("{path}.{key}"),
                Segment::Index(_) => path.push_str("[]"),
            }
        }
        // The types are the same wherever Pod templates are.
        let place = path.rfind(".template.").map_or(&*path, |start| &path[start + ".template".len()..]);
        if let (Side::Value(Value::String(view)), Side::Value(Value::String(server))) =
            (&self.view, &self.server)
            && Quantity::parse(view)
                .is_ok_and(|view| Quantity::parse(server).is_ok_and(|server| view == server))
        {
            return "a quantity is written in another way".to_owned();
        }
        let side = |side: &Side| match side {
            Side::Absent => "absent".to_owned(),
            Side::Value(value) => value.type_name().to_owned(),
            Side::Refused(message) => {
                message.split_once("cannot be handled as").map_or(&**message, |(_, why)| why).to_owned()
            }
        };
        format!("{place}: view {}, server {}", side(&self.view), side(&self.server))
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Value(value) => f.write_str(&value.to_json()),
            Self::Refused(message) => write!(f, "refused: {message}"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}\n  - view   {}\n  + server {}", self.at, self.view, self.server)
    }
}

pub(crate) fn compare(admission: &Admission, manifest: &Value, recording: &Recording) -> Verdict {
    let kind = GroupVersionKind::of(manifest).expect("a kind");
    let view = admission.view(manifest, &kind);
    let different = |view, server| Verdict::Different(vec![Difference { at: Pointer::ROOT, view, server }]);
    match (view, &recording.admitted) {
        (Err(NotAdmitted::UnknownKind(_)), _) => Verdict::NoTable,
        // The answer to what cannot be decoded.
        (view, None) if recording.code == 400 => match view {
            Ok(view) => different(Side::Value(view), Side::Refused(recording.message.clone())),
            Err(_) => Verdict::BothRefuse,
        },
        (_, None) => Verdict::NotRecorded(recording.message.clone()),
        (Err(error), Some(server)) => {
            different(Side::Refused(error.to_string()), Side::Value(server.clone()))
        }
        (Ok(view), Some(server)) => {
            let (mut view, mut server) = (view, server.clone());
            without_what_varies(manifest, &mut view, &mut server, recording.is_created);
            let mut found = Vec::new();
            differences(Some(&view), Some(&server), &mut Pointer::default(), &mut found);
            if found.is_empty() { Verdict::Equal } else { Verdict::Different(found) }
        }
    }
}

/// Removes what no manifest decides: the record of managers, the namespace of the request, and the random end of the
/// name of the volume with the token of the service account.
fn without_what_varies(manifest: &Value, view: &mut Value, server: &mut Value, is_created: bool) {
    let has_namespace = view.path(&["metadata", "namespace"]).is_some();
    for object in [view, &mut *server] {
        let Some(metadata) = member_mut(object, &["metadata"]) else { continue };
        metadata.remove("managedFields");
        if !has_namespace {
            metadata.remove("namespace");
        }
        if is_created {
            let is_generated = metadata.get("generateName").is_some()
                && manifest.path(&["metadata", "name"]).and_then(Value::as_str).is_none_or(str::is_empty);
            let name = is_generated.then_some("name");
            for name in ["uid", "creationTimestamp", "generation"].into_iter().chain(name) {
                metadata.remove(name);
            }
        }
    }
    if manifest.get("kind").and_then(Value::as_str) == Some("Pod") {
        rename_token_volume(manifest, server);
    }
}

fn member_mut<'v>(value: &'v mut Value, path: &[&str]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |node, key| node.as_object_mut()?.get_mut(key))
}

/// Gives the volume that the server added the name that it has in the view.
fn rename_token_volume(manifest: &Value, pod: &mut Value) {
    let volumes = |pod: &Value| -> Vec<String> {
        let volumes = pod.path(&["spec", "volumes"]).and_then(Value::as_array).unwrap_or_default();
        let names = volumes.iter().filter_map(|volume| volume.get("name")?.as_str().map(str::to_owned));
        names.filter(|name| name.starts_with("kube-api-access-")).collect()
    };
    let written = volumes(manifest);
    let Some(added) = volumes(pod).into_iter().find(|name| !written.contains(name)) else { return };
    let Some(spec) = member_mut(pod, &["spec"]) else { return };
    rename(spec, "volumes", &added);
    for list in ["containers", "initContainers"] {
        for container in member_mut(spec, &[list]).and_then(Value::as_array_mut).into_iter().flatten() {
            rename(container, "volumeMounts", &added);
        }
    }
}

fn rename(owner: &mut Value, list: &str, name: &str) {
    for item in member_mut(owner, &[list]).and_then(Value::as_array_mut).into_iter().flatten() {
        if item.get("name").and_then(Value::as_str) == Some(name) {
            item.insert("name", Value::from("kube-api-access-xxxxx"));
        }
    }
}

fn differences(view: Option<&Value>, server: Option<&Value>, at: &mut Pointer, found: &mut Vec<Difference>) {
    match (view, server) {
        (Some(Value::Object(view)), Some(Value::Object(server))) => {
            // A taint without a time gets the current one.
            let missing = server.keys().filter(|key| !view.contains_key(key) && &***key != "timeAdded");
            for key in view.keys().chain(missing) {
                at.push_key(key.clone());
                differences(view.get(key), server.get(key), at, found);
                at.pop();
            }
        }
        (Some(Value::Array(view)), Some(Value::Array(server))) => {
            for index in 0..view.len().max(server.len()) {
                at.push_index(index);
                differences(view.get(index), server.get(index), at, found);
                at.pop();
            }
        }
        (view, server) => {
            // Numbers are compared as they are written: policies see the text.
            let text = |value: Option<&Value>| value.map(Value::to_json);
            if text(view) != text(server) {
                let side = |value: Option<&Value>| value.cloned().map_or(Side::Absent, Side::Value);
                found.push(Difference { at: at.clone(), view: side(view), server: side(server) });
            }
        }
    }
}
