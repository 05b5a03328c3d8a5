//! Who sends a request, and what a filter asks of them.

use crate::pattern;
use crate::value::{Text, Value};

use super::labels::texts;

/// The sender of a request.
///
/// A field that is not given differs from one given as an empty list: a sender of whom nothing at all is
/// known lifts the user parts of `match`.
#[derive(Clone, Debug, Default)]
pub struct UserInfo {
    /// Roles, as `namespace:name`.
    pub roles: Option<Vec<Text>>,
    /// Cluster roles.
    pub cluster_roles: Option<Vec<Text>>,
    /// The user's name.
    pub username: Text,
    /// The user's groups.
    pub groups: Option<Vec<Text>>,
    /// What `request.userInfo` yields.
    pub raw: Value,
}

impl UserInfo {
    /// Takes the sender from a document with `roles`, `clusterRoles` and `userInfo`, as Kyverno's own
    /// `UserInfo` documents have them; parts of a wrong type are passed over.
    pub fn from_document(document: &Value) -> Self {
        let list = |value: Option<&Value>| {
            value.filter(|value| value.as_array().is_some()).map(|value| texts(Some(value)))
        };
        let user = document.get("userInfo");
        Self {
            roles: list(document.get("roles")),
            cluster_roles: list(document.get("clusterRoles")),
            username: user
                .and_then(|user| user.get("username"))
                .and_then(Value::as_text)
                .cloned()
                .unwrap_or_default(),
            groups: list(user.and_then(|user| user.get("groups"))),
            raw: user.filter(|user| user.as_object().is_some()).cloned().unwrap_or_else(Value::empty_object),
        }
    }

    /// Whether nothing at all is known.
    pub fn is_unknown(&self) -> bool {
        self.roles.is_none()
            && self.cluster_roles.is_none()
            && self.groups.is_none()
            && self.username.is_empty()
            && self.raw.as_object().is_none_or(|members| members.is_empty())
    }
}

/// One entry of `subjects`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    kind: SubjectKind,
    pattern: Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SubjectKind {
    /// A user, or a service account under its user name.
    User,
    Group,
    /// A kind that no sender has.
    Other,
}

impl Subject {
    /// Reads an entry; a kind it does not know never fits.
    pub(super) fn read(entry: &Value) -> Self {
        let text = |name| entry.get(name).and_then(Value::as_text).cloned().unwrap_or_default();
        match &*text("kind") {
            "ServiceAccount" => Self {
                kind: SubjectKind::User,
                pattern: format!("system:serviceaccount:{}:{}", text("namespace"), text("name")).into(),
            },
            "User" => Self { kind: SubjectKind::User, pattern: text("name") },
            "Group" => Self { kind: SubjectKind::Group, pattern: text("name") },
            _ => Self { kind: SubjectKind::Other, pattern: Text::default() },
        }
    }

    /// Whether a sender fits.
    pub(super) fn matches(&self, user: &UserInfo) -> bool {
        match self.kind {
            SubjectKind::User => pattern::matches(&self.pattern, &user.username),
            SubjectKind::Group => {
                user.groups.iter().flatten().any(|group| pattern::matches(&self.pattern, group))
            }
            SubjectKind::Other => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_fit_users_groups_and_service_accounts() {
        let user = |text| UserInfo::from_document(&Value::from_json(text).unwrap());
        let account = user(r#"{"userInfo":{"username":"system:serviceaccount:kyverno-system:kyverno"}}"#);
        let unnamed = user(r#"{"userInfo":{"username":"system:serviceaccount::default"}}"#);
        let alice =
            user(r#"{"userInfo":{"username":"admin-alice","groups":["developers","system:authenticated"]}}"#);
        for (subject, user, expected) in [
            (r#"{"kind":"ServiceAccount","namespace":"kyverno*","name":"kyverno"}"#, &account, true),
            (r#"{"kind":"ServiceAccount","name":"default","namespace":""}"#, &unnamed, true),
            (r#"{"kind":"User","name":"admin-*"}"#, &alice, true),
            (r#"{"kind":"User","name":"admin"}"#, &alice, false),
            (r#"{"kind":"User","name":"*"}"#, &UserInfo::default(), true),
            (r#"{"kind":"Group","name":"system:*"}"#, &alice, true),
            (r#"{"kind":"Group","name":"*"}"#, &account, false),
            (r#"{"kind":"UnknownKind","name":"*"}"#, &alice, false),
        ] {
            let subject = Subject::read(&Value::from_json(subject).unwrap());
            assert_eq!(subject.matches(user), expected, "{subject:?}");
        }
    }

    #[test]
    fn an_empty_list_of_roles_is_something_known() {
        assert!(UserInfo::default().is_unknown());
        assert!(!UserInfo::from_document(&Value::from_json(r#"{"roles":[]}"#).unwrap()).is_unknown());
        assert!(UserInfo::from_document(&Value::from_json(r#"{"userInfo":{}}"#).unwrap()).is_unknown());
    }
}
