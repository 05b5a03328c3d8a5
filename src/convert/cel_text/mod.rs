//! Expressions of the Common Expression Language as a tree, and as the text that a person would write.

mod format;
mod loops;
mod optional;
mod questions;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cel {
    /// A number, `true`, `false`, `null`, or a name: `object`, `Object.spec`.
    Atom(String),
    /// A text.
    Text(String),
    /// `of.name`, or `of.?name`.
    Member { of: Box<Self>, name: String, optional: bool },
    /// `of[key]`, or `of[?key]`.
    Index { of: Box<Self>, key: Box<Self>, optional: bool },
    /// `name(arguments)`, or `of.name(arguments)`.
    Call { of: Option<Box<Self>>, name: &'static str, arguments: Vec<Self> },
    /// `!operand`.
    Not(Box<Self>),
    /// Operands joined by one operator: two, or more for `&&`, `||` and `+`.
    Chain { operator: Operator, operands: Vec<Self> },
    /// `condition ? then : otherwise`.
    If { condition: Box<Self>, then: Box<Self>, otherwise: Box<Self> },
    /// `[elements]`.
    List(Vec<Self>),
    /// `{key: value}`.
    Map(Vec<Entry<Self>>),
    /// `Name{field: value}`.
    Message { name: String, fields: Vec<Entry<String>> },
}

/// A member of a map or a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry<K> {
    pub(super) key: K,
    pub(super) value: Cel,
    /// The value is an optional one: `?key: value`.
    pub(super) optional: bool,
}

/// A step of a JSON patch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'c> {
    pub(super) op: &'c str,
    pub(super) path: &'c Cel,
    pub(super) value: Option<&'c Cel>,
}

/// An operator between operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Plus,
    Minus,
    Modulo,
}

impl Operator {
    const fn symbol(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Modulo => "%",
        }
    }

    /// How strongly it binds; a ternary has 0.
    const fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessOrEqual
            | Self::Greater
            | Self::GreaterOrEqual
            | Self::In => 3,
            Self::Plus | Self::Minus => 4,
            Self::Modulo => 5,
        }
    }
}

