//! What is found while a policy or an exception is read.

use crate::diagnostics::Code;
use crate::policy::error::in_document_order;
use crate::policy::{Note, PolicyError};
use crate::value::{Pointer, Segment, Value};

/// Errors and notes, in the order they are found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<PolicyError>,
    pub(super) notes: Vec<Note>,
}

impl Findings {
    pub(super) fn error(&mut self, code: Code, at: Pointer, message: impl Into<String>) {
        self.errors.push(PolicyError::new(code, at, message));
    }

    /// Adds a note about a rule.
    pub(super) fn note(&mut self, code: Code, rule: &Value, text: impl Into<String>) {
        self.notes.push(Note::of_rule(code, rule, text));
    }

    /// The notes, or all errors in the order of the document.
    pub(super) fn finish(mut self, document: &Value) -> Result<Vec<Note>, Vec<PolicyError>> {
        if self.errors.is_empty() {
            return Ok(self.notes);
        }
        name_rules(document, &mut self.errors);
        in_document_order(document, &mut self.errors);
        Err(self.errors)
    }
}

/// Adds the names of the rules to errors in them.
pub(super) fn name_rules(document: &Value, errors: &mut [PolicyError]) {
    const MAX_CHARS: usize = 63;
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
        error.rule = name.filter(|name| !name.is_empty() && name.chars().count() <= MAX_CHARS).cloned();
    }
}
