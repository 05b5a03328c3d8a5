//! Objects with the namespace they are evaluated in.

use crate::resources::KindScope;
use crate::value::{GroupVersionKind, Text, Value};

use super::{Engine, World};

/// An object as a cluster would hold it: with the namespace it is evaluated in.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) object: Value,
    pub(super) namespace: Text,
    added: bool,
}

impl Placed {
    /// The object with its namespace: the one it names, else the one of the run for kinds that have one.
    pub(super) fn new(engine: &Engine, object: &Value, kind: &GroupVersionKind, world: &dyn World) -> Self {
        let written = object.path(&["metadata", "namespace"]).and_then(Value::as_text);
        if let Some(namespace) = written.filter(|namespace| !namespace.is_empty()) {
            return Self { object: object.clone(), namespace: namespace.clone(), added: false };
        }
        // What is written stays, even where it is no namespace.
        let metadata = object.get("metadata").and_then(Value::as_object);
        let may_add = metadata.is_some_and(|metadata| !metadata.contains_key("namespace"));
        if world.resource(kind).scope == KindScope::Cluster {
            return Self { object: object.clone(), namespace: Text::default(), added: false };
        }
        let given = &engine.settings.namespace;
        let namespace: Text = if given.is_empty() { "default".into() } else { given.clone() };
        let mut placed = object.clone();
        if may_add
            && let Some(metadata) = placed.as_object_mut().and_then(|members| members.get_mut("metadata"))
        {
            metadata.insert("namespace", Value::String(namespace.clone()));
        }
        Self { object: placed, namespace, added: may_add }
    }

    /// Whether the namespace is known to the evaluation alone.
    pub(super) const fn is_added(&self) -> bool {
        self.added
    }

    /// The evaluated object without the namespace that only the evaluation gave it.
    pub(super) fn take_back(&self, original: &Value, mut evaluated: Value) -> Value {
        if evaluated == self.object {
            return original.clone();
        }
        let namespace = evaluated.path(&["metadata", "namespace"]).and_then(Value::as_str);
        if self.added
            && namespace == Some(&*self.namespace)
            && let Some(metadata) = evaluated.as_object_mut().and_then(|members| members.get_mut("metadata"))
        {
            metadata.remove("namespace");
        }
        evaluated
    }
}
