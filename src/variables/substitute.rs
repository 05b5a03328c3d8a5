//! The replacement of variables by their values.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Map, Pointer, Segment, Text, Value};

use super::taint::{TextTaint, note_key};
use super::template::{Found, Node, Template, TextTemplate};
use super::{LoadError, Query, QueryError, Scope, SubstitutionError, scan};

/// The limits of one substitution.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The bytes of one string, and of everything that is inserted into inserted values.
    pub bytes: usize,
    /// How often one string is scanned.
    pub rounds: usize,
    /// The nesting of the result.
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

/// The value of `{{@}}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inline {
    /// The value of the object at the path that the string has in the patch, as in Kyverno.
    Path,
    /// Deferred: the patch resolves it at each element that it is applied to.
    Deferred,
}

/// The settings of a substitution.
#[derive(Clone, Copy, Debug)]
pub struct Substitution<'a> {
    /// The semantics, and the divergences that were reached.
    pub tracker: &'a DivergenceTracker,
    /// Whether the operation is DELETE: `request.object` is `request.oldObject`.
    pub deleting: bool,
    /// The value of `{{@}}`.
    pub inline: Inline,
    /// The start of `{{@}}` paths: `request.object`, or `target` if a target is patched.
    pub inline_root: &'a str,
    /// The limits.
    pub limits: Limits,
}

/// A document with its variables replaced.
#[derive(Clone, Debug)]
pub struct Substituted {
    /// The document, with deferred strings as written.
    pub value: Value,
    /// The deferred strings, by their path in the document.
    pub inline: BTreeMap<Pointer, InlineLeaf>,
}

/// A string whose `{{@}}` is resolved at a patched element.
#[derive(Clone, Debug)]
pub struct InlineLeaf {
    text: TextTemplate,
    at: Pointer,
    semantics: Semantics,
}

impl Template {
    /// Replaces the variables of the document by their values in the scope.
    ///
    /// A string that is one variable becomes its value; in a longer string the value is inserted as text, which is scanned
    /// again.
    ///
    /// # Errors
    ///
    /// A variable without value, a key that becomes no string, an exceeded limit.
    pub fn substitute(
        &self,
        scope: &mut dyn Scope,
        settings: Substitution<'_>,
    ) -> Result<Substituted, SubstitutionError> {
        settings.tracker.reach_all(self.divergences());
        if let Some(value) = self.fixed() {
            return Ok(Substituted { value: value.clone(), inline: BTreeMap::new() });
        }
        let mut work = Substituter::new(scope, settings, self.semantics, &self.at);
        let value = work.node(&self.root)?;
        Ok(Substituted { value, inline: work.inline })
    }

    /// The same, with the texts that were inserted for the variables, if the document is a string that needs one round.
    ///
    /// # Errors
    ///
    /// As [`Template::substitute`].
    pub fn substitute_with_insertions(
        &self,
        scope: &mut dyn Scope,
        settings: Substitution<'_>,
    ) -> Result<(Value, Option<Vec<Text>>), SubstitutionError> {
        settings.tracker.reach_all(self.divergences());
        let mut work = Substituter::new(scope, settings, self.semantics, &self.at);
        work.insertions = matches!(self.root, Node::Text(_)).then(Vec::new);
        let value = work.node(&self.root)?;
        Ok((value, work.insertions))
    }
}

impl InlineLeaf {
    /// The value of the string if `{{@}}` is `element`.
    ///
    /// # Errors
    ///
    /// As [`Template::substitute`].
    pub fn resolve(
        &self,
        element: &Value,
        scope: &mut dyn Scope,
        settings: Substitution<'_>,
    ) -> Result<Value, SubstitutionError> {
        let mut work = Substituter::new(scope, settings, self.semantics, &self.at);
        work.element = Some(element);
        work.text(&self.text)
    }
}

/// What variables of one document are replaced by may be as large as so many of the largest strings together.
const MAX_LARGEST: usize = 32;

/// The state of one substitution.
struct Substituter<'a> {
    scope: &'a mut dyn Scope,
    settings: Substitution<'a>,
    semantics: Semantics,
    /// The path of the document in its rule.
    base: &'a Pointer,
    /// The current path in the document.
    at: Pointer,
    inline: BTreeMap<Pointer, InlineLeaf>,
    /// The value of `{{@}}`, if a deferred string is resolved.
    element: Option<&'a Value>,
    /// Whether the current node belongs to an inserted value.
    in_inserted: bool,
    /// The bytes of inserted values with variables, and of everything inserted into them. Only this bounds data that
    /// refers to itself.
    inserted_bytes: usize,
    /// The bytes of all strings that were made and values that were inserted.
    filled_bytes: usize,
    /// The texts that the first round inserted; `None` if they are not requested, or if there was another round.
    insertions: Option<Vec<Text>>,
}

/// A string after its variables were replaced.
enum Replaced {
    /// The value of a string that is one variable.
    Value(Value),
    Text(String),
    Deferred,
}

