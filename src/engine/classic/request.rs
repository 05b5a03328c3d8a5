//! The context of an admission request.

use std::sync::LazyLock;

use crate::engine::evaluation::Evaluation;
use crate::policy::Operation;
use crate::value::{Map, Text, Value};

impl Evaluation<'_> {
    /// The context of a request with this operation, without `request.object`. Without an operation there is no request,
    /// because the policy was created or updated.
    pub(super) fn context_root(&self, operation: Option<Operation>) -> Value {
        self.classic.context_root(operation, || match operation {
            Some(operation) => self.request_root(operation),
            None => self.root_without_request(),
        })
    }

    fn request_root(&self, operation: Operation) -> Value {
        /// The names in every request.
        static NAMES: LazyLock<[Text; 13]> = LazyLock::new(|| {
            [
                "request",
                "operation",
                "kind",
                "requestKind",
                "group",
                "version",
                "object",
                "oldObject",
                "dryRun",
                "name",
                "namespace",
                "subResource",
                "requestSubResource",
            ]
            .map(Text::from)
        });
        let [
            request_name,
            operation_name,
            kind_name,
            request_kind,
            group,
            version,
            object_name,
            old_object,
            dry_run,
            name,
            namespace,
            subresource,
            request_subresource,
        ] = &*NAMES;
        let kind = object([
            (group, Value::String(self.own_kind.group.clone())),
            (version, Value::String(self.own_kind.version.clone())),
            (kind_name, Value::String(self.own_kind.kind.clone())),
        ]);
        let old = match operation {
            Operation::Create | Operation::Connect => Value::Null,
            Operation::Update | Operation::Delete => self.old.unwrap_or(self.original).clone(),
        };
        let mut request = object([
            (operation_name, Value::from(operation.name())),
            (kind_name, kind.clone()),
            (request_kind, kind),
            (object_name, Value::Null),
            (old_object, old),
            (dry_run, Value::Bool(false)),
        ]);
        // The namespace of a Namespace is its own name; other cluster-scoped objects have none.
        let is_namespace = self.own_kind.group.is_empty() && &*self.own_kind.kind == "Namespace";
        for (member, text) in [
            (name, self.name()),
            (namespace, if is_namespace { self.name() } else { &*self.placed.namespace }),
            (subresource, self.subresource),
            (request_subresource, self.subresource),
        ] {
            if !text.is_empty() {
                request.insert(member.clone(), text.into());
            }
        }
        let Some(user) = &self.engine.settings.user else { return object([(request_name, request)]) };
        request.insert("userInfo", user.raw.clone());
        for (name, roles) in [("roles", &user.roles), ("clusterRoles", &user.cluster_roles)] {
            let roles: Vec<Value> = roles.iter().flatten().cloned().map(Value::String).collect();
            if !roles.is_empty() {
                request.insert(name, roles.into());
            }
        }
        let (namespace, name) = service_account(&user.username);
        root(request, name, namespace)
    }

    fn root_without_request(&self) -> Value {
        let request = Value::from_iter([
            ("operation", Value::from("")),
            ("namespace", Value::from(&*self.placed.namespace)),
            ("object", Value::Null),
            ("userInfo", Value::empty_object()),
        ]);
        root(request, "", "")
    }
}

fn root(request: Value, account: &str, account_namespace: &str) -> Value {
    Value::from_iter([
        ("request", request),
        ("serviceAccountName", account.into()),
        ("serviceAccountNamespace", account_namespace.into()),
    ])
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
