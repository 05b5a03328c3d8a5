//! The text of new nodes.

use crate::value::{Map, Value};
use crate::yaml::event::{Chomping, Style};
use crate::yaml::print::{MAX_SIMPLE_KEY, write_number};
use crate::yaml::quote::{self, ScalarStyle, write_double, write_single};

use super::Fallback;
use super::formatting::{Formatting, Quote};

/// The surroundings of new text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Context {
    Block,
    Flow,
    Json,
}

/// Writes the entries of a list or mapping in a column; the first continues the current line.
pub(super) fn entries(
    value: &Value,
    column: usize,
    formatting: &Formatting,
    out: &mut String,
) -> Result<(), Fallback> {
    match value {
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            indent(if index > 0 { column } else { 0 }, out);
            element(item, column, formatting, out)
        }),
        Value::Object(members) => members.iter().enumerate().try_for_each(|(index, (key, value))| {
            indent(if index > 0 { column } else { 0 }, out);
            member(key, value, column, formatting, out)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(Fallback::Layout),
    }
}

/// Writes an element with its dash and its line break.
pub(super) fn element(
    item: &Value,
    column: usize,
    formatting: &Formatting,
    out: &mut String,
) -> Result<(), Fallback> {
    out.push('-');
    indent(formatting.dash - 1, out);
    if is_nested(item) {
        return entries(item, column + formatting.dash, formatting, out);
    }
    leaf(item, column, formatting, out);
    Ok(())
}

/// Writes a member with its line break.
pub(super) fn member(
    key: &str,
    value: &Value,
    column: usize,
    formatting: &Formatting,
    out: &mut String,
) -> Result<(), Fallback> {
    write_key(key, Context::Block, formatting, out)?;
    out.push(':');
    if is_nested(value) {
        out.push_str(formatting.newline);
        let column = column + inner(value, formatting);
        indent(column, out);
        return entries(value, column, formatting, out);
    }
    out.push(' ');
    leaf(value, column, formatting, out);
    Ok(())
}

/// The indentation of the entries of a value relative to its key.
pub(super) const fn inner(value: &Value, formatting: &Formatting) -> usize {
    if matches!(value, Value::Array(_)) { formatting.list_step } else { formatting.step }
}

/// Whether it is a non-empty list or mapping.
pub(super) fn is_nested(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The chomping of the block scalar at the end of a new entry.
pub(super) fn breaks(value: &Value) -> Chomping {
    let mut value = value;
    loop {
        let last = match value {
            Value::Array(items) => items.last(),
            Value::Object(members) => members.last().map(|(_, member)| member),
            Value::String(text) => {
                return quote::block_header(text).map_or(Chomping::Strip, Chomping::of_header);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        };
        match last {
            Some(last) => value = last,
            None => return Chomping::Strip,
        }
    }
}

fn leaf(value: &Value, column: usize, formatting: &Formatting, out: &mut String) {
    if let Some((header, lines)) = block(value, column, None, formatting) {
        out.push_str(&header);
        out.push_str(formatting.newline);
        out.push_str(&lines);
        return;
    }
    scalar(value, Style::Plain, Context::Block, formatting, out);
    out.push_str(formatting.newline);
}

/// The header and the lines of a text of several lines, indented below a column.
pub(super) fn block(
    value: &Value,
    column: usize,
    at: Option<usize>,
    formatting: &Formatting,
) -> Option<(String, String)> {
    let text = value.as_str()?;
    let header = quote::block_header(text)?;
    // The indentation indicator has one digit.
    let width = at.map_or(formatting.step, |at| at.saturating_sub(column)).clamp(1, 9);
    let header = header.replace('2', &width.to_string());
    let mut lines = String::with_capacity(text.len() + 64);
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            indent(column + width, &mut lines);
            lines.push_str(line);
        }
        lines.push_str(formatting.newline);
    }
    Some((header, lines))
}

