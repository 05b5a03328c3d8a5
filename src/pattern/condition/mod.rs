//! Conditions: a key, an operator and a value.

mod load;

use std::convert::Infallible;
use std::sync::Arc;

use super::Operator;
use super::typed_operand::TypedOperand;
use crate::diagnostics::{Code, Coded};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{Pointer, Text, Value};

pub use load::InvalidCondition;

/// A block of conditions, such as the `preconditions` of a rule.
///
/// `T` is the type of the unresolved operands: values as written, or the result of [`Conditions::map`].
///
/// ```
/// use kyv::{pattern::{Conditions, IntegerTyping}, semantics::DivergenceTracker, value::Value};
///
/// let block = r#"{"any": [{"key": "a", "operator": "AnyIn", "value": ["a", "b"], "message": "found"}]}"#;
/// let conditions = Conditions::parse(&Value::from_json(block).unwrap()).unwrap();
/// let mut as_written = |side: &Value, _: &_| Ok::<_, std::fmt::Error>((side.clone(), IntegerTyping::Floats));
/// let verdict = conditions.evaluate(&mut as_written, &DivergenceTracker::default()).unwrap();
/// assert!(verdict.met);
/// assert_eq!(verdict.message, "found");
/// ```
#[derive(Clone, Debug)]
pub enum Conditions<T = Value> {
    /// The deprecated form, a list: all must hold.
    List(Vec<Condition<T>>),
    /// One of `any` and all of `all` must hold.
    AnyAll {
        /// One must hold; an empty list never holds, `None` always does.
        any: Option<Vec<Condition<T>>>,
        /// All must hold.
        all: Option<Vec<Condition<T>>>,
    },
}

/// One condition.
#[derive(Clone, Debug)]
pub struct Condition<T = Value> {
    /// The left operand.
    pub key: T,
    /// The required relation.
    pub operator: Operator,
    /// The right operand.
    pub value: T,
    /// A message for users about the outcome.
    pub message: Option<Text>,
    paths: Arc<ConditionPaths>,
}

/// The paths of a condition and its operands from the root of the block, and the operands as written.
#[derive(Debug)]
struct ConditionPaths {
    condition: Arc<Pointer>,
    key: Pointer,
    value: Pointer,
    written_key: Value,
    written_value: Value,
}

/// The Go type that integers from variables have in Kyverno.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntegerTyping {
    /// Floats: the object in the context is that of the request.
    #[default]
    Floats,
    /// Integers: the object in the context was patched.
    Integers,
}

/// Where conditions have their operands from. A function that resolves them is one.
pub trait Operands<T> {
    /// Why an operand has no value.
    type Error;

    /// Resolves an operand: its value, and the type of its integers in Kyverno.
    ///
    /// # Errors
    ///
    /// The operand has no value.
    fn resolve(&mut self, operand: &T, at: &Pointer) -> Result<(Value, IntegerTyping), Self::Error>;

    /// Allows a condition to take so many steps for comparing elements, before it does. The operand is its value.
    ///
    /// # Errors
    ///
    /// They are too many.
    fn allow_steps(&mut self, _steps: usize, _operand: &T) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl<T, E, F: FnMut(&T, &Pointer) -> Result<(Value, IntegerTyping), E>> Operands<T> for F {
    type Error = E;

    fn resolve(&mut self, operand: &T, at: &Pointer) -> Result<(Value, IntegerTyping), E> {
        self(operand, at)
    }
}

/// The result of evaluating a block.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whether the conditions are met.
    pub met: bool,
    /// The messages of the decisive conditions; may be empty.
    pub message: String,
    /// The evaluated conditions, in order, up to the decisive one.
    pub seen: Vec<Evaluated>,
}

/// An evaluated condition.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// Its path from the root of the block.
    pub pointer: Arc<Pointer>,
    /// The key, resolved.
    pub key: Value,
    /// The operator.
    pub operator: Operator,
    /// The value, resolved.
    pub value: Value,
    /// Whether it holds.
    pub met: bool,
}

/// Why conditions could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError<E> {
    /// The key could not be resolved.
    #[error("{cause}")]
    Key {
        /// The path of the key from the root of the block.
        pointer: Pointer,
        /// Why.
        cause: E,
    },
    /// The value could not be resolved.
    #[error("{cause}")]
    Value {
        /// The path of the value from the root of the block.
        pointer: Pointer,
        /// Why.
        cause: E,
    },
    /// Kyverno's evaluation panics.
    #[error("`{operator}` takes a string or strings as key, and Kyverno crashes on others")]
    Panic {
        /// The path of the key from the root of the block.
        pointer: Pointer,
        /// The operator.
        operator: Operator,
    },
}

