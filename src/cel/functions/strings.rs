//! Texts: the standard library's and the extension's functions. Positions are in characters.

use super::args;
use super::{Row, row};
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::text::quoted;
use crate::cel::value::Val;
use crate::value::escaped_token;

type Result = std::result::Result<Val, EvalError>;

pub(super) const ROWS: &[Row] = &[
    row("contains", "contains_string", "string.(string) bool", |_, args| {
        Ok(Val::Bool(args::text(args, 0)?.contains(&**args::text(args, 1)?)))
    }),
    row("startsWith", "starts_with_string", "string.(string) bool", |_, args| {
        Ok(Val::Bool(args::text(args, 0)?.starts_with(&**args::text(args, 1)?)))
    }),
    row("endsWith", "ends_with_string", "string.(string) bool", |_, args| {
        Ok(Val::Bool(args::text(args, 0)?.ends_with(&**args::text(args, 1)?)))
    }),
    row("charAt", "string_char_at_int", "string.(int) string", char_at),
    row("indexOf", "string_index_of_string", "string.(string) int", index_of),
    row("indexOf", "string_index_of_string_int", "string.(string, int) int", index_of),
    row("lastIndexOf", "string_last_index_of_string", "string.(string) int", last_index_of),
    row("lastIndexOf", "string_last_index_of_string_int", "string.(string, int) int", last_index_of),
    row("lowerAscii", "string_lower_ascii", "string.() string", |meter, args| {
        made(meter, args::text(args, 0)?.to_ascii_lowercase())
    }),
    row("upperAscii", "string_upper_ascii", "string.() string", |meter, args| {
        made(meter, args::text(args, 0)?.to_ascii_uppercase())
    }),
    row("replace", "string_replace_string_string", "string.(string, string) string", replace),
    row("replace", "string_replace_string_string_int", "string.(string, string, int) string", replace),
    row("split", "string_split_string", "string.(string) list<string>", split),
    row("split", "string_split_string_int", "string.(string, int) list<string>", split),
    row("substring", "string_substring_int", "string.(int) string", substring),
    row("substring", "string_substring_int_int", "string.(int, int) string", substring),
    row("trim", "string_trim", "string.() string", |meter, args| {
        made(meter, args::text(args, 0)?.trim_matches(is_space).to_owned())
    }),
    row("join", "list_join", "list<string>.() string", join),
    row("join", "list_join_string", "list<string>.(string) string", join),
    row("strings.quote", "strings_quote", "(string) string", |meter, args| {
        made(meter, quoted(args::text(args, 0)?))
    }),
    row("jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", "(string) string", |meter, args| {
        made(meter, escaped_token(args::text(args, 0)?))
    }),
];

/// White space of Unicode, as Go's `unicode.IsSpace` has it.
fn is_space(c: char) -> bool {
    c.is_whitespace()
}

fn made(meter: &mut Meter, text: String) -> Result {
    meter.make(text.len())?;
    Ok(Val::string(text))
}

fn out_of_range(index: i64) -> EvalError {
    EvalError::failed(format!("index out of range: {index}"))
}

/// The byte at which a character starts; the end is one, too.
fn byte_at(text: &str, position: i64) -> std::result::Result<usize, EvalError> {
    let position_usize = usize::try_from(position).map_err(|_| out_of_range(position))?;
    if text.is_ascii() {
        return if position_usize <= text.len() { Ok(position_usize) } else { Err(out_of_range(position)) };
    }
    text.char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .nth(position_usize)
        .ok_or_else(|| out_of_range(position))
}

fn position_of(text: &str, byte: usize) -> i64 {
    i64::try_from(crate::cel::value::chars(&text[..byte])).unwrap_or(i64::MAX)
}

fn char_at(_: &mut Meter, args: &[Val]) -> Result {
    let text = args::text(args, 0)?;
    let at = byte_at(text, args::int(args, 1)?)?;
    Ok(Val::string(text[at..].chars().next().map(String::from).unwrap_or_default()))
}

