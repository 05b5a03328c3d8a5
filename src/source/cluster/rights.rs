//! The rights of a subject on targets.

use crate::engine::{TargetAccess, TargetRefusal};
use crate::policy::{KindSelector, TargetSelector};
use crate::resources::ApiResource;
use crate::value::{Text, Value};

use super::failed_lookups::FailedLookups;
use super::once_map::OnceMap;
use super::served::fitting;
use super::{Cluster, FailedLookup};

/// The verbs that Kyverno checks when a mutate existing policy is created.
const NEEDED: [&str; 2] = ["get", "update"];

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// A user or a service account, with the groups that the API server sees it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its name; that of a service account is `system:serviceaccount:NAMESPACE:NAME`.
    pub user: String,
    /// Its groups.
    pub groups: Vec<String>,
}

impl Subject {
    /// Whether this can be the name of a user or service account.
    pub fn is_name(user: &str) -> bool {
        match user.strip_prefix(SERVICE_ACCOUNT) {
            None => !user.trim().is_empty(),
            Some(account) => {
                let parts: Vec<&str> = account.split(':').collect();
                parts.len() == 2 && parts.iter().all(|part| !part.is_empty())
            }
        }
    }

    /// The subject of this name.
    pub fn named(user: &str) -> Self {
        let mut groups = vec!["system:authenticated".to_owned()];
        if let Some((namespace, _)) = user.strip_prefix(SERVICE_ACCOUNT).and_then(|rest| rest.split_once(':'))
        {
            groups.push("system:serviceaccounts".to_owned());
            groups.push(format!("system:serviceaccounts:{namespace}"));
        }
        Self { user: user.to_owned(), groups }
    }
}

/// An access that may be granted.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The resource.
    pub resource: &'a ApiResource,
    /// The subresource; empty for the objects themselves.
    pub subresource: &'a str,
    /// The namespace; `None` for all, and for cluster-scoped kinds.
    pub namespace: Option<&'a str>,
    /// The name of the object; `None` for all.
    pub name: Option<&'a str>,
}

impl Access<'_> {
    /// Its access review: the resource name, and the body.
    pub fn review(&self, subject: Option<&Subject>) -> (&'static str, Value) {
        let attributes: Value = [
            ("verb", self.verb),
            ("group", &*self.resource.kind.group),
            ("version", &*self.resource.kind.version),
            ("resource", &*self.resource.plural),
            ("subresource", self.subresource),
            ("namespace", self.namespace.unwrap_or_default()),
            ("name", self.name.unwrap_or_default()),
        ]
        .into_iter()
        .map(|(key, value)| (key, Value::from(value)))
        .collect();
        let mut spec: Value = [("resourceAttributes", attributes)].into_iter().collect();
        let (plural, kind) = match subject {
            None => ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
            Some(subject) => {
                let groups = subject.groups.iter().map(|group| Value::from(group.as_str()));
                spec.insert("user", subject.user.as_str().into());
                spec.insert("groups", Value::array(groups.collect()));
                ("subjectaccessreviews", "SubjectAccessReview")
            }
        };
        let review =
            [("apiVersion", "authorization.k8s.io/v1".into()), ("kind", kind.into()), ("spec", spec)];
        (plural, review.into_iter().collect())
    }

    /// The message of the API server where it is denied.
    fn refusal(&self, user: &str) -> String {
        let Self { verb, resource, subresource, namespace, name } = self;
        let object = name.map_or_else(String::new, |name| format!(" \"{name}\""));
        let subresource = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
        let place = namespace.map_or_else(
            || "at the cluster scope".to_owned(),
            |namespace| format!("in the namespace \"{namespace}\""),
        );
        format!(
            "{}{object} is forbidden: User \"{user}\" cannot {verb} resource \"{}{subresource}\" in API group \"{}\" {place}",
            resource.full_name(),
            resource.plural,
            resource.kind.group
        )
    }
}

/// Verb, resource, subresource, namespace, name.
type Key = (Text, Text, Text, Text, Text);

/// The rights of a subject on targets, checked when they are needed, each once.
#[derive(Debug)]
pub struct Rights {
    /// The subject; `None` for the user of the connection.
    subject: Option<Subject>,
    /// Its name.
    user: String,
    known: OnceMap<Key, bool>,
    failed_lookups: FailedLookups,
}

impl Rights {
    /// The rights of a subject other than the user of the connection.
    pub fn of(subject: Subject) -> Self {
        let user = subject.user.clone();
        Self { subject: Some(subject), ..Self::own(user) }
    }

    /// The rights of the user of the connection, who has this name.
    pub fn own(user: impl Into<String>) -> Self {
        let (known, failed_lookups) = (OnceMap::default(), FailedLookups::default());
        Self { subject: None, user: user.into(), known, failed_lookups }
    }

    /// Whether any right was checked.
    pub fn is_used(&self) -> bool {
        !self.known.is_empty()
    }

    /// Removes and returns the failed access reviews, which count as allowed.
    pub fn take_failed_lookups(&self) -> Vec<FailedLookup> {
        self.failed_lookups.take()
    }

