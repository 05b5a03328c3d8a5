//! `Object{…}` as an apply configuration.

use std::fmt;

use crate::diagnostics::{Code, Coded};
use crate::value::{MAX_DEPTH, Map, Number, Pointer, Text, Value};

use super::error::EvalError;
use super::json::part_to_json;
use super::meter::Meter;
use super::value::{Entries, Key, List, Mapping, MessageVal, Val};

/// Why a value is no apply configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// It is no `Object{…}`.
    #[error("an apply configuration must be an `Object{{…}}`, found {0}")]
    NotAnObject(String),
    /// Types of `Object{…}` do not have the names of the fields that they are in.
    #[error("type mismatch: {}", joined(.0))]
    TypeNames(Vec<TypeNameMismatch>),
    /// Values that the API server does not convert.
    #[error("invalid apply configuration: {}", joined(.0))]
    Values(Vec<ForeignValue>),
    /// It is nested too deep.
    #[error("the apply configuration is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// It has too many values, or too large ones.
    #[error("the apply configuration is too large: {0}")]
    TooLarge(EvalError),
}

/// A constructor that does not have the name of its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unexpected type name {found:?}, expected {expected:?}")]
pub struct TypeNameMismatch {
    /// Its name.
    pub found: Text,
    /// `Object` and the names of the fields above it.
    pub expected: String,
}

/// A value that is none of a manifest, or where the API server does not expect one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct ForeignValue {
    /// Its field.
    pub at: Pointer,
    /// What it is, and what to write.
    pub problem: String,
}

impl Coded for ConfigurationError {
    fn code(&self) -> Code {
        match self {
            Self::TooDeep | Self::TooLarge(_) => Code::EvaluationLimit,
            Self::NotAnObject(_) => Code::CelFailed,
            Self::TypeNames(_) | Self::Values(_) => Code::ApplyConfiguration,
        }
    }
}

/// Converts the value of the expression of an `applyConfiguration`, as the API server does it.
///
/// Types must have the name of the fields that they are in. Maps and lists that the expression made become JSON only
/// as values of fields, not inside of one another; those of objects nest. `apiVersion` and `kind` are left out.
///
/// # Errors
///
/// Other values than `Object{…}`, wrong names of types, values that are not converted, limits.
pub fn apply_configuration(value: &Val) -> Result<Value, ConfigurationError> {
    let Val::Message(message) = value else {
        return Err(ConfigurationError::NotAnObject(value.type_name().to_owned()));
    };
    let mut converter = Converter::default();
    converter.names.push_str("Object");
    let converted = converter.message(message, true)?;
    if !converter.mismatches.is_empty() {
        Err(ConfigurationError::TypeNames(converter.mismatches))
    } else if !converter.foreign.is_empty() {
        Err(ConfigurationError::Values(converter.foreign))
    } else {
        Ok(converted)
    }
}

#[derive(Default)]
struct Converter {
    at: Pointer,
    /// `Object` and the fields above the value, with dots.
    names: String,
    mismatches: Vec<TypeNameMismatch>,
    foreign: Vec<ForeignValue>,
    /// Counts its values: one may occur in several places.
    meter: Meter,
}

type Converted = Result<Value, ConfigurationError>;

impl Converter {
    /// A message. `is_named`: its type must have the name of the field.
    fn message(&mut self, message: &MessageVal, is_named: bool) -> Converted {
        if is_named && *message.name != *self.names {
            let mismatch = TypeNameMismatch { found: message.name.clone(), expected: self.names.clone() };
            self.mismatches.push(mismatch);
        }
        let mut members = Map::with_capacity(message.fields.len());
        for (name, value) in &message.fields {
            let length = self.names.len();
            self.names.push('.');
            self.names.push_str(name);
            self.at.push_key(name.clone());
            let foreign = self.foreign.len();
            let converted = self.value(value, is_named, Place::Field)?;
            if self.at.segments().len() == 1 && matches!(&**name, "apiVersion" | "kind") {
                // Those of the object replace them, whatever they are.
                self.foreign.truncate(foreign);
            } else {
                members.insert(name.clone(), converted);
            }
            self.at.pop();
            self.names.truncate(length);
        }
        Ok(Value::object(members))
    }