/// Writes a scalar or an empty collection on one line, in the style of the old one.
pub(super) fn scalar(
    value: &Value,
    style: Style,
    context: Context,
    formatting: &Formatting,
    out: &mut String,
) {
    let text = match value {
        Value::String(text) => text,
        Value::Number(number) if context != Context::Json => return write_number(number, out),
        Value::Null | Value::Bool(_) | Value::Number(_) => return out.push_str(&value.to_json()),
        Value::Array(_) => return out.push_str("[]"),
        Value::Object(_) => return out.push_str("{}"),
    };
    let wanted = match style {
        Style::SingleQuoted => Some(Quote::Single),
        Style::DoubleQuoted => Some(Quote::Double),
        Style::Plain
        | Style::BlockScalar
        | Style::BlockCollection
        | Style::FlowCollection
        | Style::Alias
        | Style::Missing => formatting.always,
    };
    write_text(text, wanted, context, formatting, out);
}

/// Writes a key.
pub(super) fn write_key(
    key: &str,
    context: Context,
    formatting: &Formatting,
    out: &mut String,
) -> Result<(), Fallback> {
    let start = out.len();
    write_text(key, formatting.keys, context, formatting, out);
    if out.len() - start > MAX_SIMPLE_KEY { Err(Fallback::LongKey) } else { Ok(()) }
}

fn write_text(
    text: &str,
    wanted: Option<Quote>,
    context: Context,
    formatting: &Formatting,
    out: &mut String,
) {
    if context == Context::Json {
        return out.push_str(&Value::from(text).to_json());
    }
    let style = match quote::scalar_style(text) {
        ScalarStyle::Plain if context == Context::Flow && text.contains([',', '[', ']', '{', '}', ':']) => {
            ScalarStyle::Single
        }
        style => style,
    };
    let printable = text.chars().all(quote::is_printable);
    let quotes = match (style, wanted, formatting.quotes) {
        (ScalarStyle::Plain, None, _) => return out.push_str(text),
        (_, Some(quotes), _) | (_, None, Some(quotes)) => quotes,
        (ScalarStyle::Single, None, None) => Quote::Single,
        (ScalarStyle::Double, None, None) => Quote::Double,
    };
    match quotes {
        Quote::Single if printable => write_single(text, out),
        Quote::Single | Quote::Double => write_double(text, out),
    }
}

/// The layout of flow collections.
#[derive(Clone, Debug)]
pub(super) struct FlowLayout {
    pub(super) context: Context,
    /// The indentation of the line that holds the node and the step below it; `None` where all stands on one
    /// line.
    pub(super) lines: Option<(String, String)>,
    /// The text after a colon and a comma.
    pub(super) blank: &'static str,
}

/// Writes a node in flow style.
pub(super) fn bracketed(
    value: &Value,
    brackets: &FlowLayout,
    formatting: &Formatting,
    out: &mut String,
) -> Result<(), Fallback> {
    let (open, close, count) = match value {
        Value::Array(items) if !items.is_empty() => ('[', ']', items.len()),
        Value::Object(members) if !members.is_empty() => ('{', '}', members.len()),
        _ => {
            scalar(value, Style::Plain, brackets.context, formatting, out);
            return Ok(());
        }
    };
    let mut inside = brackets.clone();
    if let Some((indent, step)) = &mut inside.lines {
        indent.push_str(step);
    }
    let break_line = |lines: &Option<(String, String)>, out: &mut String| {
        if let Some((indent, _)) = lines {
            out.push_str(formatting.newline);
            out.push_str(indent);
        }
    };
    let none = Map::default();
    let keys = value.as_object().unwrap_or(&none).keys();
    let mut keys = keys.map(Some).chain(std::iter::repeat(None));
    out.push(open);
    for index in 0..count {
        if index > 0 {
            out.push(',');
            if inside.lines.is_none() {
                out.push_str(brackets.blank);
            }
        }
        break_line(&inside.lines, out);
        let member = match (value, keys.next().flatten()) {
            (Value::Object(members), Some(key)) => {
                write_key(key, brackets.context, formatting, out)?;
                out.push(':');
                out.push_str(brackets.blank);
                members.get_index(index).map(|(_, member)| member)
            }
            _ => value.at(index),
        };
        bracketed(member.unwrap_or(&Value::Null), &inside, formatting, out)?;
    }
    break_line(&brackets.lines, out);
    out.push(close);
    Ok(())
}

/// Writes blanks.
pub(super) fn indent(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', count));
}
