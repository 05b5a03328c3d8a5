//! Documents prepared for substitution.

use std::ops::Range;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::semantics::{Divergence, DivergenceSet, DivergenceTracker, Semantics};
use crate::value::{Pointer, Text, Value};

use super::reference::{self, Budget};
use super::{Query, SubstitutionError, scan};

/// A document with parsed variables.
#[derive(Clone, Debug)]
pub struct Template {
    pub(super) root: Node,
    pub(super) at: Pointer,
    pub(super) semantics: Semantics,
    source: Value,
    divergences: DivergenceSet,
    query: OnceLock<Query>,
}

/// A node of a prepared document.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A value without variables.
    Fixed(Value),
    /// A string with a reference that cannot be resolved.
    Broken(Box<SubstitutionError>),
    /// A string with variables.
    Text(TextTemplate),
    /// A list with variables below.
    List(Vec<Self>),
    /// A map with variables below.
    Map(Vec<Member>),
}

/// A member of a prepared map.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) key: Text,
    /// The key's variables, if it has any.
    pub(super) key_template: Option<Box<TextTemplate>>,
    pub(super) value: Node,
}

/// A string with its innermost variables.
#[derive(Clone, Debug)]
pub(super) struct TextTemplate {
    pub(super) text: Text,
    pub(super) found: Box<[Found]>,
}

/// A variable in a string.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Its range, with the braces.
    pub(super) range: Range<usize>,
    pub(super) query: Query,
    pub(super) shallow: bool,
}

impl Found {
    /// Whether it is `{{@}}`.
    pub(super) fn is_inline(&self) -> bool {
        &**self.query.text() == "@"
    }

    /// Appends a value to the text.
    pub(super) fn insert(&self, value: &Value, out: &mut String) {
        let inserted = match value {
            Value::String(text) => Text::clone(text),
            other => other.to_go_json().into(),
        };
        if self.shallow {
            out.push_str(&inserted.replace("{{", r"\{{"));
        } else {
            out.push_str(&inserted);
        }
    }
}

impl TextTemplate {
    /// Finds and parses the variables of a string.
    pub(super) fn new(text: Text) -> Self {
        Self::with(text, Query::new)
    }

    /// The same with another way to parse them.
    fn with(text: Text, mut parse: impl FnMut(&str) -> Query) -> Self {
        let found = scan::variables(&text)
            .into_iter()
            .map(|variable| Found {
                query: parse(variable.expression),
                range: variable.range,
                shallow: variable.shallow,
            })
            .collect();
        Self { text, found }
    }
}

/// A variable of a document.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The path of its string, or of the map whose key has it.
    pub at: Pointer,
    /// Its expression; `None` if it depends on the value of another variable.
    pub query: Option<Query>,
}

impl TextTemplate {
    /// Adds the variables of the string. Inside of another variable, the index of a loop counts as 0.
    fn variables(&self, at: &Pointer, into: &mut Vec<Variable>) {
        /// Deeper nesting is an error of its own.
        const MAX_ROUNDS: usize = 32;
        /// In place of a variable whose value is not known.
        const UNKNOWN: &str = "\u{0}";
        let mut add = |query| into.push(Variable { at: at.clone(), query });
        let mut template = Self::clone(self);
        for _ in 0..MAX_ROUNDS {
            for Found { query, .. } in &*template.found {
                if !is_loop_index(query.text()) {
                    add((!query.text().contains(UNKNOWN)).then(|| query.clone()));
                }
            }
            let value = |expression: &str| if is_loop_index(expression) { "0" } else { UNKNOWN }.to_owned();
            match scan::replace_variables(&template.text, value) {
                Some(replaced) => template = Self::new(replaced.into()),
                None => return,
            }
        }
        add(None);
    }
}

