//! The `subjects` of a filter.

use crate::pattern;
use crate::policy::UserInfo;
use crate::value::{Text, Value};

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
}