    fn value(&mut self, value: &Val, is_named: bool, place: Place) -> Converted {
        if self.at.segments().len() > MAX_DEPTH {
            return Err(ConfigurationError::TooDeep);
        }
        self.meter.visit(1).map_err(ConfigurationError::TooLarge)?;
        Ok(match value {
            Val::Optional(None) => Value::Null,
            // The API server does not look for names in here.
            Val::Optional(Some(inner)) => {
                let is_named = is_named && !matches!(**inner, Val::Message(_));
                return self.value(inner, is_named, place);
            }
            Val::Message(message) => return self.message(message, is_named),
            Val::List(List::Json(..)) | Val::Map(Mapping::Json(..)) => self.json(value)?,
            Val::List(List::Joined(items)) => return self.list(items, false),
            Val::List(List::Made(items)) if place == Place::Field => return self.list(items, is_named),
            Val::Map(Mapping::Made(entries)) if place == Place::Field => return self.map(entries, is_named),
            Val::Bool(_) | Val::Int(_) | Val::String(_) | Val::Type(_) => self.json(value)?,
            Val::Double(value) if value.is_finite() => {
                Number::from_f64(*value).map_or(Value::Null, Value::Number)
            }
            _ => {
                let problem = self.problem(value);
                self.foreign.push(ForeignValue { at: self.at.clone(), problem });
                Value::Null
            }
        })
    }

    /// A value of a manifest, or a scalar.
    fn json(&mut self, value: &Val) -> Converted {
        match part_to_json(value, &mut self.meter) {
            Err(error) if error.is_final() => Err(ConfigurationError::TooLarge(error)),
            converted => Ok(converted.unwrap_or_default()),
        }
    }

    fn list(&mut self, items: &[Val], is_named: bool) -> Converted {
        let mut converted = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.at.push_index(index);
            converted.push(self.value(item, is_named, Place::Inside)?);
            self.at.pop();
        }
        Ok(Value::array(converted))
    }

    fn map(&mut self, entries: &Entries, is_named: bool) -> Converted {
        let mut members = Map::with_capacity(entries.len());
        for (key, value) in entries {
            let Key::String(key) = key else {
                let problem = format!("the key {} is no string", key.value().display());
                self.foreign.push(ForeignValue { at: self.at.clone(), problem });
                continue;
            };
            self.at.push_key(key.clone());
            members.insert(key.clone(), self.value(value, is_named, Place::Inside)?);
            self.at.pop();
        }
        Ok(Value::object(members))
    }

    /// What is wrong with a value that is not converted.
    fn problem(&self, value: &Val) -> String {
        match value {
            Val::Null => "null is no value here, and it removes nothing: leave the field out".to_owned(),
            Val::Uint(_) => "an unsigned integer is no value here: write an integer, or `int(…)`".to_owned(),
            Val::Double(_) => "infinities and NaN are no values here".to_owned(),
            Val::Map(_) => {
                format!("a map inside of a map or list is not converted: write `{}{{…}}`", self.type_below())
            }
            Val::List(_) => "a list inside of a map or list is not converted".to_owned(),
            other => format!("a value of type {} is no value here", other.type_name()),
        }
    }

    /// The name of the type of an `Object{…}` at the current place.
    fn type_below(&self) -> String {
        use crate::value::Segment;
        let names = self.at.segments().iter().filter_map(|segment| match segment {
            Segment::Key(key) => Some(&**key),
            Segment::Index(_) => None,
        });
        let names: Vec<&str> = std::iter::once("Object").chain(names).collect();
        names.join(".")
    }
}

/// Where a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the value of a field of `Object{…}`.
    Field,
    /// It is in a list or map that an expression made.
    Inside,
}