impl Cel {
    /// A name, a number or a keyword.
    pub(super) fn atom(text: impl Into<String>) -> Self {
        Self::Atom(text.into())
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn int(value: impl ToString) -> Self {
        Self::Atom(value.to_string())
    }

    pub(super) fn bool(value: bool) -> Self {
        Self::Atom(value.to_string())
    }

    /// `self.name`; a name that is no identifier is an index.
    pub(super) fn member(self, name: &str) -> Self {
        self.select(name, false)
    }

    /// `self.?name`.
    pub(super) fn maybe(self, name: &str) -> Self {
        self.select(name, true)
    }

    /// A member of an optional map: `self.name`; a name that is no identifier is an index.
    pub(super) fn below(self, name: &str) -> Self {
        self.select(name, !is_identifier(name))
    }

    fn select(self, name: &str, optional: bool) -> Self {
        if is_identifier(name) {
            Self::Member { of: Box::new(self), name: name.to_owned(), optional }
        } else {
            Self::Index { of: Box::new(self), key: Box::new(Self::text(name)), optional }
        }
    }

    /// `self[key]`.
    pub(super) fn index(self, key: Self) -> Self {
        Self::Index { of: Box::new(self), key: Box::new(key), optional: false }
    }

    /// `self[?key]`.
    pub(super) fn maybe_index(self, key: Self) -> Self {
        Self::Index { of: Box::new(self), key: Box::new(key), optional: true }
    }

    /// `self.name(arguments)`.
    pub(super) fn call(self, name: &'static str, arguments: impl Into<Vec<Self>>) -> Self {
        Self::Call { of: Some(Box::new(self)), name, arguments: arguments.into() }
    }

    /// `name(arguments)`.
    pub(super) fn function(name: &'static str, arguments: impl Into<Vec<Self>>) -> Self {
        Self::Call { of: None, name, arguments: arguments.into() }
    }

    pub(super) fn or_value(self, default: Self) -> Self {
        self.call("orValue", [default])
    }

    /// `self operator other`.
    pub(super) fn compare(self, operator: Operator, other: Self) -> Self {
        if let (Operator::In, Self::List(items)) = (operator, &other)
            && let [only @ Self::Text(_)] = items.as_slice()
        {
            return self.equals(only.clone());
        }
        if let Some(exists) = self.as_exists(operator, &other) {
            return exists;
        }
        Self::Chain { operator, operands: vec![self, other] }
    }

    pub(super) fn equals(self, other: Self) -> Self {
        self.compare(Operator::Equal, other)
    }

    /// `self + other`, flat.
    pub(super) fn plus(self, other: Self) -> Self {
        Self::joined(Operator::Plus, vec![self, other])
    }

    /// The operands joined by an operator that is associative; chains of the same operator are joined with them.
    pub(super) fn joined(operator: Operator, operands: Vec<Self>) -> Self {
        let mut flat = Vec::new();
        for operand in operands {
            match operand {
                Self::Chain { operator: inner, operands } if inner == operator => flat.extend(operands),
                other => flat.push(other),
            }
        }
        match flat.len() {
            1 => flat.remove(0),
            _ => Self::Chain { operator, operands: flat },
        }
    }

    /// Whether all hold; `true` if there are none.
    pub(super) fn all(conditions: Vec<Self>) -> Self {
        if conditions.iter().any(Self::is_false) {
            return Self::bool(false);
        }
        let mut conditions: Vec<_> = conditions.into_iter().filter(|one| !one.is_true()).collect();
        conditions.dedup();
        optional::join_tests(&mut conditions);
        if conditions.is_empty() { Self::bool(true) } else { Self::joined(Operator::And, conditions) }
    }

    /// Whether one holds; `false` if there are none.
    pub(super) fn any(conditions: Vec<Self>) -> Self {
        if conditions.iter().any(Self::is_true) {
            return Self::bool(true);
        }
        let mut conditions: Vec<_> = conditions.into_iter().filter(|one| !one.is_false()).collect();
        conditions.dedup();
        questions::join_alternatives(&mut conditions);
        if conditions.is_empty() { Self::bool(false) } else { Self::joined(Operator::Or, conditions) }
    }

    /// The opposite, as a person writes it.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            Self::Atom(text) if text == "true" => Self::bool(false),
            Self::Atom(text) if text == "false" => Self::bool(true),
            Self::Chain { operator: Operator::Equal, operands } => {
                Self::Chain { operator: Operator::NotEqual, operands }
            }
            Self::Chain { operator: Operator::NotEqual, operands } => {
                Self::Chain { operator: Operator::Equal, operands }
            }
            // That none is missing.
            Self::Chain { operator: Operator::Or, operands } if operands.iter().all(Self::is_negative) => {
                Self::all(operands.into_iter().map(Self::negated).collect())
            }
            other => Self::Not(Box::new(other)),
        }
    }

    fn is_negative(&self) -> bool {
        matches!(self, Self::Not(_) | Self::Chain { operator: Operator::NotEqual, .. })
    }

    pub(super) fn if_else(condition: Self, then: Self, otherwise: Self) -> Self {
        if condition.is_true() {
            return then;
        }
        if condition.is_false() {
            return otherwise;
        }
        Self::If { condition: Box::new(condition), then: Box::new(then), otherwise: Box::new(otherwise) }
    }

    /// `Name{fields}`.
    pub(super) fn message(name: impl Into<String>, fields: Vec<Entry<String>>) -> Self {
        Self::Message { name: name.into(), fields }
    }

    /// `value` as an optional value that is there.
    pub(super) fn some(value: Self) -> Self {
        Self::function("optional.of", [value])
    }

    pub(super) fn none() -> Self {
        Self::function("optional.none", [])
    }

    /// A step of a JSON patch.
    pub(super) fn patch(op: &str, path: Self, value: Option<Self>) -> Self {
        let field = |key: &str, value| Entry { key: key.to_owned(), value, optional: false };
        let mut fields = vec![field("op", Self::text(op)), field("path", path)];
        fields.extend(value.map(|value| field("value", value)));
        Self::message("JSONPatch", fields)
    }

    /// The parts of a step of a JSON patch.
    pub(super) fn as_step(&self) -> Option<Step<'_>> {
        let Self::Message { name, fields } = self else { return None };
        let field = |key: &str| fields.iter().find(|field| field.key == key).map(|field| &field.value);
        let is_step = name == "JSONPatch";
        is_step.then_some(Step { op: field("op")?.as_text()?, path: field("path")?, value: field("value") })
    }

    pub(super) fn is_true(&self) -> bool {
        matches!(self, Self::Atom(text) if text == "true")
    }

    pub(super) fn is_false(&self) -> bool {
        matches!(self, Self::Atom(text) if text == "false")
    }

    /// The text, if it is a literal one.
    pub(super) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Whether an expression is it or a part of it.
    pub(super) fn contains(&self, part: &Self) -> bool {
        self == part || self.children().iter().any(|child| child.contains(part))
    }

    /// Whether some part satisfies a condition.
    pub(super) fn any_part(&self, holds: &dyn Fn(&Self) -> bool) -> bool {
        holds(self) || self.children().iter().any(|child| child.any_part(holds))
    }

    /// Whether a name is used that no loop of the expression binds.
    pub(super) fn is_free(&self, name: &str) -> bool {
        match self {
            Self::Atom(text) => text == name,
            Self::Call { of, name: method, arguments } => {
                let binds = bound_names(method);
                let is_bound = arguments
                    .iter()
                    .take(binds)
                    .any(|argument| matches!(argument, Self::Atom(text) if text == name));
                of.as_ref().is_some_and(|of| of.is_free(name))
                    || !is_bound && arguments.iter().skip(binds).any(|argument| argument.is_free(name))
            }
            _ => self.children().iter().any(|child| child.is_free(name)),
        }
    }

    /// Whether it uses the variable of a loop around it.
    pub(super) fn is_of_loop(&self) -> bool {
        const GLOBAL: [&str; 14] = [
            "object",
            "oldObject",
            "request",
            "variables",
            "namespaceObject",
            "resource",
            "globalContext",
            "json",
            "yaml",
            "true",
            "false",
            "null",
            "string",
            "list",
        ];
        let is_of_loop = |name: &str| {
            name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
                && !name.contains('.')
                && !GLOBAL.contains(&name)
        };
        let mut names = Vec::new();
        self.collect_names(&mut names);
        names.into_iter().any(|name| is_of_loop(name) && self.is_free(name))
    }

    fn collect_names<'c>(&'c self, names: &mut Vec<&'c str>) {
        if let Self::Atom(name) = self {
            names.push(name);
        }
        self.children().into_iter().for_each(|child| child.collect_names(names));
    }

    /// With every part that equals one replaced by another.
    pub(super) fn replaced(&self, part: &Self, by: &Self) -> Self {
        self.rewritten(&|cel| (cel == part).then(|| by.clone()))
    }

    /// With every part replaced for which there is another; what is below such a part is left as it is.
    pub(super) fn rewritten(&self, other: &dyn Fn(&Self) -> Option<Self>) -> Self {
        if let Some(other) = other(self) {
            return other;
        }
        let one = |inner: &Self| Box::new(inner.rewritten(other));
        let all = |items: &[Self]| items.iter().map(|item| item.rewritten(other)).collect();
        match self {
            Self::Atom(_) | Self::Text(_) => self.clone(),
            Self::Member { of, name, optional } => {
                Self::Member { of: one(of), name: name.clone(), optional: *optional }
            }
            Self::Index { of, key, optional } => {
                Self::Index { of: one(of), key: one(key), optional: *optional }
            }
            Self::Call { of, name, arguments } => {
                Self::Call { of: of.as_ref().map(|of| one(of)), name, arguments: all(arguments) }
            }
            Self::Not(operand) => Self::Not(one(operand)),
            Self::Chain { operator, operands } => {
                Self::Chain { operator: *operator, operands: all(operands) }
            }
            Self::If { condition, then, otherwise } => {
                Self::If { condition: one(condition), then: one(then), otherwise: one(otherwise) }
            }
            Self::List(items) => Self::List(all(items)),
            Self::Map(entries) => Self::Map(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: entry.key.rewritten(other),
                        value: entry.value.rewritten(other),
                        optional: entry.optional,
                    })
                    .collect(),
            ),
            Self::Message { name, fields } => Self::Message {
                name: name.clone(),
                fields: fields
                    .iter()
                    .map(|field| Entry {
                        key: field.key.clone(),
                        value: field.value.rewritten(other),
                        optional: field.optional,
                    })
                    .collect(),
            },
        }
    }

    /// With other names of constructors.
    pub(super) fn mapped_messages(&self, rename: &dyn Fn(&str) -> String) -> Self {
        let one = |inner: &Self| Box::new(inner.mapped_messages(rename));
        let all = |items: &[Self]| items.iter().map(|item| item.mapped_messages(rename)).collect();
        match self {
            Self::Message { name, fields } => Self::Message {
                name: rename(name),
                fields: fields
                    .iter()
                    .map(|field| Entry {
                        key: field.key.clone(),
                        value: field.value.mapped_messages(rename),
                        optional: field.optional,
                    })
                    .collect(),
            },
            Self::Call { of, name, arguments } => {
                Self::Call { of: of.as_ref().map(|of| one(of)), name, arguments: all(arguments) }
            }
            Self::Chain { operator, operands } => {
                Self::Chain { operator: *operator, operands: all(operands) }
            }
            Self::If { condition, then, otherwise } => {
                Self::If { condition: condition.clone(), then: one(then), otherwise: one(otherwise) }
            }
            Self::List(items) => Self::List(all(items)),
            other => other.clone(),
        }
    }

    /// Whether it is the same for every request.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Atom(text) => matches!(&**text, "true" | "false" | "null") || text.parse::<f64>().is_ok(),
            Self::List(items) => items.iter().all(Self::is_constant),
            Self::Map(entries) => {
                entries.iter().all(|entry| entry.key.is_constant() && entry.value.is_constant())
            }
            Self::Message { fields, .. } => fields.iter().all(|field| field.value.is_constant()),
            _ => false,
        }
    }

    pub(super) fn children(&self) -> Vec<&Self> {
        match self {
            Self::Atom(_) | Self::Text(_) => Vec::new(),
            Self::Member { of, .. } => vec![of],
            Self::Index { of, key, .. } => vec![of, key],
            Self::Call { of, arguments, .. } => of.iter().map(|of| &**of).chain(arguments).collect(),
            Self::Not(operand) => vec![operand],
            Self::Chain { operands, .. } | Self::List(operands) => operands.iter().collect(),
            Self::If { condition, then, otherwise } => vec![condition, then, otherwise],
            Self::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
            Self::Message { fields, .. } => fields.iter().map(|field| &field.value).collect(),
        }
    }
}

