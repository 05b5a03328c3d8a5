//! Who sends a request.

use crate::value::{Text, Value};

use super::fields::{text, texts};

/// The sender of a request.
///
/// An absent field differs from an empty list: `match` ignores users where nothing is known about the sender.
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
    /// The value of `request.userInfo`.
    pub raw: Value,
}

impl UserInfo {
    /// Reads a document with `roles`, `clusterRoles` and `userInfo`, like Kyverno's `UserInfo`. Fields of a wrong type
    /// are ignored.
    pub fn from_document(document: &Value) -> Self {
        let list = |value: Option<&Value>| {
            value.filter(|value| value.as_array().is_some()).map(|value| texts(Some(value)))
        };
        let user = document.get("userInfo");
        Self {
            roles: list(document.get("roles")),
            cluster_roles: list(document.get("clusterRoles")),
            username: user.map(|user| text(user, "username")).unwrap_or_default(),
            groups: list(user.and_then(|user| user.get("groups"))),
            raw: user.filter(|user| user.as_object().is_some()).cloned().unwrap_or_else(Value::empty_object),
        }
    }

    /// Whether nothing is known about the sender.
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
    fn an_empty_list_of_roles_is_known() {
        assert!(UserInfo::default().is_unknown());
        assert!(!UserInfo::from_document(&Value::from_json(r#"{"roles":[]}"#).unwrap()).is_unknown());
        assert!(UserInfo::from_document(&Value::from_json(r#"{"userInfo":{}}"#).unwrap()).is_unknown());
    }
}
