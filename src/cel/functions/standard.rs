//! The standard library: operators, comparisons, sizes.

use std::cmp::Ordering;
use std::sync::Arc;

use super::args;
use super::{Row, open, row};
use crate::cel::env::Dialect;
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::stamp::overflow;
use crate::cel::time::shifted;
use crate::cel::value::{List, Val, compare, equal, has};

type Result = std::result::Result<Val, EvalError>;

const ORDERED: &[&str] = &["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"];

pub(super) const ROWS: &[Row] = &[
    row("_?_:_", "conditional", "(bool, A, A) A", not_called),
    row("_[_]", "index_list", "(list<A>, int) A", not_called),
    row("_[_]", "index_map", "(map<A, B>, A) B", not_called),
    row("_[_]", "optional_list_index_int", "(optional<list<A>>, int) optional<A>", not_called),
    row("_[_]", "optional_map_index_value", "(optional<map<A, B>>, A) optional<B>", not_called),
    row("_[?_]", "list_optindex_optional_int", "(list<A>, int) optional<A>", not_called),
    row("_[?_]", "optional_list_optindex_optional_int", "(optional<list<A>>, int) optional<A>", not_called),
    row("_[?_]", "map_optindex_optional_value", "(map<A, B>, A) optional<B>", not_called),
    row("_[?_]", "optional_map_optindex_optional_value", "(optional<map<A, B>>, A) optional<B>", not_called),
    open("_==_", "equals", "(A, A) bool", equals),
    open("_!=_", "not_equals", "(A, A) bool", |meter, args| {
        let [a, b] = args else { return Err(EvalError::no_overload()) };
        Ok(Val::Bool(!equal(meter, a, b)?))
    }),
    open("!_", "logical_not", "(bool) bool", not),
    open("-_", "negate_{}", "({}) {}", negate).each(&["int", "double"]),
    open("_+_", "add_{}", "({}, {}) {}", add).each(&["bytes", "double", "duration"]),
    open("_+_", "add_duration_timestamp", "(duration, timestamp) timestamp", add),
    open("_+_", "add_timestamp_duration", "(timestamp, duration) timestamp", add),
    open("_+_", "add_int64", "(int, int) int", add),
    open("_+_", "add_list", "(list<A>, list<A>) list<A>", add),
    open("_+_", "add_string", "(string, string) string", add),
    open("_+_", "add_uint64", "(uint, uint) uint", add),
    open("_-_", "subtract_{}", "({}, {}) {}", subtract).each(&["double", "duration", "int", "uint"]),
    open("_-_", "subtract_timestamp_duration", "(timestamp, duration) timestamp", subtract),
    open("_-_", "subtract_timestamp_timestamp", "(timestamp, timestamp) duration", subtract),
    open("_*_", "multiply_{}", "({}, {}) {}", multiply).each(&["double", "int", "uint"]),
    open("_/_", "divide_{}", "({}, {}) {}", divide).each(&["double", "int", "uint"]),
    open("_%_", "modulo_{}", "({}, {}) {}", modulo).each(&["int", "uint"]),
    open("_<_", "less_{}", "({}, {}) bool", less).each(ORDERED),
    open("_<_", "less_int64_{}", "(int, {}) bool", less).each(&["double", "uint"]),
    open("_<_", "less_uint64_{}", "(uint, {}) bool", less).each(&["double", "int"]),
    open("_<_", "less_double_{}", "(double, {}) bool", less).each(&["int", "uint"]),
    open("_<=_", "less_equals_{}", "({}, {}) bool", less_equals).each(ORDERED),
    open("_<=_", "less_equals_int64_{}", "(int, {}) bool", less_equals).each(&["double", "uint"]),
    open("_<=_", "less_equals_uint64_{}", "(uint, {}) bool", less_equals).each(&["double", "int"]),
    open("_<=_", "less_equals_double_{}", "(double, {}) bool", less_equals).each(&["int", "uint"]),
    open("_>_", "greater_{}", "({}, {}) bool", greater).each(ORDERED),
    open("_>_", "greater_int64_{}", "(int, {}) bool", greater).each(&["double", "uint"]),
    open("_>_", "greater_uint64_{}", "(uint, {}) bool", greater).each(&["double", "int"]),
    open("_>_", "greater_double_{}", "(double, {}) bool", greater).each(&["int", "uint"]),
    open("_>=_", "greater_equals_{}", "({}, {}) bool", greater_equals).each(ORDERED),
    open("_>=_", "greater_equals_int64_{}", "(int, {}) bool", greater_equals).each(&["double", "uint"]),
    open("_>=_", "greater_equals_uint64_{}", "(uint, {}) bool", greater_equals).each(&["double", "int"]),
    open("_>=_", "greater_equals_double_{}", "(double, {}) bool", greater_equals).each(&["int", "uint"]),
    open("@in", "in_list", "(A, list<A>) bool", contains),
    open("@in", "in_map", "(A, map<A, B>) bool", contains),
    open("size", "size_{}", "({}) int", size).each(&["bytes", "list<A>", "map<A, B>", "string"]),
    open("size", "{}_size", "{}.() int", size).each(&["bytes", "list<A>", "map<A, B>", "string"]),
];

