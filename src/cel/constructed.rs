//! Where an expression sets a field of the value that it makes.

use std::ops::Range;

use crate::value::{Pointer, Segment};

use super::ast::{Expr, Kind};
use super::{Dialect, parser};

/// Finds the field of an `Object{…}`, or the nearest one above it that the expression names.
pub fn constructed(source: &str, dialect: Dialect, field: &Pointer) -> Option<Range<usize>> {
    let expr = parser::parse(source, dialect, &mut Vec::new());
    let (_, (start, end)) = find(source, &expr, expr.span, field.segments(), 0)?;
    source.get(start..end).map(|_| start..end)
}

type Span = (usize, usize);

/// The deepest node on the path, and its depth. The parser limits the depth of expressions.
fn find(source: &str, expr: &Expr, at: Span, path: &[Segment], depth: usize) -> Option<(usize, Span)> {
    let parts: Vec<(&Expr, Span)> = match (&expr.kind, path.first()) {
        (Kind::Conditional(parts), _) => {
            let branches = parts[1..].iter().filter_map(|part| find(source, part, at, path, depth));
            return branches.reduce(|best, next| if next.0 > best.0 { next } else { best });
        }
        (Kind::Message(message), Some(Segment::Key(key))) => {
            let fields = message.fields.iter().filter(|field| field.name == *key);
            fields.map(|field| (&field.value, (name_start(source, field.at), field.value.span.1))).collect()
        }
        (Kind::Map(entries), Some(Segment::Key(key))) => {
            let is_named = |expr: &Expr| matches!(&expr.kind, Kind::String(text) if text == key);
            let entries = entries.iter().filter(|entry| is_named(&entry.key));
            entries.map(|entry| (&entry.value, (entry.key.span.0, entry.value.span.1))).collect()
        }
        (Kind::List(elements), Some(Segment::Index(index))) => {
            elements.get(*index).map(|element| (&element.value, element.value.span)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    // Of fields of the same name the last one counts.
    let found = parts.last().and_then(|(part, at)| find(source, part, *at, path.get(1..)?, depth + 1));
    Some(found.unwrap_or((depth, at)))
}

/// Where the name before a colon starts.
fn name_start(source: &str, colon: usize) -> usize {
    let before = source.get(..colon).unwrap_or_default().trim_end();
    let is_outside = |c: char| c.is_whitespace() || matches!(c, '{' | ',' | '?');
    let is_end = if before.ends_with('`') { |c: char| c == '`' } else { is_outside };
    let name = before.strip_suffix('`').unwrap_or(before);
    name.rfind(is_end).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_where_they_are_set() {
        for (source, field, expected) in [
            ("Object{spec: Object.spec{nosuch : 1, a: 2}}", "/spec/nosuch", "nosuch : 1"),
            ("Object{?spec: optional.of(1)}", "/spec/a", "spec: optional.of(1)"),
            ("Object{`a-b`: 1}", "/a-b", "a-b`: 1"),
            ("Object{l: [Object.l{a: 1}, Object.l{a: 2}]}", "/l/1/a", "a: 2"),
            ("Object{l: object.l.map(x, x)}", "/l/1/a", "l: object.l.map(x, x)"),
            ("Object{m: {'a': 'b', 'c': 1}}", "/m/c", "'c': 1"),
            ("true ? Object{} : Object{a: 1}", "/a", "a: 1"),
            ("Object{a: 1, a: 2}", "/a", "a: 2"),
            ("variables.a", "/a", "variables.a"),
        ] {
            let path = field.split('/').skip(1);
            let path = path.fold(Pointer::ROOT, |path, name| match name.parse() {
                Ok(index) => path.index(index),
                Err(_) => path.key(name),
            });
            let found = constructed(source, Dialect::Kyverno, &path).unwrap();
            assert_eq!(&source[found], expected, "{source} {field}");
        }
    }
}
