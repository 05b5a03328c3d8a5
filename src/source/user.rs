//! The sender of the requests, from Kyverno's `UserInfo` documents.

use std::sync::Arc;

use crate::policy::UserInfo;
use crate::value::{Pointer, Value};
use crate::yaml::{Limits, Source};

use super::strict::{Head, Strict};
use super::text::{documents_of, read_text};
use super::{Location, SourceError};

/// Reads a `UserInfo` document.
///
/// # Errors
///
/// What cannot be read, and every deviation from the form.
pub fn load_user(location: &Location, head: Head, limits: &Limits) -> Result<UserInfo, Vec<SourceError>> {
    read_user(&read_text(location, limits).map_err(|error| vec![error])?, head, limits)
}

/// Reads a text that is a `UserInfo` document.
///
/// # Errors
///
/// Every syntax error, and every deviation from the form.
pub fn user_in(source: &Arc<Source>, limits: &Limits) -> Result<UserInfo, Vec<SourceError>> {
    read_user(source, Head::OfKind, limits)
}

fn read_user(source: &Arc<Source>, head: Head, limits: &Limits) -> Result<UserInfo, Vec<SourceError>> {
    const FIELDS: [&str; 4] = ["roles", "clusterRoles", "userInfo", "synchronize"];
    let documents = documents_of(source, limits)?;
    let mut faults = Vec::new();
    let mut user = None;
    for document in &documents {
        let mut strict = Strict::new(document);
        if user.is_some() {
            strict.fault(&Pointer::ROOT, "there is one sender only, and an earlier document names it");
        } else if let Some(root) = match head {
            Head::OfKind => strict.head("UserInfo", &FIELDS),
            Head::Any => strict.any_head(&FIELDS),
        } {
            check(&mut strict, root);
            user = Some(UserInfo::from_document(root));
        }
        faults.extend(strict.finish());
    }
    match user {
        Some(user) if faults.is_empty() => Ok(user),
        None if faults.is_empty() => {
            Err(vec![SourceError::Empty { path: source.name().to_owned(), kind: "UserInfo" }])
        }
        _ => Err(faults),
    }
}

fn check<'a>(strict: &mut Strict<'a>, root: &'a Value) {
    let at = Pointer::ROOT;
    strict.texts(root, &at, "roles");
    strict.texts(root, &at, "clusterRoles");
    let Some(user) = root.get("userInfo").filter(|user| !user.is_null()) else { return };
    let at = at.key("userInfo");
    if strict.fields(user, &at, &["username", "uid", "groups", "extra"]).is_some() {
        strict.optional_text(user, &at, "username");
        strict.optional_text(user, &at, "uid");
        strict.texts(user, &at, "groups");
        let extra: Vec<_> = strict.members(user, &at, "extra");
        let at = at.key("extra");
        for (name, _, _) in extra {
            if let Some(extra) = user.get("extra") {
                strict.texts(extra, &at, name);
            }
        }
    }
}