/// Of operators that are steps of their own.
fn not_called(_: &mut Meter, _: &[Val]) -> Result {
    Err(EvalError::no_overload())
}

fn equals(meter: &mut Meter, args: &[Val]) -> Result {
    let [a, b] = args else { return Err(EvalError::no_overload()) };
    // Kubernetes cannot compare a quantity with the result of a sum on the right side.
    if let (Val::Opaque(left), Val::Opaque(right)) = (a, b)
        && left.type_name() == right.type_name()
        && right.is_computed()
    {
        return Err(EvalError::no_overload());
    }
    Ok(Val::Bool(equal(meter, a, b)?))
}

fn not(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Bool(value)] => Ok(Val::Bool(!value)),
        _ => Err(EvalError::no_overload()),
    }
}

fn integer_overflow() -> EvalError {
    EvalError::failed("integer overflow")
}

fn unsigned_overflow() -> EvalError {
    EvalError::failed("unsigned integer overflow")
}

fn duration_overflow() -> EvalError {
    EvalError::failed("duration overflow")
}

fn negate(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Int(value)] => value.checked_neg().map(Val::Int).ok_or_else(integer_overflow),
        [Val::Double(value)] => Ok(Val::Double(-value)),
        [Val::Duration(nanos)] => nanos.checked_neg().map(Val::Duration).ok_or_else(duration_overflow),
        _ => Err(EvalError::no_overload()),
    }
}

pub(super) fn add(meter: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Int(a), Val::Int(b)] => a.checked_add(*b).map(Val::Int).ok_or_else(integer_overflow),
        [Val::Uint(a), Val::Uint(b)] => a.checked_add(*b).map(Val::Uint).ok_or_else(unsigned_overflow),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a + b)),
        [Val::String(a), Val::String(b)] => {
            meter.make(a.len() + b.len())?;
            Ok(Val::string([&**a, &**b].concat()))
        }
        [Val::Bytes(a), Val::Bytes(b)] => {
            meter.make(a.len() + b.len())?;
            Ok(Val::bytes([&**a, &**b].concat()))
        }
        [Val::List(a), Val::List(b)] => {
            meter.visit_items(a.len() + b.len())?;
            meter.make((a.len() + b.len()) * size_of::<Val>())?;
            Ok(joined(a, b))
        }
        [Val::Duration(a), Val::Duration(b)] => {
            a.checked_add(*b).map(Val::Duration).ok_or_else(duration_overflow)
        }
        [Val::Timestamp(stamp), Val::Duration(nanos)] | [Val::Duration(nanos), Val::Timestamp(stamp)] => {
            shifted(*stamp, *nanos).map(Val::Timestamp)
        }
        _ => Err(EvalError::no_overload()),
    }
}

