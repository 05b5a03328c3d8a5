//! Regular expressions, as Go has them.

use std::sync::Arc;

use crate::regexp::{Regexp, RegexpError};

use crate::value::Text;

use super::args;
use super::{Row, row};
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::value::Val;

type Result = std::result::Result<Val, EvalError>;

pub(super) const ROWS: &[Row] = &[
    row("matches", "matches", "(string, string) bool", matches),
    row("matches", "matches_string", "string.(string) bool", matches),
    row("find", "string_find_string", "string.(string) string", find),
    row("findAll", "string_find_all_string", "string.(string) list<string>", find_all),
    row("findAll", "string_find_all_string_int", "string.(string, int) list<string>", find_all),
    row("regex.extract", "regex_extract_string_string", "(string, string) optional<string>", extract)
        .kyverno(),
    row("regex.extractAll", "regex_extractAll_string_string", "(string, string) list<string>", extract_all)
        .kyverno(),
    row("regex.replace", "regex_replace_string_string_string", "(string, string, string) string", replace)
        .kyverno(),
    row(
        "regex.replace",
        "regex_replace_string_string_string_int",
        "(string, string, string, int) string",
        replace,
    )
    .kyverno(),
];

/// A literal pattern, compiled once.
pub(in crate::cel) fn compile(pattern: &Text) -> std::result::Result<(Text, Arc<Regexp>), RegexpError> {
    Regexp::new(pattern).map(|regexp| (pattern.clone(), Arc::new(regexp)))
}

/// So many states take as long as one visit where a text is matched.
const STATES_PER_VISIT: usize = 32;

/// After each match the rest of the text may be read once more: so many bytes of it take as long as one visit.
const REST_BYTES_PER_VISIT: usize = 64;

/// The expression that is the second argument, with the work of matching the first once.
fn compiled(meter: &mut Meter, args: &[Val]) -> std::result::Result<Arc<Regexp>, EvalError> {
    let regexp = known_or_compiled(meter, args)?;
    meter.visit_text(args::text(args, 0)?.len().saturating_mul(1 + regexp.states / STATES_PER_VISIT))?;
    Ok(regexp)
}

/// Counts the search for the next match in the rest of a text.
fn search_on(meter: &mut Meter, rest: usize) -> std::result::Result<(), EvalError> {
    meter.visit_items(1 + rest / REST_BYTES_PER_VISIT)
}

fn known_or_compiled(meter: &mut Meter, args: &[Val]) -> std::result::Result<Arc<Regexp>, EvalError> {
    const VISITS_PER_STATE: usize = 4;
    let pattern = args::text(args, 1)?;
    if let Some((known, regexp)) = &meter.regexp
        && known == pattern
    {
        return Ok(Arc::clone(regexp));
    }
    meter.visit_items(VISITS_PER_STATE.saturating_mul(Regexp::states_of(pattern)))?;
    let regexp = Regexp::new(pattern).map_err(|error| EvalError::failed(error.to_string()))?;
    let regexp = Arc::new(regexp);
    meter.regexp = Some((pattern.clone(), Arc::clone(&regexp)));
    Ok(regexp)
}

fn matches(meter: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Bool(compiled(meter, args)?.is_match(args::text(args, 0)?)))
}

fn find(meter: &mut Meter, args: &[Val]) -> Result {
    let regexp = compiled(meter, args)?;
    let found = regexp.groups(args::text(args, 0)?).next().and_then(|groups| groups.into_iter().next());
    made(meter, found.flatten().unwrap_or_default())
}

fn made(meter: &mut Meter, text: &str) -> Result {
    meter.make(text.len() + size_of::<Val>())?;
    Ok(Val::string(text))
}

fn find_all(meter: &mut Meter, args: &[Val]) -> Result {
    let limit = if args.len() > 2 { args::int(args, 2)? } else { -1 };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let regexp = compiled(meter, args)?;
    let mut found = Vec::new();
    let text = args::text(args, 0)?;
    for (place, groups) in regexp.places(text).take(limit) {
        search_on(meter, text.len() - place.end)?;
        found.push(made(meter, groups.first().copied().flatten().unwrap_or_default())?);
    }
    Ok(Val::list(found))
}

/// The expression, unless it has more than one group.
fn one_group(meter: &mut Meter, args: &[Val]) -> std::result::Result<Arc<Regexp>, EvalError> {
    let regexp = compiled(meter, args)?;
    if regexp.group_count() > 1 {
        let pattern = args::text(args, 1)?;
        return Err(EvalError::failed(format!(
            "regular expression has more than one capturing group: \"{pattern}\""
        )));
    }
    Ok(regexp)
}

fn extract(meter: &mut Meter, args: &[Val]) -> Result {
    let regexp = one_group(meter, args)?;
    let Some(groups) = regexp.groups(args::text(args, 0)?).next() else { return Ok(Val::NONE) };
    match groups.as_slice() {
        [whole] => Ok(Val::some(made(meter, whole.unwrap_or_default())?)),
        [_, group, ..] => match group.unwrap_or_default() {
            "" => Ok(Val::NONE),
            text => Ok(Val::some(made(meter, text)?)),
        },
        [] => Ok(Val::NONE),
    }
}

fn extract_all(meter: &mut Meter, args: &[Val]) -> Result {
    let regexp = one_group(meter, args)?;
    let mut found = Vec::new();
    let text = args::text(args, 0)?;
    for (place, groups) in regexp.places(text) {
        search_on(meter, text.len() - place.end)?;
        match groups.as_slice() {
            [_, group, ..] if group.unwrap_or_default().is_empty() => {}
            [_, Some(text), ..] | [Some(text)] => found.push(made(meter, text)?),
            _ => {}
        }
    }
    Ok(Val::list(found))
}

fn replace(meter: &mut Meter, args: &[Val]) -> Result {
    let (text, template) = (args::text(args, 0)?, args::text(args, 2)?);
    let limit = if args.len() > 3 { args::int(args, 3)? } else { -1 };
    if limit == 0 {
        return Ok(Val::String(text.clone()));
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let regexp = compiled(meter, args)?;
    let mut out = String::new();
    let mut copied = 0;
    for (place, groups) in regexp.places(text).take(limit) {
        search_on(meter, text.len() - place.end)?;
        meter.make(place.start - copied)?;
        out.push_str(&text[copied..place.start]);
        copied = place.end;
        let before = out.len();
        fill(template, &groups, &mut out)?;
        meter.make(out.len() - before)?;
    }
    meter.make(text.len() - copied)?;
    out.push_str(&text[copied..]);
    Ok(Val::string(out))
}

/// Appends a template, in which `\1` is a group.
fn fill(template: &str, groups: &[Option<&str>], out: &mut String) -> std::result::Result<(), EvalError> {
    let invalid =
        |what: &str| EvalError::failed(format!("invalid replacement string: '{template}' \\ {what}"));
    let mut chars = template.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            None => return Err(invalid("not allowed at end")),
            Some('\\') => out.push('\\'),
            Some(digit) => {
                let number =
                    digit.to_digit(10).ok_or_else(|| invalid("must be followed by a digit or \\"))?;
                let group = groups.get(number as usize).ok_or_else(|| {
                    EvalError::failed(format!(
                        "replacement string references group {number} but regex has only {} group(s)",
                        groups.len().saturating_sub(1)
                    ))
                })?;
                out.push_str(group.unwrap_or_default());
            }
        }
    }
    Ok(())
}
