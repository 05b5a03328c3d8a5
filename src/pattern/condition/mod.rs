//! Conditions: a key, an operator and a value, in lists that must hold.

mod load;

use std::convert::Infallible;
use std::sync::Arc;

use super::Operator;
use super::side::Side;
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{Pointer, Text, Value};

pub use load::ConditionFault;

/// Conditions that decide together, such as the `preconditions` of a rule.
///
/// `T` is what the sides of a condition are before they are resolved: values as written, or whatever a
/// caller prepares from them with [`Conditions::map`].
///
/// ```
/// use kyv::{pattern::{Conditions, Integers}, semantics::DivergenceTracker, value::Value};
///
/// let block = r#"{"any": [{"key": "a", "operator": "AnyIn", "value": ["a", "b"], "message": "found"}]}"#;
/// let conditions = Conditions::parse(&Value::from_json(block).unwrap()).unwrap();
/// let mut as_written = |side: &Value, _: &_| Ok::<_, std::fmt::Error>((side.clone(), Integers::AsFloats));
/// let verdict = conditions.evaluate(&mut as_written, &DivergenceTracker::default()).unwrap();
/// assert!(verdict.met);
/// assert_eq!(verdict.message, "found");
/// ```
#[derive(Clone, Debug)]
pub enum Conditions<T = Value> {
    /// The old form: all must hold.
    List(Vec<Condition<T>>),
    /// One of `any` and all of `all` must hold.
    AnyAll {
        /// One must hold, so that an empty list never does; `None` asks for nothing.
        any: Option<Vec<Condition<T>>>,
        /// All must hold.
        all: Option<Vec<Condition<T>>>,
    },
}

/// One condition.
#[derive(Clone, Debug)]
pub struct Condition<T = Value> {
    /// What is looked at.
    pub key: T,
    /// How it must stand to the value.
    pub operator: Operator,
    /// What it is compared with.
    pub value: T,
    /// What to tell people about the outcome.
    pub message: Option<Text>,
    places: Arc<Places>,
}

/// Where a condition and its sides stand, from the root of the block, and the sides as the policy writes them.
#[derive(Debug)]
struct Places {
    condition: Arc<Pointer>,
    key: Pointer,
    value: Pointer,
    written_key: Value,
    written_value: Value,
}

/// What Kyverno makes of the integers that variables give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integers {
    /// Floats: the object is as it was sent.
    #[default]
    AsFloats,
    /// Integers: the object was put into the context after it was sent.
    Kept,
}

/// Gives a side of a condition its value, and says what Kyverno makes of the integers in it.
pub type Resolver<'r, T, E> = dyn FnMut(&T, &Pointer) -> Result<(Value, Integers), E> + 'r;

/// What an evaluation came to.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whether the conditions are met.
    pub met: bool,
    /// The messages of the conditions that made it so; may be empty.
    pub message: String,
    /// The condition that failed, if they are not met: the first of those that must all hold, or else the
    /// last of `any`; `None` for an empty `any`.
    pub failed: Option<Evaluated>,
    /// Every condition that was evaluated, in order; those after a decisive one are not.
    pub seen: Vec<Evaluated>,
}

/// One condition as it was evaluated.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// Where it stands, from the root of the block.
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

/// Why conditions could not be evaluated, in Kyverno's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError<E> {
    /// The key could not be resolved.
    #[error("failed to substitute variables in condition key: {cause}")]
    Key {
        /// Where the key stands, from the root of the block.
        pointer: Pointer,
        /// Why.
        cause: E,
    },
    /// The value could not be resolved.
    #[error("failed to substitute variables in condition value: {cause}")]
    Value {
        /// Where the value stands, from the root of the block.
        pointer: Pointer,
        /// Why.
        cause: E,
    },
    /// Kyverno's evaluation panics.
    #[error("panic: `{operator}` takes a key of strings alone")]
    Panic {
        /// Where the key stands, from the root of the block.
        pointer: Pointer,
        /// The operator.
        operator: Operator,
    },
}

