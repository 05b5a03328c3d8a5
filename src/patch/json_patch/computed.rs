//! JSON patches that an expression computes, applied as RFC 6902 has it: nothing is created on the way, and nothing
//! that is missing may be removed. The API server and Kyverno apply those of CEL policies so.

use std::fmt;

use crate::patch::limits::{CopyCounter, MAX_OPERATIONS, MAX_PATH_TOKENS};
use crate::patch::{IndexError, Limit, MissingPart, PatchError};
use crate::value::{Pointer, Text, Value};

use super::edit::locate::{
    Container, check_depth, container, container_mut, element_index, index_error, insertion_index, missing,
};
use super::edit::long_list::{LongList, runs};
use super::kind::OperationKind;
use super::path::Path;

/// One operation whose members were computed. None is checked before it is applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComputedOperation {
    /// The kind of operation.
    pub op: Text,
    /// The target, a JSON pointer.
    pub path: Text,
    /// The source of a move or copy.
    pub from: Text,
    /// The value; `None` if there is none.
    pub value: Option<Value>,
}

/// What becomes of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Computed {
    /// The object after all operations.
    Patched(Value),
    /// A `test` failed: then none of the operations counts, which is no error.
    TestFailed(FailedTest),
}

/// An operation that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationFailed {
    /// Its number in the patch, from 0; `None` if it is the only one.
    pub index: Option<usize>,
    /// Its path, if that does not begin with a slash.
    pub path: Option<Text>,
    /// Why.
    pub error: PatchError,
}

impl std::error::Error for OperationFailed {}

impl OperationFailed {
    /// Its text in the words of the API server and Kyverno, if they are others.
    pub fn original(&self) -> Option<String> {
        Some(self.text(&self.error.original()?))
    }

    fn text(&self, error: &str) -> String {
        let index = self.index.map_or_else(String::new, |index| format!("operation [{index}]: "));
        let hint = match self.path.as_deref() {
            None => String::new(),
            Some("") => "; `path` is missing or empty, expected one such as `/metadata/labels/a`".to_owned(),
            Some(path) => format!("; the path `{path}` does not begin with `/`"),
        };
        format!("{index}{error}{hint}")
    }
}

impl fmt::Display for OperationFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&self.error.to_string()))
    }
}

/// A `test` that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedTest {
    /// Its path as written.
    pub path: Text,
    /// The keys and indexes of the path, all as keys.
    pub at: Pointer,
    /// The value that was expected; `None` if the operation has none.
    pub expected: Option<Value>,
    /// The value that was found; `None` if there is none.
    pub found: Option<Value>,
}

/// Applies operations to a copy of an object; only changed paths are copied.
///
/// # Errors
///
/// The first operation that cannot be applied.
pub fn apply_computed(base: &Value, operations: &[ComputedOperation]) -> Result<Computed, OperationFailed> {
    let failed = |index, path, error| OperationFailed { index, path, error };
    if operations.len() > MAX_OPERATIONS {
        return Err(failed(None, None, Limit::Operations.into()));
    }
    let mut editor = Editor { document: base.clone(), copied: CopyCounter::default() };
    let failure = |index, error| {
        let path = operations.get(index).map(|operation: &ComputedOperation| operation.path.clone());
        let is_about_path = !matches!(error, PatchError::UnknownOperation { .. });
        let path = path.filter(|path| is_about_path && !path.starts_with('/'));
        failed((operations.len() > 1).then_some(index), path, error)
    };
    let mut index = 0;
    for run in runs(operations, list_of) {
        if let Some(applied) = editor.apply_to_long_list(run) {
            applied.map_err(|(at, error)| failure(index + at, error))?;
            index += run.len();
            continue;
        }
        for operation in run {
            let result = editor.apply(operation).map_err(|error| failure(index, error));
            if let Some(failed) = result? {
                return Ok(Computed::TestFailed(failed));
            }
            index += 1;
        }
    }
    Ok(Computed::Patched(editor.document))
}