impl<'a> Substituter<'a> {
    const fn new(
        scope: &'a mut dyn Scope,
        settings: Substitution<'a>,
        semantics: Semantics,
        base: &'a Pointer,
    ) -> Self {
        Self {
            scope,
            settings,
            semantics,
            base,
            at: Pointer::ROOT,
            inline: BTreeMap::new(),
            element: None,
            in_inserted: false,
            inserted_bytes: 0,
            filled_bytes: 0,
            insertions: None,
        }
    }

    fn pointer(&self) -> Pointer {
        self.base.join(&self.at)
    }

    fn exceeded<T>(
        &self,
        limit: &'static str,
        name: &'static str,
        maximum: usize,
    ) -> Result<T, SubstitutionError> {
        Err(SubstitutionError::Limit { limit, name, maximum, at: self.pointer() })
    }

    fn node(&mut self, node: &Node) -> Result<Value, SubstitutionError> {
        match node {
            Node::Fixed(value) => Ok(value.clone()),
            Node::Broken(error) => Err((**error).clone()),
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

    /// A key must become a string; null keeps it as written.
    fn key(&mut self, key: &Text, template: &TextTemplate) -> Result<Text, SubstitutionError> {
        let replaced: Text = match self.string(template, false)? {
            Replaced::Text(text) => {
                self.count_text(&text)?;
                text.into()
            }
            Replaced::Value(Value::String(text)) => text,
            Replaced::Value(Value::Null) | Replaced::Deferred => return Ok(key.clone()),
            Replaced::Value(_) => {
                return Err(SubstitutionError::Key { key: key.clone(), at: self.pointer() });
            }
        };
        note_key(&replaced, self.scope.secrets());
        Ok(replaced)
    }

    fn text(&mut self, template: &TextTemplate) -> Result<Value, SubstitutionError> {
        match self.string(template, true)? {
            Replaced::Text(text) => {
                self.count_text(&text)?;
                Ok(text.into())
            }
            Replaced::Value(value) => self.inserted_value(value),
            Replaced::Deferred => {
                let at = self.pointer();
                if at.segments().iter().any(is_missing_in_kyverno) {
                    self.settings.tracker.reach(Divergence::InlineElement);
                }
                let leaf = InlineLeaf { text: template.clone(), at, semantics: self.semantics };
                self.inline.insert(self.at.clone(), leaf);
                Ok(Value::String(template.text.clone()))
            }
        }
    }

    /// The value of a string that is one variable. Variables in a list or map are replaced, too; a string is final.
    fn inserted_value(&mut self, value: Value) -> Result<Value, SubstitutionError> {
        let most = self.settings.limits.bytes.saturating_mul(MAX_LARGEST);
        self.count_filled(json_bytes(&value, most))?;
        let varies = holds_any_variable(&value);
        if varies || self.in_inserted {
            self.count(json_bytes(&value, self.settings.limits.bytes))?;
        }
        if !varies {
            return Ok(value);
        }
        if self.at.segments().len() > self.settings.limits.depth {
            return self.exceeded("nesting of variables", "depth", self.settings.limits.depth);
        }
        let prepared = match &value {
            Value::String(_) => return Ok(value),
            _ => Template::prepare(&escape_references(value), self.semantics),
        };
        let outside = std::mem::replace(&mut self.in_inserted, true);
        let result = self.node(&prepared.root);
        self.in_inserted = outside;
        result
    }

    fn count_text(&mut self, text: &str) -> Result<(), SubstitutionError> {
        self.count_filled(text.len())?;
        if self.in_inserted { self.count(text.len()) } else { Ok(()) }
    }

    /// Counts what variables are replaced by; one value that occurs in several places counts in each.
    fn count_filled(&mut self, bytes: usize) -> Result<(), SubstitutionError> {
        self.filled_bytes = self.filled_bytes.saturating_add(bytes);
        if self.filled_bytes / MAX_LARGEST > self.settings.limits.bytes {
            let what = "bytes of all strings and values together, 32 times those of one string,";
            return self.exceeded(what, "result-bytes", self.settings.limits.bytes);
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), SubstitutionError> {
        self.inserted_bytes = self.inserted_bytes.saturating_add(bytes);
        if self.inserted_bytes > self.settings.limits.bytes {
            return self.exceeded("bytes of inserted values", "result-bytes", self.settings.limits.bytes);
        }
        Ok(())
    }

    fn string(&mut self, template: &TextTemplate, may_defer: bool) -> Result<Replaced, SubstitutionError> {
        let deferred = may_defer && self.element.is_none() && self.settings.inline == Inline::Deferred;
        if deferred && template.found.iter().any(Found::is_inline) {
            return Ok(Replaced::Deferred);
        }
        let mut round = template;
        let mut rounds = 0;
        let mut next;
        let mut taint = TextTaint::default();
        while !round.found.is_empty() {
            rounds += 1;
            if rounds > 1 {
                self.insertions = None;
            }
            if rounds > self.settings.limits.rounds {
                return self.exceeded("rounds of replacement", "rounds", self.settings.limits.rounds);
            }
            let mut current = String::new();
            let mut copied = 0;
            let mut last_was_shallow = false;
            taint.begin_round();
            for found in &round.found {
                taint.note_query(&found.query, self.scope.secrets());
                let value = if found.is_inline() { self.inline_value()? } else { self.query(&found.query)? };
                taint.note_value(&value, self.scope.secrets());
                if found.range.len() == round.text.len() {
                    self.insertions = None;
                    return Ok(Replaced::Value(value));
                }
                taint.insert(&value, self.scope.secrets());
                current.push_str(&round.text[copied..found.range.start]);
                copied = found.range.end;
                if found.shallow {
                    self.shallow_text(&found.query, &value)?;
                }
                let start = current.len();
                found.insert(&value, &mut current);
                if let Some(insertions) = &mut self.insertions {
                    insertions.extend(current.get(start..).map(Text::from));
                }
                if current.len() > self.settings.limits.bytes {
                    return self.exceeded("bytes of a string", "result-bytes", self.settings.limits.bytes);
                }
                last_was_shallow = found.shallow;
            }
            current.push_str(&round.text[copied..]);
            next = TextTemplate::new(current.into());
            round = &next;
            if last_was_shallow {
                break;
            }
        }
        let text = scan::unescape_variables(&round.text);
        taint.note_text(&text, self.scope.secrets());
        Ok(Replaced::Text(text))
    }

    /// Kyverno panics if `{{- … }}` inserts something other than a string into a longer text.
    fn shallow_text(&self, query: &Query, value: &Value) -> Result<(), SubstitutionError> {
        if matches!(value, Value::String(_) | Value::Null)
            || self.settings.tracker.documented(Divergence::ShallowText)
        {
            return Ok(());
        }
        let cause = QueryError::Load(LoadError::from(format!(
            "panic: the value is no string but {}",
            value.type_name()
        )));
        Err(self.unresolved(query.text(), cause))
    }

    fn query(&mut self, query: &Query) -> Result<Value, SubstitutionError> {
        let rewritten;
        let query = if self.settings.deleting && query.text().contains("request.object") {
            rewritten = Query::new(&query.text().replace("request.object", "request.oldObject"));
            &rewritten
        } else {
            query
        };
        self.scope.query(query).map_err(|cause| self.unresolved(query.text(), cause))
    }

    fn unresolved(&self, expression: &Text, cause: QueryError) -> SubstitutionError {
        let cause = Box::new(cause);
        SubstitutionError::Variable { expression: expression.clone(), at: self.pointer(), cause }
    }

    /// The value of `{{@}}`.
    fn inline_value(&mut self) -> Result<Value, SubstitutionError> {
        if let Some(element) = self.element {
            return Ok(element.clone());
        }
        let at = self.pointer();
        let segments = at.segments();
        let below_list = segments.iter().any(|segment| matches!(segment, Segment::Index(_)));
        let in_loop = matches!(segments.first(), Some(Segment::Key(key)) if &**key == "patchStrategicMerge");
        let is_missing = segments.iter().any(is_missing_in_kyverno);
        if (below_list || in_loop || is_missing) && self.semantics == Semantics::Kyverno {
            self.settings.tracker.reach(Divergence::InlineElement);
        }
        let path = inline_path(&at, self.settings.inline_root);
        self.query(&Query::new(&path))
    }
}

/// Whether Kyverno does not find a key of the rule in the object: digits are an index there, and anchors are kept.
fn is_missing_in_kyverno(segment: &Segment) -> bool {
    let Segment::Key(key) = segment else { return false };
    let is_number = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    is_number || (key.ends_with(')') && key.trim_start_matches(['+', '<']).starts_with('('))
}

/// The expression for the node of the object at the path that a string has in its patch: without everything up to
/// `foreach`, and without the next two segments (`mutate` and the name of the patch).
fn inline_path(at: &Pointer, root: &str) -> String {
    let segments = at.segments();
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

/// The approximate length of a value as JSON. Counting stops after `max` bytes.
fn json_bytes(value: &Value, max: usize) -> usize {
    let mut open = vec![value];
    let mut bytes: usize = 0;
    while let Some(node) = open.pop() {
        bytes += match node {
            Value::Null | Value::Bool(_) | Value::Number(_) => 4,
            Value::String(text) => text.len() + 2,
            Value::Array(items) => items.len() + 2,
            Value::Object(members) => members.keys().map(|key| key.len() + 4).sum::<usize>() + 2,
        };
        if bytes > max {
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

/// Whether a key or string in the value contains a variable.
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

/// Escapes `$(` in data, because only references of the policy are resolved.
fn escape_references(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains("$(") => text.replace("$(", r"\$(").into(),
        Value::Array(items) => {
            Value::array(items.iter().map(|item| escape_references(item.clone())).collect())
        }
        Value::Object(members) => {
            members.iter().map(|(key, member)| (key.clone(), escape_references(member.clone()))).collect()
        }
        other => other,
    }
}
