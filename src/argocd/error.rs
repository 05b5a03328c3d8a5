//! Errors in variables and parameters of an application.

use crate::diagnostics::{Code, Coded};

/// An invalid variable or parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgocdError {
    /// A variable of the environment has an invalid value.
    #[error("{variable}: {reason}")]
    Variable {
        /// The name of the variable.
        variable: String,
        /// Why it is refused.
        reason: String,
    },
    /// A parameter of the application has an invalid value, or is unknown.
    #[error("parameter {parameter}: {reason}")]
    Parameter {
        /// The name of the parameter.
        parameter: String,
        /// Why it is refused.
        reason: String,
    },
}

impl Coded for ArgocdError {
    fn code(&self) -> Code {
        match self {
            Self::Variable { .. } | Self::Parameter { .. } => Code::ArgocdParameter,
        }
    }
}

impl ArgocdError {
    pub(super) fn variable(variable: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Variable { variable: variable.into(), reason: reason.into() }
    }

    pub(super) fn parameter(parameter: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Parameter { parameter: parameter.into(), reason: reason.into() }
    }
}
