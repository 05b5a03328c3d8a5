//! The operators of conditions.

use std::cmp::Ordering;
use std::fmt;

use super::comparison::{duration_order, equals, order};
use super::membership::{Membership, holds, pairs};
use super::typed_operand::TypedOperand;
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::Value;

/// An operator of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// The key equals the value, or matches its wildcards; also spelled `Equal`.
    Equals,
    /// The opposite of [`Operator::Equals`]; also spelled `NotEqual`.
    NotEquals,
    /// Deprecated: the key is in the value.
    In,
    /// Some element of the key is in the value.
    AnyIn,
    /// Every element of the key is in the value.
    AllIn,
    /// Deprecated: the key is not in the value.
    NotIn,
    /// Some element of the key is not in the value.
    AnyNotIn,
    /// No element of the key is in the value.
    AllNotIn,
    /// The key is greater.
    GreaterThan,
    /// The key is greater or equal.
    GreaterThanOrEquals,
    /// The key is less.
    LessThan,
    /// The key is less or equal.
    LessThanOrEquals,
    /// Deprecated: the key is longer.
    DurationGreaterThan,
    /// Deprecated: the key is longer or equal.
    DurationGreaterThanOrEquals,
    /// Deprecated: the key is shorter.
    DurationLessThan,
    /// Deprecated: the key is shorter or equal.
    DurationLessThanOrEquals,
}

impl Operator {
    /// All names and their operators; the preferred spellings first.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("Equals", Self::Equals),
        ("NotEquals", Self::NotEquals),
        ("In", Self::In),
        ("AnyIn", Self::AnyIn),
        ("AllIn", Self::AllIn),
        ("NotIn", Self::NotIn),
        ("AnyNotIn", Self::AnyNotIn),
        ("AllNotIn", Self::AllNotIn),
        ("GreaterThan", Self::GreaterThan),
        ("GreaterThanOrEquals", Self::GreaterThanOrEquals),
        ("LessThan", Self::LessThan),
        ("LessThanOrEquals", Self::LessThanOrEquals),
        ("DurationGreaterThan", Self::DurationGreaterThan),
        ("DurationGreaterThanOrEquals", Self::DurationGreaterThanOrEquals),
        ("DurationLessThan", Self::DurationLessThan),
        ("DurationLessThanOrEquals", Self::DurationLessThanOrEquals),
        ("Equal", Self::Equals),
        ("NotEqual", Self::NotEquals),
    ];

    /// The operator of this exact name; Kyverno accepts no other spelling.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find_map(|(spelling, operator)| (*spelling == name).then_some(*operator))
    }

    /// The name, in its preferred spelling.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find_map(|(name, operator)| (*operator == self).then_some(*name))
            .unwrap_or_default()
    }

    /// The operator that holds where this one does not, if it applies to the values.
    pub const fn opposite(self) -> Self {
        match self {
            Self::Equals => Self::NotEquals,
            Self::NotEquals => Self::Equals,
            Self::In => Self::NotIn,
            Self::NotIn => Self::In,
            Self::AnyIn => Self::AllNotIn,
            Self::AllNotIn => Self::AnyIn,
            Self::AllIn => Self::AnyNotIn,
            Self::AnyNotIn => Self::AllIn,
            Self::GreaterThan => Self::LessThanOrEquals,
            Self::LessThanOrEquals => Self::GreaterThan,
            Self::LessThan => Self::GreaterThanOrEquals,
            Self::GreaterThanOrEquals => Self::LessThan,
            Self::DurationGreaterThan => Self::DurationLessThanOrEquals,
            Self::DurationLessThanOrEquals => Self::DurationGreaterThan,
            Self::DurationLessThan => Self::DurationGreaterThanOrEquals,
            Self::DurationGreaterThanOrEquals => Self::DurationLessThan,
        }
    }

    /// Whether the operator holds between a key and a value; false for values that it does not apply to.
    ///
    /// ```
    /// use kyv::{pattern::Operator, semantics::DivergenceTracker, value::Value};
    ///
    /// let tracker = DivergenceTracker::default();
    /// assert!(Operator::GreaterThan.evaluate(&Value::from("1Gi"), &Value::from("900Mi"), &tracker));
    /// assert!(!Operator::AllNotIn.evaluate(&Value::Null, &Value::from("a"), &tracker));
    /// ```
    pub fn evaluate(self, key: &Value, value: &Value, tracker: &DivergenceTracker) -> bool {
        self.evaluate_typed(TypedOperand::of(key), TypedOperand::of(value), tracker)
    }

    /// How many pairs of texts the operator compares one by one, because wildcards are in them.
    pub(super) fn pairs(self, key: &Value, value: &Value) -> usize {
        match self {
            Self::AnyIn | Self::AllIn | Self::AnyNotIn | Self::AllNotIn => pairs(key, value),
            _ => 0,
        }
    }

    /// Whether Kyverno panics on the key.
    pub(super) fn panics_on(self, key: &Value) -> bool {
        matches!(self, Self::In | Self::NotIn)
            && key.as_array().is_some_and(|keys| keys.iter().any(|key| key.as_str().is_none()))
    }

    /// As [`Operator::evaluate`], for operands whose number types are known.
    pub(super) fn evaluate_typed(
        self,
        key_operand: TypedOperand<'_>,
        value_operand: TypedOperand<'_>,
        tracker: &DivergenceTracker,
    ) -> bool {
        let (key, value) = (key_operand.value, value_operand.value);
        let equal = || {
            let are_equal = equals(key, value);
            are_equal
                && (key_operand.has_same_number_types(&value_operand)
                    || key.as_number().is_some()
                    || tracker.documented(Divergence::IntegersInLists))
        };
        let ordered = |accepts: fn(Ordering) -> bool| order(key, value).is_some_and(accepts);
        let duration = |accepts: fn(Ordering) -> bool| duration_order(key, value).is_some_and(accepts);
        let member = |membership| holds(membership, key_operand, value_operand, tracker);
        match self {
            Self::Equals => equal(),
            Self::NotEquals => !key.is_null() && !equal(),
            Self::In => member(Membership::IN),
            Self::AnyIn => member(Membership::ANY_IN),
            Self::AllIn => member(Membership::ALL_IN),
            Self::NotIn => member(Membership::NOT_IN),
            Self::AnyNotIn => member(Membership::ANY_NOT_IN),
            Self::AllNotIn => member(Membership::ALL_NOT_IN),
            Self::GreaterThan => ordered(Ordering::is_gt),
            Self::GreaterThanOrEquals => ordered(Ordering::is_ge),
            Self::LessThan => ordered(Ordering::is_lt),
            Self::LessThanOrEquals => ordered(Ordering::is_le),
            Self::DurationGreaterThan => duration(Ordering::is_gt),
            Self::DurationGreaterThanOrEquals => duration(Ordering::is_ge),
            Self::DurationLessThan => duration(Ordering::is_lt),
            Self::DurationLessThanOrEquals => duration(Ordering::is_le),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests;