/// The text of the path of the list in which an operation adds, removes or moves elements; of an object, as far as the path
/// tells.
fn list_of(operation: &ComputedOperation) -> Option<&str> {
    let parents = |path: &'_ Text| path.rfind('/');
    let list = operation.path.get(..parents(&operation.path)?)?;
    match OperationKind::named(&operation.op)? {
        OperationKind::Add | OperationKind::Remove => Some(list),
        OperationKind::Copy | OperationKind::Move => {
            let source = operation.from.get(..parents(&operation.from)?)?;
            (source == list).then_some(list)
        }
        OperationKind::Replace | OperationKind::Test => None,
    }
}

struct Editor {
    document: Value,
    /// What was copied so far.
    copied: CopyCounter,
}

impl Editor {
    /// Applies one operation, or returns the test that failed.
    fn apply(&mut self, operation: &ComputedOperation) -> Result<Option<FailedTest>, PatchError> {
        let kind = OperationKind::named(&operation.op)
            .ok_or_else(|| PatchError::UnknownOperation { found: operation.op.to_string() })?;
        let path = &split(&operation.path)?;
        let value = || operation.value.clone().unwrap_or_default();
        match kind {
            OperationKind::Add => self.add(kind, path, value(), MissingPart::Path)?,
            OperationKind::Remove => drop(self.remove(kind, path, MissingPart::Path)?),
            OperationKind::Replace => self.replace(path, operation.value.as_ref())?,
            OperationKind::Test => return self.test(path, operation.value.as_ref()),
            OperationKind::Copy => {
                let from = &split(&operation.from)?;
                let value = self.found(kind, from, MissingPart::From)?.cloned().unwrap_or_default();
                self.copied.count(&value)?;
                self.add(kind, path, value, MissingPart::Destination)?;
            }
            OperationKind::Move => {
                let from = &split(&operation.from)?;
                let value = self.remove(kind, from, MissingPart::From)?;
                self.add(kind, path, value, MissingPart::Destination)?;
            }
        }
        Ok(None)
    }

    /// Applies operations on the elements of one list; `None` if the list is not long, or they are few. An error has the
    /// number of its operation.
    fn apply_to_long_list(
        &mut self,
        operations: &[ComputedOperation],
    ) -> Option<Result<(), (usize, PatchError)>> {
        let first = operations.first().filter(|first| list_of(first).is_some())?;
        let path = split(&first.path).ok()?;
        let (_, parents) = path.split_last()?;
        let Self { document, copied } = self;
        LongList::change(document, parents, operations.len(), |list| {
            let mut numbered = operations.iter().enumerate();
            numbered.try_for_each(|(at, operation)| {
                apply_to_list(list, operation, copied).map_err(|error| (at, error))
            })
        })
    }

    fn add(
        &mut self,
        kind: OperationKind,
        path: &Path,
        value: Value,
        part: MissingPart,
    ) -> Result<(), PatchError> {
        check_depth(path, &value)?;
        let missing = || missing(kind, part, path);
        let (last, parents) = path.tokens.split_last().ok_or_else(missing)?;
        match container_mut(&mut self.document, parents).ok_or_else(missing)? {
            Container::Map(members) => drop(members.insert(last.name.clone(), value)),
            Container::List(items) => {
                let index = insertion_index(items.len(), last);
                items.insert(index.map_err(|error| index_error(kind, path, error))?, value);
            }
        }
        Ok(())
    }

    fn remove(&mut self, kind: OperationKind, path: &Path, part: MissingPart) -> Result<Value, PatchError> {
        let missing = || missing(kind, part, path);
        let (last, parents) = path.tokens.split_last().ok_or_else(missing)?;
        match container_mut(&mut self.document, parents).ok_or_else(missing)? {
            Container::Map(members) => members.shift_remove(&last.name).ok_or_else(|| {
                let (path, key) = (path.text.to_string(), last.name.to_string());
                PatchError::NoSuchMember { kind, path, key }
            }),
            Container::List(items) => {
                let index = element_index(items, last).map_err(|error| index_error(kind, path, error))?;
                Ok(items.remove(index))
            }
        }
    }