impl<E> ConditionError<E> {
    /// Where the side stands that is at fault, from the root of the block.
    pub const fn pointer(&self) -> &Pointer {
        match self {
            Self::Key { pointer, .. } | Self::Value { pointer, .. } | Self::Panic { pointer, .. } => pointer,
        }
    }

    /// Why a side could not be resolved, if that is the matter.
    pub fn into_cause(self) -> Option<E> {
        match self {
            Self::Key { cause, .. } | Self::Value { cause, .. } => Some(cause),
            Self::Panic { .. } => None,
        }
    }
}

impl<T> Conditions<T> {
    /// Prepares both sides of every condition. The pointer is that of the side, from the root of the block.
    pub fn map<U>(self, mut prepare: impl FnMut(T, &Pointer) -> U) -> Conditions<U> {
        let prepared = self.try_map(|side, pointer| Ok::<_, Infallible>(prepare(side, pointer)));
        match prepared {
            Ok(conditions) => conditions,
            Err(never) => match never {},
        }
    }

    /// Prepares both sides of every condition, up to the first failure.
    ///
    /// # Errors
    ///
    /// What `prepare` fails with.
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

    /// Every condition, in the order written.
    pub fn iter(&self) -> impl Iterator<Item = &Condition<T>> {
        let (first, second) = match self {
            Self::List(conditions) => (Some(conditions), None),
            Self::AnyAll { any, all } => (any.as_ref(), all.as_ref()),
        };
        first.into_iter().chain(second).flatten()
    }

    /// Decides whether the conditions are met.
    ///
    /// `any` comes before `all` and ends with the first condition that holds; `all`, which is evaluated
    /// also after an `any` that failed, and a list end with the first that does not hold. Sides are
    /// resolved only as they are needed, the key before the value.
    ///
    /// # Errors
    ///
    /// A side that `resolve` fails on, and what makes Kyverno panic.
    pub fn evaluate<E>(
        &self,
        resolve: &mut Resolver<'_, T, E>,
        tracker: &DivergenceTracker,
    ) -> Result<Verdict, ConditionError<E>> {
        let mut evaluation = Evaluation::new(resolve, tracker);
        match self {
            Self::List(conditions) => {
                let failed = evaluation.first(conditions, false)?;
                Ok(evaluation.verdict(failed.is_none(), failed, ";"))
            }
            Self::AnyAll { any, all } => {
                let (mut met, mut failed) = (true, None);
                if let Some(any) = any
                    && evaluation.first(any, true)?.is_none()
                {
                    met = false;
                    failed = evaluation.seen.len().checked_sub(1);
                }
                if let Some(all) = all
                    && let Some(index) = evaluation.first(all, false)?
                {
                    met = false;
                    failed = Some(index);
                }
                Ok(evaluation.verdict(met, failed, "; "))
            }
        }
    }

    /// Decides as Kyverno does for exceptions: `all` comes first and ends the evaluation with the first
    /// condition that does not hold, and an empty `any` asks for nothing.
    ///
    /// # Errors
    ///
    /// A side that `resolve` fails on, and what makes Kyverno panic.
    pub fn holds<E>(
        &self,
        resolve: &mut Resolver<'_, T, E>,
        tracker: &DivergenceTracker,
    ) -> Result<bool, ConditionError<E>> {
        let mut evaluation = Evaluation::new(resolve, tracker);
        match self {
            Self::List(conditions) => Ok(evaluation.first(conditions, false)?.is_none()),
            Self::AnyAll { any, all } => {
                if let Some(all) = all
                    && evaluation.first(all, false)?.is_some()
                {
                    return Ok(false);
                }
                match any {
                    Some(any) if !any.is_empty() => Ok(evaluation.first(any, true)?.is_some()),
                    _ => Ok(true),
                }
            }
        }
    }
}

impl<T> Condition<T> {
    /// A condition that stands at a place, counted from the root of its block.
    pub fn new(key: T, operator: Operator, value: T, message: Option<Text>, place: Pointer) -> Self {
        Self::written_as(key, operator, value, message, place, (Value::Null, Value::Null))
    }

