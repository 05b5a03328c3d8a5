//! The role bindings of a cluster: Kyverno takes the roles of a user from them, and policies may look them up.

use crate::policy::UserInfo;
use crate::value::{Text, Value};

const GROUP: &str = "rbac.authorization.k8s.io";
const API_VERSION: &str = "rbac.authorization.k8s.io/v1";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// The group that every user has.
const ALL_USERS: &str = "system:authenticated";

/// The role bindings and the cluster role bindings that give a user its roles. Of `users`, which are all that requests
/// come from, further bindings give the roles to others.
pub(super) fn bindings(user: &UserInfo, users: &[UserInfo]) -> [Vec<Value>; 2] {
    let mut found = Bindings::default();
    let own = subject(user);
    let beside = |one: &Value| Value::array(vec![stranger("User"), one.clone()]);
    found.add("own", user, Some(&beside(&own)));
    for (number, other) in users.iter().enumerate() {
        let kind = ["User", "Group", "ServiceAccount"][number % 3];
        found.add(&format!("other-{number}"), other, Some(&Value::array(vec![stranger(kind)])));
    }
    if let Some(any) = users.iter().find(|user| user.roles.is_some()) {
        found.add("nobody", any, None);
    }
    [found.of_roles, found.of_cluster_roles]
}

#[derive(Default)]
struct Bindings {
    of_roles: Vec<Value>,
    of_cluster_roles: Vec<Value>,
}

impl Bindings {
    /// Binds the roles of a user to subjects.
    fn add(&mut self, name: &str, user: &UserInfo, subjects: Option<&Value>) {
        for (number, role) in user.roles.iter().flatten().enumerate() {
            let Some((namespace, role)) = role.split_once(':') else { continue };
            let name = format!("{name}-{number}");
            self.of_roles.push(binding(&name, Some(namespace), ("Role", role), subjects));
        }
        for (number, role) in user.cluster_roles.iter().flatten().enumerate() {
            let name = format!("{name}-{number}");
            let role = ("ClusterRole", &**role);
            if is_by_group(user) {
                // A cluster role can be bound in one namespace, too.
                self.of_roles.push(binding(&format!("{name}-cluster"), Some("default"), role, subjects));
            } else {
                self.of_cluster_roles.push(binding(&name, None, role, subjects));
            }
        }
    }
}

fn binding(
    name: &str,
    namespace: Option<&str>,
    (kind, role): (&str, &str),
    subjects: Option<&Value>,
) -> Value {
    let metadata = [Some(("name", name)), namespace.map(|namespace| ("namespace", namespace))];
    let kind_of_binding = if namespace.is_some() { "RoleBinding" } else { "ClusterRoleBinding" };
    let mut binding = Value::from_iter([
        ("apiVersion", Value::from(API_VERSION)),
        ("kind", Value::from(kind_of_binding)),
        ("metadata", texts(metadata.into_iter().flatten())),
        ("roleRef", texts([("apiGroup", GROUP), ("kind", kind), ("name", role)])),
    ]);
    if let Some(subjects) = subjects {
        binding.insert("subjects", subjects.clone());
    }
    binding
}

/// What a binding calls a user.
fn subject(user: &UserInfo) -> Value {
    if let Some((namespace, name)) =
        user.username.strip_prefix(SERVICE_ACCOUNT).and_then(|account| account.split_once(':'))
    {
        return texts([("kind", "ServiceAccount"), ("namespace", namespace), ("name", name)]);
    }
    match own_group(user) {
        Some(group) => texts([("apiGroup", GROUP), ("kind", "Group"), ("name", group)]),
        None => texts([("apiGroup", GROUP), ("kind", "User"), ("name", &user.username)]),
    }
}

/// A subject that no request comes from.
fn stranger(kind: &str) -> Value {
    match kind {
        "ServiceAccount" => texts([("kind", kind), ("namespace", "default"), ("name", "nobody")]),
        _ => texts([("apiGroup", GROUP), ("kind", kind), ("name", "nobody")]),
    }
}

fn own_group(user: &UserInfo) -> Option<&Text> {
    user.groups.iter().flatten().find(|group| ***group != *ALL_USERS)
}

fn is_by_group(user: &UserInfo) -> bool {
    own_group(user).is_some()
}

fn texts<'t>(members: impl IntoIterator<Item = (&'t str, &'t str)>) -> Value {
    members.into_iter().map(|(key, text)| (key, Value::from(text))).collect()
}