    /// Replaces a value. A member that is missing is added.
    fn replace(&mut self, path: &Path, value: Option<&Value>) -> Result<(), PatchError> {
        let kind = OperationKind::Replace;
        let missing = |part| missing(kind, part, path);
        let Some((last, parents)) = path.tokens.split_last() else {
            return match value {
                Some(document @ Value::Object(_)) => {
                    self.document = document.clone();
                    Ok(())
                }
                _ => Err(PatchError::ScalarDocument { kind }),
            };
        };
        let value = value.cloned().unwrap_or_default();
        check_depth(path, &value)?;
        match container_mut(&mut self.document, parents).ok_or_else(|| missing(MissingPart::Path))? {
            Container::Map(members) => drop(members.insert(last.name.clone(), value)),
            Container::List(items) => {
                let index = element_index(items, last).map_err(|_| missing(MissingPart::Key))?;
                items[index] = value;
            }
        }
        Ok(())
    }

    /// Tests whether a value is as expected. No value but an absent one equals a missing member.
    fn test(&self, path: &Path, expected: Option<&Value>) -> Result<Option<FailedTest>, PatchError> {
        let found = match path.tokens.is_empty() {
            true => Some(&self.document),
            false => self.found(OperationKind::Test, path, MissingPart::Path)?,
        };
        let is_equal = match (found, expected) {
            (None, None) => true,
            (None | Some(Value::Null), _) | (_, None) => false,
            // The library reads null as an empty map or list.
            (Some(Value::Object(members)), Some(Value::Null)) => members.is_empty(),
            (Some(Value::Array(items)), Some(Value::Null)) => items.is_empty(),
            (Some(found), Some(expected)) => found == expected,
        };
        let failed = || FailedTest {
            path: path.text.clone(),
            at: path.tokens.iter().fold(Pointer::ROOT, |at, token| at.key(token.name.clone())),
            expected: expected.cloned(),
            found: found.cloned(),
        };
        Ok((!is_equal).then(failed))
    }

    /// The value at a path; `None` for a missing member of a map.
    fn found(
        &self,
        kind: OperationKind,
        path: &Path,
        part: MissingPart,
    ) -> Result<Option<&Value>, PatchError> {
        let missing = || missing(kind, part, path);
        let (last, parents) = path.tokens.split_last().ok_or_else(missing)?;
        match container(&self.document, parents).ok_or_else(missing)? {
            Value::Array(items) => match element_index(items, last) {
                Ok(index) => Ok(items.get(index)),
                Err(error @ (IndexError::Invalid(_) | IndexError::NotANumber(_))) => {
                    Err(index_error(kind, path, error))
                }
            },
            parent => Ok(parent.get(&last.name)),
        }
    }
}

/// Applies an operation on an element of a list as [`Editor::apply`] does.
fn apply_to_list(
    list: &mut LongList,
    operation: &ComputedOperation,
    copied: &mut CopyCounter,
) -> Result<(), PatchError> {
    let kind = OperationKind::named(&operation.op)
        .ok_or_else(|| PatchError::UnknownOperation { found: operation.op.to_string() })?;
    let path = &split(&operation.path)?;
    let value = match kind {
        OperationKind::Copy | OperationKind::Move => {
            let at = list.index(kind, &split(&operation.from)?)?;
            if kind == OperationKind::Copy {
                let value = list.get(at).cloned().unwrap_or_default();
                copied.count(&value)?;
                value
            } else {
                list.remove(at).unwrap_or_default()
            }
        }
        OperationKind::Remove => {
            let at = list.index(kind, path)?;
            list.remove(at);
            return Ok(());
        }
        OperationKind::Add | OperationKind::Replace | OperationKind::Test => {
            operation.value.clone().unwrap_or_default()
        }
    };
    list.add(kind, path, value)
}

