//! A call of a function.

use std::fmt;

use crate::jmespath::ast::{Argument, Node, PreparedRegexp};
use crate::jmespath::error::{EvalError, SearchResult, WrongArgument};
use crate::jmespath::runtime::Runtime;
use crate::semantics::Divergence;
use crate::value::{Map, Number, Text, Value, float_text, shortened};

use super::Function;
use super::signature::Type;

/// The length to which the message of a function is shortened.
const MAX_MESSAGE_CHARS: usize = 1000;

/// An argument, evaluated unless it is `&expression`.
pub(in crate::jmespath) enum CallArgument<'a> {
    Value(Value),
    Expression(&'a Node),
}

/// A function and the arguments of a call.
///
/// [`Invocation::run`] checks the types of the arguments; for other types the accessors return defaults.
pub(in crate::jmespath) struct Invocation<'a> {
    pub(in crate::jmespath) function: &'static Function,
    pub(in crate::jmespath) arguments: Vec<CallArgument<'a>>,
    /// The regular expression of a call whose first argument is a literal.
    pub(in crate::jmespath) prepared: Option<&'a PreparedRegexp>,
    pub(in crate::jmespath) runtime: &'a Runtime<'a>,
    /// Evaluates the expression of an argument on a value; a missing key is null.
    pub(in crate::jmespath) evaluate: &'a dyn Fn(&Node, &Value) -> SearchResult,
}

