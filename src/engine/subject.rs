//! The request that an evaluation stands for, and the context that it gives.

use crate::policy::{Operation, UserInfo};
use crate::value::{GroupVersionKind, Value};

/// The request that an evaluation stands for.
#[derive(Clone, Debug)]
pub(super) struct Subject<'a> {
    /// `None` where a policy comes or changes, and nobody sends a request.
    pub(super) operation: Option<Operation>,
    /// The stored object, where there is one.
    pub(super) old: Option<Value>,
    /// The kind of the object itself: for a subresource such as `scale` not that of its parent.
    pub(super) kind: &'a GroupVersionKind,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) subresource: &'a str,
    pub(super) user: Option<&'a UserInfo>,
}

impl Subject<'_> {
    /// The context that the request alone gives, `request.object` left to be filled in.
    pub(super) fn base(&self) -> Value {
        let Some(operation) = self.operation else { return self.of_no_request() };
        let kind: Value = [
            ("group", Value::String(self.kind.group.clone())),
            ("version", Value::String(self.kind.version.clone())),
            ("kind", Value::String(self.kind.kind.clone())),
        ]
        .into_iter()
        .collect();
        let mut request: Value = [
            ("operation", Value::from(operation.name())),
            ("kind", kind.clone()),
            ("requestKind", kind),
            ("object", Value::Null),
            ("oldObject", self.old.clone().unwrap_or_default()),
            ("dryRun", Value::Bool(false)),
        ]
        .into_iter()
        .collect();
        // A Namespace counts as living in itself; of other objects of the cluster the request says nothing.
        let is_namespace = self.kind.group.is_empty() && &*self.kind.kind == "Namespace";
        let texts = [
            ("name", self.name),
            ("namespace", if is_namespace { self.name } else { self.namespace }),
            ("subResource", self.subresource),
            ("requestSubResource", self.subresource),
        ];
        for (name, text) in texts {
            if !text.is_empty() {
                request.insert(name, text.into());
            }
        }
        let Some(user) = self.user else { return [("request", request)].into_iter().collect() };
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

    /// What is known where nobody sends a request.
    fn of_no_request(&self) -> Value {
        let request: Value = [
            ("operation", Value::from("")),
            ("namespace", Value::from(self.namespace)),
            ("object", Value::Null),
            ("userInfo", Value::empty_object()),
        ]
        .into_iter()
        .collect();
        let nobody = || Value::from("");
        [("request", request), ("serviceAccountName", nobody()), ("serviceAccountNamespace", nobody())]
            .into_iter()
            .collect()
    }
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
