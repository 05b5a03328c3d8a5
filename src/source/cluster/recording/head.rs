//! `recording.json`, which describes a recording.

use std::fs;
use std::path::Path;

use jiff::Timestamp;

use crate::value::Value;

/// The name of the file.
pub(super) const FILE: &str = "recording.json";
const API_VERSION: &str = "kyv.dev/v1alpha1";
const KIND: &str = "Recording";

/// The description of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The default namespace of the cluster's context.
    pub(super) namespace: String,
    /// The time that the run saw.
    pub(super) now: Timestamp,
    /// Whether values of Secrets are recorded.
    pub(super) secrets: SecretValues,
    /// Whether the run ended normally.
    pub(super) is_complete: bool,
}

/// Whether values of Secrets are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretValues {
    /// They are recorded.
    Shown,
    /// They would be redacted, but there were none.
    None,
    /// They are redacted.
    Redacted,
}

impl SecretValues {
    const ALL: [(Self, &str); 3] =
        [(Self::Shown, "shown"), (Self::None, "none"), (Self::Redacted, "redacted")];
}

impl Head {
    /// Reads the description of a recording; `None` if the directory contains none.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join(FILE)).ok()?;
        let head = Value::from_json(&text).ok()?;
        let member = |name| head.get(name).and_then(Value::as_str);
        if member("apiVersion") != Some(API_VERSION) || member("kind") != Some(KIND) {
            return None;
        }
        let secrets = SecretValues::ALL.iter().find(|(_, name)| member("secrets") == Some(name));
        Some(Self {
            namespace: member("namespace").unwrap_or("default").to_owned(),
            now: member("now")?.parse().ok()?,
            secrets: secrets.map_or(SecretValues::Redacted, |(known, _)| *known),
            is_complete: head.get("complete") == Some(&Value::Bool(true)),
        })
    }

    /// The content of the file.
    pub(super) fn to_value(&self) -> Value {
        let secrets = SecretValues::ALL.iter().find(|(known, _)| *known == self.secrets);
        let members = [
            ("apiVersion", Value::from(API_VERSION)),
            ("kind", KIND.into()),
            ("namespace", self.namespace.as_str().into()),
            ("now", self.now.to_string().into()),
            ("secrets", secrets.map_or("none", |(_, name)| *name).into()),
            ("complete", self.is_complete.into()),
        ];
        members.into_iter().collect()
    }
}