/// Whether an expression is the index of the current element, or of the one of an outer loop.
fn is_loop_index(expression: &str) -> bool {
    let number = expression.strip_prefix("elementIndex");
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Template {
    /// Prepares a whole document.
    pub fn prepare(document: &Value, semantics: Semantics) -> Self {
        Self::prepare_at(document, &Pointer::ROOT, semantics)
    }

    /// Prepares a node of a document; null if there is none. References and the paths of errors start at the root of the
    /// document.
    pub fn prepare_at(document: &Value, at: &Pointer, semantics: Semantics) -> Self {
        let source = document.pointed(at).cloned().unwrap_or_default();
        let tracker = DivergenceTracker::new(semantics);
        let mut preparation = Preparation {
            document,
            tracker: &tracker,
            at: at.clone(),
            budget: Budget::default(),
            queries: IndexMap::default(),
        };
        let root = preparation.node(&source);
        Self {
            root,
            at: at.clone(),
            semantics,
            source,
            divergences: tracker.reached(),
            query: OnceLock::new(),
        }
    }

    /// Prepares an operand of a condition. In Kyverno its references start at the operand; as documented, at the root of the
    /// document, as elsewhere.
    pub fn prepare_side(document: &Value, at: &Pointer, semantics: Semantics) -> Self {
        let mut side = Self::prepare_at(document, at, semantics);
        if reference::is_self_contained(&side.source, document, at) {
            return side;
        }
        if semantics == Semantics::Kyverno {
            side = Self::prepare(&side.source, semantics);
        }
        side.divergences.insert(Divergence::ReferenceInCondition);
        side
    }

    /// The document as written.
    pub const fn source(&self) -> &Value {
        &self.source
    }

    /// The place of the document, from the root that it was prepared with.
    pub const fn pointer(&self) -> &Pointer {
        &self.at
    }

    /// The value of a document without variables.
    pub const fn fixed(&self) -> Option<&Value> {
        if let Node::Fixed(value) = &self.root { Some(value) } else { None }
    }

    /// The expression that a text without variables is, parsed once.
    pub fn fixed_query(&self) -> Option<&Query> {
        let text = self.fixed()?.as_str()?;
        Some(self.query.get_or_init(|| Query::new(text)))
    }

    /// The texts before, between and after the variables of a document that is one string; `None` if replacing them may
    /// take more than one round.
    pub fn literals(&self) -> Option<Vec<&str>> {
        let Node::Text(TextTemplate { text, found }) = &self.root else { return None };
        let ends = found.iter().map(|found| found.range.start).chain([text.len()]);
        let starts = [0].into_iter().chain(found.iter().map(|found| found.range.end));
        let literals: Vec<&str> = starts.zip(ends).filter_map(|(start, end)| text.get(start..end)).collect();
        let is_plain =
            !found.iter().any(|found| found.shallow) && !literals.iter().any(|text| text.contains("{{"));
        is_plain.then_some(literals)
    }

    /// The variables of the document, and those that replacing them creates, as far as that is known before.
    pub fn variables(&self) -> Vec<Variable> {
        let mut found = Vec::new();
        let mut open = vec![(Pointer::ROOT, &self.root)];
        while let Some((at, node)) = open.pop() {
            match node {
                Node::Fixed(_) | Node::Broken(_) => {}
                Node::Text(text) => text.variables(&at, &mut found),
                Node::List(items) => {
                    open.extend(items.iter().enumerate().map(|(index, item)| (at.index(index), item)));
                }
                Node::Map(members) => {
                    for member in members {
                        if let Some(key) = &member.key_template {
                            key.variables(&at, &mut found);
                        }
                        open.push((at.key(member.key.clone()), &member.value));
                    }
                }
            }
        }
        found
    }

    /// The divergences that the document itself reaches.
    pub const fn divergences(&self) -> DivergenceSet {
        self.divergences
    }
}

struct Preparation<'a> {
    document: &'a Value,
    tracker: &'a DivergenceTracker,
    at: Pointer,
    budget: Budget,
    /// The expressions so far: equal ones are parsed once.
    queries: IndexMap<Text, Query, RandomState>,
}