    /// Why targets cannot be looked up or changed, if so.
    pub(super) fn refusal(&self, cluster: &dyn Cluster, access: &TargetAccess<'_>) -> Option<TargetRefusal> {
        let (TargetAccess::Find(selector) | TargetAccess::Update(selector, _)) = access;
        let served = cluster.resources().ok()?;
        let parent = KindSelector { subresource: Text::default(), ..selector.kind.clone() };
        let subresource = &*selector.kind.subresource;
        let text =
            |object: &Value, field| object.path(&["metadata", field]).and_then(Value::as_text).cloned();
        for resource in fitting(&served, [&parent]) {
            let (verb, subresource, namespace, name) = match access {
                // A pattern is a list of all objects; what is patched of each is read later.
                TargetAccess::Find(_) => match selector.exact() {
                    Some((namespace, name)) => {
                        ("get", subresource, Some(namespace.clone()), Some(name.clone()))
                    }
                    None => ("list", "", None, None),
                },
                TargetAccess::Update(_, object) => {
                    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
                    if subresource.is_empty() && *resource.kind.kind != *kind {
                        continue;
                    }
                    ("update", subresource, text(object, "namespace"), text(object, "name"))
                }
            };
            let access = Access {
                verb,
                resource,
                subresource,
                namespace: namespace.as_deref().filter(|_| resource.is_namespaced),
                name: name.as_deref(),
            };
            if !self.allows(cluster, &access) {
                let hint = self.lacking(cluster, selector, &access);
                return Some(TargetRefusal { message: access.refusal(&self.user), hint });
            }
        }
        None
    }

    /// Kyverno's message about a new policy with this target. It checks the rights to get and update, but not to list.
    fn lacking(&self, cluster: &dyn Cluster, selector: &TargetSelector, access: &Access<'_>) -> String {
        let is_pattern = selector.exact().is_none();
        let lacks = |verb: &&str| {
            let name = access.name.filter(|_| !is_pattern);
            let namespace = access.namespace.filter(|_| !is_pattern);
            let subresource = &*selector.kind.subresource;
            !self.allows(cluster, &Access { verb, subresource, namespace, name, ..*access })
        };
        let verbs: Vec<&str> = NEEDED.into_iter().filter(lacks).collect();
        if verbs.is_empty() {
            return format!("Kyverno accepts a new policy anyway: it only checks {}", NEEDED.join(" and "));
        }
        let subresource = match &*selector.kind.subresource {
            "" => String::new(),
            subresource => format!("/{subresource}"),
        };
        let place = match &*selector.namespace {
            "" => String::new(),
            namespace => format!(" in namespace {namespace}"),
        };
        let resource = &access.resource.kind;
        let message =
            format!("requires permissions {} for resource {resource}{subresource}{place}", verbs.join(","));
        format!("Kyverno refuses a new policy for that: `{message}`")
    }

    /// Checks the widest access first: in all namespaces, then in the namespace, then to the object.
    fn allows(&self, cluster: &dyn Cluster, access: &Access<'_>) -> bool {
        let everywhere = Access { namespace: None, name: None, ..*access };
        let all = Access { name: None, ..*access };
        self.allowed(cluster, &everywhere)
            || access.namespace.is_some() && self.allowed(cluster, &all)
            || access.name.is_some() && self.allowed(cluster, access)
    }

    fn allowed(&self, cluster: &dyn Cluster, access: &Access<'_>) -> bool {
        let text = |text: Option<&str>| Text::from(text.unwrap_or_default());
        let key = (
            access.verb.into(),
            access.resource.full_name().as_str().into(),
            access.subresource.into(),
            text(access.namespace),
            text(access.name),
        );
        self.known.get(key, || match cluster.is_allowed(self.subject.as_ref(), access) {
            Ok(allowed) => allowed,
            Err(why) => {
                let what = format!("the right to {} {}", access.verb, access.resource.full_name());
                self.failed_lookups.note(FailedLookup { what, why, is_reported: false });
                true
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::value::GroupVersionKind;

    use super::*;

    #[test]
    fn names_are_of_users_or_whole_service_accounts() {
        for name in ["jane", "system:admin", "system:serviceaccount:kyverno:background"] {
            assert!(Subject::is_name(name), "{name}");
        }
        let account = |rest: &str| format!("{SERVICE_ACCOUNT}{rest}");
        for name in [String::new(), " ".into(), account("x"), account(":x"), account("a:b:c")] {
            assert!(!Subject::is_name(&name), "{name}");
        }
    }

    #[test]
    fn a_service_account_is_in_the_groups_that_the_server_puts_it_in() {
        let subject = Subject::named("system:serviceaccount:kyverno:background");
        assert_eq!(
            subject.groups,
            ["system:authenticated", "system:serviceaccounts", "system:serviceaccounts:kyverno"]
        );
        assert_eq!(Subject::named("jane").groups, ["system:authenticated"]);
    }

    #[test]
    fn a_refusal_has_the_words_of_the_server() {
        let deployments = ApiResource {
            kind: GroupVersionKind::new("apps/v1", "Deployment"),
            plural: "deployments".into(),
            is_namespaced: true,
            ..ApiResource::namespaces().clone()
        };
        let access = Access {
            verb: "update",
            resource: &deployments,
            subresource: "",
            namespace: Some("default"),
            name: Some("foobar"),
        };
        assert_eq!(
            access.refusal("system:serviceaccount:kyverno:kyverno-background-controller"),
            "deployments.apps \"foobar\" is forbidden: User \
             \"system:serviceaccount:kyverno:kyverno-background-controller\" cannot update resource \
             \"deployments\" in API group \"apps\" in the namespace \"default\""
        );
        let everywhere = Access { verb: "list", subresource: "scale", namespace: None, name: None, ..access };
        assert_eq!(
            everywhere.refusal("jane"),
            "deployments.apps is forbidden: User \"jane\" cannot list resource \"deployments/scale\" in API group \
             \"apps\" at the cluster scope"
        );
    }
}
