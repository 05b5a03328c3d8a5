//! Lists, maps and messages.

use super::{Checked, Checker};
use crate::cel::ast::{Element, Entry, Message};
use crate::cel::meter::Meter;
use crate::cel::plan::{MessageStep, Step};
use crate::cel::types::{Type, is_equal_or_less_specific};

impl Checker<'_> {
    pub(super) fn list(&mut self, elements: &[Element]) -> Checked {
        let mut steps = Vec::with_capacity(elements.len());
        let mut joined: Option<Type> = None;
        let mut types = Vec::with_capacity(elements.len());
        for element in elements {
            let at = element.value.at;
            let (step, t) = self.check(&element.value);
            let t = self.element_type(at, &t, element.optional);
            joined = Some(self.joined(joined, &t));
            types.push((at, t));
            steps.push((step, element.optional));
        }
        if self.in_format {
            self.elements.clone_from(&types);
        }
        self.homogeneous_later(types);
        let t = Type::list(joined.unwrap_or_else(|| self.unifier.fresh()));
        (constant(Step::List(steps)), t)
    }

    pub(super) fn map(&mut self, entries: &[Entry]) -> Checked {
        let mut steps = Vec::with_capacity(entries.len());
        let (mut key_type, mut value_type) = (None, None);
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for entry in entries {
            let (key, t) = self.check(&entry.key);
            key_type = Some(self.joined(key_type, &t));
            keys.push((entry.key.at, t));
            let (value, t) = self.check(&entry.value);
            let t = self.element_type(entry.value.at, &t, entry.optional);
            value_type = Some(self.joined(value_type, &t));
            values.push((entry.value.at, t));
            steps.push((key, value, entry.optional));
        }
        self.homogeneous_later(keys);
        self.homogeneous_later(values);
        let key = key_type.unwrap_or_else(|| self.unifier.fresh());
        let value = value_type.unwrap_or_else(|| self.unifier.fresh());
        (constant(Step::Map(steps)), Type::map(key, value))
    }

    /// The type that an element adds: of `?element` that inside of the optional value.
    fn element_type(&mut self, at: usize, t: &Type, optional: bool) -> Type {
        if !optional {
            return t.clone();
        }
        let resolved = self.resolved(t);
        let (inner, was_optional) = resolved.unwrapped();
        if !was_optional && !inner.is_dyn_or_error() {
            self.report(at, format!("expected type 'optional_type({inner})' but found '{inner}'"));
        }
        inner.clone()
    }

    /// The type of elements of two types.
    fn joined(&mut self, before: Option<Type>, t: &Type) -> Type {
        let Some(before) = before else { return t.clone() };
        if !self.unifier.is_assignable(&before, t) {
            return Type::Dyn;
        }
        if is_equal_or_less_specific(&before, t) { before } else { t.clone() }
    }

    pub(super) fn message(&mut self, at: usize, message: &Message) -> Checked {
        let name = message.name.trim_start_matches('.');
        if name.starts_with("google.protobuf.") {
            let message = format!("`{name}{{}}` is not supported here: write the value itself");
            return self.refused(at, message);
        }
        let found = self.env.type_named(name);
        let Some(t) = found else {
            return self.refused(at, format!("undeclared reference to '{name}'"));
        };
        if !matches!(t, Type::Named(_)) {
            return self.refused(at, format!("'{name}' is not a message type"));
        }
        let mut fields = Vec::with_capacity(message.fields.len());
        for field in &message.fields {
            let (step, value_type) = self.check(&field.value);
            let value_type = self.element_type(field.value.at, &value_type, field.optional);
            match self.env.field(name, &field.name) {
                None => self.report(field.at, format!("undefined field '{}'", field.name)),
                Some(declared) => {
                    if !self.unifier.is_assignable(&declared, &value_type) {
                        let found = self.resolved(&value_type);
                        self.report(
                            field.at,
                            format!(
                                "expected type of field '{}' is '{declared}' but provided type is '{found}'",
                                field.name
                            ),
                        );
                    }
                }
            }
            fields.push((field.name.clone(), step, field.optional));
        }
        (Step::Message(Box::new(MessageStep { name: name.into(), fields })), t)
    }
}

/// A literal of constants is a constant.
fn constant(step: Step) -> Step {
    let is_constant = match &step {
        Step::List(elements) => elements.iter().all(|(element, _)| element.as_const().is_some()),
        Step::Map(entries) => {
            entries.iter().all(|(key, value, _)| key.as_const().is_some() && value.as_const().is_some())
        }
        _ => false,
    };
    if !is_constant {
        return step;
    }
    match crate::cel::eval::literal(&step, &mut Meter::default()) {
        Some(Ok(value)) => Step::Const(value),
        _ => step,
    }
}
