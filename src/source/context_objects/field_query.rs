//! Field selectors in the query of a request: `metadata.name=a,status.phase!=Running`.

use crate::engine::LookupError;
use crate::value::Value;

/// Requirements on fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldQuery(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    field: String,
    value: String,
    is_equal: bool,
}

/// The fields that the API server selects by, besides name and namespace.
fn known_fields(group: &str, plural: &str) -> &'static [&'static str] {
    match (group, plural) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") | ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        ("certificates.k8s.io", "certificatesigningrequests") => &["spec.signerName"],
        _ => &[],
    }
}

impl FieldQuery {
    /// Reads a selector for objects of a resource; an empty one selects everything.
    ///
    /// # Errors
    ///
    /// Text that is no requirement, and fields that the API server does not select by.
    pub(super) fn parse(text: &str, group: &str, plural: &str) -> Result<Self, LookupError> {
        let mut requirements = Vec::new();
        for requirement in split(text).into_iter().filter(|requirement| !requirement.is_empty()) {
            let (field, value, is_equal) = if let Some((field, value)) = requirement.split_once("!=") {
                (field, value, false)
            } else if let Some((field, value)) = requirement.split_once('=') {
                (field, value.strip_prefix('=').unwrap_or(value), true)
            } else {
                return Err(LookupError::Unanswerable(format!("`{requirement}` is no field requirement")));
            };
            let known = known_fields(group, plural);
            if !["metadata.name", "metadata.namespace"].contains(&field) && !known.contains(&field) {
                let message = format!("{plural} are not selected by the field `{field}`");
                return Err(LookupError::Unanswerable(message));
            }
            requirements.push(Requirement { field: field.to_owned(), value: unescaped(value), is_equal });
        }
        Ok(Self(requirements))
    }

    /// Whether an object meets all requirements.
    pub(super) fn selects(&self, object: &Value) -> bool {
        self.0.iter().all(|requirement| {
            // `status.successful` counts what the object calls `status.succeeded`.
            let field = requirement.field.replace("status.successful", "status.succeeded");
            let path: Vec<&str> = field.split('.').collect();
            let found = match object.path(&path) {
                Some(Value::String(text)) => text.to_string(),
                Some(other @ (Value::Bool(_) | Value::Number(_))) => other.to_json(),
                _ => default_value(&field).to_owned(),
            };
            (found == requirement.value) == requirement.is_equal
        })
    }
}

/// The value of a field that the object does not have.
fn default_value(field: &str) -> &'static str {
    match field {
        "spec.hostNetwork" | "spec.unschedulable" => "false",
        "status.replicas" | "status.succeeded" => "0",
        _ => "",
    }
}

/// Splits at the commas without a backslash before them.
fn split(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(move |c| {
        let ends = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })
    .collect()
}

/// A value without its backslashes.
fn unescaped(value: &str) -> String {
    let mut escaped = false;
    value
        .chars()
        .filter(|c| {
            escaped = *c == '\\' && !escaped;
            !escaped
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_selected_by_the_fields_that_the_api_server_knows() {
        let pod = Value::from_json(
            r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"nodeName":"w1"},"status":{"phase":"Running"}}"#,
        )
        .unwrap();
        for (text, expected) in [
            ("", true),
            ("metadata.name=a", true),
            ("metadata.name==a,metadata.namespace=n", true),
            ("metadata.name!=a", false),
            ("spec.nodeName=w1,status.phase!=Failed", true),
            ("status.podIP=", true),
            ("spec.hostNetwork=false", true),
            ("spec.nodeName=w\\1", true),
            ("spec.nodeName=w1\\,x", false),
        ] {
            assert_eq!(FieldQuery::parse(text, "", "pods").unwrap().selects(&pod), expected, "{text}");
        }
        for (text, plural) in [("spec.nodeName=w1", "configmaps"), ("metadata.name", "pods")] {
            assert!(FieldQuery::parse(text, "", plural).is_err(), "{text}");
        }
    }
}
