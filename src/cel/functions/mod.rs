//! The table of functions: signatures, implementations, and where they exist.
//!
//! A signature is written `(string, list<A>) bool`, with a receiver `string.(int) string`; capital letters are types
//! that follow from the arguments.

mod args;
mod conversions;
mod documents;
pub(super) mod format;
mod hexadecimal;
mod kubernetes;
mod kyverno;
mod lists;
mod maths;
mod optionals;
mod outside;
pub(super) mod regex;
mod signature;
mod standard;
mod strings;
mod urls;
#[cfg(test)]
mod work_tests;

use std::sync::LazyLock;

use indexmap::IndexMap;

pub(super) use conversions::to_text;

use super::env::{Dialect, Env};
use super::error::EvalError;
use super::host::Host;
use super::meter::Meter;
use super::types::Type;
use crate::cel::value::Val;

/// What a function does with its values.
type Pure = fn(&mut Meter, &[Val]) -> Result<Val, EvalError>;

/// What a function does that reaches outside.
type Outside = fn(&mut OutsideCall<'_>) -> Result<Val, EvalError>;

/// What a function does.
#[derive(Clone, Copy)]
pub(super) enum Body {
    Pure(Pure),
    Outside(Outside),
}

/// A call of a function that reaches outside.
pub(super) struct OutsideCall<'a> {
    pub(super) host: &'a dyn Host,
    /// The name of the function as written.
    pub(super) name: &'a str,
    pub(super) meter: &'a mut Meter,
    pub(super) args: &'a [Val],
}

/// A function with all its overloads.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) overloads: Vec<Overload>,
}

/// One signature of a function.
pub(super) struct Overload {
    pub(super) id: String,
    /// Called as `value.name(…)`; the receiver is the first parameter.
    pub(super) receiver: bool,
    pub(super) params: Vec<Type>,
    pub(super) result: Type,
    pub(super) body: Body,
    /// The body looks at the values itself, whatever the signature.
    pub(super) by_value: bool,
    only: Option<Dialect>,
    scope: Option<Scope>,
    method: Option<&'static str>,
}

/// The policies whose expressions may use an overload.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Those for all namespaces.
    Cluster,
    /// Those for their own namespace.
    Namespace,
}

impl Overload {
    fn is_of(&self, dialect: Dialect) -> bool {
        self.only.is_none_or(|only| only == dialect)
    }

    pub(super) fn exists_in(&self, env: &Env) -> bool {
        let scope = if env.is_namespaced() { Scope::Namespace } else { Scope::Cluster };
        self.is_of(env.dialect()) && self.scope.is_none_or(|only| only == scope)
    }
}

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct Row {
    name: &'static str,
    /// With `{}` for the element of `each`.
    id: &'static str,
    signature: &'static str,
    body: Body,
    by_value: bool,
    only: Option<Dialect>,
    scope: Option<Scope>,
    /// Types that stand for `{}` one after the other.
    each: &'static [&'static str],
    /// Names that stand for `{}` in the name.
    spellings: &'static [&'static str],
    /// The method whose calls a macro turns into calls of this function.
    method: Option<&'static str>,
}

const fn any(name: &'static str, id: &'static str, signature: &'static str, body: Body) -> Row {
    Row {
        name,
        id,
        signature,
        body,
        by_value: false,
        only: None,
        scope: None,
        each: &[],
        spellings: &[],
        method: None,
    }
}

/// A function of both dialects.
const fn row(name: &'static str, id: &'static str, signature: &'static str, body: Pure) -> Row {
    any(name, id, signature, Body::Pure(body))
}

/// A function that looks at its values itself.
const fn open(name: &'static str, id: &'static str, signature: &'static str, body: Pure) -> Row {
    Row { by_value: true, ..row(name, id, signature, body) }
}

/// A function of Kyverno that reaches outside.
const fn outside(name: &'static str, id: &'static str, signature: &'static str, body: Outside) -> Row {
    any(name, id, signature, Body::Outside(body)).kyverno()
}

impl Row {
    const fn each(self, each: &'static [&'static str]) -> Self {
        Self { each, ..self }
    }

    /// With several names for `{}` in the name.
    const fn spelled(self, spellings: &'static [&'static str]) -> Self {
        Self { spellings, ..self }
    }

    /// With a macro that makes calls of it of those of a method.
    const fn method(self, name: &'static str) -> Self {
        Self { method: Some(name), ..self }
    }

    const fn kubernetes(self) -> Self {
        Self { only: Some(Dialect::Kubernetes), ..self }
    }

    const fn kyverno(self) -> Self {
        Self { only: Some(Dialect::Kyverno), ..self }
    }

    /// Only of policies for all namespaces.
    const fn cluster(self) -> Self {
        Self { scope: Some(Scope::Cluster), ..self }
    }

    /// Only of policies for their own namespace.
    const fn namespaced(self) -> Self {
        Self { scope: Some(Scope::Namespace), ..self }
    }
}

static TABLE: LazyLock<IndexMap<String, Function>> = LazyLock::new(|| {
    let mut table = IndexMap::new();
    let libraries = [
        standard::ROWS,
        conversions::ROWS,
        strings::ROWS,
        format::ROWS,
        regex::ROWS,
        lists::ROWS,
        optionals::ROWS,
        kubernetes::ROWS,
        maths::ROWS,
        urls::ROWS,
        kyverno::ROWS,
        outside::ROWS,
        documents::ROWS,
    ];
    for rows in libraries {
        for row in rows {
            let spellings: &[&str] = if row.spellings.is_empty() { &[""] } else { row.spellings };
            let each: &[&str] = if row.each.is_empty() { &[""] } else { row.each };
            for spelling in spellings {
                for replaced in each {
                    add(&mut table, row, row.name.replace("{}", spelling), replaced);
                }
            }
        }
    }
    table
});

fn add(table: &mut IndexMap<String, Function>, row: &Row, name: String, replaced: &str) {
    let (receiver, params, result) = signature::parse(&row.signature.replace("{}", replaced));
    let function =
        table.entry(name).or_insert_with_key(|name| Function { name: name.clone(), overloads: Vec::new() });
    function.overloads.push(Overload {
        id: row.id.replace("{}", replaced),
        receiver,
        params,
        result,
        body: row.body,
        by_value: row.by_value,
        only: row.only,
        scope: row.scope,
        method: row.method,
    });
}

/// The function of a name, if the dialect has it.
pub(super) fn find(name: &str, dialect: Dialect) -> Option<&'static Function> {
    TABLE.get(name).filter(|function| function.overloads.iter().any(|overload| overload.is_of(dialect)))
}

/// A signature of the table, for lists of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: &'static str,
    /// The parameters and the result, as `string.(int) -> string`.
    pub text: String,
}

/// All signatures of a dialect that can be written in a source.
pub fn signatures(dialect: Dialect) -> Vec<Signature> {
    let overloads = || {
        let all = TABLE.values().flat_map(|function| {
            function.overloads.iter().map(move |overload| (function.name.as_str(), overload))
        });
        all.filter(|(_, overload)| overload.is_of(dialect))
    };
    let is_macro = |name: &str| overloads().any(|(_, overload)| overload.method == Some(name));
    let written = |(name, overload): (&'static str, &Overload)| match overload.method {
        Some(name) => Some(Signature { name, text: signature::text(overload, true) }),
        None if is_macro(name)
            || name.contains('@')
            || !name.starts_with(|c: char| c.is_ascii_alphabetic()) =>
        {
            None
        }
        None => Some(Signature { name, text: signature::text(overload, overload.receiver) }),
    };
    overloads().filter_map(written).collect()
}
