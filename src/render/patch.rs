//! Changes as JSON patches, objects as names.

use crate::report::ObjectReport;
use crate::value::{Change, ChangeKind, ObjectRef, Value};

use super::printable::printable_line;

/// Changes as an RFC 6902 patch.
pub fn json_patch(changes: &[Change]) -> Value {
    let operations = changes.iter().map(|change| {
        let path = change.pointer.to_json_pointer();
        let (op, value) = match &change.kind {
            ChangeKind::Add(value) => ("add", Some(value)),
            ChangeKind::Remove(_) => ("remove", None),
            ChangeKind::Replace { after, .. } => ("replace", Some(after)),
        };
        let mut operation: Value = [("op", Value::from(op)), ("path", path.into())].into_iter().collect();
        if let Some(value) = value {
            operation.insert("value", value.clone());
        }
        operation
    });
    Value::array(operations.collect())
}

/// What identifies an object in reports: `apiVersion`, `kind`, `namespace` where it has one, `name`.
pub(super) fn identity(object: &ObjectRef) -> Value {
    let mut identity: Value = [
        ("apiVersion", Value::from(object.kind.api_version())),
        ("kind", Value::String(object.kind.kind.clone())),
    ]
    .into_iter()
    .collect();
    if let Some(namespace) = &object.namespace {
        identity.insert("namespace", Value::String(namespace.clone()));
    }
    identity.insert("name", Value::String(object.name.clone()));
    identity
}

/// The name kubectl prints for an object with `-o name`: `pod/web`, `deployment.apps/web`.
pub fn kubectl_name(report: &ObjectReport) -> Option<String> {
    let object = report.object.as_ref()?;
    let kind = object.kind.kind.to_lowercase();
    let group = if object.kind.group.is_empty() { String::new() } else { format!(".{}", object.kind.group) };
    Some(printable_line(&format!("{kind}{group}/{}", object.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::changes;

    #[test]
    fn changes_become_operations() {
        let json = |text| Value::from_json(text).unwrap();
        let changes =
            changes(&json(r#"{"a":{"b/c":1},"d":[1]}"#), &json(r#"{"a":{"b/c":2,"e":null},"d":[]}"#));
        assert_eq!(
            json_patch(&changes).to_json(),
            r#"[{"op":"replace","path":"/a/b~1c","value":2},{"op":"add","path":"/a/e","value":null},{"op":"remove","path":"/d/0"}]"#
        );
    }
}
