//! Values of libraries.

use crate::value::Quantity;

/// A value that only the functions of its library look into.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Opaque {
    /// An amount, such as `500m`.
    Quantity(Quantity),
}

impl Opaque {
    pub(super) const fn type_name(&self) -> &'static str {
        match self {
            Self::Quantity(_) => "kubernetes.Quantity",
        }
    }

    /// What the cost of comparing it follows from.
    pub(super) const fn size(&self) -> u64 {
        1
    }

    /// The size of the regular expression of a format.
    pub(super) const fn regex_size(&self) -> u64 {
        1
    }
}
