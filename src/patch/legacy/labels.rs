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
    rewritten(overlay, Location::Elsewhere, behavior).unwrap_or_else(|| overlay.clone())
}

/// A value that a patch sets at a path, with its labels and annotations as strings.
pub(super) fn stringified_at<'p>(path: impl Iterator<Item = &'p Text>, value: &Value) -> Value {
    let location = path.fold(Location::Elsewhere, |location, key| location.member(key));
    rewritten(value, location, LegacyBehavior::Documented).unwrap_or_else(|| value.clone())
}

/// The converted value; `None` if nothing changes.
fn rewritten(value: &Value, location: Location, behavior: LegacyBehavior) -> Option<Value> {
    match value {
        Value::Bool(flag) => match (behavior, location) {
            (LegacyBehavior::Documented, Location::Label | Location::Annotation)
            | (LegacyBehavior::Native, Location::Annotation) => Some(Value::from(flag.to_string())),
            _ => None,
        },
        Value::Number(number) => {
            let is_text = matches!(location, Location::Label | Location::Annotation);
            (is_text && behavior == LegacyBehavior::Documented).then(|| Value::from(number.to_string()))
        }
        Value::Object(members) => {
            let mut changed: Option<Value> = None;
            for (key, member) in members.iter() {
                // Conditions are compared, not written.
                if matches!(Anchor::parse(key), Some((Anchor::Condition, _))) {
                    continue;
                }
                if let Some(member) = rewritten(member, location.member(key), behavior) {
                    changed.get_or_insert_with(|| value.clone()).insert(key.clone(), member);
                }
            }
            changed
        }
        Value::Array(items) => {
            let mut changed: Option<Value> = None;
            for (index, item) in items.iter().enumerate() {
                if let Some(item) = rewritten(item, Location::Elsewhere, behavior)
                    && let Some(slot) = changed
                        .get_or_insert_with(|| value.clone())
                        .as_array_mut()
                        .and_then(|items| items.get_mut(index))
                {
                    *slot = item;
                }
            }
            changed
        }
        Value::Null | Value::String(_) => None,
    }
}
