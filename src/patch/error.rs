//! Errors of reading and applying patches.

use crate::diagnostics::{Code, Coded};
use crate::value::{Pointer, Value};

use super::json_patch::OperationKind;
use super::limits::Limit;

/// Why a patch could not be read or applied.
///
/// Errors name the path, never a value: values may be secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The text of a JSON patch is neither JSON nor YAML.
    #[error("the JSON patch is neither JSON nor YAML: {message}")]
    Syntax {
        /// The parser's error.
        message: String,
    },
    /// A JSON patch is not a list.
    #[error("expected a list of operations as JSON patch, found {found}")]
    NotAList {
        /// The type found.
        found: &'static str,
    },
    /// An operation of a JSON patch is incomplete or unknown.
    #[error("operation {number}{path} of the JSON patch: {error}")]
    InvalidOperation {
        /// Its position in the list, counted from 1.
        number: usize,
        /// Its path in parentheses with a space before, or empty.
        path: String,
        /// What is wrong with it.
        error: OperationError,
    },
    /// An operation refers to a value that does not exist.
    #[error("{kind}{} `{path}`: {}", part.preposition(), part.plain())]
    Missing {
        /// The operation.
        kind: OperationKind,
        /// What is missing.
        part: MissingPart,
        /// The path, as written.
        path: String,
    },
    /// An operation of a computed patch is none of the six.
    #[error("{}; expected `add`, `remove`, `replace`, `move`, `copy` or `test`", if .found.is_empty() {
        "the operation of a JSON patch has no `op`".to_owned()
    } else {
        format!("`{found}` is no operation of a JSON patch")
    })]
    UnknownOperation {
        /// The operation as computed; may be empty.
        found: String,
    },
    /// An operation removes a member that does not exist.
    #[error("{kind} `{path}`: there is no key `{key}`")]
    NoSuchMember {
        /// The operation.
        kind: OperationKind,
        /// The path, as written.
        path: String,
        /// The last key of the path.
        key: String,
    },
    /// An operation uses an index that the list does not have.
    #[error("{kind} `{path}`: {}", error.plain())]
    Index {
        /// The operation.
        kind: OperationKind,
        /// The path, as written.
        path: String,
        /// What is wrong with the index.
        error: IndexError,
    },
    /// A `test` operation failed.
    #[error("test `{path}`: the object has another value")]
    TestFailed {
        /// The path, as written.
        path: String,
    },
    /// A parent of the target is neither an object nor a list.
    #[error("`{path}`: a parent of it is neither an object nor a list")]
    ScalarParent {
        /// The path, as written.
        path: String,
    },
    /// A list would have to be created from its end.
    #[error("the index {index} is of a list that does not exist: only -1 creates one")]
    NegativeParent {
        /// The index.
        index: i64,
    },
    /// The whole document would become a scalar.
    #[error("{kind} of the whole document: value must be an object or a list")]
    ScalarDocument {
        /// The operation.
        kind: OperationKind,
    },
    /// A strategic merge patch is not an object.
    #[error("a strategic merge patch must be an object, found {found}")]
    NotAnObject {
        /// The type found.
        found: &'static str,
    },
    /// An anchor that is for validate patterns only.
    #[error("anchor `{key}` at `{at}` has no meaning in a patch")]
    ForeignAnchor {
        /// The anchored key.
        key: String,
        /// Its path in the patch.
        at: Pointer,
    },
    /// An anchored key with spaces around it, on which Kyverno's controllers crash.
    #[error("anchor `{key}` at `{at}` has blanks around it")]
    BlankAnchor {
        /// The anchored key.
        key: String,
        /// Its path in the patch.
        at: Pointer,
    },
    /// Patch and object have different types at a node.
    #[error("the patch has {} at `{at}`, where the object has {}", found.plain(), expected.plain())]
    WrongKind {
        /// The kind of node in the object.
        expected: NodeKind,
        /// The kind of node in the patch.
        found: NodeKind,
        /// The path in the object.
        at: Pointer,
    },
    /// An element of a patch has no merge key.
    #[error("patch element for {at} has no merge key {key}")]
    LacksMergeKey {
        /// The list.
        at: Pointer,
        /// The key.
        key: String,
    },
    /// An element of a patch matches several elements of the object.
    #[error("patch element for {at} matches several elements: merge key {key} is missing")]
    AmbiguousMergeKey {
        /// The list.
        at: Pointer,
        /// The missing key that would distinguish them.
        key: String,
    },
    /// A `$patch` directive with an unknown value.
    #[error("unknown patch strategy at `{at}`: `$patch` is one of delete, merge, replace")]
    UnknownStrategy {
        /// The map that holds the directive.
        at: Pointer,
    },
    /// A `$patch` directive would delete the object.
    #[error("`$patch: delete` would delete the whole object")]
    DeletesObject,
    /// A reference to the value it replaces could not be resolved.
    #[error("{error} at `{at}`")]
    Inline {
        /// The resolver's error.
        error: InlineError,
        /// The path in the object.
        at: Pointer,
    },
    /// Kyverno's controllers crash here.
    #[error("Kyverno crashes on the anchored elements of the list at `{at}`")]
    Crash {
        /// The list in the patch.
        at: Pointer,
    },
    /// A legacy overlay is not an object.
    #[error("an overlay must be an object, found {found}")]
    NotAnOverlay {
        /// The type found.
        found: &'static str,
    },
    /// A legacy overlay contains a null; overlays cannot delete.
    #[error("an overlay cannot delete: null at `{at}`, use `patches` with `remove`")]
    NullInOverlay {
        /// Its path in the overlay.
        at: Pointer,
    },
    /// A legacy overlay sets a value to null, which Kyverno 1.1 did not support.
    #[error("an overlay cannot set null, at `{at}`")]
    NullOverValue {
        /// The path in the object.
        at: Pointer,
    },
    /// A legacy overlay has an empty list, which Kyverno 1.1 refused.
    #[error("the overlay has an empty list at `{at}`")]
    EmptyListInOverlay {
        /// The path in the object.
        at: Pointer,
    },
    /// The elements of a list have different types in a legacy overlay and in the object.
    #[error("overlay and resource have different element types in the list at `{at}`")]
    ElementTypes {
        /// The path in the object.
        at: Pointer,
    },
    /// A legacy overlay and the object have different types, on which Kyverno 1.1 crashed.
    #[error("overlay and object have different types at `{at}`, on which Kyverno 1.1 crashes")]
    LegacyCrash {
        /// The path in the object.
        at: Pointer,
    },
    /// Operations of a legacy patch that cannot be applied.
    #[error("{}", joined(failures, ToString::to_string))]
    LegacyOperations {
        /// Their errors, in order.
        failures: Vec<Self>,
    },
    /// A custom resource definition could not be read.
    #[error("custom resource definition: {message}")]
    Definition {
        /// What is wrong with it.
        message: String,
    },
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] Limit),
}

