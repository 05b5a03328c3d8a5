//! JSON patches and identities of objects.

use crate::report::ObjectReport;
use crate::value::{Change, ChangeKind, ObjectRef, Value};

use super::printable::printable_line;

/// Changes as a JSON patch (RFC 6902).
pub fn json_patch(changes: &[Change]) -> Value {
    let operations = changes.iter().map(|change| {
        let path = change.pointer.to_json_pointer();
        let (op, value) = match &change.kind {
            ChangeKind::Add(value) => ("add", Some(value)),
            ChangeKind::Remove(_) => ("remove", None),
            ChangeKind::Replace { after, .. } => ("replace", Some(after)),
        };
        let value = value.map(|value| ("value", value.clone()));
        Value::from_iter([("op", op.into()), ("path", path.into())].into_iter().chain(value))
    });
    Value::array(operations.collect())
}

/// The identity of an object: `apiVersion`, `kind`, `namespace` if it has one, `name`.
pub(super) fn identity(object: &ObjectRef) -> Value {
    let kind = &object.kind;
    let namespace = object.namespace.iter().map(|namespace| ("namespace", namespace.clone().into()));
    [("apiVersion", kind.api_version().into()), ("kind", kind.kind.clone().into())]
        .into_iter()
        .chain(namespace)
        .chain([("name", object.name.clone().into())])
        .collect()
}

/// The name of an object as `kubectl -o name` prints it: `pod/web`, `deployment.apps/web`.
pub(super) fn kubectl_name(report: &ObjectReport) -> Option<String> {
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
