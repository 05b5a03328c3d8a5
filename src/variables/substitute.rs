//! The replacement of variables by their values.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::jmespath::ParseError;
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Map, Pointer, Segment, Text, Value};

use super::scan;
use super::taint::{TextTaint, note_key};
use super::template::{Node, Template, TextTemplate};
use super::{LoadError, Query, QueryError, Scope, SubstitutionError};

/// How much one substitution may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The bytes that one string may grow to, and so may all that is inserted into inserted values.
    pub bytes: usize,
    /// How often one string is scanned again.
    pub rounds: usize,
    /// How deep the result may be nested.
    pub depth: usize,
}

impl Limits {
    /// 2 MiB, 64 rounds, 256 levels.
    pub const DEFAULT: Self = Self { bytes: 2 << 20, rounds: 64, depth: 256 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What `{{@}}` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inline {
    /// The value at the same path of the object, the first components of the rule's path left out:
    /// what Kyverno computes from the place of the string.
    Path,
    /// Left open: the patch resolves it at each element it is applied to.
    Deferred,
}

/// How a substitution goes.
#[derive(Clone, Copy, Debug)]
pub struct Substitution<'a> {
    /// Which semantics, and the divergences reached.
    pub tracker: &'a DivergenceTracker,
    /// The request deletes: `request.object` reads `request.oldObject`.
    pub deleting: bool,
    /// What `{{@}}` stands for.
    pub inline: Inline,
    /// What `{{@}}` paths start at: `request.object`, or `target` where a target is patched.
    pub inline_root: &'a str,
    /// How much it may take.
    pub limits: Limits,
}

/// A document with its variables replaced.
#[derive(Clone, Debug)]
pub struct Substituted {
    /// The document. Strings that hold `{{@}}` stand in it as written where they were left open.
    pub value: Value,
    /// The strings left open, by their place in the document.
    pub inline: BTreeMap<Pointer, InlineLeaf>,
}

/// A string whose `{{@}}` is resolved at the element that is patched.
#[derive(Clone, Debug)]
pub struct InlineLeaf {
    text: TextTemplate,
    at: Pointer,
    semantics: Semantics,
}

impl Template {
    /// Replaces the variables of the document by what the scope answers.
    ///
    /// A string that is one variable takes the value with its type; a variable in a longer string is
    /// inserted as text, and text inserted so is scanned again.
    ///
    /// # Errors
    ///
    /// A variable without a value, a key that becomes no string, a limit passed.
    pub fn substitute(
        &self,
        scope: &mut dyn Scope,
        settings: Substitution<'_>,
    ) -> Result<Substituted, SubstitutionError> {
        settings.tracker.reach_all(self.divergences());
        if let Some(value) = self.fixed() {
            return Ok(Substituted { value: value.clone(), inline: BTreeMap::new() });
        }
        let mut work = self.work(scope, settings);
        let value = work.node(&self.root)?;
        Ok(Substituted { value, inline: work.inline })
    }

    /// The same; gives what was written in the place of each variable too, if the document is a string and one round
    /// replaced them.
    ///
    /// # Errors
    ///
    /// As [`Template::substitute`].
    pub fn substitute_words(
        &self,
        scope: &mut dyn Scope,
        settings: Substitution<'_>,
    ) -> Result<(Value, Option<Vec<Text>>), SubstitutionError> {
        settings.tracker.reach_all(self.divergences());
        let mut work = self.work(scope, settings);
        work.words = matches!(self.root, Node::Text(_)).then(Vec::new);
        let value = work.node(&self.root)?;
        Ok((value, work.words))
    }

    fn work<'a>(&'a self, scope: &'a mut dyn Scope, settings: Substitution<'a>) -> Work<'a> {
        Work {
            scope,
            settings,
            semantics: self.semantics,
            base: &self.at,
            at: Pointer::ROOT,
            inline: BTreeMap::new(),
            here: None,
            inserted: false,
            grown: 0,
            words: None,
        }
    }
}

impl InlineLeaf {
    /// The string's value where `{{@}}` is `here`.
    ///
    /// # Errors
    ///
    /// As [`Template::substitute`].
    pub fn resolve(
        &self,
        here: &Value,
        scope: &mut dyn Scope,
        settings: Substitution<'_>,
    ) -> Result<Value, SubstitutionError> {
        let mut work = Work {
            scope,
            settings,
            semantics: self.semantics,
            base: &self.at,
            at: Pointer::ROOT,
            inline: BTreeMap::new(),
            here: Some(here),
            inserted: false,
            grown: 0,
            words: None,
        };
        work.text(&self.text)
    }
}

