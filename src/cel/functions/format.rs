//! `string.format`, as the extension's first version has it.

use std::fmt::Write as _;

use super::args;
use super::conversions::to_text;
use super::{Row, row};
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::types::Type;
use crate::cel::value::{List, Val};
use crate::formats::quote;

type Result<T> = std::result::Result<T, EvalError>;

pub(super) const ROWS: &[Row] =
    &[row("format", "string_format", "string.(list<dyn>) string", |meter, args| {
        let text = format(meter, args::text(args, 0)?, args::list(args, 1)?)?;
        Ok(Val::string(text))
    })];

/// A clause of a format string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cel) struct Clause {
    letter: char,
    precision: Option<usize>,
}

/// Between the clauses and around them.
enum Part<'a> {
    Text(&'a str),
    Clause(Clause),
}

fn error(message: &str) -> EvalError {
    EvalError::failed(format!("error during formatting: {message}"))
}

fn parts(template: &str) -> Result<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(percent) = rest.find('%') {
        parts.push(Part::Text(&rest[..percent]));
        let after = &rest[percent + 1..];
        if let Some(after) = after.strip_prefix('%') {
            parts.push(Part::Text("%"));
            rest = after;
            continue;
        }
        let (precision, after) = precision(after)?;
        let letter = after.chars().next().ok_or_else(|| EvalError::failed("unexpected end of string"))?;
        if !matches!(letter, 's' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o') {
            return Err(EvalError::failed(format!(
                "could not parse formatting clause: unrecognized formatting clause \"{letter}\""
            )));
        }
        parts.push(Part::Clause(Clause { letter, precision }));
        rest = &after[letter.len_utf8()..];
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

fn precision(text: &str) -> Result<(Option<usize>, &str)> {
    let Some(after) = text.strip_prefix('.') else { return Ok((None, text)) };
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    let precision: usize = after[..end].parse().map_err(|_| {
        EvalError::failed("error while parsing precision: could not convert precision to integer")
    })?;
    if precision > MAX_PRECISION {
        let message =
            format!("error while parsing precision: {precision} is not supported, at most {MAX_PRECISION}");
        return Err(EvalError::failed(message));
    }
    Ok((Some(precision), &after[end..]))
}

/// How many decimals a number has without a precision.
const DECIMALS: usize = 6;

/// More digits say nothing about a double, and would cost memory.
const MAX_PRECISION: usize = 1_000;

/// The clauses of a format string.
pub(in crate::cel) fn clauses(template: &str) -> Result<Vec<Clause>> {
    let clauses = parts(template)?.into_iter().filter_map(|part| match part {
        Part::Clause(clause) => Some(clause),
        Part::Text(_) => None,
    });
    Ok(clauses.collect())
}

impl Clause {
    pub(in crate::cel) const fn letter(self) -> char {
        self.letter
    }

    /// Whether values of a type can be written so.
    pub(in crate::cel) const fn accepts(self, t: &Type) -> bool {
        match self.letter {
            _ if matches!(t, Type::Dyn) => true,
            'd' | 'o' => matches!(t, Type::Int | Type::Uint),
            'b' => matches!(t, Type::Int | Type::Uint | Type::Bool),
            'x' | 'X' => matches!(t, Type::Int | Type::Uint | Type::String | Type::Bytes),
            'f' | 'e' => matches!(t, Type::Double | Type::String),
            _ => !matches!(t, Type::Optional(_) | Type::Named(_)),
        }
    }

    /// Appends a value. What it writes is counted.
    fn write(self, meter: &mut Meter, value: &Val, out: &mut String) -> Result<()> {
        if self.letter == 's' {
            return text(meter, value, out);
        }
        let before = out.len();
        let written = match (self.letter, value) {
            ('d', Val::Int(value)) => write!(out, "{value}"),
            ('d', Val::Uint(value)) => write!(out, "{value}"),
            ('b', Val::Int(value)) => signed(out, *value, |out, value| write!(out, "{value:b}")),
            ('b', Val::Uint(value)) => write!(out, "{value:b}"),
            ('b', Val::Bool(value)) => write!(out, "{}", u8::from(*value)),
            ('o', Val::Int(value)) => signed(out, *value, |out, value| write!(out, "{value:o}")),
            ('o', Val::Uint(value)) => write!(out, "{value:o}"),
            ('x', Val::Int(value)) => signed(out, *value, |out, value| write!(out, "{value:x}")),
            ('x', Val::Uint(value)) => write!(out, "{value:x}"),
            ('X', Val::Int(value)) => signed(out, *value, |out, value| write!(out, "{value:X}")),
            ('X', Val::Uint(value)) => write!(out, "{value:X}"),
            ('x' | 'X', Val::String(text)) => hex(out, text.as_bytes(), self.letter == 'X'),
            ('x' | 'X', Val::Bytes(bytes)) => hex(out, bytes, self.letter == 'X'),
            ('f' | 'e', value) => {
                let Some(number) = number(value) else { return Err(self.refused(value)) };
                // The printer has no negative zero.
                let number = if number == 0.0 { 0.0 } else { number };
                *out += &if self.letter == 'f' { self.fixed(number) } else { self.scientific(number) };
                Ok(())
            }
            _ => return Err(self.refused(value)),
        };
        written.map_err(|_| error("out of memory"))?;
        meter.make(out.len() - before)
    }

    fn refused(self, value: &Val) -> EvalError {
        let rule = match self.letter {
            'd' => "decimal clause can only be used on integers",
            'b' => "only integers and bools can be formatted as binary",
            'o' => "octal clause can only be used on integers",
            'x' | 'X' => "only integers, byte buffers, and strings can be formatted as hex",
            'f' => "fixed-point clause can only be used on doubles",
            _ => "scientific clause can only be used on doubles",
        };
        error(&format!("{rule}, was given {}", value.type_name()))
    }

    /// As the printer of English texts writes a number: with commas.
    fn fixed(self, number: f64) -> String {
        let precision = self.precision.unwrap_or(DECIMALS);
        not_finite(number).unwrap_or_else(|| with_commas(&format!("{number:.precision$}")))
    }

    /// As the same printer writes a power of ten. The extension passes the precision as the width, so that there are always
    /// six decimals, after blanks.
    fn scientific(self, number: f64) -> String {
        let text = not_finite(number).unwrap_or_else(|| {
            let plain = format!("{number:.DECIMALS$e}");
            let Some((mantissa, exponent)) = plain.split_once('e') else { return plain };
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let digits: String = format!("{:02}", exponent.abs()).chars().map(raised).collect();
            let sign = if exponent < 0 { "⁻" } else { "" };
            format!("{mantissa}×10{sign}{digits}")
        });
        format!("{text:>width$}", width = self.precision.unwrap_or(0))
    }
}

fn not_finite(number: f64) -> Option<String> {
    let text = match number {
        _ if number.is_nan() => "NaN",
        f64::INFINITY => "∞",
        f64::NEG_INFINITY => "-∞",
        _ => return None,
    };
    Some(text.to_owned())
}

fn raised(digit: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit.to_digit(10).and_then(|digit| DIGITS.get(digit as usize).copied()).unwrap_or(digit)
}

fn with_commas(number: &str) -> String {
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) =
        number.split_once('.').map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out += fraction;
    }
    out
}

