//! What is wrong with what an application says.

/// Why an application cannot be rendered as it asks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgocdError {
    /// A variable of the environment does not hold what it should.
    #[error("{variable}: {fault}")]
    Variable {
        /// The name of the variable.
        variable: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A parameter of the application does not hold what it should, or there is no such parameter.
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
