//! Patterns and conditions: what decides whether a rule applies, over plain values.
//!
//! Knows wildcards, the operators of pattern leaves and the operators of conditions; does not know where
//! the values come from: operands come through a resolver argument.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod comparison;
mod condition;
mod leaf;
mod membership;
mod nearest;
mod numeric;
mod operator;
mod print;
mod range;
mod side;
mod wildcard;

pub use condition::{
    Condition, ConditionError, ConditionFault, Conditions, Evaluated, Integers, Resolver, Verdict,
};
pub use leaf::{LeafPattern, matches_leaf};
pub use nearest::nearest;
pub use operator::{Operator, UnknownOperator};
pub use range::Range;
pub use wildcard::{is_wildcard, matches};
