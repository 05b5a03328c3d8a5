//! What is wrong with a policy, and where.

use std::fmt;

use crate::semantics::Divergence;
use crate::value::{Pointer, Segment, Text, Value};

/// The characters of a message.
const LONGEST_MESSAGE: usize = 1000;

/// One reason why a policy is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The wrong field; for a missing field, the one that should hold it.
    pub pointer: Pointer,
    /// The name of the rule it stands in, if it stands in one that has a name.
    pub rule: Option<Text>,
    /// What is wrong.
    pub message: String,
    /// The nearest valid name or value.
    pub suggestion: Option<String>,
    /// Whether the field itself is unknown, so that others may only seem to be missing beside it.
    pub(super) is_unknown_field: bool,
    /// The divergence that decided it, where only one of the two semantics refuses the policy.
    pub divergence: Option<Divergence>,
}

impl PolicyError {
    pub(super) fn new(pointer: Pointer, message: impl Into<String>) -> Self {
        let mut message = message.into();
        // A policy may have names of any length.
        if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
            message.truncate(end);
            message.push('…');
        }
        Self { pointer, rule: None, message, suggestion: None, is_unknown_field: false, divergence: None }
    }

    pub(super) fn unknown_field(pointer: Pointer, message: String, nearest: Option<&str>) -> Self {
        Self { is_unknown_field: true, ..Self::new(pointer, message).suggesting(nearest) }
    }

    pub(super) fn suggesting(mut self, suggestion: Option<&str>) -> Self {
        self.suggestion = suggestion.map(str::to_owned);
        self
    }

    pub(super) const fn because_of(mut self, divergence: Divergence) -> Self {
        self.divergence = Some(divergence);
        self
    }
}

/// `spec.rules[0].name: what is wrong, did you mean …?`
impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_root() {
            write!(f, "{}: ", self.pointer)?;
        }
        f.write_str(&self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, ", did you mean `{suggestion}`?"),
            None => Ok(()),
        }
    }
}

/// Names the rules that errors stand in.
pub(super) fn name_rules(document: &Value, errors: &mut [PolicyError]) {
    const LONGEST_SHOWN: usize = 63;
    for error in errors {
        let [Segment::Key(spec), Segment::Key(rules), Segment::Index(index), ..] = error.pointer.segments()
        else {
            continue;
        };
        if (&**spec, &**rules) != ("spec", "rules") {
            continue;
        }
        let rule = document.path(&["spec", "rules"]).and_then(|rules| rules.at(*index));
        let name = rule.and_then(|rule| rule.get("name")).and_then(Value::as_text);
        error.rule = name.filter(|name| !name.is_empty() && name.chars().count() <= LONGEST_SHOWN).cloned();
    }
}

/// Puts errors in the order of the document and drops repetitions.
pub(super) fn in_document_order(document: &Value, errors: &mut Vec<PolicyError>) {
    errors.sort_by_cached_key(|error| position(document, &error.pointer));
    errors.dedup();
}

/// The place of each step among its siblings.
fn position(document: &Value, pointer: &Pointer) -> Vec<usize> {
    let mut node = Some(document);
    let mut places = Vec::new();
    for segment in pointer.segments() {
        let place = match (segment, node) {
            (Segment::Index(index), _) => *index,
            (Segment::Key(key), Some(Value::Object(members))) => {
                members.get_index_of(key).unwrap_or(usize::MAX)
            }
            (Segment::Key(_), _) => usize::MAX,
        };
        places.push(place);
        node = node.and_then(|node| match segment {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.at(*index),
        });
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_order_of_the_document() {
        let document = Value::from_json(r#"{"spec":{"z":[0,0],"a":1},"kind":1}"#).unwrap();
        let spec = Pointer::ROOT.key("spec");
        let mut errors = vec![
            PolicyError::new(Pointer::ROOT.key("kind"), "d"),
            PolicyError::new(spec.key("a"), "c"),
            PolicyError::new(spec.key("z").index(1), "b"),
            PolicyError::new(spec.key("a"), "c"),
            PolicyError::new(spec, "a"),
        ];
        in_document_order(&document, &mut errors);
        let order: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
        assert_eq!(order, ["a", "b", "c", "d"]);
    }
}