fn index_of(_: &mut Meter, args: &[Val]) -> Result {
    let (text, part) = (args::text(args, 0)?, args::text(args, 1)?);
    let offset = if args.len() > 2 { args::int(args, 2)? } else { 0 };
    if part.is_empty() {
        return Ok(Val::Int(offset));
    }
    if offset < 0 {
        return Err(out_of_range(offset));
    }
    let Ok(start) = byte_at(text, offset) else { return Ok(Val::Int(-1)) };
    let found = text[start..].find(&**part);
    Ok(Val::Int(found.map_or(-1, |at| position_of(text, start + at))))
}

fn last_index_of(_: &mut Meter, args: &[Val]) -> Result {
    let (text, part) = (args::text(args, 0)?, args::text(args, 1)?);
    let length = position_of(text, text.len());
    let offset = if args.len() > 2 { args::int(args, 2)? } else { length - 1 };
    if part.is_empty() {
        return Ok(Val::Int(if args.len() > 2 { offset } else { length }));
    }
    if args.len() == 2 && text.len() < part.len() {
        return Ok(Val::Int(-1));
    }
    if offset < 0 {
        return Err(out_of_range(offset));
    }
    let Ok(start) = byte_at(text, offset) else { return Ok(Val::Int(-1)) };
    if offset >= length {
        return Ok(Val::Int(-1));
    }
    // A match may start at the offset, and then ends after it.
    let end = text.floor_char_boundary(start.saturating_add(part.len()));
    let found = text[..end].rfind(&**part);
    Ok(Val::Int(found.map_or(-1, |at| position_of(text, at))))
}

fn replace(meter: &mut Meter, args: &[Val]) -> Result {
    let (text, old, new) = (args::text(args, 0)?, args::text(args, 1)?, args::text(args, 2)?);
    let count = if args.len() > 3 { args::int(args, 3)? } else { -1 };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let matches = if old.is_empty() { text.chars().count() + 1 } else { text.matches(&**old).count() };
    meter.make(text.len().saturating_add(matches.min(count).saturating_mul(new.len())))?;
    Ok(Val::string(text.replacen(&**old, new, count)))
}

fn split(meter: &mut Meter, args: &[Val]) -> Result {
    let (text, separator) = (args::text(args, 0)?, args::text(args, 1)?);
    let limit = if args.len() > 2 { args::int(args, 2)? } else { -1 };
    if limit == 0 {
        return Ok(Val::list(Vec::new()));
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    if separator.is_empty() {
        let mut rest = text.chars();
        while parts.len() + 1 < limit
            && let Some(c) = rest.next()
        {
            meter.make(size_of::<Val>() + 16)?;
            parts.push(Val::string(String::from(c)));
        }
        if !rest.as_str().is_empty() {
            parts.push(Val::string(rest.as_str()));
        }
        return Ok(Val::list(parts));
    }
    for part in text.splitn(limit, &**separator) {
        meter.make(part.len() + size_of::<Val>() + 16)?;
        parts.push(Val::string(part));
    }
    Ok(Val::list(parts))
}

fn substring(meter: &mut Meter, args: &[Val]) -> Result {
    let text = args::text(args, 0)?;
    let start = args::int(args, 1)?;
    if args.len() == 2 {
        return made(meter, text[byte_at(text, start)?..].to_owned());
    }
    let end = args::int(args, 2)?;
    if start > end {
        return Err(EvalError::failed(format!("invalid substring range. start: {start}, end: {end}")));
    }
    made(meter, text[byte_at(text, start)?..byte_at(text, end)?].to_owned())
}

fn join(meter: &mut Meter, args: &[Val]) -> Result {
    let list = args::list(args, 0)?;
    let separator = if args.len() > 1 { args::text(args, 1)? } else { "" };
    let mut text = String::new();
    for (index, item) in list.iter().enumerate() {
        let Val::String(item) = item else {
            return Err(EvalError::failed(format!("join: invalid input: {}", item.display())));
        };
        meter.visit(1)?;
        meter.make(item.len() + separator.len())?;
        if index > 0 {
            text.push_str(separator);
        }
        text.push_str(&item);
    }
    Ok(Val::string(text))
}