impl<E: Coded> Coded for ConditionError<E> {
    fn code(&self) -> Code {
        match self {
            Self::Key { cause, .. } | Self::Value { cause, .. } => cause.code(),
            Self::Panic { .. } => Code::ConditionFailed,
        }
    }
}

impl<E> ConditionError<E> {
    /// The error in Kyverno's words, but for an operand that could not be resolved.
    pub fn panic(&self) -> Option<String> {
        match self {
            Self::Key { .. } | Self::Value { .. } => None,
            Self::Panic { operator, .. } => {
                Some(format!("panic: `{operator}` only supports a key of strings"))
            }
        }
    }

    /// The operand that could not be resolved, in Kyverno's words.
    pub const fn operand(&self) -> Option<&'static str> {
        match self {
            Self::Key { .. } => Some("condition key"),
            Self::Value { .. } => Some("condition value"),
            Self::Panic { .. } => None,
        }
    }

    /// The resolver's error, if there is one.
    pub fn into_cause(self) -> Option<E> {
        match self {
            Self::Key { cause, .. } | Self::Value { cause, .. } => Some(cause),
            Self::Panic { .. } => None,
        }
    }
}

impl<T> Conditions<T> {
    /// Maps both operands of every condition. The pointer is the path of the operand from the root of the block.
    pub fn map<U>(self, mut prepare: impl FnMut(T, &Pointer) -> U) -> Conditions<U> {
        let prepared = self.try_map(|side, pointer| Ok::<_, Infallible>(prepare(side, pointer)));
        match prepared {
            Ok(conditions) => conditions,
            Err(never) => match never {},
        }
    }

    /// Maps both operands of every condition, up to the first error.
    ///
    /// # Errors
    ///
    /// The first error of `prepare`.
    pub fn try_map<U, E>(
        self,
        mut prepare: impl FnMut(T, &Pointer) -> Result<U, E>,
    ) -> Result<Conditions<U>, E> {
        let mut list = |conditions: Vec<Condition<T>>| {
            conditions.into_iter().map(|condition| condition.try_map(&mut prepare)).collect::<Result<_, E>>()
        };
        Ok(match self {
            Self::List(conditions) => Conditions::List(list(conditions)?),
            Self::AnyAll { any, all } => Conditions::AnyAll {
                any: any.map(&mut list).transpose()?,
                all: all.map(&mut list).transpose()?,
            },
        })
    }

    /// All conditions, in written order.
    pub fn iter(&self) -> impl Iterator<Item = &Condition<T>> {
        let (first, second) = match self {
            Self::List(conditions) => (Some(conditions), None),
            Self::AnyAll { any, all } => (any.as_ref(), all.as_ref()),
        };
        first.into_iter().chain(second).flatten()
    }

    /// Decides whether the conditions are met.
    ///
    /// `any` is evaluated first, up to the first condition that holds; then `all`, even if `any` failed, up to the first
    /// that does not hold. Operands are resolved on demand, the key before the value.
    ///
    /// # Errors
    ///
    /// An error of an operand, and whatever makes Kyverno panic.
    pub fn evaluate<O: Operands<T>>(
        &self,
        operands: &mut O,
        tracker: &DivergenceTracker,
    ) -> Result<Verdict, ConditionError<O::Error>> {
        let mut evaluation = Evaluation::new(operands, tracker);
        match self {
            Self::List(conditions) => {
                let met = !evaluation.has(conditions, false)?;
                Ok(evaluation.verdict(met, ";"))
            }
            Self::AnyAll { any, all } => {
                let any_met = match any {
                    Some(any) => evaluation.has(any, true)?,
                    None => true,
                };
                let all_met = match all {
                    Some(all) => !evaluation.has(all, false)?,
                    None => true,
                };
                Ok(evaluation.verdict(any_met && all_met, "; "))
            }
        }
    }

    /// Evaluates as Kyverno does for exceptions: `all` is first and ends the evaluation with the first condition that does
    /// not hold, and an empty `any` always holds.
    ///
    /// # Errors
    ///
    /// An error of an operand, and whatever makes Kyverno panic.
    pub fn holds<O: Operands<T>>(
        &self,
        operands: &mut O,
        tracker: &DivergenceTracker,
    ) -> Result<bool, ConditionError<O::Error>> {
        let mut evaluation = Evaluation::new(operands, tracker);
        match self {
            Self::List(conditions) => Ok(!evaluation.has(conditions, false)?),
            Self::AnyAll { any, all } => {
                if let Some(all) = all
                    && evaluation.has(all, false)?
                {
                    return Ok(false);
                }
                match any {
                    Some(any) if !any.is_empty() => evaluation.has(any, true),
                    _ => Ok(true),
                }
            }
        }
    }
}