impl Preparation<'_> {
    fn node(&mut self, value: &Value) -> Node {
        self.changed(value).unwrap_or_else(|| Node::Fixed(value.clone()))
    }

    /// `None` for a value without variables and references: it is shared.
    fn changed(&mut self, value: &Value) -> Option<Node> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                let mut nodes: Option<Vec<Node>> = None;
                for (index, item) in items.iter().enumerate() {
                    self.at.push_index(index);
                    let node = self.changed(item);
                    self.at.pop();
                    if nodes.is_none() && node.is_some() {
                        let mut before = Vec::with_capacity(items.len());
                        before.extend(items.iter().take(index).cloned().map(Node::Fixed));
                        nodes = Some(before);
                    }
                    if let Some(nodes) = &mut nodes {
                        nodes.push(node.unwrap_or_else(|| Node::Fixed(item.clone())));
                    }
                }
                nodes.map(fold_list)
            }
            Value::Object(members) => {
                let mut prepared: Option<Vec<Member>> = None;
                let as_written = |(key, member): (&Text, &Value)| Member {
                    key: key.clone(),
                    key_template: None,
                    value: Node::Fixed(member.clone()),
                };
                for (index, (key, member)) in members.iter().enumerate() {
                    let new_key = self.key(key);
                    self.at.push_key(new_key.as_ref().map_or(key, |(key, _)| key).clone());
                    let node = self.changed(member);
                    self.at.pop();
                    if prepared.is_none() && (node.is_some() || new_key.is_some()) {
                        let mut before = Vec::with_capacity(members.len());
                        before.extend(members.iter().take(index).map(as_written));
                        prepared = Some(before);
                    }
                    if let Some(prepared) = &mut prepared {
                        let (key, key_template) = new_key.unwrap_or_else(|| (key.clone(), None));
                        let value = node.unwrap_or_else(|| Node::Fixed(member.clone()));
                        prepared.push(Member { key, key_template, value });
                    }
                }
                prepared.map(fold_map)
            }
        }
    }

    fn string(&mut self, text: &Text) -> Option<Node> {
        let resolved = if text.contains("$(") {
            match reference::resolve(text, self.document, &self.at, self.tracker, &mut self.budget) {
                Ok(resolved) => Some(Text::from(resolved)),
                Err(error) => return Some(Node::Broken(Box::new(error))),
            }
        } else {
            None
        };
        if !resolved.as_ref().unwrap_or(text).contains("{{") {
            return resolved.map(|text| Node::Fixed(Value::String(text)));
        }
        let template = self.template(resolved.unwrap_or_else(|| text.clone()));
        if template.found.is_empty() {
            return Some(Node::Fixed(scan::unescape_variables(&template.text).into()));
        }
        Some(Node::Text(template))
    }

    /// A string with its variables.
    fn template(&mut self, text: Text) -> TextTemplate {
        TextTemplate::with(text, |expression| {
            if let Some(known) = self.queries.get(expression) {
                return known.clone();
            }
            let query = Query::new(expression);
            self.queries.insert(expression.into(), query.clone());
            query
        })
    }

    /// A key with variables, or escaped ones.
    fn key(&mut self, key: &Text) -> Option<(Text, Option<Box<TextTemplate>>)> {
        if !key.contains("{{") {
            return None;
        }
        let template = self.template(key.clone());
        if template.found.is_empty() {
            return Some((scan::unescape_variables(key).into(), None));
        }
        Some((key.clone(), Some(Box::new(template))))
    }
}

/// A list node; fixed if all elements are.
fn fold_list(nodes: Vec<Node>) -> Node {
    let fixed =
        nodes.iter().map(|node| if let Node::Fixed(value) = node { Some(value.clone()) } else { None });
    match fixed.collect::<Option<Vec<_>>>() {
        Some(items) => Node::Fixed(Value::array(items)),
        None => Node::List(nodes),
    }
}

/// A map node; fixed if all keys and members are.
fn fold_map(members: Vec<Member>) -> Node {
    let fixed = members.iter().map(|member| match member {
        Member { key, key_template: None, value: Node::Fixed(value) } => Some((key.clone(), value.clone())),
        _ => None,
    });
    match fixed.collect::<Option<Vec<_>>>() {
        Some(members) => Node::Fixed(members.into_iter().collect()),
        None => Node::Map(members),
    }
}