/// How many of the arguments of a function are names that it binds, the last for the elements of its list.
pub(super) fn bound_names(function: &str) -> usize {
    match function {
        "map" | "filter" | "exists" | "all" | "sortBy" => 1,
        "transformList" | "transformMap" => 2,
        _ => 0,
    }
}

/// Lists one after the other, constant neighbours as one list.
pub(super) fn joined_lists(lists: impl IntoIterator<Item = Cel>) -> Cel {
    let flat = lists.into_iter().flat_map(|list| match list {
        Cel::Chain { operator: Operator::Plus, operands } => operands,
        other => vec![other],
    });
    let mut joined: Vec<Cel> = Vec::new();
    for list in flat {
        match (joined.last_mut(), list) {
            (Some(Cel::List(before)), Cel::List(more)) => before.extend(more),
            (_, list) => joined.push(list),
        }
    }
    if joined.is_empty() { Cel::List(Vec::new()) } else { Cel::joined(Operator::Plus, joined) }
}

/// Texts joined to one, constant neighbours as one literal.
pub(super) fn concatenation(parts: Vec<Cel>) -> Cel {
    let mut joined: Vec<Cel> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(Cel::Text(last)), Cel::Text(next)) => last.push_str(&next),
            (_, Cel::Chain { operator: Operator::Plus, operands }) => {
                for operand in operands {
                    match (joined.last_mut(), operand) {
                        (Some(Cel::Text(last)), Cel::Text(next)) => last.push_str(&next),
                        (_, other) => joined.push(other),
                    }
                }
            }
            (_, part) => joined.push(part),
        }
    }
    joined.retain(|part| part.as_text() != Some(""));
    if joined.is_empty() { Cel::text("") } else { Cel::joined(Operator::Plus, joined) }
}

