//! The table of functions: signatures, implementations, and where they exist.
//!
//! A signature is written `(string, list<A>) bool`, with a receiver `string.(int) string`; capital letters are types
//! that follow from the arguments.

mod args;
mod conversions;
pub(super) mod format;
mod lists;
mod optionals;
pub(super) mod regex;
mod signature;
mod standard;
mod strings;

use std::sync::LazyLock;

use indexmap::IndexMap;

use super::env::Dialect;
use super::error::EvalError;
use super::meter::Meter;
use super::types::Type;
use super::value::Val;

/// What a function does with its values.
pub(super) type Body = fn(&mut Meter, &[Val]) -> Result<Val, EvalError>;

/// A function with all its overloads.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) overloads: Vec<Overload>,
}

/// One signature of a function.
pub(super) struct Overload {
    pub(super) id: String,
    /// Called as `value.name(…)`; the receiver is the first parameter.
    pub(super) receiver: bool,
    pub(super) params: Vec<Type>,
    pub(super) result: Type,
    /// `None`: known, but not supported yet.
    pub(super) body: Option<Body>,
    /// The body looks at the values itself, whatever the signature.
    pub(super) by_value: bool,
    only: Option<Dialect>,
}

impl Overload {
    pub(super) fn exists_in(&self, dialect: Dialect) -> bool {
        self.only.is_none_or(|only| only == dialect)
    }
}

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct Row {
    name: &'static str,
    /// With `{}` for the element of `each`.
    id: &'static str,
    signature: &'static str,
    body: Option<Body>,
    by_value: bool,
    only: Option<Dialect>,
    /// Types that stand for `{}` one after the other.
    each: &'static [&'static str],
}

/// A function of both dialects.
const fn row(name: &'static str, id: &'static str, signature: &'static str, body: Body) -> Row {
    Row { name, id, signature, body: Some(body), by_value: false, only: None, each: &[] }
}

/// A function that looks at its values itself.
const fn open(name: &'static str, id: &'static str, signature: &'static str, body: Body) -> Row {
    Row { by_value: true, ..row(name, id, signature, body) }
}

impl Row {
    const fn each(self, each: &'static [&'static str]) -> Self {
        Self { each, ..self }
    }

    const fn kyverno(self) -> Self {
        Self { only: Some(Dialect::Kyverno), ..self }
    }
}

static TABLE: LazyLock<IndexMap<&'static str, Function>> = LazyLock::new(|| {
    let mut table = IndexMap::new();
    let libraries = [
        standard::ROWS,
        conversions::ROWS,
        strings::ROWS,
        format::ROWS,
        regex::ROWS,
        lists::ROWS,
        optionals::ROWS,
    ];
    for rows in libraries {
        for row in rows {
            let each: &[&str] = if row.each.is_empty() { &[""] } else { row.each };
            for replaced in each {
                let function = table
                    .entry(row.name)
                    .or_insert_with(|| Function { name: row.name, overloads: Vec::new() });
                let (receiver, params, result) = signature::parse(&row.signature.replace("{}", replaced));
                function.overloads.push(Overload {
                    id: row.id.replace("{}", replaced),
                    receiver,
                    params,
                    result,
                    body: row.body,
                    by_value: row.by_value,
                    only: row.only,
                });
            }
        }
    }
    table
});

/// The function of a name, if the dialect has it.
pub(super) fn find(name: &str, dialect: Dialect) -> Option<&'static Function> {
    TABLE.get(name).filter(|function| function.overloads.iter().any(|overload| overload.exists_in(dialect)))
}

/// A signature of the table, for lists of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: &'static str,
    /// The parameters and the result, as `string.(int) -> string`.
    pub text: String,
    /// Whether it can be called; otherwise it is refused as not supported yet.
    pub is_supported: bool,
}

/// All signatures of a dialect that can be written in a source.
pub fn signatures(dialect: Dialect) -> Vec<Signature> {
    let named = TABLE.values().filter(|function| {
        let first = function.name.chars().next().unwrap_or_default();
        first.is_ascii_alphabetic() && !function.name.contains('@')
    });
    let overloads =
        named.flat_map(|function| function.overloads.iter().map(move |overload| (function.name, overload)));
    overloads
        .filter(|(_, overload)| overload.exists_in(dialect))
        .map(|(name, overload)| Signature {
            name,
            text: signature::text(overload),
            is_supported: overload.body.is_some(),
        })
        .collect()
}
