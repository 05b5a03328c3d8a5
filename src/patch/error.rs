//! What can be wrong with a patch, or with its application.

use crate::value::Pointer;

use super::{MAX_COPIED_BYTES, MAX_OPERATIONS, MAX_PADDING, MAX_PATH_PARTS, MAX_STEPS, OperationKind};

/// Why a patch could not be read or applied.
///
/// Errors name the place, never a value: values may be secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The text of a JSON patch is neither JSON nor YAML.
    #[error("failed to decode patches: {message}")]
    Syntax {
        /// What the reader said.
        message: String,
    },
    /// A JSON patch is something else than a list.
    #[error("failed to decode patches: expected a list of operations, found {found}")]
    NotAList {
        /// The type found.
        found: &'static str,
    },
    /// One operation of a JSON patch is incomplete or unknown.
    #[error("failed to decode patches: invalid operation {number}{path}: {fault}")]
    InvalidOperation {
        /// Its place in the list, counted from 1.
        number: usize,
        /// Its path in brackets, where it has one.
        path: String,
        /// What is wrong with it.
        fault: OperationFault,
    },
    /// An operation points to something that is not there.
    #[error("{kind} operation does not apply: doc is missing {part}: {path}: missing value")]
    Missing {
        /// The operation.
        kind: OperationKind,
        /// What is missing.
        part: MissingPart,
        /// The path, as written.
        path: String,
    },
    /// An operation points into a list with an index that it does not have.
    #[error("error in {kind} for path: '{path}': {fault}")]
    Index {
        /// The operation.
        kind: OperationKind,
        /// The path, as written.
        path: String,
        /// What is wrong with the index.
        fault: IndexFault,
    },
    /// A `test` operation did not hold.
    #[error("testing value {path} failed: test failed")]
    TestFailed {
        /// The path, as written.
        path: String,
    },
    /// A parent of the target is neither an object nor a list.
    #[error("invalid state detected: a parent of '{path}' is neither an object nor a list")]
    ScalarParent {
        /// The path, as written.
        path: String,
    },
    /// A list would have to be created from its end.
    #[error("Unable to ensure path for negative index other than -1: {index}: invalid index referenced")]
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
    /// A strategic merge patch is something else than an object.
    #[error("a strategic merge patch must be an object, found {found}")]
    NotAnObject {
        /// The type found.
        found: &'static str,
    },
    /// A kubectl directive that strategic merge has no meaning for.
    #[error("unsupported patch directive `{key}` at `{at}`")]
    Directive {
        /// The directive.
        key: String,
        /// Where it stands in the patch.
        at: Pointer,
    },
    /// An anchor that has a meaning in validate patterns only.
    #[error("anchor `{key}` at `{at}` has no meaning in a patch")]
    ForeignAnchor {
        /// The anchored key.
        key: String,
        /// Where it stands in the patch.
        at: Pointer,
    },
    /// An anchored key with blanks around it, which crashes Kyverno's controllers.
    #[error("anchor `{key}` at `{at}` has blanks around it")]
    BlankAnchor {
        /// The anchored key.
        key: String,
        /// Where it stands in the patch.
        at: Pointer,
    },
    /// Patch and object disagree about the type of a node.
    #[error("wrong node kind: expected {expected} but got {found} at `{at}`")]
    WrongKind {
        /// The kind of node in the object.
        expected: NodeKind,
        /// The kind of node in the patch.
        found: NodeKind,
        /// Where in the object.
        at: Pointer,
    },
    /// An element of a patch does not say which element of the object it is about.
    #[error("patch element for {at} lacks merge key {key}")]
    LacksMergeKey {
        /// The list.
        at: Pointer,
        /// The key.
        key: String,
    },
    /// An element of a patch could be about several elements of the object.
    #[error("patch element for {at} fits several elements: merge key {key} is missing")]
    AmbiguousMergeKey {
        /// The list.
        at: Pointer,
        /// The key that would tell.
        key: String,
    },
    /// A `$patch` directive with an unknown value.
    #[error("unknown patch strategy at `{at}`: `$patch` is one of delete, merge, replace")]
    UnknownStrategy {
        /// The node that the directive stands in.
        at: Pointer,
    },
    /// A `$patch` directive would delete the object.
    #[error("filter cannot create or delete objects")]
    DeletesObject,
    /// An in-line value could not be resolved.
    #[error("{message} at `{at}`")]
    Inline {
        /// What the resolver said.
        message: String,
        /// Where in the object.
        at: Pointer,
    },
    /// Evaluation ends in a crash in Kyverno's controllers.
    #[error("Kyverno crashes on the anchored elements of the list at `{at}`")]
    Crash {
        /// The list in the patch.
        at: Pointer,
    },
    /// An early overlay is something else than an object.
    #[error("an overlay must be an object, found {found}")]
    NotAnOverlay {
        /// The type found.
        found: &'static str,
    },
    /// An early overlay holds a null, as if it could delete.
    #[error("an overlay cannot delete: null at `{at}`, use `patches` with `remove`")]
    NullInOverlay {
        /// Where it stands in the overlay.
        at: Pointer,
    },
    /// An early overlay sets a value to null, which its engine did not know.
    #[error("Overlay has unsupported type: <nil> at `{at}`")]
    NullOverValue {
        /// Where in the object.
        at: Pointer,
    },
    /// An early overlay has a list without elements, which its engine did not take.
    #[error("Empty array detected in the overlay at `{at}`")]
    EmptyListInOverlay {
        /// Where in the object.
        at: Pointer,
    },
    /// The elements of a list are of other types in an early overlay and in the object.
    #[error("overlay and resource have different element types in the list at `{at}`")]
    ElementTypes {
        /// Where in the object.
        at: Pointer,
    },
    /// An early overlay and the object disagree about a type, on which its engine crashed.
    #[error("overlay and object have different types at `{at}`, on which Kyverno 1.1 crashes")]
    LegacyCrash {
        /// Where in the object.
        at: Pointer,
    },
    /// Operations of an early patch that cannot be made.
    #[error("failed to process JSON patches: {failures}")]
    LegacyOperations {
        /// What is wrong with each, in order.
        failures: String,
    },
    /// A custom resource definition could not be read.
    #[error("custom resource definition: {message}")]
    Definition {
        /// What is wrong with it.
        message: String,
    },
    /// A bound was passed.
    #[error("{0}")]
    Limit(Limit),
}

