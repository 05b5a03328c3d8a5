//! The object and request that rules are matched against.

use std::fmt;

use crate::resources::KindScope;
use crate::value::{GroupVersionKind, Value};

use super::UserInfo;

/// What a request does to an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// The object is new.
    #[default]
    Create,
    /// The object changes.
    Update,
    /// The object goes.
    Delete,
    /// A connection to the object is opened.
    Connect,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Delete, Self::Connect];

    /// Reads an operation as requests and policies write it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == text)
    }

    /// The operation as requests and policies write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An object with what is known of the request that brings it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The object as changed so far; the old one where the request deletes it.
    pub object: &'a Value,
    /// The kind that the request names: for a subresource that of its parent.
    pub kind: &'a GroupVersionKind,
    /// The plural of the kind, as API paths and webhooks name it: `deployments`. Empty if no policy matches by it.
    pub resource: &'a str,
    /// Whether objects of the kind live in namespaces; unknown if `resource` is empty.
    pub scope: KindScope,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// What the request does; `None` if there is no request, because a policy is created or updated.
    pub operation: Option<Operation>,
    /// The user who sends it, if known.
    pub user: Option<&'a UserInfo>,
    /// The namespace of the object, also if it is not written; empty if cluster-scoped.
    pub namespace: &'a str,
    /// The labels of that namespace, if known.
    pub namespace_labels: Option<&'a Value>,
}

impl<'a> Candidate<'a> {
    /// An object in its own namespace, from an unknown user, of an unknown resource.
    pub fn new(object: &'a Value, kind: &'a GroupVersionKind, operation: Operation) -> Self {
        let namespace = object.path(&["metadata", "namespace"]).and_then(Value::as_str).unwrap_or_default();
        Self {
            object,
            kind,
            resource: "",
            scope: KindScope::Unknown,
            subresource: "",
            operation: Some(operation),
            user: None,
            namespace,
            namespace_labels: None,
        }
    }

    /// The name, or the prefix it is generated from.
    pub(super) fn name(&self) -> &'a str {
        let metadata = self.object.get("metadata");
        let text = |name| metadata.and_then(|metadata| metadata.get(name)).and_then(Value::as_str);
        text("name").filter(|name| !name.is_empty()).or_else(|| text("generateName")).unwrap_or_default()
    }

    /// The namespace; of a namespace itself its name.
    pub(super) fn namespace_or_name(&self) -> &'a str {
        if self.is_namespace() { self.name() } else { self.namespace }
    }

    /// Whether the request does one of these.
    pub(super) fn has_operation_of(&self, operations: &[Operation]) -> bool {
        self.operation.is_some_and(|operation| operations.contains(&operation))
    }

    /// The kind the object itself names.
    pub(super) fn own_kind(&self) -> &'a str {
        self.object.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the object is a namespace, whatever its group.
    pub(super) fn is_namespace(&self) -> bool {
        self.own_kind() == "Namespace"
    }
}