/// Whether a name can follow a dot, in the API server as well.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && !matches!(name, "true" | "false" | "null" | "in")
        && (!crate::cel::is_reserved(name) || name == "namespace")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Cel {
        Cel::atom(text)
    }

    #[test]
    fn operators_keep_their_operands() {
        let sum = name("a").plus(name("b"));
        assert_eq!(sum.compare(Operator::Modulo, name("c")).to_string(), "(a + b) % c");
        assert_eq!(
            Cel::all(vec![Cel::any(vec![name("a"), name("b")]), name("c")]).to_string(),
            "(a || b) && c"
        );
        let test = Cel::if_else(name("a"), name("b"), name("c"));
        assert_eq!(test.clone().call("size", []).to_string(), "(a ? b : c).size()");
        assert_eq!(Cel::if_else(test.clone(), name("x"), test).to_string(), "(a ? b : c) ? x : a ? b : c");
        assert_eq!(name("a").equals(name("b")).negated().to_string(), "a != b");
        assert_eq!(name("a").compare(Operator::In, name("b")).negated().to_string(), "!(a in b)");
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(Cel::text("a\"b\\c\nd").to_string(), r#""a\"b\\c\nd""#);
        assert_eq!(Cel::text("").to_string(), "\"\"");
    }

    #[test]
    fn names_that_are_no_identifiers_are_keys() {
        let labels = name("object").member("metadata").maybe("labels");
        assert_eq!(labels.maybe("a.b/c").to_string(), "object.metadata.?labels[?\"a.b/c\"]");
    }

    #[test]
    fn constant_parts_of_a_text_are_joined() {
        let joined = concatenation(vec![Cel::text("a"), Cel::text("b"), name("x"), Cel::text("")]);
        assert_eq!(joined.to_string(), "\"ab\" + x");
        assert_eq!(concatenation(Vec::new()).to_string(), "\"\"");
    }
}
