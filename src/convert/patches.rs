//! Steps of JSON patches, as one expression.

use crate::value::{Value, escaped_token, unescaped_token};

use super::cel_text::{Cel, Entry, Operator, concatenation};
use super::path::AT;
use super::problem::Problem;

/// A path of a JSON patch: texts and expressions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Location(Vec<Cel>);

impl Location {
    /// The root, or what an expression has before the first slash.
    pub(super) fn root(prefix: Option<Cel>) -> Self {
        Self(prefix.into_iter().collect())
    }

    pub(super) fn key(&self, key: &str) -> Self {
        let escaped = escaped_token(key);
        self.with(vec![Cel::text(format!("/{escaped}"))])
    }

    /// A member whose name is an expression.
    pub(super) fn computed(&self, key: Cel) -> Self {
        let key = Cel::function("jsonpatch.escapeKey", [key]);
        self.with(vec![Cel::text("/"), key])
    }

    /// An element whose index is an expression.
    pub(super) fn index(&self, index: Cel) -> Self {
        self.with(vec![Cel::text("/"), Cel::function("string", [index])])
    }

    pub(super) fn with(&self, parts: Vec<Cel>) -> Self {
        Self(self.0.iter().cloned().chain(parts).collect())
    }

    pub(super) fn cel(&self) -> Cel {
        concatenation(self.0.clone())
    }
}

/// Steps of a patch.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Patch {
    /// One step, if a condition holds.
    Step {
        condition: Cel,
        step: Cel,
        /// The place that it makes sure of, if it is for that alone.
        guards: Option<Location>,
    },
    /// Steps for each element of a list.
    Each { list: Cel, index: String, variable: String, condition: Cel, body: Vec<Self>, reversed: bool },
    /// A list of steps, as it is.
    List(Cel),
}

impl Patch {
    pub(super) fn step(step: Cel) -> Self {
        Self::Step { condition: Cel::bool(true), step, guards: None }
    }

    pub(super) fn add(at: &Location, value: Cel) -> Self {
        Self::step(Cel::patch("add", at.cel(), Some(value)))
    }

    pub(super) fn when(condition: Cel, step: Cel) -> Self {
        Self::Step { condition, step, guards: None }
    }

