//! Whether a configuration fits the schema.

use std::collections::BTreeSet;

use crate::admission::{Forms, ListMerge, ListType, MapType, ScalarType, Schema};
use crate::patch::Limit;
use crate::pattern::nearest;
use crate::value::{MAX_DEPTH, Map, Pointer, Value};

use super::Atomics;
use super::error::{ApplyError, Fault, Problem};
use super::key::ElementKey;
use super::path::Path;

/// Checks a configuration against the schema of its kind.
pub(super) fn check(configuration: &Value, schema: Schema<'_>, atomics: Atomics) -> Result<(), ApplyError> {
    let mut check = Check::default();
    check.value(configuration, schema, (None, atomics == Atomics::Refused))?;
    if !check.faults.is_empty() {
        Err(ApplyError::Configuration(check.faults))
    } else if !check.atomics.is_empty() {
        Err(ApplyError::Atomic(check.atomics))
    } else {
        Ok(())
    }
}

/// The fields of a patched object that a cluster does not store, without those that the object before has, too.
#[derive(Debug, Default)]
pub struct NotStoredFields {
    /// Fields that the schema does not have.
    pub unknown: Vec<Fault>,
    /// Elements of lists that lack a key that an element must have.
    pub without_key: Vec<Fault>,
}

/// Finds the fields of a patched object that a cluster does not store.
///
/// # Errors
///
/// An object that is nested too deep.
pub fn not_stored_fields(
    before: &Value,
    patched: &Value,
    schema: Schema<'_>,
) -> Result<NotStoredFields, Limit> {
    let found = |object, known| {
        let mut check = Check::default();
        check.value(object, schema, (known, false))?;
        check.faults.retain(|fault| matches!(fault.problem, Problem::UnknownField { .. }));
        Ok(NotStoredFields { unknown: check.faults, without_key: check.without_key })
    };
    let mut fields = found(patched, Some(before))?;
    if !fields.unknown.is_empty() || !fields.without_key.is_empty() {
        let known = found(before, None)?;
        fields.unknown.retain(|fault| !known.unknown.contains(fault));
        fields.without_key.retain(|fault| !known.without_key.contains(fault));
    }
    Ok(fields)
}

/// Checks that what was changed in an object fits its schema. Elements of lists may have equal keys.
///
/// # Errors
///
/// The first fault that the object before does not have; an object that is nested too deep.
pub fn check_changed(before: &Value, changed: &Value, schema: Schema<'_>) -> Result<(), ApplyError> {
    let faults = |object, known| -> Result<Vec<Fault>, Limit> {
        let mut check = Check::default();
        check.value(object, schema, (known, false))?;
        check.faults.retain(|fault| !matches!(fault.problem, Problem::Duplicate { .. }));
        Ok(check.faults)
    };
    let found = faults(changed, Some(before))?;
    if found.is_empty() {
        return Ok(());
    }
    let known = faults(before, None)?;
    let fault = found.into_iter().find(|fault| !known.contains(fault));
    fault.map_or(Ok(()), |fault| Err(ApplyError::Object(fault)))
}

#[derive(Default)]
struct Check<'v> {
    path: Path<'v>,
    faults: Vec<Fault>,
    /// Elements that merge by the default of a key and may not have it.
    without_key: Vec<Fault>,
    atomics: Vec<Pointer>,
}

