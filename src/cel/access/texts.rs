//! What is known of a text before it is evaluated.

use crate::value::{Step, Text, escaped_token, unescaped_token};

use super::Access;
use crate::cel::ast::{Expr, Kind};

/// The most texts that an expression may yield, and how long one may be; of others only the beginning is known.
const MAX_TEXTS: usize = 16;
const MAX_CHARS: usize = 4096;

/// Stands for an index in a text.
const INDEX: &str = "\0";

/// A text, or how it begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefix {
    text: String,
    is_whole: bool,
    /// The lists of the indexes, in order.
    lists: Vec<Vec<Step>>,
}

impl Access {
    /// The texts that an expression may yield.
    pub(super) fn texts(&self, expr: &Expr) -> Vec<Prefix> {
        let texts = match &expr.kind {
            Kind::String(text) if !text.contains(INDEX) => vec![whole(text)],
            Kind::Conditional(parts) => [self.texts(&parts[1]), self.texts(&parts[2])].concat(),
            Kind::Select(select) if !select.test => {
                self.definition(select).map_or_else(unknown, |definition| definition.texts.clone())
            }
            Kind::Call(call) => match (&*call.function, &call.target, &*call.args) {
                ("_+_", None, [left, right]) => joined(&self.texts(left), &self.texts(right)),
                ("string", None, [Expr { kind: Kind::Ident(name), .. }]) => {
                    let list = self.local(name).and_then(|local| local.index_of.clone());
                    list.map_or_else(unknown, |list| vec![Prefix { lists: vec![list], ..whole(INDEX) }])
                }
                ("escapeKey", Some(target), [key]) if self.is_global(target, "jsonpatch") => {
                    let escaped = |key: Prefix| Prefix { text: escaped_token(&key.text), ..key };
                    self.texts(key).into_iter().map(escaped).collect()
                }
                _ => unknown(),
            },
            _ => unknown(),
        };
        if texts.len() > MAX_TEXTS { unknown() } else { texts }
    }
}

fn whole(text: &str) -> Prefix {
    Prefix { text: text.to_owned(), is_whole: true, lists: Vec::new() }
}

fn unknown() -> Vec<Prefix> {
    vec![Prefix::default()]
}

fn joined(left: &[Prefix], right: &[Prefix]) -> Vec<Prefix> {
    let join = |one: &Prefix, other: &Prefix| {
        if !one.is_whole || one.text.len() + other.text.len() > MAX_CHARS {
            return Prefix { is_whole: false, ..one.clone() };
        }
        Prefix {
            text: format!("{}{}", one.text, other.text),
            is_whole: other.is_whole,
            lists: [&*one.lists, &*other.lists].concat(),
        }
    };
    left.iter().flat_map(|one| right.iter().map(move |other| join(one, other))).collect()
}

/// The steps of a JSON pointer, up to the first that may be another index or is not known; `None` if there are none. An
/// index of the list itself stands for all elements, unless it is last: then the list itself changes.
pub(super) fn pointer(text: &Prefix) -> Option<Vec<Step>> {
    let is_index =
        |token: &str| token == "-" || token.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    let known = if text.is_whole { &*text.text } else { text.text.rsplit_once('/')?.0 };
    let mut tokens = known.strip_prefix('/')?.split('/').peekable();
    let (mut path, mut lists) = (Vec::new(), text.lists.iter());
    while let Some(token) = tokens.next().filter(|token| !is_index(token)) {
        if !token.contains(INDEX) {
            path.push(Step::Key(Text::from(unescaped_token(token))));
        } else if token == INDEX && lists.next() == Some(&path) && tokens.peek().is_some() {
            path.push(Step::Elements);
        } else {
            break;
        }
    }
    Some(path)
}
