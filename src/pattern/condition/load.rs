//! Parsing conditions.

use std::fmt;

use super::{Condition, Conditions};
use crate::pattern::Operator;
use crate::pattern::nearest::nearest;
use crate::value::{Map, Pointer, Text, Value};

/// An error in the conditions of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCondition {
    /// Its path from the root of the block.
    pub pointer: Pointer,
    /// The error, as a fragment without full stop.
    pub message: String,
    /// The name that was probably intended.
    pub suggestion: Option<String>,
}

impl fmt::Display for InvalidCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.pointer.is_root() {
            write!(f, " at `{}`", self.pointer)?;
        }
        if let Some(suggestion) = &self.suggestion {
            write!(f, ", did you mean `{suggestion}`?")?;
        }
        Ok(())
    }
}

const BLOCK: [&str; 2] = ["any", "all"];
const FIELDS: [&str; 4] = ["key", "operator", "value", "message"];

/// The operations of requests.
const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

impl Conditions {
    /// Parses conditions: a list of conditions, or an object with `any`, `all` or both. Null always holds.
    ///
    /// # Errors
    ///
    /// All errors: other types, unknown fields, and what Kyverno refuses when a policy is created: a missing key, operator
    /// or value, an operator that is not spelled exactly, and an unknown operation compared with
    /// `{{request.operation}}`.
    pub fn parse(value: &Value) -> Result<Self, Vec<InvalidCondition>> {
        let mut loader = Loader::default();
        let conditions = loader.block(value);
        match conditions {
            Some(conditions) if loader.errors.is_empty() => Ok(conditions),
            _ => Err(loader.errors),
        }
    }
}

#[derive(Default)]
struct Loader {
    at: Pointer,
    errors: Vec<InvalidCondition>,
}

impl Loader {
    fn error(&mut self, message: impl Into<String>) {
        self.error_at(self.at.clone(), message, None);
    }

    fn error_at(&mut self, pointer: Pointer, message: impl Into<String>, suggestion: Option<&str>) {
        let suggestion = suggestion.map(str::to_owned);
        self.errors.push(InvalidCondition { pointer, message: message.into(), suggestion });
    }

    /// Runs `read` at a member.
    fn within<R>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> R) -> R {
        self.at.push_key(key);
        let result = read(self);
        self.at.pop();
        result
    }

    fn block(&mut self, value: &Value) -> Option<Conditions> {
        match value {
            Value::Null => Some(Conditions::AnyAll { any: None, all: None }),
            Value::Array(items) => Some(Conditions::List(self.conditions(items))),
            Value::Object(members) if members.contains_key("key") || members.contains_key("operator") => {
                self.error("a condition must be an element of a list, as under `any` or `all`");
                None
            }
            Value::Object(members) => {
                self.unknown_fields(members, &BLOCK);
                let any = self.within("any", |loader| loader.list(members.get("any")));
                let all = self.within("all", |loader| loader.list(members.get("all")));
                Some(Conditions::AnyAll { any, all })
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                let found = with_article(value.type_name());
                self.error(format!(
                    "expected a list of conditions, or an object with `any` and `all`, found {found}"
                ));
                None
            }
        }
    }

    fn list(&mut self, value: Option<&Value>) -> Option<Vec<Condition>> {
        match value? {
            Value::Null => None,
            Value::Array(items) => Some(self.conditions(items)),
            other => {
                let found = with_article(other.type_name());
                self.error(format!("expected a list of conditions, found {found}"));
                None
            }
        }
    }

    fn conditions(&mut self, items: &[Value]) -> Vec<Condition> {
        let mut conditions = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.at.push_index(index);
            conditions.extend(self.condition(item));
            self.at.pop();
        }
        conditions
    }

    fn condition(&mut self, item: &Value) -> Option<Condition> {
        let Some(members) = item.as_object() else {
            self.error(format!("expected a condition, found {}", with_article(item.type_name())));
            return None;
        };
        if BLOCK.iter().any(|name| members.contains_key(name)) {
            self.error(
                "expected a condition, found `any` or `all`: a list of such blocks is not supported here",
            );
            return None;
        }
        self.unknown_fields(members, &FIELDS);
        let key = self.required(members, "key").cloned();
        let operator = self.operator(members);
        let value = self.required(members, "value").cloned();
        let message = self.message(members);
        if let (Some(key), Some(value)) = (&key, &value) {
            self.operation(key, value);
        }
        let (key, value) = (key?, value?);
        let written = (key.clone(), value.clone());
        Some(Condition::new(key, operator?, value, message, self.at.clone(), written))
    }

    fn unknown_fields(&mut self, members: &Map, known: &[&str]) {
        for field in members.keys().filter(|field| !known.contains(&&***field)) {
            let suggestion = nearest(field, known.iter().copied());
            self.error_at(self.at.key(field.clone()), "unknown field", suggestion);
        }
    }

    /// A required member; as in Kyverno, null is missing.
    fn required<'a>(&mut self, members: &'a Map, name: &str) -> Option<&'a Value> {
        let found = members.get(name).filter(|value| !value.is_null());
        if found.is_none() {
            self.error(format!("`{name}` is missing"));
        }
        found
    }

    fn operator(&mut self, members: &Map) -> Option<Operator> {
        let name = self.required(members, "operator")?;
        self.within("operator", |loader| {
            let Some(name) = name.as_str() else {
                loader.error(format!("expected a string, found {}", with_article(name.type_name())));
                return None;
            };
            let operator = Operator::from_name(name);
            if operator.is_none() {
                let names = Operator::NAMES.iter().map(|(name, _)| *name);
                let nearest = nearest(name, names);
                let message =
                    if nearest.is_some() { "unknown operator".to_owned() } else { unknown_operator() };
                loader.error_at(loader.at.clone(), message, nearest);
            }
            operator
        })
    }

    fn message(&mut self, members: &Map) -> Option<Text> {
        match members.get("message")? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => {
                let found = with_article(other.type_name());
                self.within("message", |loader| loader.error(format!("expected a string, found {found}")));
                None
            }
        }
    }

    /// Checks the operations that are compared with the operation of the request, as Kyverno does.
    fn operation(&mut self, key: &Value, value: &Value) {
        let is_operation =
            |text: &str| text.chars().filter(|c| *c != ' ').eq("{{request.operation}}".chars());
        if !key.as_str().is_some_and(is_operation) {
            return;
        }
        let exists = |value: &Value| value.as_str().is_some_and(|text| OPERATIONS.contains(&text));
        let is_variable = |text: &str| text.starts_with("{{") && text.ends_with("}}");
        let refuse = |loader: &mut Self| {
            loader.error(
                "expected CREATE, UPDATE, DELETE or CONNECT, as the key is the operation of the request",
            );
        };
        self.within("value", |loader| match value {
            Value::Array(items) => {
                for (index, _) in items.iter().enumerate().filter(|(_, item)| !exists(item)) {
                    loader.at.push_index(index);
                    refuse(loader);
                    loader.at.pop();
                }
            }
            Value::String(text) if is_variable(text) => {}
            _ if exists(value) => {}
            _ => refuse(loader),
        });
    }
}

/// The message about an operator that is like none, with all of them.
fn unknown_operator() -> String {
    let names: Vec<&str> = Operator::NAMES.iter().map(|(name, _)| *name).collect();
    format!("unknown operator, expected one of {}", names.join(", "))
}

fn with_article(type_name: &str) -> String {
    match type_name {
        "null" => "null".into(),
        "array" => "a list".into(),
        "object" => "an object".into(),
        _ => format!("a {type_name}"),
    }
}