impl PatchError {
    /// The error in Kyverno's words, if they are others.
    pub fn original(&self) -> Option<String> {
        match self {
            Self::WrongKind { expected, found, at } => {
                Some(format!("wrong node kind: expected {expected} but got {found} at `{at}`"))
            }
            Self::NullOverValue { at } => Some(format!("Overlay has unsupported type: <nil> at `{at}`")),
            Self::Syntax { message } => Some(format!("failed to decode patches: {message}")),
            Self::NotAList { found } => {
                Some(format!("failed to decode patches: expected a list of operations, found {found}"))
            }
            Self::InvalidOperation { number, path, error } => {
                Some(format!("failed to decode patches: invalid operation {number}{path}: {error}"))
            }
            Self::Missing { kind, part, path } => {
                Some(format!("{kind} operation does not apply: doc is missing {part}: {path}: missing value"))
            }
            Self::NoSuchMember { kind, path, key } => Some(format!(
                "error in {kind} for path: '{path}': Unable to remove nonexistent key: {key}: missing value"
            )),
            Self::Index { kind, path, error } => Some(format!("error in {kind} for path: '{path}': {error}")),
            Self::TestFailed { path } => Some(format!("testing value {path} failed: test failed")),
            Self::ScalarParent { path } => {
                Some(format!("invalid state detected: a parent of '{path}' is neither an object nor a list"))
            }
            Self::NegativeParent { index } => Some(format!(
                "Unable to ensure path for negative index other than -1: {index}: invalid index referenced"
            )),
            Self::DeletesObject => Some("filter cannot create or delete objects".to_owned()),
            Self::EmptyListInOverlay { at } => Some(format!("Empty array detected in the overlay at `{at}`")),
            Self::Inline { error, at } => Some(format!("{} at `{at}`", error.original.as_ref()?)),
            Self::LegacyOperations { failures } => {
                let words = |error: &Self| error.original().unwrap_or_else(|| error.to_string());
                Some(format!("failed to process JSON patches: {}", joined(failures, words)))
            }
            _ => None,
        }
    }
}

/// Several errors as one text.
fn joined(errors: &[PatchError], text: impl Fn(&PatchError) -> String) -> String {
    errors.iter().map(text).collect::<Vec<_>>().join("; ")
}

