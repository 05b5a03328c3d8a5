//! Signatures as the table writes them.

use super::Overload;
use crate::cel::types::Type;

/// Whether there is a receiver, the parameters and the result of a signature.
pub(super) fn parse(text: &str) -> (bool, Vec<Type>, Type) {
    let mut reader = Reader { rest: text };
    let mut params = Vec::new();
    let receiver = !reader.rest.starts_with('(');
    if receiver {
        params.push(reader.read());
        reader.skip(".");
    }
    reader.skip("(");
    while !reader.rest.starts_with(')') {
        params.push(reader.read());
        reader.skip(",");
    }
    reader.skip(")");
    (receiver, params, reader.read())
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip(&mut self, text: &str) {
        self.rest = self.rest.strip_prefix(text).unwrap_or(self.rest).trim_start();
    }

    fn read(&mut self) -> Type {
        let end = self.rest.find(['<', '>', ',', '(', ')', ' ', '!']).unwrap_or(self.rest.len());
        // The dot before the bracket of a receiver is no part of its name.
        let end = if self.rest[end..].starts_with('(') { end - 1 } else { end };
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let mut inner = Vec::new();
        if self.rest.starts_with('<') {
            self.skip("<");
            while !self.rest.starts_with('>') {
                inner.push(self.read());
                self.skip(",");
            }
            self.skip(">");
        }
        self.rest = self.rest.trim_start();
        named(name, inner)
    }
}

fn named(name: &str, inner: Vec<Type>) -> Type {
    let mut inner = inner.into_iter();
    let mut next = || inner.next().unwrap_or(Type::Dyn);
    match name {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "list" => Type::list(next()),
        "map" => {
            let key = next();
            Type::map(key, next())
        }
        "optional" => Type::optional(next()),
        "type" => Type::Type(Some(next().into())),
        _ => match name.as_bytes() {
            [letter @ b'A'..=b'Z'] => Type::Param(letter - b'A'),
            _ => Type::named(name),
        },
    }
}

/// A signature for readers: `string.(int) -> string`.
pub(super) fn text(overload: &Overload, is_method: bool) -> String {
    let params: Vec<String> = overload.params.iter().map(ToString::to_string).collect();
    if is_method && let Some((receiver, rest)) = params.split_first() {
        return format!("{receiver}.({}) -> {}", rest.join(", "), overload.result);
    }
    format!("({}) -> {}", params.join(", "), overload.result)
}
