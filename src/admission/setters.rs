//! Sets the defaults of a value and of all below it, in the order of the API server's generated code.

use crate::value::{Map, Value};

use super::room::Room;
use super::types::{Field, Kind, Shape, Struct, TypeId};

/// The elements of longer lists are stored without spare room.
const LONG: usize = 1000;

/// Sets the defaults of a normalized value of this type, then does what conversion does. What it shares with `known`, which
/// has its defaults, is not looked at.
///
/// Ends as soon as `room` is empty.
pub(super) fn apply(id: TypeId, value: &mut Value, known: Option<&Value>, room: &Room) {
    let is_known = known.is_some_and(|known| value.same_storage(known));
    if value.is_null() || !id.has_setters() || is_known || room.is_empty() {
        return;
    }
    let named = id.get();
    if named.room() > 0 {
        let members = value.as_object().map_or(0, Map::len) + named.room();
        if !room.take_object(members) {
            return;
        }
        value.reserve(named.room());
    }
    for set in &named.defaults {
        set(value);
    }
    match &named.shape {
        Shape::Collection(kind) => apply_kind(kind, value, known, room),
        Shape::Struct(shape) => apply_fields(shape, value, known, room),
    }
    if let Some(convert) = named.conversion {
        convert(value);
    }
}

fn apply_fields(shape: &Struct, value: &mut Value, known: Option<&Value>, room: &Room) {
    for (field, below) in shape.changing() {
        let Some(members) = value.as_object() else { return };
        let mut place = members.get_index_of(&field.key);
        let member = place.and_then(|index| members.get_index(index)).map(|(_, member)| member);
        if let Some(default) = &field.default
            && (member.is_none() || field.empty.as_ref() == member)
        {
            value.insert(field.key.clone(), default.clone());
            place = place.or_else(|| value.as_object().map(|members| members.len() - 1));
        }
        if let Some(index) = place.filter(|_| below) {
            apply_member((field, index), value, known, room);
        }
    }
}

/// Sets the defaults below the member of a field.
fn apply_member((field, index): (&Field, usize), value: &mut Value, known: Option<&Value>, room: &Room) {
    let known = known.and_then(Value::as_object).and_then(|known| known.get_near(&field.key, index));
    let member = value.as_object().and_then(|members| members.get_index(index));
    let is_open =
        |member: &Value| !member.is_null() && !known.is_some_and(|known| member.same_storage(known));
    if member.is_some_and(|(_, member)| is_open(member))
        && let Some((_, member)) = value.as_object_mut().and_then(|members| members.get_index_mut(index))
    {
        apply_kind(&field.kind, member, known, room);
    }
}

fn apply_kind(kind: &Kind, value: &mut Value, known: Option<&Value>, room: &Room) {
    match kind {
        Kind::Scalar(_) => {}
        Kind::Named(id) => apply(*id, value, known, room),
        Kind::Pointer(kind) => apply_kind(kind, value, known, room),
        Kind::List(kind) => {
            let Some(items) = value.as_array_mut() else { return };
            let is_long = items.len() > LONG;
            for (index, item) in items.iter_mut().enumerate() {
                apply_kind(kind, item, known.and_then(|known| known.at(index)), room);
                if is_long {
                    item.shrink_to_fit();
                }
            }
        }
        Kind::Map(kind) => {
            for (key, member) in value.as_object_mut().into_iter().flat_map(Map::iter_mut) {
                apply_kind(kind, member, known.and_then(|known| known.get(key)), room);
            }
        }
    }
}
