//! The admission request that is evaluated, and its part of the context.

use std::sync::LazyLock;

use crate::policy::{Operation, UserInfo};
use crate::value::{GroupVersionKind, Map, Text, Value};

/// The admission request that is evaluated.
#[derive(Clone, Debug)]
pub(super) struct Request<'a> {
    /// `None` if there is no request, because the policy was created or updated.
    pub(super) operation: Option<Operation>,
    /// The stored object, if there is one.
    pub(super) old: Option<Value>,
    /// The kind of the object itself, not of the parent of a subresource.
    pub(super) kind: &'a GroupVersionKind,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) subresource: &'a str,
    pub(super) user: Option<&'a UserInfo>,
}

impl Request<'_> {
    /// The context of the request, without `request.object`.
    pub(super) fn context_root(&self) -> Value {
        /// The names in every request.
        static NAMES: LazyLock<Names> = LazyLock::new(Names::default);
        let Some(operation) = self.operation else { return self.root_without_request() };
        let names = &*NAMES;
        let kind = object([
            (&names.group, Value::String(self.kind.group.clone())),
            (&names.version, Value::String(self.kind.version.clone())),
            (&names.kind, Value::String(self.kind.kind.clone())),
        ]);
        let mut request = object([
            (&names.operation, Value::from(operation.name())),
            (&names.kind, kind.clone()),
            (&names.request_kind, kind),
            (&names.object, Value::Null),
            (&names.old_object, self.old.clone().unwrap_or_default()),
            (&names.dry_run, Value::Bool(false)),
        ]);
        // The namespace of a Namespace is its own name; other cluster-scoped objects have none.
        let is_namespace = self.kind.group.is_empty() && &*self.kind.kind == "Namespace";
        let texts = [
            (&names.name, self.name),
            (&names.namespace, if is_namespace { self.name } else { self.namespace }),
            (&names.subresource, self.subresource),
            (&names.request_subresource, self.subresource),
        ];
        for (name, text) in texts {
            if !text.is_empty() {
                request.insert(name.clone(), text.into());
            }
        }
        let Some(user) = self.user else { return object([(&names.request, request)]) };
        request.insert("userInfo", user.raw.clone());
        for (name, roles) in [("roles", &user.roles), ("clusterRoles", &user.cluster_roles)] {
            let roles: Vec<Value> = roles.iter().flatten().cloned().map(Value::String).collect();
            if !roles.is_empty() {
                request.insert(name, roles.into());
            }
        }
        let (namespace, name) = service_account(&user.username);
        [
            ("request", request),
            ("serviceAccountName", name.into()),
            ("serviceAccountNamespace", namespace.into()),
        ]
        .into_iter()
        .collect()
    }

    fn root_without_request(&self) -> Value {
        let request: Value = [
            ("operation", Value::from("")),
            ("namespace", Value::from(self.namespace)),
            ("object", Value::Null),
            ("userInfo", Value::empty_object()),
        ]
        .into_iter()
        .collect();
        let empty = || Value::from("");
        [("request", request), ("serviceAccountName", empty()), ("serviceAccountNamespace", empty())]
            .into_iter()
            .collect()
    }
}

/// Names of the context.
struct Names {
    request: Text,
    operation: Text,
    kind: Text,
    request_kind: Text,
    group: Text,
    version: Text,
    object: Text,
    old_object: Text,
    dry_run: Text,
    name: Text,
    namespace: Text,
    subresource: Text,
    request_subresource: Text,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            request: "request".into(),
            operation: "operation".into(),
            kind: "kind".into(),
            request_kind: "requestKind".into(),
            group: "group".into(),
            version: "version".into(),
            object: "object".into(),
            old_object: "oldObject".into(),
            dry_run: "dryRun".into(),
            name: "name".into(),
            namespace: "namespace".into(),
            subresource: "subResource".into(),
            request_subresource: "requestSubResource".into(),
        }
    }
}

/// An object with these members, and capacity for more.
fn object<const N: usize>(members: [(&Text, Value); N]) -> Value {
    let mut object = Map::with_capacity(N + 4);
    object.extend(members.map(|(name, value)| (name.clone(), value)));
    Value::object(object)
}

/// The namespace and name of a service account, from its user name; empty for other users.
fn service_account(username: &str) -> (&str, &str) {
    let account = username.strip_prefix("system:serviceaccount:").unwrap_or_default();
    let mut parts = account.split(':');
    match (parts.next(), parts.next()) {
        (Some(namespace), Some(name)) => (namespace, name),
        _ => ("", ""),
    }
}