impl<T> Condition<T> {
    /// A condition at a path from the root of its block, with its key and value as written in the policy.
    fn new(
        key: T,
        operator: Operator,
        value: T,
        message: Option<Text>,
        path: Pointer,
        (written_key, written_value): (Value, Value),
    ) -> Self {
        let (key_path, value_path) = (path.key("key"), path.key("value"));
        let condition = Arc::new(path);
        let paths =
            ConditionPaths { condition, key: key_path, value: value_path, written_key, written_value };
        Self { key, operator, value, message, paths: Arc::new(paths) }
    }

    /// Its path from the root of the block.
    pub fn pointer(&self) -> &Pointer {
        &self.paths.condition
    }

    fn try_map<U, E>(self, prepare: &mut impl FnMut(T, &Pointer) -> Result<U, E>) -> Result<Condition<U>, E> {
        let Self { key, operator, value, message, paths } = self;
        let key = prepare(key, &paths.key)?;
        let value = prepare(value, &paths.value)?;
        Ok(Condition { key, operator, value, message, paths })
    }
}

/// A running evaluation.
struct Evaluation<'a, O> {
    operands: &'a mut O,
    tracker: &'a DivergenceTracker,
    /// The messages of evaluated conditions, with their outcome.
    messages: Vec<(bool, Text)>,
    seen: Vec<Evaluated>,
}

impl<'a, O> Evaluation<'a, O> {
    const fn new(operands: &'a mut O, tracker: &'a DivergenceTracker) -> Self {
        Self { operands, tracker, messages: Vec::new(), seen: Vec::new() }
    }

    /// The verdict, with the messages of the conditions that have its outcome.
    fn verdict(self, met: bool, separator: &str) -> Verdict {
        let messages: Vec<&str> = self
            .messages
            .iter()
            .filter(|(outcome, _)| *outcome == met)
            .map(|(_, message)| &**message)
            .collect();
        Verdict { met, message: messages.join(separator), seen: self.seen }
    }

    /// Evaluates up to the first condition with this outcome. Returns whether there is one.
    fn has<T>(&mut self, conditions: &[Condition<T>], outcome: bool) -> Result<bool, ConditionError<O::Error>>
    where
        O: Operands<T>,
    {
        for condition in conditions {
            if self.evaluate(condition)? == outcome {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn evaluate<T>(&mut self, condition: &Condition<T>) -> Result<bool, ConditionError<O::Error>>
    where
        O: Operands<T>,
    {
        let paths = &condition.paths;
        let (key, key_integers) = (self.operands)
            .resolve(&condition.key, &paths.key)
            .map_err(|cause| ConditionError::Key { pointer: paths.key.clone(), cause })?;
        let (value, value_integers) = (self.operands)
            .resolve(&condition.value, &paths.value)
            .map_err(|cause| ConditionError::Value { pointer: paths.value.clone(), cause })?;
        let operand = |value, written, typing| TypedOperand {
            value,
            written: Some(written),
            variable_integers: typing == IntegerTyping::Integers,
        };
        let key_operand = operand(&key, &paths.written_key, key_integers);
        let value_operand = operand(&value, &paths.written_value, value_integers);
        if condition.operator.panics_on(&key) && !self.tracker.documented(Divergence::OldOperatorPanic) {
            let pointer = paths.key.clone();
            return Err(ConditionError::Panic { pointer, operator: condition.operator });
        }
        let steps = condition.operator.pairs(&key, &value) / PAIRS + elements(&key) + elements(&value);
        if steps > 0 {
            (self.operands)
                .allow_steps(steps, &condition.value)
                .map_err(|cause| ConditionError::Value { pointer: paths.value.clone(), cause })?;
        }
        let met = condition.operator.evaluate_typed(key_operand, value_operand, self.tracker);
        if let Some(message) = condition.message.as_ref().filter(|message| !message.is_empty()) {
            self.messages.push((met, message.clone()));
        }
        let pointer = paths.condition.clone();
        self.seen.push(Evaluated { pointer, key, operator: condition.operator, value, met });
        Ok(met)
    }
}

/// How many pairs of texts with wildcards are compared in one step.
const PAIRS: usize = 64;

/// The steps for reading the elements of an operand. To compare a list or a map takes some four times as long as a scalar.
fn elements(operand: &Value) -> usize {
    let steps = |element: &Value| match element {
        Value::Object(_) | Value::Array(_) => 4,
        _ => 1,
    };
    operand.as_array().map_or(0, |elements| elements.iter().map(steps).sum())
}

#[cfg(test)]
mod tests;