fn joined(a: &List, b: &List) -> Val {
    if a.is_empty() {
        return Val::List(b.clone());
    }
    if b.is_empty() {
        return Val::List(a.clone());
    }
    Val::List(List::Joined(Arc::new(a.iter().chain(b.iter()).collect())))
}

fn subtract(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Int(a), Val::Int(b)] => a.checked_sub(*b).map(Val::Int).ok_or_else(integer_overflow),
        [Val::Uint(a), Val::Uint(b)] => a.checked_sub(*b).map(Val::Uint).ok_or_else(unsigned_overflow),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a - b)),
        [Val::Duration(a), Val::Duration(b)] => {
            a.checked_sub(*b).map(Val::Duration).ok_or_else(duration_overflow)
        }
        [Val::Timestamp(stamp), Val::Duration(nanos)] => {
            let nanos = nanos.checked_neg().ok_or_else(overflow)?;
            shifted(*stamp, nanos).map(Val::Timestamp)
        }
        [Val::Timestamp(a), Val::Timestamp(b)] => {
            let nanos = a.as_nanosecond() - b.as_nanosecond();
            i64::try_from(nanos).map(Val::Duration).map_err(|_| duration_overflow())
        }
        _ => Err(EvalError::no_overload()),
    }
}

fn multiply(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Int(a), Val::Int(b)] => a.checked_mul(*b).map(Val::Int).ok_or_else(integer_overflow),
        [Val::Uint(a), Val::Uint(b)] => a.checked_mul(*b).map(Val::Uint).ok_or_else(unsigned_overflow),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a * b)),
        _ => Err(EvalError::no_overload()),
    }
}

fn divide(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => {
            Err(EvalError::failed("division by zero"))
        }
        [Val::Int(a), Val::Int(b)] => a.checked_div(*b).map(Val::Int).ok_or_else(integer_overflow),
        [Val::Uint(a), Val::Uint(b)] => Ok(Val::Uint(a / b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a / b)),
        _ => Err(EvalError::no_overload()),
    }
}

fn modulo(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => {
            Err(EvalError::failed("modulus by zero"))
        }
        [Val::Int(a), Val::Int(b)] => a.checked_rem(*b).map(Val::Int).ok_or_else(integer_overflow),
        [Val::Uint(a), Val::Uint(b)] => Ok(Val::Uint(a % b)),
        _ => Err(EvalError::no_overload()),
    }
}

fn ordered(meter: &Meter, args: &[Val], fits: impl Fn(Ordering) -> bool) -> Result {
    let [a, b] = args else { return Err(EvalError::no_overload()) };
    match compare(a, b)? {
        Some(order) => Ok(Val::Bool(fits(order))),
        None if meter.dialect == Dialect::Kyverno => Ok(Val::Bool(false)),
        None => Err(EvalError::failed("NaN values cannot be ordered")),
    }
}

fn less(meter: &mut Meter, args: &[Val]) -> Result {
    ordered(meter, args, Ordering::is_lt)
}

fn less_equals(meter: &mut Meter, args: &[Val]) -> Result {
    ordered(meter, args, Ordering::is_le)
}

fn greater(meter: &mut Meter, args: &[Val]) -> Result {
    ordered(meter, args, Ordering::is_gt)
}

fn greater_equals(meter: &mut Meter, args: &[Val]) -> Result {
    ordered(meter, args, Ordering::is_ge)
}

fn contains(meter: &mut Meter, args: &[Val]) -> Result {
    match args {
        [item, Val::List(list)] => Ok(Val::Bool(has(meter, list, item)?)),
        [key, Val::Map(map)] => Ok(Val::Bool(map.find(key).is_some())),
        _ => Err(EvalError::no_overload()),
    }
}

fn size(_: &mut Meter, args: &[Val]) -> Result {
    match &args::value(args, 0) {
        value @ (Val::String(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_)) => {
            Ok(Val::Int(i64::try_from(value.size()).unwrap_or(i64::MAX)))
        }
        _ => Err(EvalError::no_overload()),
    }
}
