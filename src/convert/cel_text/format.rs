//! The text of an expression: on one line if it fits, else broken where a person would break it.

use std::fmt;

use crate::cel::quoted;

use super::{Cel, Entry, Operator};

/// The longest line, in characters.
const MAX_COLUMNS: usize = 100;

const INDENT: usize = 2;

/// The precedence of what needs no parentheses anywhere.
const PRIMARY: u8 = 7;

impl fmt::Display for Cel {
    /// On one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.flat())
    }
}

impl Cel {
    /// The text, on several lines if it is too long for one.
    pub(in crate::convert) fn pretty(&self) -> String {
        Writer { out: String::new() }.finished(self)
    }

    fn precedence(&self) -> u8 {
        match self {
            Self::If { .. } => 0,
            Self::Chain { operator, .. } => operator.precedence(),
            Self::Not(_) => 6,
            Self::Atom(text) if text.starts_with('-') => 6,
            _ => PRIMARY,
        }
    }

    /// Whether a loop is among the calls that it ends with.
    fn has_loop(&self) -> bool {
        match self {
            Self::Call { of: Some(of), name, .. } => is_loop(name) || of.has_loop(),
            Self::Member { of, .. } | Self::Index { of, .. } => of.has_loop(),
            _ => false,
        }
    }

    fn flat(&self) -> String {
        match self {
            Self::Atom(text) => text.clone(),
            Self::Text(text) => quoted(text),
            Self::Member { of, name, optional } => {
                format!("{}.{}{name}", of.flat_in(PRIMARY), mark(*optional))
            }
            Self::Index { of, key, optional } => {
                format!("{}[{}{}]", of.flat_in(PRIMARY), mark(*optional), key.flat())
            }
            Self::Call { of, name, arguments } => {
                format!("{}{name}({})", receiver(of.as_deref()), flat_list(arguments))
            }
            Self::Not(operand) => format!("!{}", operand.flat_in(6)),
            Self::Chain { operator, operands } => {
                let texts: Vec<_> = operands
                    .iter()
                    .enumerate()
                    .map(|(index, operand)| operand.flat_in(least(*operator, index)))
                    .collect();
                texts.join(&format!(" {} ", operator.symbol()))
            }
            Self::If { condition, then, otherwise } => {
                format!("{} ? {} : {}", condition.flat_in(1), then.flat_in(1), otherwise.flat())
            }
            Self::List(elements) => format!("[{}]", flat_list(elements)),
            Self::Map(entries) => {
                let entry = |entry: &Entry<Self>| {
                    format!("{}{}: {}", mark(entry.optional), entry.key.flat(), entry.value.flat())
                };
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
            Self::Message { name, fields } => {
                let field = |field: &Entry<String>| {
                    format!("{}{}: {}", mark(field.optional), field.key, field.value.flat())
                };
                format!("{name}{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The text as an operand of something that binds this strongly.
    fn flat_in(&self, precedence: u8) -> String {
        if self.precedence() < precedence { format!("({})", self.flat()) } else { self.flat() }
    }
}

/// The precedence that an operand needs to stand without parentheses.
fn least(operator: Operator, index: usize) -> u8 {
    let is_associative = matches!(operator, Operator::Or | Operator::And);
    operator.precedence() + u8::from(index > 0 && !is_associative || operator.precedence() == 3)
}

const fn mark(optional: bool) -> &'static str {
    if optional { "?" } else { "" }
}

fn receiver(of: Option<&Cel>) -> String {
    of.map(|of| format!("{}.", of.flat_in(PRIMARY))).unwrap_or_default()
}

fn flat_list(items: &[Cel]) -> String {
    items.iter().map(Cel::flat).collect::<Vec<_>>().join(", ")
}

/// Whether nothing in it can be broken: a name, a text or a path.
fn is_word(cel: &Cel) -> bool {
    match cel {
        Cel::Atom(_) | Cel::Text(_) => true,
        Cel::Member { of, .. } => is_word(of),
        Cel::Index { of, key, .. } => is_word(of) && is_word(key),
        _ => false,
    }
}

/// Whether a method runs an expression for each element.
fn is_loop(method: &str) -> bool {
    matches!(method, "map" | "filter" | "exists" | "all" | "sortBy" | "transformList" | "transformMap")
}

/// Whether each condition of a choice fits on one line with its value.
fn fits_table(choice: &Cel, indent: usize) -> bool {
    match choice {
        Cel::If { condition, then, otherwise } => {
            let length = condition.flat_in(1).chars().count() + then.flat_in(1).chars().count() + 5;
            indent + length <= MAX_COLUMNS && fits_table(otherwise, indent)
        }
        _ => true,
    }
}

/// Whether it is a part of a computed text, such as a path: `"/env/"`, `string(i)`.
fn is_part(cel: &Cel) -> bool {
    match cel {
        Cel::Call { of: None, arguments, .. } => arguments.iter().all(is_word),
        cel => is_word(cel),
    }
}

struct Writer {
    out: String,
}

impl Writer {
    fn finished(mut self, expression: &Cel) -> String {
        self.write(expression, 0, 0);
        self.out
    }

    fn column(&self) -> usize {
        let line = self.out.rsplit_once('\n').map_or(&*self.out, |(_, line)| line);
        line.chars().count()
    }

    fn fits(&self, text: &str, after: usize) -> bool {
        self.column() + text.chars().count() + after <= MAX_COLUMNS
    }

    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// Writes an expression; lines after the first are indented this much, and so many characters follow the last one.
    fn write(&mut self, expression: &Cel, indent: usize, after: usize) {
        let flat = expression.flat();
        if self.fits(&flat, after) {
            self.out.push_str(&flat);
            return;
        }
        match expression {
            Cel::Atom(_) | Cel::Text(_) => self.out.push_str(&flat),
            Cel::Member { of, name, optional } => {
                let rest = format!(".{}{name}", mark(*optional));
                self.operand(of, PRIMARY, indent, after + rest.len());
                self.out.push_str(&rest);
            }
            Cel::Index { of, key, optional } => {
                let rest = format!("[{}{}]", mark(*optional), key.flat());
                self.operand(of, PRIMARY, indent, after + rest.len());
                self.out.push_str(&rest);
            }
            Cel::Not(operand) => {
                self.out.push('!');
                self.operand(operand, 6, indent, after);
            }
            Cel::Call { of, name, arguments } => self.call(of.as_deref(), name, arguments, indent, after),
            Cel::Chain { operator: Operator::Plus, operands } if operands.iter().all(is_part) => {
                self.sum(operands, indent, after);
            }
            Cel::Chain { operator, operands } => {
                for (index, operand) in operands.iter().enumerate() {
                    if index > 0 {
                        self.line(indent);
                        self.out.push_str(operator.symbol());
                        self.out.push(' ');
                    }
                    let is_last = index + 1 == operands.len();
                    let inner = if index > 0 { indent + INDENT } else { indent };
                    self.operand(operand, least(*operator, index), inner, if is_last { after } else { 0 });
                }
            }
            Cel::If { otherwise, .. }
                if matches!(**otherwise, Cel::If { .. }) && fits_table(expression, indent) =>
            {
                self.table(expression, indent, after);
            }
            Cel::If { condition, then, otherwise } => {
                self.operand(condition, 1, indent, 0);
                self.line(indent);
                self.out.push_str("? ");
                self.operand(then, 1, indent + INDENT, 0);
                self.line(indent);
                self.out.push_str(": ");
                let is_chained = matches!(**otherwise, Cel::If { .. });
                self.write(otherwise, if is_chained { indent } else { indent + INDENT }, after);
            }
            constructor => self.constructor(constructor, indent, after),
        }
    }

    /// Parts of a text, as many on a line as fit.
    fn sum(&mut self, parts: &[Cel], indent: usize, after: usize) {
        for (index, part) in parts.iter().enumerate() {
            let text = part.flat_in(least(Operator::Plus, index));
            let is_last = index + 1 == parts.len();
            if index > 0 && !self.fits(&text, 3 + if is_last { after } else { 0 }) {
                self.line(indent);
                self.out.push_str("+ ");
            } else if index > 0 {
                self.out.push_str(" + ");
            }
            self.out.push_str(&text);
        }
    }

    /// A list, a map or a message, with a line for each part.
    fn constructor(&mut self, constructor: &Cel, indent: usize, after: usize) {
        match constructor {
            Cel::List(elements) => {
                // One constructor opens on the line of its list.
                if let [only @ (Cel::Message { .. } | Cel::Map(_))] = elements.as_slice() {
                    self.out.push('[');
                    self.write(only, indent, after + 1);
                    self.out.push(']');
                    return;
                }
                self.block("[", "]", elements, indent, |writer, element, indent, after| {
                    writer.write(element, indent, after);
                });
            }
            Cel::Map(entries) => self.block("{", "}", entries, indent, |writer, entry, indent, after| {
                writer.out.push_str(mark(entry.optional));
                writer.out.push_str(&entry.key.flat());
                writer.out.push_str(": ");
                writer.value(&entry.value, indent, after);
            }),
            Cel::Message { name, fields } => {
                let open = format!("{name}{{");
                self.block(&open, "}", fields, indent, |writer, field, indent, after| {
                    writer.out.push_str(mark(field.optional));
                    writer.out.push_str(&field.key);
                    writer.out.push_str(": ");
                    writer.value(&field.value, indent, after);
                });
            }
            _ => {}
        }
    }

    /// A choice of many, a line for each.
    fn table(&mut self, choice: &Cel, indent: usize, after: usize) {
        match choice {
            Cel::If { condition, then, otherwise } => {
                self.operand(condition, 1, indent, 0);
                self.out.push_str(" ? ");
                self.operand(then, 1, indent, 0);
                self.line(indent);
                self.out.push_str(": ");
                self.table(otherwise, indent, after);
            }
            last => self.write(last, indent + INDENT, after),
        }
    }

    /// The value of a member: lines of an operation are indented below the key.
    fn value(&mut self, value: &Cel, indent: usize, after: usize) {
        let flat = value.flat();
        let is_path =
            matches!(value, Cel::Call { arguments, .. } if arguments.iter().all(is_word)) || is_word(value);
        if is_path
            && !self.fits(&flat, after)
            && indent + INDENT + flat.chars().count() + after <= MAX_COLUMNS
        {
            self.out.truncate(self.out.trim_end_matches(' ').len());
            self.line(indent + INDENT);
            self.out.push_str(&flat);
            return;
        }
        let is_operation = matches!(value, Cel::If { .. } | Cel::Chain { .. });
        self.write(value, if is_operation { indent + INDENT } else { indent }, after);
    }

    fn operand(&mut self, operand: &Cel, precedence: u8, indent: usize, after: usize) {
        if operand.precedence() >= precedence {
            self.write(operand, indent, after);
            return;
        }
        self.out.push('(');
        self.write(operand, indent + 1, after + 1);
        self.out.push(')');
    }

    fn block<T>(
        &mut self,
        open: &str,
        close: &str,
        items: &[T],
        indent: usize,
        mut item: impl FnMut(&mut Self, &T, usize, usize),
    ) {
        self.out.push_str(open);
        for (index, one) in items.iter().enumerate() {
            self.line(indent + INDENT);
            let is_last = index + 1 == items.len();
            item(self, one, indent + INDENT, usize::from(!is_last));
            if !is_last {
                self.out.push(',');
            }
        }
        if !items.is_empty() {
            self.line(indent);
        }
        self.out.push_str(close);
    }

    /// A call: short arguments stay on the line of the name, the long one at the end follows them or has lines of its own.
    ///
    /// Where loops follow each other, and before a call that fits on a line of its own, the line is broken before the dot.
    fn call(&mut self, of: Option<&Cel>, name: &str, arguments: &[Cel], indent: usize, after: usize) {
        let mut indent = indent;
        if let Some(of) = of {
            let length = name.len() + 3 + flat_list(arguments).chars().count();
            let is_short = length + indent + INDENT + after <= MAX_COLUMNS;
            let has_words = !arguments.is_empty() && arguments.iter().all(is_word);
            let is_broken = !self.fits(&of.flat_in(PRIMARY), name.len() + 3);
            let opens_line = is_loop(name) && (is_short || of.has_loop()) || is_short && has_words;
            let start = self.out.len();
            self.operand(of, PRIMARY, indent, name.len() + 3);
            let has_lines = self.out.get(start..).is_some_and(|text| text.contains('\n'));
            let is_closed = self.out.ends_with([']', '}']) && has_lines;
            if opens_line && !is_closed || is_broken && !self.out.ends_with([')', ']', '}']) {
                self.line(indent + INDENT);
                indent += INDENT;
            }
            self.out.push('.');
        }
        self.out.push_str(name);
        self.out.push('(');
        let flat = flat_list(arguments);
        match arguments.split_last() {
            Some((last, short)) if !self.fits(&flat, 1 + after) => {
                self.arguments(short, last, of.is_none(), indent, after);
            }
            _ => self.out.push_str(&flat),
        }
        self.out.push(')');
    }

    fn arguments(&mut self, short: &[Cel], last: &Cel, is_function: bool, indent: usize, after: usize) {
        let mut is_wrapped = false;
        for argument in short {
            let is_first = self.out.ends_with('(');
            let text = argument.flat();
            if !is_first {
                self.out.push(',');
            }
            if is_first && self.fits(&text, 1) {
                self.out.push_str(&text);
            } else if self.fits(&text, 2) {
                self.out.push(' ');
                self.out.push_str(&text);
            } else {
                self.line(indent + INDENT);
                self.write(argument, indent + INDENT, 1);
                is_wrapped = true;
            }
        }
        if !short.is_empty() {
            self.out.push(',');
        }
        // A constructor is opened on the same line, anything else has its own.
        let opens = matches!(last, Cel::Message { .. } | Cel::Map(_) | Cel::List(_));
        let head = match last {
            Cel::Message { name, .. } => name.len() + 1,
            _ => 1,
        };
        let flat = last.flat();
        let is_word = is_word(last) && (self.fits(&flat, 1 + after) || is_function);
        let indent = if short.is_empty() && (opens || is_word) {
            indent
        } else if opens && !is_wrapped && self.column() + head < MAX_COLUMNS {
            self.out.push(' ');
            indent
        } else {
            self.line(indent + INDENT);
            indent + INDENT
        };
        if self.fits(&flat, 1 + after) {
            self.out.push_str(&flat);
        } else {
            self.write(last, indent, 1 + after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(name: &str) -> Cel {
        Cel::atom(name.repeat(40))
    }

    #[test]
    fn long_expressions_are_broken_before_operators() {
        let chain = Cel::all(vec![long("a"), long("b"), long("c")]);
        let [a, b, c] = ["a", "b", "c"].map(|name| name.repeat(40));
        assert_eq!(chain.pretty(), format!("{a}\n&& {b}\n&& {c}"));
        let test = Cel::if_else(long("a"), long("b"), long("c"));
        assert_eq!(test.pretty(), format!("{a}\n? {b}\n: {c}"));
    }

    #[test]
    fn long_constructors_have_a_line_for_each_field() {
        let field = |key: &str, value| Entry { key: key.to_owned(), value, optional: false };
        let message = Cel::message("Object", vec![field("a", long("x")), field("b", long("y"))]);
        let call = Cel::atom("list").call("map", [Cel::atom("c"), message]);
        let [x, y] = ["x", "y"].map(|name| name.repeat(40));
        assert_eq!(call.pretty(), format!("list.map(c, Object{{\n  a: {x},\n  b: {y}\n}})"));
    }

    #[test]
    fn lines_are_no_longer_than_the_limit() {
        let field = |key: &str, value| Entry { key: key.to_owned(), value, optional: false };
        let inner = Cel::message("Object.spec", vec![field("a", long("x")), field("b", long("y"))]);
        let outer = Cel::message("Object", vec![field("spec", inner)]);
        for line in outer.pretty().lines() {
            assert!(line.chars().count() <= MAX_COLUMNS, "{line}");
        }
    }
}
