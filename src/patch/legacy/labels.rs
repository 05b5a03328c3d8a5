//! Labels and annotations are strings, whatever type an overlay or a patch writes.

use crate::patch::strategic::anchor::Anchor;
use crate::value::{Text, Value};

use super::LegacyBehavior;

/// The location of a value, with regard to labels and annotations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Location {
    Elsewhere,
    Metadata,
    Labels,
    Annotations,
    Label,
    Annotation,
}

impl Location {
    fn member(self, key: &str) -> Self {
        let name = Anchor::parse(key).map_or(key, |(_, name)| name);
        match (self, name) {
            (Self::Metadata, "labels") => Self::Labels,
            (Self::Metadata, "annotations") => Self::Annotations,
            (Self::Labels, _) => Self::Label,
            (Self::Annotations, _) => Self::Annotation,
            (Self::Elsewhere | Self::Metadata, "metadata") => Self::Metadata,
            _ => Self::Elsewhere,
        }
    }
}

/// An overlay with its labels and annotations as strings. Kyverno 1.1 converted only booleans, only in annotations.
pub(super) fn stringified(overlay: &Value, behavior: LegacyBehavior) -> Value {
    converted(overlay, Location::Elsewhere, behavior)
}

/// A value that a documented patch sets at a path, with its labels and annotations as strings.
pub(super) fn stringified_at<'p>(path: impl Iterator<Item = &'p Text>, value: &Value) -> Value {
    let location = path.fold(Location::Elsewhere, |location, key| location.member(key));
    converted(value, location, LegacyBehavior::Documented)
}

fn converted(value: &Value, location: Location, behavior: LegacyBehavior) -> Value {
    match (value, location, behavior) {
        (Value::Bool(flag), Location::Annotation, _)
        | (Value::Bool(flag), Location::Label, LegacyBehavior::Documented) => flag.to_string().into(),
        (Value::Number(number), Location::Label | Location::Annotation, LegacyBehavior::Documented) => {
            number.to_string().into()
        }
        (Value::Object(members), ..) => {
            let member = |(key, member): (&Text, &Value)| match Anchor::parse(key) {
                // Conditions are compared, not written.
                Some((Anchor::Condition, _)) => (key.clone(), member.clone()),
                _ => (key.clone(), converted(member, location.member(key), behavior)),
            };
            members.iter().map(member).collect()
        }
        (Value::Array(items), ..) => {
            let items = items.iter().map(|item| converted(item, Location::Elsewhere, behavior));
            Value::array(items.collect())
        }
        _ => value.clone(),
    }
}
