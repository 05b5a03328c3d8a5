//! Lists and sets.

use std::cmp::Ordering;

use super::args;
use super::{Row, open, row};
use crate::cel::env::Dialect;
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::value::{List, Val, compare, equal, has};

type Result = std::result::Result<Val, EvalError>;

const COMPARABLE: &[&str] = &["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];

pub(super) const ROWS: &[Row] = &[
    row("slice", "list_slice", "list<T>.(int, int) list<T>", slice),
    open("flatten", "list_flatten", "list<list<T>>.() list<T>", flatten),
    open("flatten", "list_flatten_int", "list<dyn>.(int) list<dyn>", flatten),
    open("sort", "list_{}_sort", "list<{}>.() list<{}>", sort).each(COMPARABLE),
    open("@sortByAssociatedKeys", "list_{}_sortByAssociatedKeys", "list<T>.(list<{}>) list<T>", sort_by)
        .each(COMPARABLE),
    row("lists.range", "lists_range", "(int) list<int>", range),
    row("reverse", "list_reverse", "list<T>.() list<T>", reverse),
    row("distinct", "list_distinct", "list<T>.() list<T>", distinct),
    row("isSorted", "list_{}_is_sorted_bool", "list<{}>.() bool", is_sorted).each(COMPARABLE),
    row("sum", "list_int_sum_int", "list<int>.() int", |meter, args| sum(meter, args, Val::Int(0))),
    row("sum", "list_uint_sum_uint", "list<uint>.() uint", |meter, args| sum(meter, args, Val::Uint(0))),
    row("sum", "list_double_sum_double", "list<double>.() double", |meter, args| {
        sum(meter, args, Val::Double(0.0))
    }),
    row("sum", "list_duration_sum_duration", "list<duration>.() duration", |meter, args| {
        sum(meter, args, Val::Duration(0))
    }),
    row("max", "list_{}_max_{}", "list<{}>.() {}", |meter, args| extreme(meter, args, "max", Ordering::Less))
        .each(COMPARABLE),
    row("min", "list_{}_min_{}", "list<{}>.() {}", |meter, args| {
        extreme(meter, args, "min", Ordering::Greater)
    })
    .each(COMPARABLE),
    row("indexOf", "list_a_index_of_int", "list<A>.(A) int", index_of),
    row("lastIndexOf", "list_a_last_index_of_int", "list<A>.(A) int", last_index_of),
    row("sets.contains", "list_sets_contains_list", "(list<T>, list<T>) bool", |meter, args| {
        Ok(Val::Bool(has_all(meter, args::list(args, 0)?, args::list(args, 1)?)?))
    }),
    row("sets.equivalent", "list_sets_equivalent_list", "(list<T>, list<T>) bool", |meter, args| {
        let (a, b) = (args::list(args, 0)?, args::list(args, 1)?);
        Ok(Val::Bool(has_all(meter, a, b)? && has_all(meter, b, a)?))
    }),
    row("sets.intersects", "list_sets_intersects_list", "(list<T>, list<T>) bool", |meter, args| {
        let (a, b) = (args::list(args, 0)?, args::list(args, 1)?);
        for item in a.iter() {
            if has(meter, b, &item)? {
                return Ok(Val::Bool(true));
            }
        }
        Ok(Val::Bool(false))
    }),
];

fn has_all(meter: &mut Meter, list: &List, items: &List) -> std::result::Result<bool, EvalError> {
    for item in items.iter() {
        if !has(meter, list, &item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Counts the elements of a list that is made, before that.
fn room(meter: &mut Meter, items: usize) -> std::result::Result<(), EvalError> {
    meter.visit_items(items)?;
    meter.make(items.saturating_mul(size_of::<Val>()))
}

fn slice(meter: &mut Meter, args: &[Val]) -> Result {
    let (list, start, end) = (args::list(args, 0)?, args::int(args, 1)?, args::int(args, 2)?);
    let fault = |what: String| Err(EvalError::failed(format!("cannot slice({start}, {end}), {what}")));
    if start < 0 || end < 0 {
        return fault("negative indexes not supported".to_owned());
    }
    if start > end {
        return fault("start index must be less than or equal to end index".to_owned());
    }
    let (Ok(first), Ok(last)) = (usize::try_from(start), usize::try_from(end)) else {
        return fault("negative indexes not supported".to_owned());
    };
    if last > list.len() {
        return fault(format!("list is length {}", list.len()));
    }
    room(meter, last - first)?;
    Ok(Val::list((first..last).filter_map(|index| list.get(index)).collect()))
}

fn flatten(meter: &mut Meter, args: &[Val]) -> Result {
    let depth = if args.len() > 1 { args::int(args, 1)? } else { 1 };
    if depth < 0 {
        return Err(EvalError::failed("level must be non-negative"));
    }
    let mut items = Vec::new();
    // Lists that are open, with the next index; so that deep lists need no deep stack.
    let mut open = vec![(args::list(args, 0)?.clone(), 0)];
    while let Some((list, index)) = open.pop() {
        meter.visit(1)?;
        let Some(item) = list.get(index) else { continue };
        open.push((list, index + 1));
        match item {
            Val::List(inner) if i64::try_from(open.len()).is_ok_and(|level| level <= depth) => {
                open.push((inner, 0));
            }
            item => {
                room(meter, 1)?;
                items.push(item);
            }
        }
    }
    Ok(Val::list(items))
}

fn sort(meter: &mut Meter, args: &[Val]) -> Result {
    let list = args::list(args, 0)?.clone();
    sorted(meter, &list, &list)
}

fn sort_by(meter: &mut Meter, args: &[Val]) -> Result {
    sorted(meter, args::list(args, 0)?, args::list(args, 1)?)
}

fn sorted(meter: &mut Meter, list: &List, keys: &List) -> Result {
    if list.len() != keys.len() {
        return Err(EvalError::failed(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            list.len(),
            keys.len()
        )));
    }
    room(meter, list.len())?;
    // Sorting compares each key about so often, and texts are read each time.
    let rounds = keys.len().checked_ilog2().map_or(1, |rounds| rounds as usize + 1);
    for key in keys.iter() {
        let text = if let Val::String(text) = &key { text.len() } else { 0 };
        meter.visit_items(rounds)?;
        meter.visit_text(text.saturating_mul(rounds))?;
    }
    let mut pairs: Vec<(Val, Val)> = keys.iter().zip(list.iter()).collect();
    let Some((first, _)) = pairs.first() else { return Ok(Val::List(list.clone())) };
    if compare(first, first).is_err() {
        return Err(EvalError::failed("list elements must be comparable"));
    }
    if pairs.iter().any(|(key, _)| key.type_name() != first.type_name()) {
        return Err(EvalError::failed("list elements must have the same type"));
    }
    pairs.sort_by(|(a, _), (b, _)| compare(a, b).ok().flatten().unwrap_or(Ordering::Equal));
    Ok(Val::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

fn range(meter: &mut Meter, args: &[Val]) -> Result {
    let count = args::int(args, 0)?;
    // For the API server it is none.
    if count < 0 && meter.dialect == Dialect::Kyverno {
        return Err(EvalError::failed(format!("lists.range: size must be non-negative, got {count}")));
    }
    let count = count.max(0);
    room(meter, usize::try_from(count).unwrap_or(usize::MAX))?;
    Ok(Val::list((0..count).map(Val::Int).collect()))
}

fn reverse(meter: &mut Meter, args: &[Val]) -> Result {
    let list = args::list(args, 0)?;
    room(meter, list.len())?;
    let mut items: Vec<Val> = list.iter().collect();
    items.reverse();
    Ok(Val::list(items))
}

fn distinct(meter: &mut Meter, args: &[Val]) -> Result {
    let list = args::list(args, 0)?;
    room(meter, list.len())?;
    let mut items: Vec<Val> = Vec::new();
    for item in list.iter() {
        let mut is_known = false;
        for known in &items {
            is_known = is_known || equal(meter, known, &item)?;
        }
        if !is_known {
            items.push(item);
        }
    }
    Ok(Val::list(items))
}

/// Counts the comparison of a value with another one.
fn visit(meter: &mut Meter, value: &Val) -> std::result::Result<(), EvalError> {
    meter.visit(1)?;
    meter.visit_text(match value {
        Val::String(text) => text.len(),
        Val::Bytes(bytes) => bytes.len(),
        _ => 0,
    })
}

fn is_sorted(meter: &mut Meter, args: &[Val]) -> Result {
    let mut before: Option<Val> = None;
    for item in args::list(args, 0)?.iter() {
        visit(meter, &item)?;
        if let Some(before) = &before
            && compare(before, &item)? == Some(Ordering::Greater)
        {
            return Ok(Val::Bool(false));
        }
        before = Some(item);
    }
    Ok(Val::Bool(true))
}

fn sum(meter: &mut Meter, args: &[Val], zero: Val) -> Result {
    let mut total = zero;
    for item in args::list(args, 0)?.iter() {
        meter.visit(1)?;
        total = super::standard::add(meter, &[total, item])?;
    }
    Ok(total)
}

/// The element from which no other is in that order.
fn extreme(meter: &mut Meter, args: &[Val], name: &str, replaced_if: Ordering) -> Result {
    let mut best: Option<Val> = None;
    for item in args::list(args, 0)?.iter() {
        visit(meter, &item)?;
        match &best {
            Some(known) if compare(known, &item)? != Some(replaced_if) => {}
            _ => best = Some(item),
        }
    }
    best.ok_or_else(|| EvalError::failed(format!("{name} called on empty list")))
}

fn position(found: Option<usize>) -> Val {
    Val::Int(found.and_then(|index| i64::try_from(index).ok()).unwrap_or(-1))
}

fn index_of(meter: &mut Meter, args: &[Val]) -> Result {
    let length = args::list(args, 0)?.len();
    first_at(meter, args, 0..length)
}

fn last_index_of(meter: &mut Meter, args: &[Val]) -> Result {
    let length = args::list(args, 0)?.len();
    first_at(meter, args, (0..length).rev())
}

/// The first of these indexes at which the value is.
fn first_at(meter: &mut Meter, args: &[Val], indexes: impl Iterator<Item = usize>) -> Result {
    let (list, item) = (args::list(args, 0)?, args::value(args, 1));
    for index in indexes {
        if let Some(other) = list.get(index)
            && equal(meter, &other, &item)?
        {
            return Ok(position(Some(index)));
        }
    }
    Ok(position(None))
}