/// The tokens of a pointer. What stands before the first slash counts for nothing, as in the library.
fn split(text: &Text) -> Result<Path, PatchError> {
    let pointer = text.find('/').map_or("", |slash| &text[slash..]);
    let mut path = Path::parse(pointer).unwrap_or_default();
    if path.tokens.len() > MAX_PATH_TOKENS {
        return Err(Limit::PathParts.into());
    }
    path.text = text.clone();
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str =
        r#"{"kind":"ConfigMap","metadata":{"labels":{"app":"x","e":{}},"f":["a","b"]},"n":2,"z":null}"#;

    /// Applies operations, each as `OP PATH [VALUE]` or `OP PATH < FROM`, one for each line.
    fn applied(text: &str) -> Result<Computed, String> {
        let operation = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut word = || words.next().unwrap_or_default().to_owned();
            let (op, path, rest) = (word(), word(), word());
            let from = rest.strip_prefix("< ").unwrap_or_default();
            let value = (!rest.is_empty() && from.is_empty()).then(|| Value::from_json(&rest).unwrap());
            let path = if path == "''" { String::new() } else { path };
            ComputedOperation { op: op.into(), path: path.into(), from: from.into(), value }
        };
        let operations: Vec<_> = text.split(" ; ").map(operation).collect();
        apply_computed(&Value::from_json(OBJECT).unwrap(), &operations)
            .map_err(|error| error.original().unwrap_or_else(|| error.to_string()))
    }

    /// Checked with `gopkg.in/evanphx/json-patch.v4`.
    #[test]
    fn operations_are_applied_as_the_api_server_does() {
        for (text, at, expected) in [
            ("add /metadata/labels/a \"1\"", "metadata.labels.a", "\"1\""),
            ("add /metadata/labels/a", "metadata.labels.a", "null"),
            ("replace /metadata/labels/zz \"1\"", "metadata.labels.zz", "\"1\""),
            ("add /metadata/f/- \"c\"", "metadata.f", r#"["a","b","c"]"#),
            ("add /metadata/f/2 \"c\"", "metadata.f", r#"["a","b","c"]"#),
            ("add /metadata/f/-1 \"c\"", "metadata.f", r#"["a","b","c"]"#),
            ("add /metadata/f/-2 \"c\"", "metadata.f", r#"["a","c","b"]"#),
            ("replace /metadata/f/-1 \"c\"", "metadata.f", r#"["a","c"]"#),
            ("remove /metadata/f/0", "metadata.f", r#"["b"]"#),
            ("copy /metadata/labels/c < /metadata/labels/nope", "metadata.labels.c", "null"),
            ("copy /metadata/labels/c < /metadata/labels/app", "metadata.labels.c", "\"x\""),
            ("move /metadata/labels/c < /metadata/labels/app", "metadata.labels", r#"{"e":{},"c":"x"}"#),
            ("test /n 2 ; add /m 1", "m", "1"),
            ("test /metadata/labels/e null ; add /m 1", "m", "1"),
            ("test /nope ; add /m 1", "m", "1"),
            ("replace '' {\"kind\":\"B\"}", "kind", "\"B\""),
            ("add metadata/m 1", "m", "1"),
        ] {
            let Ok(Computed::Patched(patched)) = applied(text) else { panic!("{text}") };
            let found = patched.path(&at.split('.').collect::<Vec<_>>());
            assert_eq!(found.map(Value::to_json).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn many_operations_on_a_long_list_do_what_each_alone_does() {
        let operation = |op: &str, from: &str, path: &str| ComputedOperation {
            op: op.into(),
            path: path.into(),
            from: from.into(),
            value: Some(Value::from(path)),
        };
        let base = Value::from_iter([("l", Value::array((0..5000).map(Value::from).collect()))]);
        let mut operations = vec![operation("add", "", "/l/0"); 9];
        operations.extend(
            [("add", "/l/-"), ("remove", "/l/-1"), ("add", "/l/5000")]
                .map(|(op, path)| operation(op, "", path)),
        );
        operations.extend(
            [("move", "/l/0", "/l/-"), ("copy", "/l/9", "/l/3")]
                .map(|(op, from, path)| operation(op, from, path)),
        );
        let alone = |document: &Value, operation: &ComputedOperation| {
            apply_computed(document, std::slice::from_ref(operation))
        };
        let before = operations.iter().fold(base.clone(), |document, one| match alone(&document, one) {
            Ok(Computed::Patched(document)) => document,
            failed => panic!("{failed:?}"),
        });
        for (op, from, path) in [
            ("add", "", "/l/1"),
            ("add", "", "/l/x"),
            ("remove", "", "/l/9999"),
            ("move", "/l/9999", "/l/0"),
            ("copy", "/l/-", "/l/0"),
            ("merge", "", "/l/0"),
        ] {
            let last = operation(op, from, path);
            let all = [&operations[..], std::slice::from_ref(&last)].concat();
            let expected = alone(&before, &last);
            let number = Some(operations.len());
            let expected = expected.map_err(|failed| OperationFailed { index: number, ..failed });
            assert!(apply_computed(&base, &all) == expected, "{op} {path}");
        }
    }

    #[test]
    fn a_failed_test_drops_the_whole_patch() {
        for test in ["/metadata/labels/app \"y\"", "/nope null", "/z null", "/n", "/n \"2\"", "'' {}"] {
            let result = applied(&format!("add /m 1 ; test {test} ; add /k 1"));
            assert!(matches!(result, Ok(Computed::TestFailed(_))), "{test}");
        }
    }

    #[test]
    fn a_failed_test_has_its_path_and_both_values() {
        for (test, expected, found) in [
            ("/metadata/labels/app \"y\"", Some("\"y\""), Some("\"x\"")),
            ("/metadata/labels/none 1", Some("1"), None),
            ("/z null", Some("null"), Some("null")),
            ("/n", None, Some("2")),
        ] {
            let Ok(Computed::TestFailed(failed)) = applied(&format!("test {test}")) else { panic!("{test}") };
            let json = |value: Option<Value>| value.map(|value| value.to_json());
            assert_eq!((json(failed.expected).as_deref(), json(failed.found).as_deref()), (expected, found));
            assert_eq!(Some(&*failed.path), test.split(' ').next());
            assert_eq!(failed.at.to_json_pointer(), *failed.path);
        }
    }

    #[test]
    fn operations_that_cannot_be_applied_are_errors() {
        for (text, error) in [
            (
                "add /metadata/annotations/x \"1\"",
                "add operation does not apply: doc is missing path: /metadata/annotations/x: missing value",
            ),
            (
                "add '' {}",
                "add operation does not apply: doc is missing path: : missing value; \
                 `path` is missing or empty, expected one such as `/metadata/labels/a`",
            ),
            (
                "add metadata {}",
                "add operation does not apply: doc is missing path: metadata: missing value; \
                 the path `metadata` does not begin with `/`",
            ),
            (
                "add /m 1 ; remove /zz",
                "operation [1]: error in remove for path: '/zz': Unable to remove nonexistent key: zz: missing value",
            ),
            ("add /n/a 1", "add operation does not apply: doc is missing path: /n/a: missing value"),
            (
                "remove /metadata/labels/zz",
                "error in remove for path: '/metadata/labels/zz': Unable to remove nonexistent key: zz: missing value",
            ),
            (
                "move /metadata/labels/c < /metadata/labels/zz",
                "error in move for path: '/metadata/labels/zz': Unable to remove nonexistent key: zz: missing value",
            ),
            (
                "add /metadata/f/9 1",
                "error in add for path: '/metadata/f/9': Unable to access invalid index: 9: invalid index referenced",
            ),
            ("test /a/b 1", "test operation does not apply: doc is missing path: /a/b: missing value"),
            (
                "replace '' 1",
                "replace of the whole document: value must be an object or a list; \
             `path` is missing or empty, expected one such as `/metadata/labels/a`",
            ),
        ] {
            assert_eq!(applied(text), Err(error.to_owned()), "{text}");
        }
        for (text, error) in [
            ("foo /a 1", "`foo` is no operation of a JSON patch"),
            (" /a 1", "the operation of a JSON patch has no `op`"),
            ("ADD /a 1", "`ADD` is no operation of a JSON patch"),
        ] {
            let expected = "expected `add`, `remove`, `replace`, `move`, `copy` or `test`";
            assert_eq!(applied(text), Err(format!("{error}; {expected}")), "{text}");
        }
    }
}
