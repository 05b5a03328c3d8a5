//! Optional values, and what `sortBy` and lists do with them.

use super::args;
use super::{Row, open, row};
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::value::Val;

type Result = std::result::Result<Val, EvalError>;

pub(super) const ROWS: &[Row] = &[
    row("optional.of", "optional_of", "(V) optional<V>", |_, args| Ok(Val::some(args::value(args, 0)))),
    row("optional.ofNonZeroValue", "optional_ofNonZeroValue", "(V) optional<V>", of_non_zero),
    row("optional.none", "optional_none", "() optional<V>", |_, _| Ok(Val::NONE)),
    row("value", "optional_value", "optional<V>.() V", value),
    row("hasValue", "optional_hasValue", "optional<V>.() bool", has_value),
    row("or", "optional_or_optional", "optional<V>.(optional<V>) optional<V>", or),
    row("orValue", "optional_orValue_value", "optional<V>.(V) V", or_value),
    open("__orValueCompat__", "__orValueCompat___dyn_dyn", "(dyn, dyn) dyn", or_value_of_any)
        .kyverno()
        .method("orValue"),
    row("first", "list_first", "list<V>.() optional<V>", first),
    row("last", "list_last", "list<V>.() optional<V>", last),
    row("optional.unwrap", "optional_unwrap", "(list<optional<V>>) list<V>", unwrap),
    row("unwrapOpt", "optional_unwrapOpt", "list<optional<V>>.() list<V>", unwrap),
];

fn is_zero(value: &Val) -> bool {
    match value {
        Val::Null | Val::Optional(None) => true,
        Val::Bool(value) => !value,
        Val::Int(value) => *value == 0,
        Val::Uint(value) => *value == 0,
        Val::Double(value) => *value == 0.0,
        Val::String(text) => text.is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        Val::Duration(nanos) => *nanos == 0,
        Val::Timestamp(_) | Val::Type(_) | Val::Opaque(_) => false,
        Val::Optional(Some(inner)) => is_zero(inner),
        Val::List(list) => list.is_empty(),
        Val::Map(map) => map.is_empty(),
        Val::Message(message) => message.fields.is_empty(),
    }
}

fn of_non_zero(_: &mut Meter, args: &[Val]) -> Result {
    let value = args::value(args, 0);
    Ok(if is_zero(&value) { Val::NONE } else { Val::some(value) })
}

fn value(_: &mut Meter, args: &[Val]) -> Result {
    args::optional(args)?.cloned().ok_or_else(|| EvalError::failed("optional.none() dereference"))
}

fn has_value(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Bool(args::optional(args)?.is_some()))
}

fn or(_: &mut Meter, args: &[Val]) -> Result {
    Ok(args::value(args, usize::from(args::optional(args)?.is_none())))
}

fn or_value(_: &mut Meter, args: &[Val]) -> Result {
    Ok(args::optional(args)?.cloned().unwrap_or_else(|| args::value(args, 1)))
}

fn or_value_of_any(meter: &mut Meter, args: &[Val]) -> Result {
    if matches!(args.first(), Some(Val::Optional(_))) {
        or_value(meter, args)
    } else {
        Ok(args::value(args, 0))
    }
}

fn optional_of(value: Option<Val>) -> Val {
    value.map_or(Val::NONE, Val::some)
}

fn first(_: &mut Meter, args: &[Val]) -> Result {
    Ok(optional_of(args::list(args, 0)?.get(0)))
}

fn last(_: &mut Meter, args: &[Val]) -> Result {
    let list = args::list(args, 0)?;
    Ok(optional_of(list.len().checked_sub(1).and_then(|last| list.get(last))))
}

fn unwrap(meter: &mut Meter, args: &[Val]) -> Result {
    let list = args::list(args, 0)?;
    meter.visit_items(list.len())?;
    meter.make(list.len() * size_of::<Val>())?;
    let mut items = Vec::new();
    for item in list.iter() {
        match item {
            Val::Optional(inner) => items.extend(inner.map(|inner| (*inner).clone())),
            other => {
                return Err(EvalError::failed(format!("value is not an optional: {}", other.display())));
            }
        }
    }
    Ok(Val::list(items))
}
