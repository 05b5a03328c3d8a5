//! JSON patches, read.

use std::fmt;

use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{JsonReader, Text, Value};
use crate::yaml::parse_value;

use crate::patch::{LegacyReading, Limit, MAX_OPERATIONS, MAX_PATH_PARTS, OperationFault, PatchError};

/// A JSON patch: operations that are made in order, all or none.
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

/// What an [`Operation`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Sets a member or inserts an element.
    Add,
    /// Removes a member or an element, if it is there.
    Remove,
    /// Sets what is there to another value.
    Replace,
    /// Takes a value away and puts it elsewhere.
    Move,
    /// Puts a copy of a value elsewhere.
    Copy,
    /// Fails unless a value is as expected.
    Test,
}

/// A JSON pointer as it was written, with its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::patch) struct Path {
    pub(in crate::patch) text: Text,
    pub(in crate::patch) parts: Vec<Part>,
}

/// One part of a [`Path`].
#[derive(Clone, Debug, PartialEq)]
pub(in crate::patch) struct Part {
    /// The name or index it stands for.
    pub(in crate::patch) name: Text,
    /// Whether it was written with an escape, so that the written text is another name.
    pub(in crate::patch) escaped: bool,
}

impl JsonPatch {
    /// Reads the text form: JSON where it starts with `[`, YAML otherwise.
    ///
    /// # Errors
    ///
    /// Text that cannot be read, is no list, or holds an operation that is unknown or incomplete.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        Self::from_value(&Self::read_text(text)?)
    }

    /// The list form of a text.
    pub(in crate::patch) fn read_text(text: &str) -> Result<Value, PatchError> {
        let value = if text.starts_with('[') {
            JsonReader::new(text).last_wins().read().map_err(|error| error.to_string())
        } else {
            parse_value(text).map_err(|error| error.to_string())
        };
        value.map_err(|message| PatchError::Syntax { message })
    }

    /// Reads the text form, as [`JsonPatch::parse`] does; what starts with `[` and is no JSON is YAML all the same to the
    /// documentation.
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

    /// Reads the list form.
    ///
    /// # Errors
    ///
    /// A value that is no list, or holds an operation that is unknown or incomplete.
    pub fn from_value(value: &Value) -> Result<Self, PatchError> {
        let Some(items) = value.as_array() else {
            return Err(PatchError::NotAList { found: value.type_name() });
        };
        if items.len() > MAX_OPERATIONS {
            return Err(PatchError::Limit(Limit::Operations));
        }
        let operations = items.iter().enumerate().map(|(index, item)| Operation::read(index + 1, item));
        Ok(Self { operations: operations.collect::<Result<_, _>>()? })
    }

    /// Keeps to what the early syntax has: three operations, values that are not null, and, as its
    /// documentation writes it, one slash too many at the end of a path.
    pub(in crate::patch) fn restrict_to_early(&mut self, tracker: LegacyReading) -> Result<(), PatchError> {
        for (index, operation) in self.operations.iter_mut().enumerate() {
            let fault = if !operation.kind.is_documented() {
                OperationFault::NotEarly
            } else if operation.path.parts.is_empty() {
                OperationFault::NoSlash
            } else if operation.kind != OperationKind::Remove && operation.value.is_null() {
                OperationFault::NullValue
            } else {
                let path = &mut operation.path.parts;
                if tracker == LegacyReading::Documented
                    && path.len() > 1
                    && path.last().is_some_and(|last| last.name.is_empty())
                {
                    path.pop();
                }
                continue;
            };
            let path = format!(" ({})", operation.path.text);
            return Err(PatchError::InvalidOperation { number: index + 1, path, fault });
        }
        Ok(())
    }

    /// The operations, in order.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }
}

impl Operation {
    fn read(number: usize, item: &Value) -> Result<Self, PatchError> {
        let path = item.get("path").and_then(Value::as_str);
        let refused = |fault| PatchError::InvalidOperation {
            number,
            path: path.map(|path| format!(" ({path})")).unwrap_or_default(),
            fault,
        };
        if item.as_object().is_none() {
            return Err(refused(OperationFault::NotAnObject));
        }
        let kind = item.get("op").and_then(Value::as_str).and_then(OperationKind::named);
        let kind = kind.ok_or_else(|| refused(OperationFault::Unsupported))?;
        let path = path.ok_or_else(|| refused(OperationFault::NoPath))?;
        let from = match kind {
            OperationKind::Move | OperationKind::Copy => {
                item.get("from").and_then(Value::as_str).ok_or_else(|| refused(OperationFault::NoFrom))?
            }
            _ => "",
        };
        let value = match kind {
            OperationKind::Add | OperationKind::Replace => {
                item.get("value").ok_or_else(|| refused(OperationFault::NoValue))?.clone()
            }
            OperationKind::Test => item.get("value").cloned().unwrap_or_default(),
            OperationKind::Remove | OperationKind::Move | OperationKind::Copy => Value::Null,
        };
        let pointer = |text: &str| match Path::parse(text) {
            None => Err(refused(OperationFault::NoSlash)),
            Some(path) if path.parts.len() > MAX_PATH_PARTS => Err(PatchError::Limit(Limit::PathParts)),
            Some(path) => Ok(path),
        };
        Ok(Self { kind, path: pointer(path)?, from: pointer(from)?, value })
    }

