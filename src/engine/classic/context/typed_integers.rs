//! Which integers Kyverno holds as integers, and which as floats.

use crate::jmespath::{EvalError, Runtime};
use crate::value::{Text, Value};

use crate::engine::Limits;

use super::variable_names::names;

/// Which values of the context hold integers as integers, where Kyverno holds others as floats.
#[derive(Default)]
pub(super) struct TypedIntegers {
    /// `request.object`
    pub(super) object: bool,
    /// `request.oldObject`
    pub(super) old_object: bool,
    /// Other values, by name.
    pub(super) names: Vec<Text>,
    /// A variable gave such a value.
    pub(super) gave: bool,
    /// An object, and the same with its integers held.
    cached: Option<(Value, Value)>,
}

impl TypedIntegers {
    pub(super) fn name(&mut self, name: &Text, is_typed: bool) {
        self.names.retain(|known| known != name);
        if is_typed {
            self.names.push(name.clone());
        }
    }

    /// Whether an expression asks for such a value.
    pub(super) fn gives(&self, expression: &str) -> bool {
        self.object && expression.contains("request.object")
            || self.old_object && expression.contains("request.oldObject")
            || self.names.iter().any(|name| names(expression, name))
    }

    /// The context with the marks that its values have in Kyverno.
    pub(super) fn root(
        &mut self,
        root: &Value,
        object: &Value,
        runtime: &Runtime<'_>,
    ) -> Result<Value, EvalError> {
        let mut root = root.clone();
        if let Some(request) = root.as_object_mut().and_then(|root| root.get_mut("request")) {
            if self.object {
                request.insert("object", self.marked(object, runtime)?);
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

    fn marked(&mut self, object: &Value, runtime: &Runtime<'_>) -> Result<Value, EvalError> {
        if let Some((of, marked)) = &self.cached
            && of.same_storage(object)
        {
            return Ok(marked.clone());
        }
        runtime.spend((object.weight() / Limits::LOOP_BYTES) as u64)?;
        let marked = object.with_typed_integers();
        self.cached = Some((object.clone(), marked.clone()));
        Ok(marked)
    }
}
