//! What is wrong with a policy, and where.

use std::fmt;

use crate::diagnostics::Code;
use crate::semantics::Divergence;
use crate::value::{Pointer, Segment, Text, Value};

/// The longest message; a policy may have names of any length.
const MAX_MESSAGE_CHARS: usize = 1000;

/// One reason why a policy is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The field that is wrong; for a missing field its parent.
    pub pointer: Pointer,
    /// The name of the rule, if it is in a rule with a name.
    pub rule: Option<Text>,
    /// The offset in the text at the pointer, in bytes, where that is known: in an expression.
    pub offset: Option<usize>,
    /// The code of the cause.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// The nearest valid name or value.
    pub suggestion: Option<String>,
    /// Whether the field is unknown: it may be a misspelt one that seems to be missing.
    pub(super) is_unknown_field: bool,
    /// The divergence, if only one of the two semantics refuses the policy.
    pub divergence: Option<Divergence>,
}

impl PolicyError {
    pub(super) fn new(code: Code, pointer: Pointer, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE_CHARS) {
            message.truncate(end);
            message.push('…');
        }
        Self {
            pointer,
            rule: None,
            offset: None,
            code,
            message,
            suggestion: None,
            is_unknown_field: false,
            divergence: None,
        }
    }

    pub(super) fn unknown_field(pointer: Pointer, message: String, nearest: Option<&str>) -> Self {
        Self { is_unknown_field: true, ..Self::new(Code::UnknownField, pointer, message).suggesting(nearest) }
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

/// Sorts errors by their place in the document and removes repeated ones.
pub(super) fn in_document_order(document: &Value, errors: &mut Vec<PolicyError>) {
    errors.sort_by_cached_key(|error| position(document, &error.pointer));
    errors.dedup();
}

/// The index of each segment among its siblings.
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
            PolicyError::new(Code::InvalidField, Pointer::ROOT.key("kind"), "d"),
            PolicyError::new(Code::InvalidField, spec.key("a"), "c"),
            PolicyError::new(Code::InvalidField, spec.key("z").index(1), "b"),
            PolicyError::new(Code::InvalidField, spec.key("a"), "c"),
            PolicyError::new(Code::InvalidField, spec, "a"),
        ];
        in_document_order(&document, &mut errors);
        let order: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
        assert_eq!(order, ["a", "b", "c", "d"]);
    }
}