impl<'v> Check<'v> {
    /// Checks a value and what is below it. What it shares with `known` is not looked at. `refuses_atomics`: what is
    /// replaced as a whole is an error.
    fn value(
        &mut self,
        value: &'v Value,
        schema: Schema<'v>,
        (known, refuses_atomics): (Option<&'v Value>, bool),
    ) -> Result<(), Limit> {
        if self.path.len() > MAX_DEPTH {
            return Err(Limit::Depth);
        }
        if known.is_some_and(|known| value.same_storage(known)) {
            return Ok(());
        }
        let forms = schema.forms();
        match value {
            Value::Null => return Ok(()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                if forms.scalar.is_some_and(|scalar| is_scalar(value, scalar)) {
                    return Ok(());
                }
            }
            Value::Array(items) => {
                if let Some(list) = forms.list {
                    return self.list(items, list, (known, refuses_atomics));
                }
            }
            Value::Object(members) => {
                if let Some(map) = forms.map {
                    return self.map(members, map, (known, refuses_atomics));
                }
            }
        }
        self.fault(wrong_type(value, forms));
        Ok(())
    }

    fn list(
        &mut self,
        items: &'v [Value],
        list: ListType<'v>,
        (known, refuses_atomics): (Option<&'v Value>, bool),
    ) -> Result<(), Limit> {
        if refuses_atomics && matches!(list.merge, ListMerge::Atomic) {
            self.atomics.push(self.path.pointer());
        }
        let mut keys = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            self.path.push_index(index);
            let beside = (known.and_then(|known| known.at(index)), refuses_atomics);
            match ElementKey::of(item, list) {
                Ok(None) => self.value(item, list.elements, beside)?,
                Ok(Some(key)) => {
                    self.required_keys(item, list.merge);
                    let text = keys.contains(&key).then(|| key.describe(list.merge));
                    match text {
                        Some(key) => self.fault(Problem::Duplicate { key }),
                        None => _ = keys.insert(key),
                    }
                    self.value(item, list.elements, beside)?;
                }
                Err(problem) => self.fault(problem),
            }
            self.path.pop();
        }
        Ok(())
    }

    /// Notes the keys that an element must have. The schemas of Kubernetes have the default `""` or 0 for these, which
    /// its validation refuses.
    fn required_keys(&mut self, item: &Value, merge: ListMerge<'_>) {
        let ListMerge::Keys(keys) = merge else { return };
        let is_empty = |value: &Value| match value {
            Value::String(text) => text.is_empty(),
            Value::Number(number) => number.as_i64() == Some(0),
            _ => false,
        };
        for key in keys.iter().filter(|key| key.default.as_ref().is_some_and(is_empty)) {
            if item.get(&key.name).is_none() {
                let problem = Problem::NoKey { keys: key.name.to_string() };
                self.without_key.push(Fault { at: self.path.pointer(), problem });
            }
        }
    }

    fn map(
        &mut self,
        members: &'v Map,
        map: MapType<'v>,
        (known, refuses_atomics): (Option<&'v Value>, bool),
    ) -> Result<(), Limit> {
        let known = known.and_then(Value::as_object);
        if refuses_atomics && map.is_atomic {
            self.atomics.push(self.path.pointer());
        }
        for (index, (name, member)) in members.iter().enumerate() {
            let known = known.and_then(|known| known.get_near(name, index));
            if known.is_some_and(|known| member.same_storage(known)) {
                continue;
            }
            self.path.push_key(name);
            match (map.field(name), map.values) {
                (Some(field), _) => self.value(member, field, (known, refuses_atomics))?,
                // The API server does not look for what is replaced as a whole among the values of maps.
                (None, Some(values)) => self.value(member, values, (known, false))?,
                (None, None) => {
                    let nearest = nearest(name, map.names()).map(str::to_owned);
                    self.fault(Problem::UnknownField { nearest });
                }
            }
            self.path.pop();
        }
        Ok(())
    }

    fn fault(&mut self, problem: Problem) {
        self.faults.push(Fault { at: self.path.pointer(), problem });
    }
}

fn is_scalar(value: &Value, scalar: ScalarType) -> bool {
    match scalar {
        ScalarType::Any => true,
        ScalarType::Bool => matches!(value, Value::Bool(_)),
        ScalarType::Number => matches!(value, Value::Number(_)),
        ScalarType::String => matches!(value, Value::String(_)),
    }
}

/// That a value has none of the forms that it may have.
pub(super) fn wrong_type(value: &Value, forms: Forms<'_>) -> Problem {
    let expected = match forms {
        Forms { map: Some(_), .. } => "object",
        Forms { list: Some(_), .. } => "array",
        Forms { scalar: Some(ScalarType::Bool), .. } => "boolean",
        Forms { scalar: Some(ScalarType::Number), .. } => "number",
        Forms { scalar: Some(ScalarType::String), .. } => "string",
        Forms { .. } => "scalar",
    };
    Problem::WrongType { expected, found: value.type_name() }
}