/// A place in a rule as Kyverno's messages write it: `/mutate/patchStrategicMerge/metadata`.
pub(super) fn shown_path(at: &Pointer) -> String {
    let mut out = String::new();
    for segment in at.segments() {
        match segment {
            Segment::Key(key) => {
                let _ = write!(out, "/{}", key.replace('/', r"\/"));
            }
            Segment::Index(index) => {
                let _ = write!(out, "/{index}");
            }
        }
    }
    out
}

/// The state of one substitution.
struct Work<'a> {
    scope: &'a mut dyn Scope,
    settings: Substitution<'a>,
    semantics: Semantics,
    /// Where the document stands in its rule.
    base: &'a Pointer,
    /// Where the walk is in the document.
    at: Pointer,
    inline: BTreeMap<Pointer, InlineLeaf>,
    /// What `{{@}}` is, where a leaf is resolved at an element.
    here: Option<&'a Value>,
    /// Whether the walk is in a value that was inserted.
    inserted: bool,
    /// The bytes of inserted values with variables and of all that was inserted into them. The data may
    /// name itself, and so the policy does not bound how often.
    grown: usize,
    /// What the first round wrote in the place of variables, where that is asked for; `None` once there was another.
    words: Option<Vec<Text>>,
}

/// A string after its variables were replaced.
enum Outcome {
    /// It was one variable: the value with its type.
    Whole(Value),
    /// It is text.
    Text(String),
    /// It was left open.
    Open,
}

