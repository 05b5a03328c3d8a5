//! The sender of the requests, from Kyverno's `UserInfo` documents.

use std::sync::Arc;

use crate::decode::Decoder;
use crate::policy::UserInfo;
use crate::value::{Pointer, Value};
use crate::yaml::{Limits, Source};

use super::SourceError;
use super::form::{Form, Head, fields};

const FORM: Form = Form {
    kind: "UserInfo",
    fields: &["roles", "clusterRoles", "userInfo", "synchronize"],
    second: "there is one sender only, and an earlier document names it",
};

/// Decodes a text that is a `UserInfo` document.
///
/// # Errors
///
/// Every syntax error, unknown field and wrong type.
pub fn load_user(source: &Arc<Source>, head: Head, limits: &Limits) -> Result<UserInfo, Vec<SourceError>> {
    FORM.decode(source, head, limits, |decoder, _, root| {
        check(decoder, root);
        UserInfo::from_document(root)
    })
}

fn check(decoder: &mut Decoder, root: &Value) {
    let at = Pointer::ROOT;
    decoder.texts(root, &at, "roles");
    decoder.texts(root, &at, "clusterRoles");
    let Some(user) = root.get("userInfo").filter(|user| !user.is_null()) else { return };
    let at = at.key("userInfo");
    if fields(decoder, user, &at, &["username", "uid", "groups", "extra"]).is_some() {
        decoder.text(user, &at, "username");
        decoder.text(user, &at, "uid");
        decoder.texts(user, &at, "groups");
        let extra = decoder.members(user, &at, "extra");
        for (name, ..) in extra {
            decoder.texts(user.get("extra").unwrap_or(&Value::Null), &at.key("extra"), name);
        }
    }
}
