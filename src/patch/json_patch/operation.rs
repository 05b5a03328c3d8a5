//! JSON patches and their operations, parsed.

use crate::patch::limits::{MAX_OPERATIONS, MAX_PATH_TOKENS};
use crate::patch::{Limit, OperationError, PatchError};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{JsonReader, Value};
use crate::yaml::parse_value;

use super::kind::OperationKind;
use super::path::Path;

/// A JSON patch (RFC 6902): operations that are applied in order, all or none.
///
/// ```
/// use kyv::patch::JsonPatch;
/// use kyv::semantics::DivergenceTracker;
/// use kyv::value::Value;
///
/// let patch = JsonPatch::parse(r#"[{"op": "add", "path": "/spec/replicas", "value": 3}]"#).unwrap();
/// let object = Value::from_json(r#"{"kind": "Deployment"}"#).unwrap();
/// let patched = patch.apply(&object, &DivergenceTracker::default()).unwrap();
/// assert_eq!(patched.path(&["spec", "replicas"]), Some(&Value::from(3)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

/// One operation of a [`JsonPatch`].
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    kind: OperationKind,
    path: Path,
    from: Path,
    value: Value,
}

impl JsonPatch {
    /// Parses the text form: JSON if it starts with `[`, YAML otherwise.
    ///
    /// # Errors
    ///
    /// Text that cannot be parsed, is not a list, or contains an unknown or incomplete operation.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        Self::from_value(&Self::read_text(text)?)
    }

    /// The list form of a text, not yet validated.
    pub(super) fn read_text(text: &str) -> Result<Value, PatchError> {
        let value = if text.starts_with('[') {
            JsonReader::new(text).last_wins().read().map_err(|error| error.to_string())
        } else {
            parse_value(text).map_err(|error| error.to_string())
        };
        value.map_err(|message| PatchError::Syntax { message })
    }

    /// Parses the text form as [`JsonPatch::parse`] does. In documented semantics, text that starts with `[` and is not JSON
    /// may be YAML.
    ///
    /// # Errors
    ///
    /// As [`JsonPatch::parse`].
    pub fn parse_as(text: &str, tracker: &DivergenceTracker) -> Result<Self, PatchError> {
        let parsed = Self::parse(text);
        if let Err(PatchError::Syntax { .. }) = &parsed
            && text.starts_with('[')
            && let Ok(value) = parse_value(text)
            && tracker.documented(Divergence::BracketedYaml)
        {
            return Self::from_value(&value);
        }
        parsed
    }

    /// Parses the list form.
    ///
    /// # Errors
    ///
    /// A value that is not a list, or contains an unknown or incomplete operation.
    pub fn from_value(value: &Value) -> Result<Self, PatchError> {
        let Some(items) = value.as_array() else {
            return Err(PatchError::NotAList { found: value.type_name() });
        };
        if items.len() > MAX_OPERATIONS {
            return Err(Limit::Operations.into());
        }
        let operations = items.iter().enumerate().map(|(index, item)| Operation::parse(index + 1, item));
        Ok(Self { operations: operations.collect::<Result<_, _>>()? })
    }

    /// The operations, in order, to be changed in place.
    pub(in crate::patch) fn operations_mut(&mut self) -> &mut [Operation] {
        &mut self.operations
    }

    /// The operations, in order.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }
}

impl Operation {
    fn parse(number: usize, item: &Value) -> Result<Self, PatchError> {
        let path = item.get("path").and_then(Value::as_str);
        let invalid = |error| PatchError::InvalidOperation {
            number,
            path: path.map(|path| format!(" ({path})")).unwrap_or_default(),
            error,
        };
        if item.as_object().is_none() {
            return Err(invalid(OperationError::NotAnObject));
        }
        let kind = item.get("op").and_then(Value::as_str).and_then(OperationKind::named);
        let kind = kind.ok_or_else(|| invalid(OperationError::Unsupported))?;
        let path = path.ok_or_else(|| invalid(OperationError::NoPath))?;
        let from = match kind {
            OperationKind::Move | OperationKind::Copy => {
                item.get("from").and_then(Value::as_str).ok_or_else(|| invalid(OperationError::NoFrom))?
            }
            _ => "",
        };
        let value = match kind {
            OperationKind::Add | OperationKind::Replace => {
                item.get("value").ok_or_else(|| invalid(OperationError::NoValue))?.clone()
            }
            OperationKind::Test => item.get("value").cloned().unwrap_or_default(),
            OperationKind::Remove | OperationKind::Move | OperationKind::Copy => Value::Null,
        };
        let pointer = |text: &str| match Path::parse(text) {
            None => Err(invalid(OperationError::NoSlash)),
            Some(path) if path.tokens.len() > MAX_PATH_TOKENS => Err(Limit::PathParts.into()),
            Some(path) => Ok(path),
        };
        Ok(Self { kind, path: pointer(path)?, from: pointer(from)?, value })
    }

