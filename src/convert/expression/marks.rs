//! Names that stand for variables inside of variables.

/// The start of a name that stands for the value of an inner variable.
pub(super) const MARK: &str = "__value_";

/// The start of a name that stands for the image of a container that an inner variable names.
pub(super) const IMAGE_MARK: &str = "__image_";

/// The start of a member that stands for an index.
pub(super) const INDEX_MARK: &str = "__index_";
