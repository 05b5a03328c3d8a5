//! The text of an expression: on one line if it fits, else broken where a person would break it.

use std::fmt;

use crate::cel::quoted;

use super::{Cel, Entry, Operator};

/// The longest line, in characters.
const MAX_COLUMNS: usize = 100;

/// The same of messages in messages.
const MAX_NESTED: usize = 60;

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
        Writer { out: String::new() }.finished(&self.rewritten(&filtered_map))
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
        self.within(usize::MAX).unwrap_or_default()
    }

    /// The text on one line, if it has at most so many characters.
    fn within(&self, characters: usize) -> Option<String> {
        Line::with(characters, |line| line.put(self))
    }

    /// The same as an operand of something that binds this strongly.
    fn operand_within(&self, precedence: u8, characters: usize) -> Option<String> {
        Line::with(characters, |line| line.put_operand(self, precedence))
    }
}

/// A text on one line with a limit: what comes after it is not looked at.
struct Line {
    text: String,
    /// How many characters more it may have.
    room: usize,
}

impl Line {
    /// `None` if the text is longer than the limit.
    fn with(room: usize, put: impl FnOnce(&mut Self) -> Option<()>) -> Option<String> {
        let mut line = Self { text: String::new(), room };
        put(&mut line)?;
        Some(line.text)
    }

    fn push(&mut self, text: &str) -> Option<()> {
        self.room = self.room.checked_sub(text.chars().count())?;
        self.text.push_str(text);
        Some(())
    }

    fn put(&mut self, cel: &Cel) -> Option<()> {
        match cel {
            Cel::Atom(text) => self.push(text),
            Cel::Text(text) => self.push(&quoted(text)),
            Cel::Member { of, name, optional } => {
                self.put_operand(of, PRIMARY)?;
                self.push(".")?;
                self.push(mark(*optional))?;
                self.push(name)
            }
            Cel::Index { of, key, optional } => {
                self.put_operand(of, PRIMARY)?;
                self.push("[")?;
                self.push(mark(*optional))?;
                self.put(key)?;
                self.push("]")
            }
            Cel::Call { of, name, arguments } => {
                if let Some(of) = of {
                    self.put_operand(of, PRIMARY)?;
                    self.push(".")?;
                }
                self.push(name)?;
                self.push("(")?;
                self.put_list(arguments)?;
                self.push(")")
            }
            Cel::Not(operand) => {
                self.push("!")?;
                self.put_operand(operand, 6)
            }
            Cel::Chain { operator, operands } => {
                let symbol = format!(" {} ", operator.symbol());
                self.put_all(operands.iter().enumerate(), &symbol, |line, (index, operand)| {
                    line.put_operand(operand, least(*operator, index))
                })
            }
            Cel::If { condition, then, otherwise } => {
                self.put_operand(condition, 1)?;
                self.push(" ? ")?;
                self.put_operand(then, 1)?;
                self.push(" : ")?;
                self.put(otherwise)
            }
            Cel::List(elements) => {
                self.push("[")?;
                self.put_list(elements)?;
                self.push("]")
            }
            Cel::Map(entries) => {
                self.push("{")?;
                self.put_members(entries, Self::put)?;
                self.push("}")
            }
            Cel::Message { name, fields } => {
                self.push(name)?;
                self.push("{")?;
                self.put_members(fields, |line, key| line.push(key))?;
                self.push("}")
            }
        }
    }

    /// An operand of something that binds this strongly.
    fn put_operand(&mut self, operand: &Cel, precedence: u8) -> Option<()> {
        if operand.precedence() >= precedence {
            return self.put(operand);
        }
        self.push("(")?;
        self.put(operand)?;
        self.push(")")
    }

    fn put_members<K>(
        &mut self,
        members: &[Entry<K>],
        put_key: impl Fn(&mut Self, &K) -> Option<()>,
    ) -> Option<()> {
        self.put_all(members, ", ", |line, member| {
            line.push(mark(member.optional))?;
            put_key(line, &member.key)?;
            line.push(": ")?;
            line.put(&member.value)
        })
    }

