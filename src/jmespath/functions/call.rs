//! One call of a function: its arguments, checked.

use std::fmt;

use crate::jmespath::ast::{Argument, Node, PreparedRegexp};
use crate::jmespath::error::EvalError;
use crate::jmespath::interpreter::Interpreter;
use crate::jmespath::print;
use crate::jmespath::runtime::Runtime;
use crate::semantics::Divergence;
use crate::value::{Map, Number, Text, Value};

use super::Function;
use super::signature::Type;

/// An argument as the function gets it.
pub(in crate::jmespath) enum Given<'a> {
    Value(Value),
    Expression(&'a Node),
}

/// A function and the arguments it is called with.
///
/// The accessors rely on [`Invocation::check`]: for an argument of another type they give nothing.
pub(in crate::jmespath) struct Invocation<'a> {
    pub(in crate::jmespath) function: &'static Function,
    pub(in crate::jmespath) given: Vec<Given<'a>>,
    /// Where the expression of a call that has it written out is kept.
    pub(in crate::jmespath) prepared: Option<&'a PreparedRegexp>,
    pub(in crate::jmespath) interpreter: Interpreter<'a>,
}

type Answer = Result<Value, EvalError>;

impl Invocation<'_> {
    /// Calls the function.
    pub(in crate::jmespath) fn answer(&self, arguments: &[Argument]) -> Answer {
        self.check()?;
        match self.given_oddly(arguments) {
            Some(odd) => odd,
            None => (self.function.run)(self),
        }
    }

    /// Checks the number and the types of the arguments.
    pub(in crate::jmespath) fn check(&self) -> Result<(), EvalError> {
        let function = self.function.name;
        let parameters = self.function.parameters;
        if self.function.repeats {
            if self.given.is_empty() {
                return Err(EvalError::NoArguments { function });
            }
        } else if self.given.len() != parameters.len() {
            return Err(EvalError::ArgumentCount { function });
        }
        for (index, given) in self.given.iter().enumerate() {
            let Some(types) = parameters.get(index).or(parameters.last()) else { continue };
            // Functions go through their arguments at least once.
            self.runtime().spend_for(match given {
                Given::Value(Value::String(text)) => text.len(),
                Given::Value(Value::Array(items)) => items.len(),
                Given::Value(Value::Object(members)) => members.len(),
                _ => 0,
            })?;
            self.weigh(given, types);
            let holds = match given {
                Given::Value(value) => types.iter().any(|wanted| wanted.holds(value)),
                Given::Expression(_) => types.contains(&Type::Expression),
            };
            if !holds {
                return Err(self.wrong_type(index));
            }
        }
        Ok(())
    }

    /// Notes that the function may look at the value of a number.
    fn weigh(&self, given: &Given<'_>, types: &[Type]) {
        let weighs = match given {
            Given::Value(Value::Number(_)) => true,
            Given::Value(Value::Array(items)) => {
                types.contains(&Type::Numbers) && items.iter().any(|item| item.as_number().is_some())
            }
            _ => false,
        };
        if weighs {
            self.runtime().weigh();
        }
    }

    fn wrong_type(&self, index: usize) -> EvalError {
        let parameters = self.function.parameters;
        let types = parameters.get(index).or(parameters.last()).copied().unwrap_or_default();
        let names: Vec<_> = types.iter().map(|wanted| format!("{:?}", wanted.name())).collect();
        EvalError::ArgumentType {
            function: self.function.name,
            position: index + 1,
            found: match self.given.get(index) {
                Some(Given::Value(value)) => print::shown(value),
                _ => "expref".into(),
            },
            expected: format!("[]jmespath.JpType{{{}}}", names.join(", ")),
        }
    }

    /// What the controllers answer where an argument is an integer that is held as one, or the result of `compare` or
    /// `items`, which there have types of their own. `None` where the call is ordinary, or read as documented.
    pub(in crate::jmespath) fn given_oddly(&self, arguments: &[Argument]) -> Option<Answer> {
        arguments.iter().enumerate().find_map(|(index, argument)| {
            let Argument::Value(node) = argument else { return None };
            let types = *self.function.parameters.get(index).or(self.function.parameters.last())?;
            if let Some(Given::Value(Value::Number(number))) = self.given.get(index)
                && number.is_typed_integer()
            {
                return self.with_odd_number(index, types);
            }
            let (difference, answer) = if node.is_odd_number() {
                (Divergence::CompareResult, self.with_odd_number(index, types)?)
            } else if node.calls("items") {
                (Divergence::ItemsResult, self.with_odd_list(index)?)
            } else {
                return None;
            };
            (!self.runtime().tracker.documented(difference)).then_some(answer)
        })
    }

    fn with_odd_number(&self, index: usize, types: &[Type]) -> Option<Answer> {
        match self.function.name {
            "type" | "to_number" => Some(Err(self.fail("unknown type"))),
            "add" | "subtract" | "multiply" | "divide" | "modulo" => Some(Err(self.fail("invalid operand"))),
            _ if types.contains(&Type::Any) => None,
            _ => Some(Err(self.wrong_type(index))),
        }
    }

    fn with_odd_list(&self, index: usize) -> Option<Answer> {
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

    pub(super) const fn runtime(&self) -> &Runtime<'_> {
        self.interpreter.runtime
    }

    /// The error of this function with a text. Those of Kyverno name themselves, those of the standard do not.
    pub(super) fn fail(&self, text: impl fmt::Display) -> EvalError {
        if self.function.own {
            EvalError::Function { name: self.function.name, text: shortened(text.to_string()) }
        } else {
            self.fail_plainly(text)
        }
    }

    /// The error of this function with a text alone, where Kyverno passes on the text of a library.
    pub(super) fn fail_plainly(&self, text: impl fmt::Display) -> EvalError {
        EvalError::Plain { function: self.function.name, text: shortened(text.to_string()) }
    }

    /// The argument at a position; null where an expression stands.
    pub(super) fn value(&self, index: usize) -> &Value {
        static NULL: Value = Value::Null;
        match self.given.get(index) {
            Some(Given::Value(value)) => value,
            _ => &NULL,
        }
    }

    /// All arguments that are values.
    pub(in crate::jmespath) fn values(&self) -> impl Iterator<Item = &Value> {
        self.given.iter().filter_map(|given| match given {
            Given::Value(value) => Some(value),
            Given::Expression(_) => None,
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

    /// Evaluates the expression at a position on a value; a missing key gives null.
    pub(super) fn apply(&self, index: usize, on: &Value) -> Answer {
        match self.given.get(index) {
            Some(Given::Expression(node)) => self.interpreter.search_or_null(node, on),
            _ => Ok(Value::Null),
        }
    }

    /// A text as the result, if it is not too long.
    pub(super) fn text_result(&self, text: impl Into<Text> + AsRef<str>) -> Answer {
        self.runtime().allow_bytes(text.as_ref().len())?;
        Ok(Value::String(text.into()))
    }

    /// A number as the result.
    ///
    /// # Errors
    ///
    /// Infinities and NaN, which no JSON can hold.
    pub(super) fn number_result(&self, value: f64) -> Answer {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| self.fail("the result is no finite number"))
    }
}

/// The text of an error, cut where it repeats more of its argument than anybody reads.
fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(1000) {
        text.truncate(end);
        text.push('…');
    }
    text
}
