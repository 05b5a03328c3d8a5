//! Taint tracking of evaluations: the results of functions, and the values that a result depends on.

use crate::value::Value;

use super::error::SearchResult;
use super::runtime::Runtime;

/// Functions whose result reveals nothing of a secret.
const UNTAINTED: [&str; 3] = ["length", "compare", "type"];

/// Functions that do not read the members of objects and lists.
const NOT_READING: [&str; 8] =
    ["items", "keys", "length", "lookup", "merge", "not_null", "to_array", "values"];

impl Runtime<'_> {
    /// Whether calls must be noted.
    pub(super) fn knows_secrets(&self) -> bool {
        self.secrets.is_some_and(|secrets| !secrets.is_blank())
    }

    /// Notes a call without expression arguments; the calls in those are noted themselves.
    pub(super) fn note_call(&self, function: &str, arguments: &[&Value], result: &SearchResult) {
        let Some(secrets) = self.secrets else { return };
        if !NOT_READING.contains(&function) {
            arguments.iter().for_each(|argument| secrets.note_read(argument));
        }
        if UNTAINTED.contains(&function) {
            return;
        }
        match result {
            Ok(Value::Null | Value::Bool(_)) => {}
            Ok(value) => secrets.note_call(value, arguments),
            Err(error) if error.quotes_values() => {
                if arguments.iter().any(|argument| secrets.is_tainted(argument)) {
                    secrets.note_message(&error.to_string());
                    error.original().into_iter().for_each(|original| secrets.note_message(&original));
                }
            }
            Err(_) => {}
        }
    }

    /// Notes that the result depends on a value. Strings are noted where an expression finds them.
    #[inline]
    pub(super) fn note_read(&self, value: &Value) {
        if let Some(secrets) = self.secrets.filter(|_| self.tracks_reads) {
            secrets.note_read(value);
        }
    }
}
