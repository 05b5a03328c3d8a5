//! Positions in a text.

use std::fmt;

/// A position in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in code points, from 1; a byte order mark takes none.
    pub column: usize,
    /// The offset in bytes.
    pub offset: usize,
}

/// `LINE:COLUMN`.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// An offset of a text whose line is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The offset in bytes.
    pub offset: usize,
    /// The line, from 1.
    pub line: usize,
}

impl Origin {
    /// The start of a text.
    pub const START: Self = Self { offset: 0, line: 1 };
}