    /// Creates a map if it is missing.
    pub(super) fn guard(missing: Cel, at: &Location) -> Self {
        let step = Cel::patch("add", at.cel(), Some(Cel::Map(Vec::new())));
        Self::Step { condition: missing, step, guards: Some(at.clone()) }
    }
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Name {
    Key(String),
    /// The element with a constant index.
    Element,
    /// A member or an element that is known only when the expression is evaluated.
    Any,
}

/// The names of a path of a JSON patch.
pub(super) fn names_of_place(path: &Cel) -> Vec<Name> {
    const OPEN: &str = "\u{1}";
    let parts = match path {
        Cel::Chain { operator: Operator::Plus, operands } => operands.as_slice(),
        one => std::slice::from_ref(one),
    };
    let at = Cel::atom("variables").member(AT);
    let text: String = parts
        .iter()
        .map(|part| match part {
            Cel::Text(text) => text.as_str(),
            part if *part == at => "",
            _ => OPEN,
        })
        .collect();
    let name = |token: &str| match token {
        "-" => Name::Any,
        token if token.contains(OPEN) => Name::Any,
        token => Name::Key(unescaped_token(token)),
    };
    text.split('/').skip(1).map(name).collect()
}

/// Whether a place is another one, or below it.
pub(super) fn starts_with(long: &[Name], short: &[Name]) -> bool {
    short.len() <= long.len()
        && short.iter().zip(long).all(|pair| match pair {
            (Name::Key(one), Name::Key(other)) => one == other,
            _ => true,
        })
}

/// Removes what makes sure of a place.
pub(super) fn without_guards(patches: &mut Vec<Patch>, place: &Location) {
    patches.retain(|patch| !matches!(patch, Patch::Step { guards: Some(at), .. } if at == place));
}

/// The steps as a list.
pub(super) fn steps(patches: &[Patch]) -> Cel {
    let mut lists: Vec<Cel> = Vec::new();
    let mut run: Vec<Cel> = Vec::new();
    let mut seen: Vec<&Patch> = Vec::new();
    for patch in patches {
        if matches!(patch, Patch::Step { guards: Some(_), .. }) {
            if seen.contains(&patch) {
                continue;
            }
            seen.push(patch);
        }
        match patch {
            Patch::Step { condition, step, .. } if condition.is_true() => run.push(step.clone()),
            Patch::Step { condition, .. } if condition.is_false() => {}
            Patch::Step { condition, step, .. } => {
                flush(&mut lists, &mut run);
                let (some, none) = (Cel::List(vec![step.clone()]), Cel::List(Vec::new()));
                lists.push(Cel::if_else(condition.clone(), some, none));
            }
            Patch::Each { .. } => {
                flush(&mut lists, &mut run);
                lists.push(each(patch));
            }
            Patch::List(list) => {
                flush(&mut lists, &mut run);
                lists.push(list.clone());
            }
        }
    }
    flush(&mut lists, &mut run);
    match lists.len() {
        0 => Cel::List(Vec::new()),
        _ => Cel::joined(Operator::Plus, lists),
    }
}

fn flush(lists: &mut Vec<Cel>, run: &mut Vec<Cel>) {
    if !run.is_empty() {
        lists.push(Cel::List(std::mem::take(run)));
    }
}

fn each(patch: &Patch) -> Cel {
    let Patch::Each { list, index, variable, condition, body, reversed } = patch else {
        return Cel::List(Vec::new());
    };
    let mut arguments = vec![Cel::atom(&**index), Cel::atom(&**variable)];
    let single = match body.as_slice() {
        [Patch::Step { condition: inner, step, .. }] => Some((inner, step)),
        _ => None,
    };
    let mut conditions = vec![condition.clone()];
    conditions.extend(single.map(|(inner, _)| inner.clone()));
    let condition = Cel::all(conditions);
    if !condition.is_true() {
        arguments.push(condition);
    }
    let cel = match single {
        Some((_, step)) => {
            arguments.push(step.clone());
            list.clone().call("transformList", arguments)
        }
        None => {
            arguments.push(steps(body));
            list.clone().call("transformList", arguments).flattened()
        }
    };
    if *reversed { cel.call("reverse", []) } else { cel }
}

/// The steps with keys as they are in their places: `"/metadata/labels/" + jsonpatch.escapeKey("example.com/team")`.
pub(super) fn with_escaped_keys(steps: &Cel) -> Cel {
    steps.rewritten(&|cel| {
        let Cel::Message { name, fields } = cel else { return None };
        let escaped = |field: &Entry<String>| match field.key.as_str() {
            "path" => Entry { value: place_with_escaped_keys(&field.value), ..field.clone() },
            _ => field.clone(),
        };
        cel.as_step().map(|_| Cel::message(&**name, fields.iter().map(escaped).collect()))
    })
}

fn place_with_escaped_keys(place: &Cel) -> Cel {
    let parts = match place {
        Cel::Chain { operator: Operator::Plus, operands } => operands.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut new = Vec::new();
    for part in parts {
        let Some(text) = part.as_text().filter(|text| text.contains('~')) else {
            new.push(part.clone());
            continue;
        };
        for (index, segment) in text.split('/').enumerate() {
            let slash = if index > 0 { "/" } else { "" };
            if segment.contains('~') {
                new.push(Cel::text(slash));
                let key = Cel::text(unescaped_token(segment));
                new.push(Cel::function("jsonpatch.escapeKey", [key]));
            } else {
                new.push(Cel::text(format!("{slash}{segment}")));
            }
        }
    }
    concatenation(new)
}

/// Whether the value of a step is a list of what lists have, in another order.
pub(super) fn is_reordered(value: &Cel) -> bool {
    let is_part = |part: &Cel| matches!(part, Cel::Call { name: "filter", .. });
    matches!(value, Cel::Chain { operator: Operator::Plus, operands } if operands.iter().all(is_part))
}

/// Whether a number is beyond what a double holds exactly.
pub(super) fn holds_large(value: &Value) -> bool {
    const MOST: u64 = 1 << 53;
    match value {
        Value::Number(number) => {
            number.as_i64().map_or(number.is_integer(), |number| number.unsigned_abs() > MOST)
        }
        Value::Array(items) => items.iter().any(holds_large),
        Value::Object(members) => members.values().any(holds_large),
        _ => false,
    }
}

/// Why no patch adds such a number.
pub(super) fn large_number() -> Problem {
    Problem::new("a number beyond 2⁵³", "JSON patches of CEL make it a text", "keep the rule")
}

/// The name of the index of a loop at this depth.
pub(super) fn index_name(depth: usize) -> String {
    ["i", "j", "k"].get(depth).map_or_else(|| format!("i{depth}"), |name| (*name).to_owned())
}