impl Coded for PatchError {
    fn code(&self) -> Code {
        match self {
            Self::Syntax { .. }
            | Self::NotAList { .. }
            | Self::InvalidOperation { .. }
            | Self::UnknownOperation { .. }
            | Self::NotAnObject { .. } => Code::PatchSyntax,
            Self::TestFailed { .. } => Code::TestFailed,
            Self::Missing { .. }
            | Self::NoSuchMember { .. }
            | Self::Index { .. }
            | Self::ScalarParent { .. }
            | Self::NegativeParent { .. }
            | Self::ScalarDocument { .. } => Code::PathMissing,
            Self::ForeignAnchor { .. }
            | Self::BlankAnchor { .. }
            | Self::UnknownStrategy { .. }
            | Self::DeletesObject => Code::Directive,
            Self::WrongKind { .. } => Code::NodeKind,
            Self::LacksMergeKey { .. } | Self::AmbiguousMergeKey { .. } => Code::MergeKey,
            Self::Inline { error, .. } => error.code,
            Self::Crash { .. } => Code::KyvernoCrashes,
            Self::NotAnOverlay { .. }
            | Self::NullInOverlay { .. }
            | Self::NullOverValue { .. }
            | Self::EmptyListInOverlay { .. }
            | Self::ElementTypes { .. }
            | Self::LegacyCrash { .. }
            | Self::LegacyOperations { .. } => Code::LegacyPatch,
            Self::Definition { .. } => Code::InvalidSchema,
            Self::Limit(_) => Code::EvaluationLimit,
        }
    }
}

/// Why a reference to the replaced value could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InlineError {
    /// The code of the cause.
    pub code: Code,
    /// Why.
    pub message: String,
    /// The same in Kyverno's words, if they are others.
    pub original: Option<String>,
}

/// What is wrong with an operation of a JSON patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// It is not an object.
    #[error("expected an object")]
    NotAnObject,
    /// The operation is none of the six.
    #[error("unsupported operation")]
    Unsupported,
    /// `path` is missing or not a string.
    #[error("missing path field")]
    NoPath,
    /// `from` is missing or not a string.
    #[error("missing from field")]
    NoFrom,
    /// `value` is missing.
    #[error("missing value field")]
    NoValue,
    /// The legacy syntax does not have this operation.
    #[error("unsupported operation, expected one of add, replace, remove")]
    NotLegacy,
    /// `value` is null, which the legacy syntax refuses.
    #[error("value is null")]
    NullValue,
    /// A pointer does not start with a slash.
    #[error("path must begin with a forward slash")]
    NoSlash,
}

/// The part of an operation that is missing in the document, in Kyverno's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingPart {
    /// The target itself.
    #[error("key")]
    Key,
    /// A parent of the target.
    #[error("path")]
    Path,
    /// The source.
    #[error("from path")]
    From,
    /// A parent of the destination.
    #[error("destination path")]
    Destination,
}

impl MissingPart {
    /// The word between an operation and its path.
    const fn preposition(self) -> &'static str {
        match self {
            Self::Key | Self::Path => "",
            Self::From => " from",
            Self::Destination => " to",
        }
    }

    const fn plain(self) -> &'static str {
        match self {
            Self::Key | Self::From => "the object has nothing there",
            Self::Path | Self::Destination => "the object has no parent for it",
        }
    }
}

/// What is wrong with an index, in Kyverno's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The list has no such element.
    #[error("Unable to access invalid index: {0}: invalid index referenced")]
    Invalid(i64),
    /// It is not a number.
    #[error("value was not a proper array index: '{0}'")]
    NotANumber(String),
}

impl IndexError {
    fn plain(&self) -> String {
        match self {
            Self::Invalid(index) => format!("the list has no element {index}"),
            Self::NotANumber(text) => format!("`{text}` is no index of a list"),
        }
    }
}

/// The kinds of nodes that strategic merge distinguishes, named as kyaml names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeKind {
    /// An object.
    #[error("MappingNode")]
    Mapping,
    /// A list.
    #[error("SequenceNode")]
    Sequence,
    /// Anything else.
    #[error("ScalarNode")]
    Scalar,
}

impl NodeKind {
    const fn plain(self) -> &'static str {
        match self {
            Self::Mapping => "an object",
            Self::Sequence => "a list",
            Self::Scalar => "a single value",
        }
    }

    /// The kind of a value.
    pub(super) const fn of(value: &Value) -> Self {
        match value {
            Value::Object(_) => Self::Mapping,
            Value::Array(_) => Self::Sequence,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Self::Scalar,
        }
    }
}
