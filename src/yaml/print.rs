//! Printing values as YAML like Kubernetes: block style, lists not indented below their key.

use std::slice;

use crate::value::{MapIter, Number, Value};

use super::quote::{block_header, write_line};

/// Longer keys are set apart by `?`, because readers look no further than 1024 characters for the colon.
pub(super) const MAX_SIMPLE_KEY: usize = 1000;

/// Prints one document, without separator: block style, keys in their order, a final newline.
///
/// Readers of YAML 1.1 and of 1.2 read every string as this string.
///
/// ```
/// let value = kyv::yaml::parse_value(r#"{"args": ["on", "a b"], "script": "a\nb\n"}"#).unwrap();
/// let mut text = String::new();
/// kyv::yaml::print(&value, &mut text);
/// assert_eq!(text, "args:\n- \"on\"\n- a b\nscript: |\n  a\n  b\n");
/// ```
pub fn print(value: &Value, out: &mut String) {
    let mut open: Vec<Level<'_>> = Vec::new();
    if let Some(level) = node(value, Place { indent: 0, after: After::Start }, out) {
        open.push(level);
    }
    while let Some(level) = open.last_mut() {
        let place = level.next(out);
        match place {
            None => {
                open.pop();
            }
            Some((value, place)) => open.extend(node(value, place, out)),
        }
    }
}

/// Prints one document after a separator.
pub fn print_document(value: &Value, out: &mut String) {
    out.push_str("---\n");
    print(value, out);
}

/// A list or mapping that is being printed.
struct Level<'a> {
    members: Members<'a>,
    indent: usize,
    /// Whether the next entry is on the line of the parent.
    inline: bool,
}

enum Members<'a> {
    List(slice::Iter<'a, Value>),
    Mapping(MapIter<'a>),
}

/// The place of a node.
#[derive(Clone, Copy)]
struct Place {
    /// The indentation of its parent.
    indent: usize,
    after: After,
}

/// The text before a node.
#[derive(Clone, Copy, PartialEq)]
enum After {
    /// Nothing.
    Start,
    /// `-`
    Dash,
    /// A key and its colon.
    Key,
    /// The colon of a key after `?`.
    Colon,
}

impl<'a> Level<'a> {
    /// Prints the text before the next entry.
    fn next(&mut self, out: &mut String) -> Option<(&'a Value, Place)> {
        let indent = self.indent;
        match &mut self.members {
            Members::List(items) => {
                let item = items.next()?;
                lead(&mut self.inline, indent, out);
                out.push('-');
                Some((item, Place { indent, after: After::Dash }))
            }
            Members::Mapping(members) => {
                let (key, value) = members.next()?;
                lead(&mut self.inline, indent, out);
                let start = out.len();
                write_line(key, out);
                if out.len() - start <= MAX_SIMPLE_KEY {
                    out.push(':');
                    return Some((value, Place { indent, after: After::Key }));
                }
                out.insert_str(start, "? ");
                out.push('\n');
                spaces(indent, out);
                out.push(':');
                Some((value, Place { indent, after: After::Colon }))
            }
        }
    }
}

/// Indents an entry, unless it is on the line of its parent.
fn lead(inline: &mut bool, indent: usize, out: &mut String) {
    if !std::mem::replace(inline, false) {
        spaces(indent, out);
    }
}

fn spaces(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', count));
}

/// Prints a scalar or an empty collection; of others, the text before their entries.
fn node<'a>(value: &'a Value, place: Place, out: &mut String) -> Option<Level<'a>> {
    let (members, step_below_key) = match value {
        Value::Array(items) if !items.is_empty() => (Members::List(items.iter()), 0),
        Value::Object(members) if !members.is_empty() => (Members::Mapping(members.iter()), 2),
        _ => {
            scalar(value, place, out);
            return None;
        }
    };
    let (indent, inline) = match place.after {
        After::Start => (place.indent, false),
        After::Dash | After::Colon => {
            out.push(' ');
            (place.indent + 2, true)
        }
        After::Key => {
            out.push('\n');
            (place.indent + step_below_key, false)
        }
    };
    Some(Level { members, indent, inline })
}

fn scalar(value: &Value, place: Place, out: &mut String) {
    if place.after != After::Start {
        out.push(' ');
    }
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => write_number(number, out),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
        Value::String(text) => {
            if let Some(header) = block_header(text) {
                out.push_str(header);
                write_block(text, place.indent + 2, out);
                return;
            }
            write_line(text, out);
        }
    }
    out.push('\n');
}

/// Writes the lines of a block scalar; empty lines get no indentation.
fn write_block(text: &str, indent: usize, out: &mut String) {
    out.push('\n');
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            spaces(indent, out);
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// Writes a number for readers of YAML 1.1 too: they need a point before an exponent, and a
/// indicator in it.
pub(super) fn write_number(number: &Number, out: &mut String) {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        out.push_str(&text);
        return;
    };
    out.push_str(mantissa);
    if !mantissa.contains('.') {
        out.push_str(".0");
    }
    out.push('e');
    if !exponent.starts_with(['+', '-']) {
        out.push('+');
    }
    out.push_str(exponent);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(json: &str) -> String {
        let mut out = String::new();
        print(&Value::from_json(json).unwrap(), &mut out);
        out
    }

    #[test]
    fn objects_are_printed_as_kubernetes_prints_them() {
        let json = r#"{"apiVersion":"v1","metadata":{"labels":{"on":"yes"},"empty":{},"none":null},
            "spec":{"list":[{"a":1,"b":[1,[2,[]]]},"x",["x",{"z":true}]],"more":[]},
            "data":{"f":"a\n b\n","g":"  a\nb","h":["c\nd\n\n"]},"m":[1.10,12345678901234567890,1e21,-0.5]}"#;
        assert_eq!(
            printed(json),
            "apiVersion: v1\nmetadata:\n  labels:\n    \"on\": \"yes\"\n  empty: {}\n  none: null\nspec:\n  \
             list:\n  - a: 1\n    b:\n    - 1\n    - - 2\n      - []\n  - x\n  - - x\n    - z: true\n  more: []\n\
             data:\n  f: |\n    a\n     b\n  g: |2-\n      a\n    b\n  h:\n  - |+\n    c\n    d\n\nm:\n- 1.10\n\
             - 12345678901234567890\n- 1.0e+21\n- -0.5\n"
        );
    }

    #[test]
    fn roots_of_every_kind_are_printed() {
        for (json, yaml) in [
            ("null", "null\n"),
            ("\"a\\nb\"", "|-\n  a\n  b\n"),
            ("{}", "{}\n"),
            ("[[]]", "- []\n"),
            ("[[1,2],{\"a\":1,\"b\":2}]", "- - 1\n  - 2\n- a: 1\n  b: 2\n"),
        ] {
            assert_eq!(printed(json), yaml);
        }
    }

    #[test]
    fn long_keys_are_set_apart() {
        let key = "k".repeat(2000);
        for (value, yaml) in [
            ("1", "1\n"),
            ("{\"a\":1,\"b\":2}", "a: 1\n  b: 2\n"),
            ("[1,2]", "- 1\n  - 2\n"),
            ("\"a\\nb\"", "|-\n  a\n  b\n"),
        ] {
            assert_eq!(printed(&format!("{{\"{key}\":{value}}}")), format!("? {key}\n: {yaml}"));
        }
    }

    #[test]
    fn deep_values_are_printed_without_recursion() {
        let depth = 250;
        let json = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(printed(&json), format!("{}1\n", "- ".repeat(depth)));
    }
}
