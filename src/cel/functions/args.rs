//! Arguments of functions.

use crate::value::Text;

use crate::cel::error::EvalError;
use crate::cel::value::{List, Val};

pub(super) fn text(args: &[Val], index: usize) -> Result<&Text, EvalError> {
    match args.get(index) {
        Some(Val::String(text)) => Ok(text),
        _ => Err(EvalError::no_overload()),
    }
}

pub(super) fn int(args: &[Val], index: usize) -> Result<i64, EvalError> {
    match args.get(index) {
        Some(Val::Int(value)) => Ok(*value),
        _ => Err(EvalError::no_overload()),
    }
}

pub(super) fn list(args: &[Val], index: usize) -> Result<&List, EvalError> {
    match args.get(index) {
        Some(Val::List(list)) => Ok(list),
        _ => Err(EvalError::no_overload()),
    }
}

pub(super) fn optional(args: &[Val]) -> Result<Option<&Val>, EvalError> {
    match args.first() {
        Some(Val::Optional(inner)) => Ok(inner.as_deref()),
        _ => Err(EvalError::no_overload()),
    }
}

/// The argument at an index, null if there is none.
pub(super) fn value(args: &[Val], index: usize) -> Val {
    args.get(index).cloned().unwrap_or(Val::Null)
}
