//! What is wrong with a policy, and where.

use std::fmt;

use crate::semantics::Divergence;
use crate::value::{Pointer, Segment, Text, Value};

/// The characters of a message.
const LONGEST_MESSAGE: usize = 1000;

/// One reason why a policy is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field at fault; for a missing field, the one that should hold it.
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
    pub difference: Option<Divergence>,
}

impl Fault {
    pub(super) fn new(pointer: Pointer, message: impl Into<String>) -> Self {
        let mut message = message.into();
        // A policy may have names of any length.
        if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
            message.truncate(end);
            message.push('…');
        }
        Self { pointer, rule: None, message, suggestion: None, is_unknown_field: false, difference: None }
    }

    pub(super) fn unknown_field(pointer: Pointer, message: String, nearest: Option<&str>) -> Self {
        Self { is_unknown_field: true, ..Self::new(pointer, message).suggesting(nearest) }
    }

    pub(super) fn suggesting(mut self, suggestion: Option<&str>) -> Self {
        self.suggestion = suggestion.map(str::to_owned);
        self
    }

    pub(super) const fn because_of(mut self, difference: Divergence) -> Self {
        self.difference = Some(difference);
        self
    }
}

/// `spec.rules[0].name: what is wrong, did you mean …?`
impl fmt::Display for Fault {
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

/// Names the rules that faults stand in.
pub(super) fn name_rules(document: &Value, faults: &mut [Fault]) {
    const LONGEST_SHOWN: usize = 63;
    for fault in faults {
        let [Segment::Key(spec), Segment::Key(rules), Segment::Index(index), ..] = fault.pointer.segments()
        else {
            continue;
        };
        if (&**spec, &**rules) != ("spec", "rules") {
            continue;
        }
        let rule = document.path(&["spec", "rules"]).and_then(|rules| rules.at(*index));
        let name = rule.and_then(|rule| rule.get("name")).and_then(Value::as_text);
        fault.rule = name.filter(|name| !name.is_empty() && name.chars().count() <= LONGEST_SHOWN).cloned();
    }
}

/// Puts faults in the order of the document and drops repetitions.
pub(super) fn in_document_order(document: &Value, faults: &mut Vec<Fault>) {
    faults.sort_by_cached_key(|fault| position(document, &fault.pointer));
    faults.dedup();
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
    fn faults_stand_in_the_order_of_the_document() {
        let document = Value::from_json(r#"{"spec":{"z":[0,0],"a":1},"kind":1}"#).unwrap();
        let spec = Pointer::ROOT.key("spec");
        let mut faults = vec![
            Fault::new(Pointer::ROOT.key("kind"), "d"),
            Fault::new(spec.key("a"), "c"),
            Fault::new(spec.key("z").index(1), "b"),
            Fault::new(spec.key("a"), "c"),
            Fault::new(spec, "a"),
        ];
        in_document_order(&document, &mut faults);
        let order: Vec<_> = faults.iter().map(|fault| fault.message.as_str()).collect();
        assert_eq!(order, ["a", "b", "c", "d"]);
    }
}
