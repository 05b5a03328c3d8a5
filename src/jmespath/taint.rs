//! What an evaluation tells the taint tracker: the results of functions, and which values it depends on.

use crate::value::Value;

use super::error::EvalError;
use super::runtime::Runtime;

/// Functions whose result tells nothing that a secret says.
const TELL_NOTHING: [&str; 3] = ["length", "compare", "type"];

/// Functions that pass the members of objects and lists on, whatever they say.
const PASS_ON: [&str; 8] = ["items", "keys", "length", "lookup", "merge", "not_null", "to_array", "values"];

impl Runtime<'_> {
    /// Whether there are secrets that calls must be noted for.
    pub(super) fn knows_secrets(&self) -> bool {
        self.secrets.is_some_and(|secrets| !secrets.is_blank())
    }

    /// Notes the call of a function. What it made by an expression was noted there.
    pub(super) fn note_call(
        &self,
        function: &str,
        arguments: &[&Value],
        has_expression: bool,
        answer: &Result<Value, EvalError>,
    ) {
        let Some(secrets) = self.secrets.filter(|_| !has_expression) else { return };
        if !PASS_ON.contains(&function) {
            arguments.iter().for_each(|argument| secrets.note_read(argument));
        }
        if TELL_NOTHING.contains(&function) {
            return;
        }
        match answer {
            Ok(Value::Null | Value::Bool(_)) => {}
            Ok(made) => secrets.note_call(made, arguments),
            Err(error) if error.tells_values() => {
                if arguments.iter().any(|argument| secrets.holds(argument)) {
                    secrets.note_message(&error.to_string());
                }
            }
            Err(_) => {}
        }
    }

    /// Notes that the result depends on a value. A string is noted where an expression comes to it.
    pub(super) fn note_read(&self, value: &Value) {
        if let Some(secrets) = self.secrets {
            secrets.note_read(value);
        }
    }
}
