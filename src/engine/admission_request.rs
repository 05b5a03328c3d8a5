//! The request and the namespace as expressions see them. Members without a value are absent.

use crate::policy::Operation;
use crate::value::{Text, Value};

use super::LookupSource;
use super::evaluation::Evaluation;

/// The `AdmissionRequest` without its objects. Without an operation there is no request, and the user is not known.
pub(super) fn request(evaluation: &Evaluation<'_>, operation: Option<Operation>) -> Value {
    let candidate = evaluation.candidate(evaluation.original, operation);
    let text = |text: &Text| Value::String(text.clone());
    let own = evaluation.own_kind;
    let kind = Value::from_iter([
        ("group", text(&own.group)),
        ("version", text(&own.version)),
        ("kind", text(&own.kind)),
    ]);
    let resource = Value::from_iter([
        ("group", text(&candidate.kind.group)),
        ("version", text(&candidate.kind.version)),
        ("resource", candidate.resource.into()),
    ]);
    let mut request = Value::from_iter([
        ("kind", kind.clone()),
        ("resource", resource.clone()),
        ("requestKind", kind),
        ("requestResource", resource),
        ("operation", operation.map_or("", Operation::name).into()),
        ("userInfo", operation.map_or_else(Value::empty_object, |_| user_info(evaluation))),
        ("dryRun", Value::Bool(false)),
        ("options", operation.map_or(Value::Null, options)),
    ]);
    for (member, text) in [
        ("name", name(evaluation)),
        ("namespace", evaluation.namespace_of_request()),
        ("subResource", candidate.subresource),
        ("requestSubResource", candidate.subresource),
    ] {
        if !text.is_empty() {
            request.insert(member, text.into());
        }
    }
    request
}

/// The name of the object, none if it is to be generated.
fn name<'e>(evaluation: &'e Evaluation<'_>) -> &'e str {
    let metadata = |field| evaluation.original.path(&["metadata", field]).and_then(Value::as_str);
    let is_generated = metadata("name").is_none_or(str::is_empty) && metadata("generateName").is_some();
    if is_generated { "" } else { evaluation.name() }
}

fn options(operation: Operation) -> Value {
    let kind = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
        Operation::Connect => return Value::Null,
    };
    Value::from_iter([("apiVersion", Value::from("meta.k8s.io/v1")), ("kind", kind.into())])
}

/// The user as given; without one nothing is known of the user.
fn user_info(evaluation: &Evaluation<'_>) -> Value {
    let user = evaluation.engine.settings().user.as_ref();
    user.map_or_else(Value::empty_object, |user| user.raw.clone())
}

/// The namespace of the object; null for cluster-scoped objects and namespaces. What is not known of it is absent.
pub(super) fn namespace_object(evaluation: &Evaluation<'_>) -> Value {
    let name = &evaluation.placed.namespace;
    if name.is_empty() || evaluation.is_namespace() {
        return Value::Null;
    }
    let path = format!("/api/v1/namespaces/{name}");
    if let Ok(namespace) = evaluation.world.lookup(&LookupSource::Api(&path).into()) {
        evaluation.taint.track(&namespace);
        return as_known(&namespace);
    }
    let mut metadata = Value::from_iter([("name", Value::String(name.clone()))]);
    if let Some(labels) = evaluation.namespace_labels {
        metadata.insert("labels", labels.clone());
    }
    evaluation.note_needs(true, false);
    Value::from_iter([("metadata", metadata)])
}

/// The members of a namespace that expressions know, under the names by which they know them.
fn as_known(namespace: &Value) -> Value {
    let mut known = Value::empty_object();
    for member in ["metadata", "spec", "status"] {
        if let Some(value) = namespace.get(member) {
            known.insert(member, value.clone());
        }
    }
    let uid = namespace.path(&["metadata", "uid"]).cloned();
    if let (Some(uid), Some(metadata)) =
        (uid, known.as_object_mut().and_then(|members| members.get_mut("metadata")))
    {
        metadata.insert("UID", uid);
    }
    known
}
