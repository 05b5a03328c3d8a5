//! Labels and annotations hold texts, whatever an overlay or a patch writes.

use crate::value::{Text, Value};

use crate::patch::strategic::anchor::Anchor;

use super::LegacyReading;

/// Where a value stands, as far as labels matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Elsewhere,
    Metadata,
    Labels,
    Annotations,
    Label,
    Annotation,
}

impl Room {
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

/// An overlay with its labels and annotations as texts. The engine of the time did so with truth values of
/// annotations alone.
pub(super) fn texts(overlay: &Value, tracker: LegacyReading) -> Value {
    rewritten(overlay, Room::Elsewhere, tracker).unwrap_or_else(|| overlay.clone())
}

/// A value that a patch puts at a path, with its labels and annotations as texts.
pub(in crate::patch) fn texts_below<'p>(path: impl Iterator<Item = &'p Text>, value: &Value) -> Value {
    let room = path.fold(Room::Elsewhere, |room, key| room.member(key));
    rewritten(value, room, LegacyReading::Documented).unwrap_or_else(|| value.clone())
}

/// The value rewritten; `None` where it stays as it is.
fn rewritten(value: &Value, room: Room, tracker: LegacyReading) -> Option<Value> {
    match value {
        Value::Bool(flag) => match (tracker, room) {
            (LegacyReading::Documented, Room::Label | Room::Annotation)
            | (LegacyReading::Native, Room::Annotation) => Some(Value::from(flag.to_string())),
            _ => None,
        },
        Value::Number(number) => {
            let is_text = matches!(room, Room::Label | Room::Annotation);
            (is_text && tracker == LegacyReading::Documented).then(|| Value::from(number.to_string()))
        }
        Value::Object(members) => {
            let mut changed: Option<Value> = None;
            for (key, member) in members.iter() {
                // Conditions are compared, not written.
                if matches!(Anchor::parse(key), Some((Anchor::Condition, _))) {
                    continue;
                }
                if let Some(member) = rewritten(member, room.member(key), tracker) {
                    changed.get_or_insert_with(|| value.clone()).insert(key.clone(), member);
                }
            }
            changed
        }
        Value::Array(items) => {
            let mut changed: Option<Value> = None;
            for (index, item) in items.iter().enumerate() {
                if let Some(item) = rewritten(item, Room::Elsewhere, tracker)
                    && let Some(place) = changed
                        .get_or_insert_with(|| value.clone())
                        .as_array_mut()
                        .and_then(|items| items.get_mut(index))
                {
                    *place = item;
                }
            }
            changed
        }
        Value::Null | Value::String(_) => None,
    }
}
