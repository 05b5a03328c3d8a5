//! Who sends a request.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_of_roles_is_something_known() {
        assert!(UserInfo::default().is_unknown());
        assert!(!UserInfo::from_document(&Value::from_json(r#"{"roles":[]}"#).unwrap()).is_unknown());
        assert!(UserInfo::from_document(&Value::from_json(r#"{"userInfo":{}}"#).unwrap()).is_unknown());
    }
}