    /// A condition whose key and value the policy writes so.
    fn written_as(
        key: T,
        operator: Operator,
        value: T,
        message: Option<Text>,
        place: Pointer,
        (written_key, written_value): (Value, Value),
    ) -> Self {
        let (key_place, value_place) = (place.key("key"), place.key("value"));
        let condition = Arc::new(place);
        let places = Places { condition, key: key_place, value: value_place, written_key, written_value };
        Self { key, operator, value, message, places: Arc::new(places) }
    }

    /// Where it stands, from the root of the block.
    pub fn pointer(&self) -> &Pointer {
        &self.places.condition
    }

    fn try_map<U, E>(self, prepare: &mut impl FnMut(T, &Pointer) -> Result<U, E>) -> Result<Condition<U>, E> {
        let Self { key, operator, value, message, places } = self;
        let key = prepare(key, &places.key)?;
        let value = prepare(value, &places.value)?;
        Ok(Condition { key, operator, value, message, places })
    }
}

/// An evaluation under way.
struct Evaluation<'a, T, E> {
    resolve: &'a mut Resolver<'a, T, E>,
    tracker: &'a DivergenceTracker,
    /// The messages of what was seen, with their outcome.
    messages: Vec<(bool, Text)>,
    seen: Vec<Evaluated>,
}

impl<'a, T, E> Evaluation<'a, T, E> {
    const fn new(resolve: &'a mut Resolver<'a, T, E>, tracker: &'a DivergenceTracker) -> Self {
        Self { resolve, tracker, messages: Vec::new(), seen: Vec::new() }
    }

    /// The messages of the conditions that came out as the whole did, and the condition at fault.
    fn verdict(self, met: bool, failed: Option<usize>, separator: &str) -> Verdict {
        let messages: Vec<&str> = self
            .messages
            .iter()
            .filter(|(outcome, _)| *outcome == met)
            .map(|(_, message)| &**message)
            .collect();
        let failed = failed.and_then(|index| self.seen.get(index)).cloned();
        Verdict { met, message: messages.join(separator), failed, seen: self.seen }
    }

    /// Evaluates up to the first condition of this outcome; its index in `seen`.
    fn first(
        &mut self,
        conditions: &[Condition<T>],
        outcome: bool,
    ) -> Result<Option<usize>, ConditionError<E>> {
        for condition in conditions {
            if self.evaluate(condition)? == outcome {
                return Ok(self.seen.len().checked_sub(1));
            }
        }
        Ok(None)
    }

    fn evaluate(&mut self, condition: &Condition<T>) -> Result<bool, ConditionError<E>> {
        let places = &condition.places;
        let (key, key_integers) = (self.resolve)(&condition.key, &places.key)
            .map_err(|cause| ConditionError::Key { pointer: places.key.clone(), cause })?;
        let (value, value_integers) = (self.resolve)(&condition.value, &places.value)
            .map_err(|cause| ConditionError::Value { pointer: places.value.clone(), cause })?;
        let side = |value, written, integers| Side {
            value,
            written: Some(written),
            kept: integers == Integers::Kept,
        };
        let key_side = side(&key, &places.written_key, key_integers);
        let value_side = side(&value, &places.written_value, value_integers);
        if condition.operator.panics_on(&key) && !self.tracker.documented(Divergence::OldOperatorPanic) {
            let pointer = places.key.clone();
            return Err(ConditionError::Panic { pointer, operator: condition.operator });
        }
        let met = condition.operator.stands(key_side, value_side, self.tracker);
        if let Some(message) = condition.message.as_ref().filter(|message| !message.is_empty()) {
            self.messages.push((met, message.clone()));
        }
        let pointer = places.condition.clone();
        self.seen.push(Evaluated { pointer, key, operator: condition.operator, value, met });
        Ok(met)
    }
}

#[cfg(test)]
mod tests;
