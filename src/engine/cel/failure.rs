//! Why a CEL policy fails.

use std::fmt::Write as _;
use std::ops::Range;

use crate::admission::NotAdmitted;
use crate::cel::{ConfigurationError, Dialect, EvalError, Program, constructed};
use crate::diagnostics::{Code, Coded};
use crate::patch::{ApplyError, Fault, OperationFailed};
use crate::report::RuleError;
use crate::value::{GroupVersionKind, Pointer};

use super::scope::Scope;
use super::type_names::TypeNameError;

/// Why a mutation fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MutationError {
    /// The expression cannot be evaluated.
    #[error(transparent)]
    Expression(#[from] EvalError),
    /// An `Object{…}` has a wrong type name.
    #[error(transparent)]
    TypeName(#[from] TypeNameError),
    /// A `JSONPatch` cannot be applied.
    #[error(transparent)]
    Patch(#[from] OperationFailed),
    /// The value of an operation is `optional.none()`.
    #[error("the value is optional.none(); write `?value:` to leave it out")]
    AbsentValue,
    /// The value of an operation is a list or map with an `Object{…}`.
    #[error(
        "the value is a list or map with an `Object{{…}}`, on which the API server and Kyverno crash; \
         write maps, or add a list to an existing one"
    )]
    CrashesOnObjects,
    /// The value of an operation, or a part of it, cannot be converted to JSON.
    #[error("a value of type {0} does not become JSON here")]
    NoValue(String),
    /// A map in the value of an operation has a key that is no string.
    #[error("a key of a map in the value is no string")]
    NoTextKey,
    /// The value of an operation is nested too deep.
    #[error("the value is nested too deep")]
    TooDeep,
    /// There are too many mutations for an object of this size.
    #[error(
        "the mutations of the policy read more than 1 GiB of the object together, which no option changes"
    )]
    TooMany,
    /// The value is no apply configuration.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// An apply configuration cannot be merged.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The merged object has a value that its field cannot have.
    #[error("invalid apply configuration: {0}")]
    NotMerged(NotAdmitted),
    /// The patched object has a value that its field cannot have.
    #[error(transparent)]
    NotDecoded(NotAdmitted),
    /// The patched object has fields that its kind does not have.
    #[error("the API server refuses {}", listed(.0))]
    UnknownFields(Vec<Fault>),
    /// The object has no kind any more.
    #[error("the patched object has no `apiVersion` or no `kind`, which a cluster refuses")]
    NoKind,
    /// The object has another kind.
    #[error("the patched object has another kind, {0}, which a cluster refuses")]
    OtherKind(GroupVersionKind),
}

impl Coded for MutationError {
    fn code(&self) -> Code {
        match self {
            Self::Expression(error) => error.code(),
            Self::Patch(failed) => failed.error.code(),
            Self::Configuration(error) => error.code(),
            Self::Apply(error) => error.code(),
            Self::NotMerged(_) => Code::ApplyConfiguration,
            Self::NotDecoded(_) | Self::UnknownFields(_) | Self::OtherKind(_) => Code::NotDecoded,
            Self::TypeName(_) | Self::AbsentValue | Self::NoValue(_) | Self::NoTextKey | Self::NoKind => {
                Code::CelFailed
            }
            Self::TooDeep | Self::TooMany => Code::EvaluationLimit,
            Self::CrashesOnObjects => Code::KyvernoCrashes,
        }
    }
}

fn listed(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ")
}

impl MutationError {
    /// The error of the evaluation, if that failed.
    const fn of_evaluation(&self) -> Option<&EvalError> {
        if let Self::Expression(error) = self { Some(error) } else { None }
    }

    /// The type name that is at fault.
    fn type_name(&self) -> Option<&str> {
        match self {
            Self::TypeName(error) => Some(error.found()),
            Self::Configuration(ConfigurationError::TypeNames(names)) => Some(&*names.first()?.found),
            _ => None,
        }
    }

    /// The field of the apply configuration that is at fault.
    fn field(&self) -> Option<&Pointer> {
        match self {
            Self::Configuration(ConfigurationError::Values(values)) => Some(&values.first()?.at),
            Self::Apply(ApplyError::Configuration(faults)) => Some(&faults.first()?.at),
            Self::Apply(ApplyError::Atomic(fields)) => fields.first(),
            _ => None,
        }
    }

    /// The part of the expression that is at fault, if the error says so.
    fn part(&self, source: &str, dialect: Dialect) -> Option<Range<usize>> {
        let named =
            self.type_name().and_then(|name| Some(source.find(name)?..source.find(name)? + name.len()));
        named.or_else(|| constructed(source, dialect, self.field()?))
    }
}

impl Scope<'_> {
    /// The error of an expression that cannot be evaluated, at its place in the policy.
    pub(super) fn failed(&self, at: &Pointer, program: &Program, error: &EvalError) -> RuleError {
        let calls = self.random_calls.get();
        let (mut place, mut program, mut through) = (at, program, String::new());
        let env = self.env();
        let variables = &self.variant().variables;
        let mut fault = program.fault(env, self, error);
        // An expression names only earlier variables, so this ends.
        while let Some(number) = fault.definition
            && let (Some(name), Some(pointer), Some(definition)) =
                (variables.names.get(number), variables.pointers.get(number), variables.programs.get(number))
        {
            (place, program) = (pointer, definition);
            let _ = write!(through, "variables.{name}: ");
            fault = program.fault(env, self, error);
        }
        self.random_calls.set(calls);
        let message = format!("{at}: {through}{error}");
        let failed = RuleError::new(error.code(), message).at_part(place, program.source(), fault.span);
        match error {
            EvalError::StepLimit(_) => failed.with_hint(self.limit_hint("object-steps")),
            _ => failed,
        }
    }

    /// The error of a mutation, at its place in the policy.
    pub(super) fn failed_mutation(
        &self,
        at: &Pointer,
        program: &Program,
        error: &MutationError,
    ) -> RuleError {
        if let Some(error) = error.of_evaluation() {
            return self.failed(at, program, error);
        }
        let source = program.source();
        let part = error.part(source, self.env().dialect()).unwrap_or(0..source.len());
        let failed = RuleError::new(error.code(), format!("{at}: {error}")).at_part(at, source, part);
        match error {
            MutationError::Patch(error) => match error.original() {
                Some(words) => failed.in_words_of_kyverno(format!("{at}: {words}")),
                None => failed,
            },
            _ => failed,
        }
    }
}
