//! CEL expressions of policies.

use crate::cel::Program;
use crate::value::{Pointer, Text};

/// A named expression.
#[derive(Debug)]
pub struct Expression {
    /// Its name.
    pub name: Text,
    /// The place of its text in the document.
    pub pointer: Pointer,
    /// The compiled text.
    pub program: Program,
}