    fn put_list(&mut self, items: &[Cel]) -> Option<()> {
        self.put_all(items, ", ", Self::put)
    }

    fn put_all<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        separator: &str,
        mut put: impl FnMut(&mut Self, T) -> Option<()>,
    ) -> Option<()> {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.push(separator)?;
            }
            put(self, item)?;
        }
        Some(())
    }
}

/// A `map` with a condition as `filter` and `map`: more people know these.
fn filtered_map(cel: &Cel) -> Option<Cel> {
    let Cel::Call { of: Some(list), name: "map", arguments } = cel else { return None };
    let [variable, condition, made] = arguments.as_slice() else { return None };
    let [list, condition, made] = [list, condition, made].map(|part| part.rewritten(&filtered_map));
    Some(list.call("filter", [variable.clone(), condition]).call("map", [variable.clone(), made]))
}

/// The precedence that an operand needs to stand without parentheses.
fn least(operator: Operator, index: usize) -> u8 {
    let is_associative = matches!(operator, Operator::Or | Operator::And);
    operator.precedence() + u8::from(index > 0 && !is_associative || operator.precedence() == 3)
}

const fn mark(optional: bool) -> &'static str {
    if optional { "?" } else { "" }
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

/// Whether it is a message in a message.
fn is_nested(cel: &Cel) -> bool {
    let is_message = |cel: &Cel| matches!(cel, Cel::Message { .. });
    matches!(cel, Cel::Message { fields, .. } if fields.iter().any(|field| field.value.any_part(&is_message)))
}

/// Whether a method runs an expression for each element.
fn is_loop(method: &str) -> bool {
    matches!(method, "map" | "filter" | "exists" | "all" | "sortBy" | "transformList" | "transformMap")
}