    /// The kind of operation.
    pub const fn kind(&self) -> OperationKind {
        self.kind
    }

    /// The path of the target, as written.
    pub fn path(&self) -> &str {
        &self.path.text
    }

    /// The path of the source of a move or copy, as written; empty otherwise.
    pub fn from(&self) -> &str {
        &self.from.text
    }

    /// The value to set or to compare with; `null` for the operations without value.
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// The parsed path of the target.
    pub(in crate::patch) const fn target(&self) -> &Path {
        &self.path
    }

    /// Changes the target and the value.
    pub(in crate::patch) fn edit(&mut self, change: impl FnOnce(&mut Path, &mut Value)) {
        change(&mut self.path, &mut self.value);
    }

    /// The parsed path of the source.
    pub(super) const fn source(&self) -> &Path {
        &self.from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let error = JsonPatch::parse(text).unwrap_err();
        error.original().unwrap_or_else(|| error.to_string())
    }

    #[test]
    fn broken_operations_are_refused_before_anything_is_applied() {
        for (text, reason) in [
            (r#"[{"op":"merge","path":"/a"}]"#, "invalid operation 1 (/a): unsupported operation"),
            (r#"[{"op":"Add","path":"/a","value":1}]"#, "invalid operation 1 (/a): unsupported operation"),
            (r#"[{"path":"/a","value":1}]"#, "invalid operation 1 (/a): unsupported operation"),
            (r#"[{"op":"add","path":"/a"}]"#, "invalid operation 1 (/a): missing value field"),
            (r#"[{"op":"replace","path":"/a"}]"#, "invalid operation 1 (/a): missing value field"),
            (r#"[{"op":"add","value":1}]"#, "invalid operation 1: missing path field"),
            (
                r#"[{"op":"remove","path":"/a"},{"op":"move","path":"/b"}]"#,
                "invalid operation 2 (/b): missing from field",
            ),
            (
                r#"[{"op":"add","path":"data/k","value":1}]"#,
                "invalid operation 1 (data/k): path must begin with a forward slash",
            ),
            (r#"[1]"#, "invalid operation 1: expected an object"),
            (r#"{"op":"add"}"#, "expected a list of operations, found object"),
        ] {
            assert_eq!(refusal(text), format!("failed to decode patches: {reason}"), "{text}");
        }
    }

    #[test]
    fn an_empty_list_is_a_patch() {
        assert!(JsonPatch::parse("[]").unwrap().operations().is_empty());
    }

    #[test]
    fn a_null_value_is_a_value() {
        assert!(JsonPatch::parse(r#"[{"op":"add","path":"/a","value":null}]"#).is_ok());
        assert!(JsonPatch::parse(r#"[{"op":"test","path":"/a"}]"#).is_ok());
    }

    #[test]
    fn text_that_starts_with_a_bracket_is_json() {
        assert!(refusal("[{op: remove, path: /a}]").starts_with("failed to decode patches: "));
    }

    #[test]
    fn other_text_is_yaml_as_kubernetes_reads_it() {
        let text = "- op: add\n  path: \"/data/a~1b\"\n  value: {on: yes, i: 010, f: 1.0, t: ~, s: '5'}\n";
        let patch = JsonPatch::parse(text).unwrap();
        let [operation] = patch.operations() else { panic!("one operation") };
        assert_eq!((operation.kind(), operation.path()), (OperationKind::Add, "/data/a~1b"));
        let expected = Value::from_json(r#"{"true":true,"i":8,"f":1,"t":null,"s":"5"}"#).unwrap();
        assert_eq!(operation.value(), &expected);
        assert!(refusal("- op: [").starts_with("failed to decode patches: "));
        assert_eq!(refusal(""), "failed to decode patches: expected a list of operations, found null");
    }

    #[test]
    fn long_patches_and_paths_are_invalid() {
        let path = "/a".repeat(MAX_PATH_TOKENS + 1);
        assert_eq!(
            JsonPatch::parse(&format!(r#"[{{"op":"remove","path":"{path}"}}]"#)).unwrap_err(),
            PatchError::Limit(Limit::PathParts)
        );
        let one = Value::from_json(r#"{"op":"remove","path":"/a"}"#).unwrap();
        assert_eq!(
            JsonPatch::from_value(&Value::array(vec![one; MAX_OPERATIONS + 1])).unwrap_err(),
            PatchError::Limit(Limit::Operations)
        );
    }
}