impl Work<'_> {
    fn place(&self) -> Pointer {
        self.base.join(&self.at)
    }

    fn path(&self) -> String {
        shown_path(&self.place())
    }

    fn passed<T>(
        &self,
        limit: &'static str,
        name: &'static str,
        maximum: usize,
    ) -> Result<T, SubstitutionError> {
        Err(SubstitutionError::Limit { limit, name, maximum, path: self.path() })
    }

    fn node(&mut self, node: &Node) -> Result<Value, SubstitutionError> {
        match node {
            Node::Fixed(value) => Ok(value.clone()),
            Node::Broken(fault) => Err(fault.clone()),
            Node::Text(text) => self.text(text),
            Node::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    self.at.push_index(index);
                    values.push(self.node(item)?);
                    self.at.pop();
                }
                Ok(Value::array(values))
            }
            Node::Map(members) => {
                let mut values = Map::with_capacity(members.len());
                for member in members {
                    let key = match &member.key_template {
                        None => member.key.clone(),
                        Some(template) => self.key(&member.key, template)?,
                    };
                    let value = if let Node::Fixed(value) = &member.value {
                        value.clone()
                    } else {
                        self.at.push_key(key.clone());
                        let value = self.node(&member.value)?;
                        self.at.pop();
                        value
                    };
                    values.insert(key, value);
                }
                Ok(Value::object(values))
            }
        }
    }

    /// A key: it must become a string; `null` leaves it as it was.
    fn key(&mut self, key: &Text, template: &TextTemplate) -> Result<Text, SubstitutionError> {
        let made: Text = match self.string(&template.text, Some(template), false)? {
            Outcome::Text(text) => {
                self.inserted_text(&text)?;
                text.into()
            }
            Outcome::Whole(Value::String(text)) => text,
            Outcome::Whole(Value::Null) | Outcome::Open => return Ok(key.clone()),
            Outcome::Whole(_) => return Err(SubstitutionError::Key { key: key.clone(), path: self.path() }),
        };
        note_key(&made, self.scope.secrets());
        Ok(made)
    }

    fn text(&mut self, template: &TextTemplate) -> Result<Value, SubstitutionError> {
        match self.string(&template.text, Some(template), true)? {
            Outcome::Text(text) => {
                self.inserted_text(&text)?;
                Ok(text.into())
            }
            Outcome::Whole(value) => self.arrived(value),
            Outcome::Open => {
                let place = self.place();
                if place.segments().iter().any(is_odd_key) {
                    self.settings.tracker.reach(Divergence::InlineElement);
                }
                let leaf = InlineLeaf { text: template.clone(), at: place, semantics: self.semantics };
                self.inline.insert(self.at.clone(), leaf);
                Ok(Value::String(template.text.clone()))
            }
        }
    }

    /// A value that took the place of a whole string: variables inside a list or an object are replaced
    /// too, a string is final.
    fn arrived(&mut self, value: Value) -> Result<Value, SubstitutionError> {
        let varies = holds_any_variable(&value);
        if varies || self.inserted {
            self.grow(weight(&value, self.settings.limits.bytes))?;
        }
        if !varies {
            return Ok(value);
        }
        if self.at.segments().len() > self.settings.limits.depth {
            return self.passed("nesting of variables", "depth", self.settings.limits.depth);
        }
        let prepared = match &value {
            Value::String(_) => return Ok(value),
            _ => Template::prepare(&strip_references(value), self.semantics),
        };
        let outside = std::mem::replace(&mut self.inserted, true);
        let result = self.node(&prepared.root);
        self.inserted = outside;
        result
    }

    fn inserted_text(&mut self, text: &str) -> Result<(), SubstitutionError> {
        if self.inserted { self.grow(text.len()) } else { Ok(()) }
    }

    fn grow(&mut self, bytes: usize) -> Result<(), SubstitutionError> {
        self.grown = self.grown.saturating_add(bytes);
        if self.grown > self.settings.limits.bytes {
            return self.passed("bytes of inserted values", "result-bytes", self.settings.limits.bytes);
        }
        Ok(())
    }

    fn string(
        &mut self,
        text: &str,
        template: Option<&TextTemplate>,
        may_defer: bool,
    ) -> Result<Outcome, SubstitutionError> {
        let scanned;
        let mut round = match template {
            Some(template) => template,
            None => {
                scanned = TextTemplate::new(text.into(), self.semantics);
                &scanned
            }
        };
        let deferred = may_defer && self.here.is_none() && self.settings.inline == Inline::Deferred;
        if deferred && round.found.iter().any(super::template::Found::is_inline) {
            return Ok(Outcome::Open);
        }
        let mut rounds = 0;
        let mut next;
        let mut taint = TextTaint::default();
        loop {
            if round.found.is_empty() {
                break;
            }
            rounds += 1;
            if rounds > 1 {
                self.words = None;
            }
            if rounds > self.settings.limits.rounds {
                return self.passed("rounds of replacement", "rounds", self.settings.limits.rounds);
            }
            let mut current = String::new();
            let mut copied = 0;
            let mut last_was_shallow = false;
            taint.begin_round();
            for found in &round.found {
                taint.note_query(&found.query, self.scope.secrets());
                let value = if found.is_inline() { self.inline_value()? } else { self.query(&found.query)? };
                taint.note_answer(&value, self.scope.secrets());
                if found.range.len() == round.text.len() {
                    self.words = None;
                    return Ok(Outcome::Whole(value));
                }
                taint.insert(&value, self.scope.secrets());
                current.push_str(&round.text[copied..found.range.start]);
                copied = found.range.end;
                if found.shallow {
                    self.shallow_text(&found.query, &value)?;
                }
                let start = current.len();
                found.insert(&value, &mut current);
                if let Some(words) = &mut self.words {
                    words.extend(current.get(start..).map(Text::from));
                }
                if current.len() > self.settings.limits.bytes {
                    return self.passed("bytes of a string", "result-bytes", self.settings.limits.bytes);
                }
                last_was_shallow = found.shallow;
            }
            current.push_str(&round.text[copied..]);
            next = TextTemplate::new(current.into(), self.semantics);
            round = &next;
            if last_was_shallow {
                break;
            }
        }
        let text = scan::unescape_variables(&round.text);
        taint.note_text(&text, self.scope.secrets());
        Ok(Outcome::Text(text))
    }

    /// Kyverno panics where `{{- … }}` puts something other than a string into a longer text.
    fn shallow_text(&self, query: &Query, value: &Value) -> Result<(), SubstitutionError> {
        if matches!(value, Value::String(_) | Value::Null)
            || self.settings.tracker.documented(Divergence::ShallowText)
        {
            return Ok(());
        }
        let cause = QueryError::Load(LoadError::Failed(format!(
            "panic: the value is no string but {}",
            value.type_name()
        )));
        Err(self.unresolved(query.text(), cause))
    }

    fn query(&mut self, query: &Query) -> Result<Value, SubstitutionError> {
        let rewritten;
        let query = if self.settings.deleting && query.text().contains("request.object") {
            rewritten =
                Query::new(&query.text().replace("request.object", "request.oldObject"), self.semantics);
            &rewritten
        } else {
            query
        };
        self.scope.query(query).map_err(|cause| {
            // What a policy writes was parsed when it was loaded; here a value made the expression.
            if let QueryError::Syntax { fault: ParseError { difference: Some(difference), .. }, .. } = &cause
            {
                self.settings.tracker.reach(*difference);
            }
            self.unresolved(query.text(), cause)
        })
    }

    fn unresolved(&self, expression: &Text, cause: QueryError) -> SubstitutionError {
        SubstitutionError::Variable { expression: expression.clone(), path: self.path(), cause }
    }

    /// The value of `{{@}}`.
    fn inline_value(&mut self) -> Result<Value, SubstitutionError> {
        if let Some(here) = self.here {
            return Ok(here.clone());
        }
        let place = self.place();
        let segments = place.segments();
        let below_list = segments.iter().any(|segment| matches!(segment, Segment::Index(_)));
        let in_loop = matches!(segments.first(), Some(Segment::Key(key)) if &**key == "patchStrategicMerge");
        let odd = segments.iter().any(is_odd_key);
        if (below_list || in_loop || odd) && self.semantics == Semantics::Kyverno {
            self.settings.tracker.reach(Divergence::InlineElement);
        }
        let path = inline_path(&place, self.settings.inline_root);
        self.query(&Query::new(&path, self.semantics))
    }
}