/// The items, at most [`MAX_LISTED`] of them.
fn joined(items: &[impl fmt::Display]) -> String {
    const MAX_LISTED: usize = 20;
    let mut listed: Vec<String> = items.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if items.len() > MAX_LISTED {
        listed.push(format!("and {} more", items.len() - MAX_LISTED));
    }
    listed.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::{Activation, Dialect, Env, Numbers, Program};

    const OBJECT: &str = r#"{"metadata": {"name": "p", "labels": {"a": null}}, "list": [{"name": "a"}]}"#;

    /// What becomes of an expression for an object.
    fn converted(expression: &str) -> Result<String, String> {
        let env = Env::policy(Dialect::Kubernetes).with_messages();
        let program = Program::compile(&env, expression).expect(expression);
        let mut activation = Activation::new(&env, &[]);
        activation.set("object", Val::from_json(&Value::from_json(OBJECT).expect("JSON"), Numbers::Exact));
        let value = program.evaluate(&activation, &mut Meter::default()).expect(expression);
        apply_configuration(&value).map(|value| value.to_json()).map_err(|error| error.to_string())
    }

    #[test]
    fn constructors_and_values_of_objects_are_converted() {
        for (expression, expected) in [
            ("Object{}", "{}"),
            ("Object{kind: 5u, apiVersion: 'a'}", "{}"),
            (
                "Object{spec: Object.spec{a: 1, b: 1.5, c: 'x', d: true}}",
                r#"{"spec":{"a":1,"b":1.5,"c":"x","d":true}}"#,
            ),
            ("Object{a: [Object.a{b: 1}], c: {'d': 2}}", r#"{"a":[{"b":1}],"c":{"d":2}}"#),
            ("Object{a: object.metadata}", r#"{"a":{"name":"p","labels":{"a":null}}}"#),
            ("Object{a: [object.metadata.labels]}", r#"{"a":[{"a":null}]}"#),
            ("Object{a: object.list.map(x, Object.a{name: x.name})}", r#"{"a":[{"name":"a"}]}"#),
            ("Object{a: object.list + [Object.a{}]}", r#"{"a":[{"name":"a"},{}]}"#),
            ("Object{?a: optional.none(), b: optional.none(), c: optional.of('x')}", r#"{"b":null,"c":"x"}"#),
            ("Object{a: type(1), b: 2.0}", r#"{"a":"int","b":2}"#),
            ("Object{a: [[1] + [2]]}", r#"{"a":[[1,2]]}"#),
            ("Object{a: [dyn(Object.b{})] + [dyn(1)]}", r#"{"a":[{},1]}"#),
            ("Object{a: optional.of(Object.b{})}", r#"{"a":{}}"#),
        ] {
            assert_eq!(converted(expression).as_deref(), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn other_values_and_wrong_names_are_refused() {
        for (expression, expected) in [
            (
                "Object{spec: Object.wrong{}}",
                r#"type mismatch: unexpected type name "Object.wrong", expected "Object.spec""#,
            ),
            (
                "Object{a: [Object.b{}]}",
                r#"type mismatch: unexpected type name "Object.b", expected "Object.a""#,
            ),
            (
                "Object{a: {'b': Object.a.b{}}}",
                r#"type mismatch: unexpected type name "Object.a.b", expected "Object.a""#,
            ),
            (
                "Object{a: {'b': {'c': 'd'}}}",
                "a.b: a map inside of a map or list is not converted: write `Object.a.b{…}`",
            ),
            (
                "Object{a: [{'b': 'c'}]}",
                "a[0]: a map inside of a map or list is not converted: write `Object.a{…}`",
            ),
            ("Object{a: [[1]]}", "a[0]: a list inside of a map or list is not converted"),
            ("Object{a: {1: 'b'}}", "a: the key 1 is no string"),
            ("Object{a: null}", "a: null is no value here, and it removes nothing: leave the field out"),
            (
                "Object{a: object.metadata.labels.a}",
                "a: null is no value here, and it removes nothing: leave the field out",
            ),
            ("Object{a: 5u}", "a: an unsigned integer is no value here: write an integer, or `int(…)`"),
            (
                "Object{a: b'x', b: duration('1h')}",
                "a: a value of type bytes is no value here; b: a value of type google.protobuf.Duration is no value here",
            ),
            ("Object{a: 1.0 / 0.0}", "a: infinities and NaN are no values here"),
        ] {
            let found = converted(expression);
            let is_name = expected.starts_with("type mismatch");
            let prefix = if is_name { "" } else { "invalid apply configuration: " };
            assert_eq!(found, Err(format!("{prefix}{expected}")), "{expression}");
        }
        let none = "an apply configuration must be an `Object{…}`, found null_type";
        assert_eq!(converted("false ? Object{} : null"), Err(none.to_owned()));
    }

    #[test]
    fn values_in_many_places_are_bounded() {
        let mut value = Val::string("x");
        for _ in 0..64 {
            let fields = [("a", value.clone()), ("b", value)];
            let fields = fields.into_iter().map(|(name, value)| (Text::from(name), value)).collect();
            value = Val::Message(std::sync::Arc::new(MessageVal { name: "Object".into(), fields }));
        }
        assert!(matches!(apply_configuration(&value), Err(ConfigurationError::TooLarge(_))));
    }
}
