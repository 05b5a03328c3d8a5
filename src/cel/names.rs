//! The names that an expression uses.

use std::collections::BTreeSet;

use crate::value::Text;

use super::ast::{Expr, Kind};
use super::{Dialect, Env, parser};

/// The identifiers of an expression, those of macros included; none of one that does not parse.
pub fn identifiers(source: &str, dialect: Dialect) -> BTreeSet<Text> {
    let mut issues = Vec::new();
    let expr = parser::parse(source, dialect, &mut issues);
    let mut found = BTreeSet::new();
    if issues.is_empty() {
        visit(&expr, &mut |expr| {
            if let Kind::Ident(name) = &expr.kind {
                found.insert(name.trim_start_matches('.').into());
            }
        });
    }
    found
}

/// Visits an expression and its parts. The parser limits their depth.
fn visit<'e>(expr: &'e Expr, see: &mut impl FnMut(&'e Expr)) {
    see(expr);
    for part in parts(expr) {
        visit(part, see);
    }
}

/// How deep the parts of an expression are nested, those of the policy's variables that it names included.
pub(super) fn depth(env: &Env, expr: &Expr) -> usize {
    let own = match &expr.kind {
        Kind::Select(select) if is_variables(&select.operand) => env.depth_of(Some(&select.field)),
        Kind::Ident(_) if is_variables(expr) => env.depth_of(None),
        _ => parts(expr).into_iter().map(|part| depth(env, part)).max().unwrap_or(0),
    };
    own + 1
}

fn is_variables(expr: &Expr) -> bool {
    matches!(&expr.kind, Kind::Ident(name) if name.trim_start_matches('.') == "variables")
}

/// The expressions that one is made of.
pub(super) fn parts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        Kind::Select(select) => vec![&select.operand],
        Kind::Index(index) => vec![&index.operand, &index.index],
        Kind::Call(call) => call.target.iter().chain(&call.args).collect(),
        Kind::And(parts) | Kind::Or(parts) => parts.iter().collect(),
        Kind::Conditional(parts) => parts.iter().collect(),
        Kind::List(elements) => elements.iter().map(|element| &element.value).collect(),
        Kind::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
        Kind::Message(message) => message.fields.iter().map(|field| &field.value).collect(),
        Kind::Fold(fold) => {
            [Some(&fold.range), fold.filter.as_ref(), Some(&fold.body)].into_iter().flatten().collect()
        }
        Kind::Bind(bind) => vec![&bind.value, &bind.body],
        Kind::OptMap(map) => vec![&map.target, &map.body],
        _ => Vec::new(),
    }
}