/// Whether Kyverno does not find a key of the rule in the object: digits are an index to it, and anchors are kept.
fn is_odd_key(segment: &Segment) -> bool {
    let Segment::Key(key) = segment else { return false };
    let is_number = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    is_number || (key.ends_with(')') && key.trim_start_matches(['+', '<']).starts_with('('))
}

/// The expression for the node of the object at the same place as a string of the rule: the first two
/// components (`mutate` and the patch's name) left out, and all up to `foreach`.
fn inline_path(place: &Pointer, root: &str) -> String {
    let segments = place.segments();
    let is_foreach = |segment: &Segment| matches!(segment, Segment::Key(key) if &**key == "foreach");
    let after = segments.iter().position(is_foreach).map_or(0, |position| position + 1);
    let mut out = root.to_owned();
    for segment in segments.iter().skip(after + 2) {
        match segment {
            Segment::Index(index) => {
                let _ = write!(out, "[{index}]");
            }
            Segment::Key(key) if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()) => {
                let _ = write!(out, "[{key}]");
            }
            Segment::Key(key) if is_identifier(key) => {
                let _ = write!(out, ".{key}");
            }
            Segment::Key(key) => {
                let _ = write!(out, ".{}", Value::String(key.clone()).to_json());
            }
        }
    }
    out
}

fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The bytes of a value, roughly those of its JSON; what is beyond `most` is not counted.
fn weight(value: &Value, most: usize) -> usize {
    let mut open = vec![value];
    let mut bytes: usize = 0;
    while let Some(node) = open.pop() {
        bytes += match node {
            Value::Null | Value::Bool(_) | Value::Number(_) => 4,
            Value::String(text) => text.len() + 2,
            Value::Array(items) => items.len() + 2,
            Value::Object(members) => members.keys().map(|key| key.len() + 4).sum::<usize>() + 2,
        };
        if bytes > most {
            break;
        }
        match node {
            Value::Array(items) => open.extend(items.iter()),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    bytes
}

/// Whether a key or string anywhere in the value holds a variable.
fn holds_any_variable(value: &Value) -> bool {
    let mut open = vec![value];
    while let Some(node) = open.pop() {
        match node {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) if text.contains("{{") => return true,
            Value::String(_) => {}
            Value::Array(items) => open.extend(items.iter()),
            Value::Object(members) => {
                if members.keys().any(|key| key.contains("{{")) {
                    return true;
                }
                open.extend(members.values());
            }
        }
    }
    false
}

/// Escapes `$(` in data, because references were resolved before it arrived.
fn strip_references(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains("$(") => text.replace("$(", r"\$(").into(),
        Value::Array(items) => {
            Value::array(items.iter().map(|item| strip_references(item.clone())).collect())
        }
        Value::Object(members) => {
            members.iter().map(|(key, member)| (key.clone(), strip_references(member.clone()))).collect()
        }
        other => other,
    }
}