fn signed(
    out: &mut String,
    value: i64,
    write: impl Fn(&mut String, u64) -> std::fmt::Result,
) -> std::fmt::Result {
    if value < 0 {
        out.push('-');
    }
    write(out, value.unsigned_abs())
}

fn hex(out: &mut String, bytes: &[u8], upper: bool) -> std::fmt::Result {
    bytes
        .iter()
        .try_for_each(|byte| if upper { write!(out, "{byte:02X}") } else { write!(out, "{byte:02x}") })
}

fn number(value: &Val) -> Option<f64> {
    match value {
        Val::Double(value) => Some(*value),
        Val::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// Appends a value as `%s` writes it.
fn text(meter: &mut Meter, value: &Val, out: &mut String) -> Result<()> {
    match value {
        Val::Null => append(meter, out, "null"),
        Val::List(_) | Val::Map(_) => nested(meter, value, out),
        Val::Type(t) => append(meter, out, &crate::cel::value::type_name(t)),
        value => append(meter, out, &plain(value)?),
    }
}

fn plain(value: &Val) -> Result<String> {
    to_text(value)?.ok_or_else(|| {
        error(&format!(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given {}",
            value.type_name()
        ))
    })
}

fn append(meter: &mut Meter, out: &mut String, text: &str) -> Result<()> {
    meter.make(text.len())?;
    out.push_str(text);
    Ok(())
}

/// Appends a value inside a list or map.
fn nested(meter: &mut Meter, value: &Val, out: &mut String) -> Result<()> {
    meter.visit(1)?;
    match value {
        Val::List(list) => {
            append(meter, out, "[")?;
            for (index, item) in list.iter().enumerate() {
                append(meter, out, if index > 0 { ", " } else { "" })?;
                nested(meter, &item, out)?;
            }
            append(meter, out, "]")
        }
        Val::Map(map) => {
            let mut entries = Vec::new();
            for (key, value) in map.iter() {
                let mut entry = (String::new(), String::new());
                nested(meter, &key, &mut entry.0)?;
                nested(meter, &value, &mut entry.1)?;
                entries.push(entry);
            }
            entries.sort();
            append(meter, out, "{")?;
            for (index, (key, value)) in entries.iter().enumerate() {
                append(meter, out, if index > 0 { ", " } else { "" })?;
                append(meter, out, key)?;
                append(meter, out, ":")?;
                append(meter, out, value)?;
            }
            append(meter, out, "}")
        }
        Val::String(text) => append(meter, out, &quote(text.as_bytes())),
        Val::Bytes(_) => append(meter, out, &format!("b{}", quote(plain(value)?.as_bytes()))),
        Val::Double(number) if number.is_nan() => append(meter, out, "\"NaN\""),
        Val::Double(number) if number.is_infinite() => {
            append(meter, out, if *number > 0.0 { "\"+Inf\"" } else { "\"-Inf\"" })
        }
        Val::Double(number) => append(meter, out, &format!("{number:.6}")),
        Val::Duration(_) => append(meter, out, &format!("duration({})", quote(plain(value)?.as_bytes()))),
        Val::Timestamp(_) => append(meter, out, &format!("timestamp({})", quote(plain(value)?.as_bytes()))),
        Val::Null | Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Type(_) => text(meter, value, out),
        other => Err(error(&format!("no formatting function for {}", other.type_name()))),
    }
}

fn format(meter: &mut Meter, template: &str, list: &List) -> Result<String> {
    let mut out = String::new();
    let mut used = 0;
    for part in parts(template)? {
        match part {
            Part::Text(text) => append(meter, &mut out, text)?,
            Part::Clause(clause) => {
                let value =
                    list.get(used).ok_or_else(|| EvalError::failed(format!("index {used} out of range")))?;
                used += 1;
                clause.write(meter, &value, &mut out)?;
            }
        }
    }
    Ok(out)
}