/// What is wrong with an operation of a JSON patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationFault {
    /// It is no object.
    #[error("expected an object")]
    NotAnObject,
    /// The operation is none of the six.
    #[error("unsupported operation")]
    Unsupported,
    /// `path` is missing or no string.
    #[error("missing path field")]
    NoPath,
    /// `from` is missing or no string.
    #[error("missing from field")]
    NoFrom,
    /// `value` is missing.
    #[error("missing value field")]
    NoValue,
    /// The operation is none that the early syntax has.
    #[error("unsupported operation, expected one of add, replace, remove")]
    NotEarly,
    /// `value` is null where the early syntax needs one.
    #[error("value is null")]
    NullValue,
    /// A pointer starts with something else than a slash.
    #[error("path must begin with a forward slash")]
    NoSlash,
}

/// What an operation did not find.
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

/// What is wrong with an index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexFault {
    /// The list has no such element.
    #[error("Unable to access invalid index: {0}: invalid index referenced")]
    Invalid(i64),
    /// It is no number.
    #[error("value was not a proper array index: '{0}'")]
    NoNumber(String),
}

/// The kinds of nodes that merging tells apart.
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

/// A bound that a patch passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Limit {
    /// Nesting.
    #[error("patch limit: nested deeper than {} levels", crate::value::MAX_DEPTH)]
    Depth,
    /// Parts of one JSON pointer.
    #[error("patch limit: a path of more than {MAX_PATH_PARTS} parts")]
    PathParts,
    /// Operations of one JSON patch.
    #[error("patch limit: more than {MAX_OPERATIONS} operations")]
    Operations,
    /// Elements added to a list to reach an index.
    #[error("patch limit: a list padded to more than {MAX_PADDING} elements")]
    Padding,
    /// Bytes of values copied by one JSON patch.
    #[error("patch limit: more than {} MiB copied, which no option changes", MAX_COPIED_BYTES >> 20)]
    Copied,
    /// Keys and elements that one strategic merge patch looks at.
    #[error("patch limit: more than {MAX_STEPS} steps")]
    Steps,
}