    /// What it does.
    pub const fn kind(&self) -> OperationKind {
        self.kind
    }

    /// The pointer to the target, as written.
    pub fn path(&self) -> &str {
        &self.path.text
    }

    /// The pointer to the source of a move or copy, as written; empty otherwise.
    pub fn from(&self) -> &str {
        &self.from.text
    }

    /// The value to set or to compare with; `null` for the operations that take none.
    pub const fn value(&self) -> &Value {
        &self.value
    }

    pub(in crate::patch) const fn target(&self) -> &Path {
        &self.path
    }

    pub(in crate::patch) const fn source(&self) -> &Path {
        &self.from
    }
}

impl OperationKind {
    /// The operation of this name; names are lower-case.
    fn named(name: &str) -> Option<Self> {
        [Self::Add, Self::Remove, Self::Replace, Self::Move, Self::Copy, Self::Test]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// The name it is written with.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Replace => "replace",
            Self::Move => "move",
            Self::Copy => "copy",
            Self::Test => "test",
        }
    }

    /// Whether Kyverno's documentation names it; all six work.
    pub const fn is_documented(self) -> bool {
        matches!(self, Self::Add | Self::Remove | Self::Replace)
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Path {
    /// Splits a pointer; `None` if it is neither empty nor starts with a slash.
    fn parse(text: &str) -> Option<Self> {
        let parts = match text.strip_prefix('/') {
            Some(rest) => rest.split('/').map(Part::parse).collect(),
            None if text.is_empty() => Vec::new(),
            None => return None,
        };
        Some(Self { text: text.into(), parts })
    }
}

impl Part {
    fn parse(text: &str) -> Self {
        if !text.contains('~') {
            return Self { name: text.into(), escaped: false };
        }
        let mut name = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('~') {
            name.push_str(&rest[..at]);
            let (plain, width) = match rest.as_bytes().get(at + 1) {
                Some(b'0') => ('~', 2),
                Some(b'1') => ('/', 2),
                _ => ('~', 1),
            };
            name.push(plain);
            rest = &rest[at + width..];
        }
        name.push_str(rest);
        Self { escaped: name != text, name: name.into() }
    }

    /// The index it stands for in a list: a signed decimal.
    pub(in crate::patch) fn index(&self) -> Option<i64> {
        self.name.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        JsonPatch::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn pointers_are_split_and_unescaped() {
        for (text, parts) in [
            ("", &[] as &[&str]),
            ("/", &[""]),
            ("/data/kk/", &["data", "kk", ""]),
            ("/a~1b~0c", &["a/b~c"]),
            ("/~01", &["~1"]),
            ("/~2/~", &["~2", "~"]),
        ] {
            let path = Path::parse(text).unwrap();
            assert_eq!(path.parts.iter().map(|part| &*part.name).collect::<Vec<_>>(), parts, "{text}");
        }
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
            assert_eq!(fault(text), format!("failed to decode patches: {reason}"), "{text}");
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
        assert!(fault("[{op: remove, path: /a}]").starts_with("failed to decode patches: "));
    }

    #[test]
    fn other_text_is_yaml_as_kubernetes_reads_it() {
        let text = "- op: add\n  path: \"/data/a~1b\"\n  value: {on: yes, i: 010, f: 1.0, t: ~, s: '5'}\n";
        let patch = JsonPatch::parse(text).unwrap();
        let [operation] = patch.operations() else { panic!("one operation") };
        assert_eq!((operation.kind(), operation.path()), (OperationKind::Add, "/data/a~1b"));
        let expected = Value::from_json(r#"{"true":true,"i":8,"f":1,"t":null,"s":"5"}"#).unwrap();
        assert_eq!(operation.value(), &expected);
        assert!(fault("- op: [").starts_with("failed to decode patches: "));
        assert_eq!(fault(""), "failed to decode patches: expected a list of operations, found null");
    }

    #[test]
    fn long_patches_and_paths_are_refused() {
        let path = "/a".repeat(MAX_PATH_PARTS + 1);
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
