//! Errors, warnings and notes of a run, for results that repeat them.

use std::fmt;

/// An error, warning or note as standard error has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Its code: `KYV201`, or the number of a divergence, `KYV-D16`.
    pub code: String,
    /// The message, without lines of input files: those may be of a Secret.
    pub message: String,
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It leads to an exit code of 2 or more.
    Error,
    /// Something in the inputs that is allowed and hardly meant.
    Warning,
    /// Anything else.
    Note,
}

impl Severity {
    /// The word that a line begins with.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// `error[KYV201]: message`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity.word(), self.code, self.message)
    }
}