impl Invocation<'_> {
    /// Checks the arguments and calls the function.
    pub(in crate::jmespath) fn run(&self, nodes: &[Argument]) -> SearchResult {
        self.check()?;
        match self.typed_result(nodes) {
            Some(result) => result,
            None => (self.function.run)(self),
        }
    }

    /// Checks the number and the types of the arguments.
    fn check(&self) -> Result<(), EvalError> {
        let function = self.function.name;
        if self.function.repeats {
            if self.arguments.is_empty() {
                return Err(EvalError::NoArguments { function });
            }
        } else if self.arguments.len() != self.function.parameters.len() {
            let names = |types: &&[Type]| types.iter().map(|t| t.name()).collect::<Vec<_>>().join("|");
            return Err(EvalError::ArgumentCount {
                function,
                parameters: self.function.parameters.iter().map(names).collect(),
                given: self.arguments.len(),
            });
        }
        for (index, argument) in self.arguments.iter().enumerate() {
            let types = self.function.types(index);
            // Functions read their arguments at least once.
            self.runtime.spend_for(match argument {
                CallArgument::Value(Value::String(text)) => text.len(),
                CallArgument::Value(Value::Array(items)) => items.len(),
                CallArgument::Value(Value::Object(members)) => members.len(),
                _ => 0,
            })?;
            self.note_numbers(argument, types);
            let is_accepted = match argument {
                CallArgument::Value(value) => types.iter().any(|accepted| accepted.includes(value)),
                CallArgument::Expression(_) => types.contains(&Type::Expression),
            };
            if !is_accepted {
                return Err(self.wrong_type(index));
            }
        }
        Ok(())
    }

    /// Notes that the function may read the value of a number.
    fn note_numbers(&self, argument: &CallArgument<'_>, types: &[Type]) {
        let has_number = match argument {
            CallArgument::Value(Value::Number(_)) => true,
            CallArgument::Value(Value::Array(items)) => {
                types.contains(&Type::Numbers) && items.iter().any(|item| item.as_number().is_some())
            }
            _ => false,
        };
        if has_number {
            self.runtime.note_number();
        }
    }

    fn wrong_type(&self, index: usize) -> EvalError {
        let types = self.function.types(index).iter();
        let names: Vec<_> = types.map(|accepted| format!("{:?}", accepted.name())).collect();
        EvalError::ArgumentType(Box::new(WrongArgument {
            function: self.function.name,
            position: index + 1,
            given: match self.arguments.get(index) {
                Some(CallArgument::Value(value)) => given(value, self.function.types(index)),
                _ => "an expression",
            },
            wanted: wanted(self.function.types(index)),
            found: match self.arguments.get(index) {
                Some(CallArgument::Value(value)) => displayed(value),
                _ => "expref".into(),
            },
            expected: format!("[]jmespath.JpType{{{}}}", names.join(", ")),
        }))
    }

    /// The result in Kyverno if an argument is a typed integer or the result of `items`, which has a Go type of its own.
    /// `None` if the function is to be called.
    fn typed_result(&self, nodes: &[Argument]) -> Option<SearchResult> {
        nodes.iter().enumerate().find_map(|(index, node)| {
            let Argument::Value(node) = node else { return None };
            if let Some(CallArgument::Value(Value::Number(number))) = self.arguments.get(index)
                && number.is_typed_integer()
            {
                return self.with_typed_integer(index);
            }
            let (divergence, result) = if node.is_typed_integer() {
                (Divergence::CompareResult, self.with_typed_integer(index)?)
            } else if node.calls("items") {
                (Divergence::ItemsResult, self.with_typed_list(index)?)
            } else {
                return None;
            };
            (!self.runtime.tracker.documented(divergence)).then_some(result)
        })
    }

    fn with_typed_integer(&self, index: usize) -> Option<SearchResult> {
        match self.function.name {
            "type" | "to_number" => Some(Err(self.fail("unknown type"))),
            "add" | "subtract" | "multiply" | "divide" | "modulo" => Some(Err(self.fail("invalid operand"))),
            _ if self.function.types(index).contains(&Type::Any) => None,
            _ => Some(Err(self.wrong_type(index))),
        }
    }

    fn with_typed_list(&self, index: usize) -> Option<SearchResult> {
        match self.function.name {
            "type" => Some(Err(self.fail("unknown type"))),
            "to_array" => Some(Ok(Value::array(vec![self.value(0).clone()]))),
            "reverse" | "map" | "sort_by" | "max_by" | "min_by" | "items" | "lookup"
            | "object_from_lists" => {
                Some(Err(self.fail(format_args!("argument #{} is not of type Array", index + 1))))
            }
            "sum" if self.list(0).len() == 1 => Some(Err(self.fail("Types mismatch"))),
            "contains" if index == 0 => Some(Err(self.fail("argument #1 is not of type Array"))),
            _ => None,
        }
    }

    /// The error of this function with a message. Kyverno's own functions name themselves.
    pub(super) fn fail(&self, message: impl fmt::Display) -> EvalError {
        match self.fail_plainly(message) {
            EvalError::Plain { function: name, text } if self.function.is_own => {
                EvalError::Function { name, text }
            }
            error => error,
        }
    }

    /// The error of this function with a message that does not name it: Kyverno returns the error of a library.
    pub(super) fn fail_plainly(&self, message: impl fmt::Display) -> EvalError {
        let text = shortened(&message.to_string(), MAX_MESSAGE_CHARS);
        EvalError::Plain { function: self.function.name, text }
    }

    /// The argument at an index; null if it is an expression.
    pub(super) fn value(&self, index: usize) -> &Value {
        static NULL: Value = Value::Null;
        match self.arguments.get(index) {
            Some(CallArgument::Value(value)) => value,
            _ => &NULL,
        }
    }

    /// The arguments that are values.
    pub(in crate::jmespath) fn values(&self) -> impl Iterator<Item = &Value> {
        self.arguments.iter().filter_map(|argument| match argument {
            CallArgument::Value(value) => Some(value),
            CallArgument::Expression(_) => None,
        })
    }

    pub(super) fn text(&self, index: usize) -> &str {
        self.value(index).as_str().unwrap_or_default()
    }

    pub(super) fn number(&self, index: usize) -> Number {
        self.value(index).as_number().cloned().unwrap_or_else(|| Number::from(0))
    }

    pub(super) fn list(&self, index: usize) -> &[Value] {
        self.value(index).as_array().unwrap_or_default()
    }

    pub(super) fn object(&self, index: usize) -> impl Iterator<Item = (&Text, &Value)> {
        self.value(index).as_object().into_iter().flat_map(Map::iter)
    }

    /// Evaluates the expression at an index on a value; a missing key is null.
    pub(super) fn apply(&self, index: usize, on: &Value) -> SearchResult {
        match self.arguments.get(index) {
            Some(CallArgument::Expression(node)) => (self.evaluate)(node, on),
            _ => Ok(Value::Null),
        }
    }

    /// A text as result; an error if it is too long.
    pub(super) fn text_result(&self, text: impl Into<Text> + AsRef<str>) -> SearchResult {
        self.runtime.allow_bytes(text.as_ref().len())?;
        Ok(Value::String(text.into()))
    }

    /// A number as result; an error for infinities and NaN, which JSON does not have.
    pub(super) fn number_result(&self, value: f64) -> SearchResult {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| self.fail("the result is no finite number"))
    }
}

/// What an argument is that none of the types includes.
fn given(value: &Value, types: &[Type]) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_typed_integer() => "an integer that is no JMESPath number",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) if types.iter().any(|accepted| accepted.is_list()) => "a list of other values",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// `a string or a number`
fn wanted(types: &[Type]) -> String {
    types.iter().map(|accepted| accepted.plain()).collect::<Vec<_>>().join(" or ")
}

/// An argument in an error message: null, booleans and numbers as they are, everything else by its type, because it may
/// be a secret.
fn displayed(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => float_text(number.as_f64()),
        Value::String(_) | Value::Array(_) | Value::Object(_) => value.type_name().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_no_text_of_a_value() {
        let json = |text| Value::from_json(text).unwrap();
        for (value, text) in
            [("null", "<nil>"), ("1e8", "1e+08"), (r#""secret""#, "string"), ("[1]", "array")]
        {
            assert_eq!(displayed(&json(value)), text);
        }
        assert_eq!(shortened(&"ä".repeat(200), 128).chars().count(), 129);
    }
}
