//! Patterns and conditions, which decide whether a rule applies.
//!
//! Wildcards, the operators in pattern strings and the operators of conditions. The operands of conditions come from a
//! resolver argument.
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
mod typed_operand;
mod wildcard;

pub use condition::{
    Condition, ConditionError, Conditions, Evaluated, IntegerTyping, InvalidCondition, Operands, Verdict,
};
pub use leaf::LeafPattern;
pub use nearest::{edit_distance, nearest};
pub use operator::Operator;
pub use range::Range;
pub use wildcard::{is_wildcard, matches};