/// Whether each condition of a choice fits on one line with its value.
fn fits_table(choice: &Cel, indent: usize) -> bool {
    match choice {
        Cel::If { condition, then, otherwise } => {
            let line = Line::with(MAX_COLUMNS.saturating_sub(indent), |line| {
                line.put_operand(condition, 1)?;
                line.push(" ? : ")?;
                line.put_operand(then, 1)
            });
            line.is_some() && fits_table(otherwise, indent)
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

    /// How many characters fit on the line before this many.
    fn room(&self, after: usize) -> usize {
        MAX_COLUMNS.saturating_sub(self.column() + after)
    }

    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// Writes an expression; lines after the first are indented this much, and so many characters follow the last one.
    fn write(&mut self, expression: &Cel, indent: usize, after: usize) {
        let room = self.room(after);
        let room = if expression.any_part(&is_nested) { room.min(MAX_NESTED) } else { room };
        if let Some(flat) = expression.within(room) {
            self.out.push_str(&flat);
            return;
        }
        match expression {
            Cel::Atom(_) | Cel::Text(_) => self.out.push_str(&expression.flat()),
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
                let mut is_closed = false;
                for (index, operand) in operands.iter().enumerate() {
                    // A list or a loop behind the bracket of a list on several lines stands beside it, but for one that
                    // begins with a bracket itself.
                    is_closed &= match operand {
                        Cel::Call { of: Some(of), .. } => !matches!(**of, Cel::Map(_)),
                        operand => matches!(operand, Cel::List(_) | Cel::Call { .. }),
                    };
                    let inner = if index == 0 || is_closed { indent } else { indent + INDENT };
                    if is_closed {
                        self.out.push(' ');
                    } else if index > 0 {
                        self.line(indent);
                    }
                    if index > 0 {
                        self.out.push_str(operator.symbol());
                        self.out.push(' ');
                    }
                    let is_last = index + 1 == operands.len();
                    let start = self.out.len();
                    self.operand(operand, least(*operator, index), inner, if is_last { after } else { 0 });
                    let has_lines = self.out.get(start..).is_some_and(|text| text.contains('\n'));
                    is_closed = inner == indent && has_lines && matches!(operand, Cel::List(_));
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
            constructor => self.constructor(constructor, indent),
        }
    }

    /// Parts of a text, as many on a line as fit.
    fn sum(&mut self, parts: &[Cel], indent: usize, after: usize) {
        for (index, part) in parts.iter().enumerate() {
            let text = part.operand_within(least(Operator::Plus, index), usize::MAX).unwrap_or_default();
            let is_last = index + 1 == parts.len();
            if index > 0 && text.chars().count() > self.room(3 + if is_last { after } else { 0 }) {
                self.line(indent);
                self.out.push_str("+ ");
            } else if index > 0 {
                self.out.push_str(" + ");
            }
            self.out.push_str(&text);
        }
    }

    /// A list, a map or a message, with a line for each part.
    fn constructor(&mut self, constructor: &Cel, indent: usize) {
        match constructor {
            Cel::List(elements) => {
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
        let is_path =
            matches!(value, Cel::Call { arguments, .. } if arguments.iter().all(is_word)) || is_word(value);
        if is_path
            && value.within(self.room(after)).is_none()
            && let Some(flat) = value.within(MAX_COLUMNS.saturating_sub(indent + INDENT + after))
        {
            self.out.truncate(self.out.trim_end_matches(' ').len());
            self.line(indent + INDENT);
            self.out.push_str(&flat);
            return;
        }
        let is_operation = match value {
            Cel::Chain { operands, .. } => !matches!(operands.first(), Some(Cel::List(_))),
            value => matches!(value, Cel::If { .. }),
        };
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
            let room = MAX_COLUMNS.saturating_sub(name.len() + 3 + indent + INDENT + after);
            let is_short = Line::with(room, |line| line.put_list(arguments)).is_some();
            let has_words = !arguments.is_empty() && arguments.iter().all(is_word);
            let is_broken = of.operand_within(PRIMARY, self.room(name.len() + 3)).is_none();
            let is_map = matches!(of, Cel::Map(_));
            let opens_line = is_loop(name) && (is_short || of.has_loop() || is_map) || is_short && has_words;
            let start = self.out.len();
            self.operand(of, PRIMARY, indent, name.len() + 3);
            let has_lines = self.out.get(start..).is_some_and(|text| text.contains('\n'));
            let is_closed = self.out.ends_with([']', '}']) && has_lines;
            if opens_line && (!is_closed || is_map) || is_broken && !self.out.ends_with([')', ']', '}']) {
                self.line(indent + INDENT);
                indent += INDENT;
            }
            self.out.push('.');
        }
        self.out.push_str(name);
        self.out.push('(');
        let flat = Line::with(self.room(1 + after), |line| line.put_list(arguments));
        match (flat, arguments.split_last()) {
            (None, Some((last, short))) => self.arguments(short, last, of.is_none(), indent, after),
            (flat, _) => self.out.push_str(&flat.unwrap_or_default()),
        }
        self.out.push(')');
    }

    fn arguments(&mut self, short: &[Cel], last: &Cel, is_function: bool, indent: usize, after: usize) {
        let mut is_wrapped = false;
        for argument in short {
            let is_first = self.out.ends_with('(');
            if !is_first {
                self.out.push(',');
            }
            if is_first && let Some(text) = argument.within(self.room(1)) {
                self.out.push_str(&text);
            } else if let Some(text) = argument.within(self.room(2)) {
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
        let is_word = is_word(last) && (is_function || last.within(self.room(1 + after)).is_some());
        let indent = if short.is_empty() && (opens || is_word) {
            indent
        } else if opens && !is_wrapped && self.column() + head < MAX_COLUMNS {
            self.out.push(' ');
            indent
        } else {
            self.line(indent + INDENT);
            indent + INDENT
        };
        self.write(last, indent, 1 + after);
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
