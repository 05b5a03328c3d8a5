//! Which integers Kyverno keeps as integers, and which as floats.

use crate::engine::Limits;
use crate::jmespath::{EvalError, Runtime};
use crate::value::{Text, Value};

use super::variable_names::{contains, names};

/// The values of the context in which Kyverno keeps integers as integers. In all others they are floats.
#[derive(Default)]
pub(super) struct TypedIntegers {
    /// `request.object`
    pub(super) object: bool,
    /// `request.oldObject`
    pub(super) old_object: bool,
    /// Other values, by name.
    pub(super) names: Vec<Text>,
    /// Whether an expression used such a value.
    pub(super) used: bool,
    /// An object, and the same with typed integers.
    cached: Option<(Value, Value)>,
}

impl TypedIntegers {
    pub(super) fn set(&mut self, name: &Text, is_typed: bool) {
        self.names.retain(|known| known != name);
        if is_typed {
            self.names.push(name.clone());
        }
    }

    /// Whether an expression uses such a value.
    pub(super) fn is_used_by(&self, expression: &str) -> bool {
        self.object && contains(expression, "request.object")
            || self.old_object && contains(expression, "request.oldObject")
            || self.names.iter().any(|name| names(expression, name))
    }

    /// The context with typed integers as in Kyverno.
    pub(super) fn root(
        &mut self,
        root: &Value,
        object: &Value,
        runtime: &Runtime<'_>,
    ) -> Result<Value, EvalError> {
        let mut root = root.clone();
        if let Some(request) = root.as_object_mut().and_then(|root| root.get_mut("request")) {
            if self.object {
                request.insert("object", self.typed(object, runtime)?);
            }
            if self.old_object
                && let Some(old) = request.get("oldObject").map(Value::with_typed_integers)
            {
                request.insert("oldObject", old);
            }
        }
        for name in &self.names {
            if let Some(value) = root.get(name).map(Value::with_typed_integers) {
                root.insert(name.clone(), value);
            }
        }
        Ok(root)
    }

    fn typed(&mut self, object: &Value, runtime: &Runtime<'_>) -> Result<Value, EvalError> {
        if let Some((known, typed)) = &self.cached
            && known.same_storage(object)
        {
            return Ok(typed.clone());
        }
        runtime.spend((object.weight() / Limits::LOOP_BYTES) as u64)?;
        let typed = object.with_typed_integers();
        self.cached = Some((object.clone(), typed.clone()));
        Ok(typed)
    }
}
