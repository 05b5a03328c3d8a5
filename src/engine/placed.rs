//! Objects with the namespace that they are evaluated in.

use crate::resources::KindScope;
use crate::value::{GroupVersionKind, Text, Value};

use super::{Engine, World};

/// An object as a cluster would store it: with its namespace.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) object: Value,
    pub(super) namespace: Text,
    is_added: bool,
}

impl Placed {
    /// Adds the namespace of the run to an object of a namespaced kind without one.
    pub(super) fn new(engine: &Engine, object: &Value, kind: &GroupVersionKind, world: &dyn World) -> Self {
        let own = object.path(&["metadata", "namespace"]).and_then(Value::as_text);
        if let Some(namespace) = own.filter(|namespace| !namespace.is_empty()) {
            return Self { object: object.clone(), namespace: namespace.clone(), is_added: false };
        }
        // A member that is not a valid namespace stays.
        let metadata = object.get("metadata").and_then(Value::as_object);
        let may_add = metadata.is_some_and(|metadata| !metadata.contains_key("namespace"));
        if world.resource(kind).scope == KindScope::Cluster {
            return Self { object: object.clone(), namespace: Text::default(), is_added: false };
        }
        let namespace = &engine.settings.namespace;
        let namespace: Text = if namespace.is_empty() { "default".into() } else { namespace.clone() };
        let mut placed = object.clone();
        if may_add
            && let Some(metadata) = placed.as_object_mut().and_then(|members| members.get_mut("metadata"))
        {
            metadata.insert("namespace", Value::String(namespace.clone()));
        }
        Self { object: placed, namespace, is_added: may_add }
    }

    /// Whether the namespace was added.
    pub(super) const fn is_added(&self) -> bool {
        self.is_added
    }

    /// The evaluated object without an added namespace.
    pub(super) fn take_back(&self, original: &Value, mut evaluated: Value) -> Value {
        if evaluated == self.object {
            return original.clone();
        }
        let namespace = evaluated.path(&["metadata", "namespace"]).and_then(Value::as_str);
        if self.is_added
            && namespace == Some(&*self.namespace)
            && let Some(metadata) = evaluated.as_object_mut().and_then(|members| members.get_mut("metadata"))
        {
            metadata.remove("namespace");
        }
        evaluated
    }
}
