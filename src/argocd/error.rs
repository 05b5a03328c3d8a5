//! Errors in variables and parameters of an application.

/// An invalid variable or parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgocdError {
    /// A variable of the environment has an invalid value.
    #[error("{variable}: {fault}")]
    Variable {
        /// The name of the variable.
        variable: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A parameter of the application has an invalid value, or is unknown.
    #[error("parameter {parameter}: {fault}")]
    Parameter {
        /// The name of the parameter.
        parameter: String,
        /// What is wrong with it.
        fault: String,
    },
}

impl ArgocdError {
    /// A fault of a variable.
    pub(super) fn variable(variable: impl Into<String>, fault: impl Into<String>) -> Self {
        Self::Variable { variable: variable.into(), fault: fault.into() }
    }

    /// A fault of a parameter.
    pub(super) fn parameter(parameter: impl Into<String>, fault: impl Into<String>) -> Self {
        Self::Parameter { parameter: parameter.into(), fault: fault.into() }
    }
}
