//! Objects in the state in which policies see them.

use crate::admission::{Admission, NotAdmitted, is_stored, restore};
use crate::resources::KindScope;
use crate::value::{GroupVersionKind, Text, Value};

use super::{Engine, World};

/// An object as policies see it: with its namespace and, in the admitted view, with the defaults of the API server.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) object: Value,
    pub(super) namespace: Text,
    is_added: bool,
    /// The object without defaults, in the admitted view.
    pub(super) written: Option<Value>,
    /// The admission that set defaults, and the kind.
    admission: Option<(Admission, GroupVersionKind)>,
    /// Why there is no admitted view.
    pub(super) not_admitted: Option<NotAdmitted>,
}

impl Placed {
    /// The object in the view of the run.
    pub(super) fn new(engine: &Engine, object: &Value, kind: &GroupVersionKind, world: &dyn World) -> Self {
        let placed = Self::as_written(engine, object, kind, world);
        let Some(admission) = engine.settings.admission.as_ref().filter(|_| !is_stored(object)) else {
            return placed;
        };
        match admission.view(&placed.object, kind) {
            Ok(view) => Self {
                object: view,
                written: Some(placed.object),
                admission: Some((admission.clone(), kind.clone())),
                ..placed
            },
            Err(error) => Self { not_admitted: Some(error), ..placed },
        }
    }

    /// The stored object of an update, as policies see it.
    pub(super) fn old(engine: &Engine, old: &Value, kind: &GroupVersionKind, world: &dyn World) -> Value {
        let admission = engine.settings.admission.as_ref().filter(|_| !is_stored(old));
        let view = |_| {
            let mut placed = Self::new(engine, old, kind, world);
            placed.share();
            placed.object
        };
        admission.map_or_else(|| old.clone(), view)
    }

    /// The object with the namespace of the run, if it is of a namespaced kind and has none.
    pub(super) fn as_written(
        engine: &Engine,
        object: &Value,
        kind: &GroupVersionKind,
        world: &dyn World,
    ) -> Self {
        let namespace = namespace(engine, object, kind, world);
        // A member that is not a valid namespace stays.
        let metadata = object.get("metadata").and_then(Value::as_object);
        let is_added =
            !namespace.is_empty() && metadata.is_some_and(|metadata| !metadata.contains_key("namespace"));
        let object = if is_added { with_namespace(object, &namespace) } else { object.clone() };
        Self { object, namespace, is_added, written: None, admission: None, not_admitted: None }
    }

    /// Stores once what the view has in common with the object as written: most of it, if it has its defaults.
    pub(super) fn share(&mut self) {
        if let Some(written) = &self.written {
            self.object.share_with(written);
        }
    }

    /// Whether the namespace was added.
    pub(super) const fn is_added(&self) -> bool {
        self.is_added
    }

    /// A changed object with the defaults of the API server, in the admitted view.
    pub(super) fn with_defaults(&self, changed: Value) -> Value {
        let admitted =
            self.admission.as_ref().and_then(|(admission, kind)| admission.view(&changed, kind).ok());
        admitted.unwrap_or(changed)
    }

    /// The evaluated object with the changes of policies alone.
    pub(super) fn take_back(&self, original: &Value, evaluated: Value) -> Value {
        if evaluated == self.object {
            return original.clone();
        }
        if let Some((admission, kind)) = &self.admission {
            let admit = |object: &Value| {
                let is_placed = !self.is_added || object.path(&["metadata", "namespace"]).is_some();
                let placed;
                let object = if is_placed {
                    object
                } else {
                    placed = with_namespace(object, &self.namespace);
                    &placed
                };
                admission.view_beside(object, kind, Some(&self.object)).ok()
            };
            let keeps_defaults = || admission.keeps_defaults(kind, (original, &self.object, &evaluated));
            return restore(original, (&self.object, &evaluated), keeps_defaults, admit);
        }
        self.without_namespace(evaluated)
    }

    /// The evaluated object without the namespace that was added.
    pub(super) fn without_namespace(&self, mut evaluated: Value) -> Value {
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

/// The namespace of an object: its own, else that of the run; empty for kinds without namespaces.
pub(super) fn namespace(engine: &Engine, object: &Value, kind: &GroupVersionKind, world: &dyn World) -> Text {
    let own = object.path(&["metadata", "namespace"]).and_then(Value::as_text);
    if let Some(namespace) = own.filter(|namespace| !namespace.is_empty()) {
        return namespace.clone();
    }
    let of_run = &engine.settings.namespace;
    match world.resource(kind).scope {
        KindScope::Cluster => Text::default(),
        _ if of_run.is_empty() => "default".into(),
        _ => of_run.clone(),
    }
}

fn with_namespace(object: &Value, namespace: &Text) -> Value {
    let mut placed = object.clone();
    if let Some(metadata) = placed.as_object_mut().and_then(|members| members.get_mut("metadata")) {
        metadata.insert("namespace", Value::String(namespace.clone()));
    }
    placed
}
