//! Sets the defaults of a value and of all below it, in the order of the API server's generated code.

use crate::value::{Map, Value};

use super::types::{Field, Kind, Shape, Struct, TypeId};

/// Sets the defaults of a normalized value of this type, then does what conversion does. What it shares with `known`, which
/// has its defaults, is not looked at.
pub(super) fn apply(id: TypeId, value: &mut Value, known: Option<&Value>) {
    if value.is_null() || !id.has_setters() || known.is_some_and(|known| value.same_storage(known)) {
        return;
    }
    let named = id.get();
    for set in &named.defaults {
        set(value);
    }
    match &named.shape {
        Shape::Collection(kind) => apply_kind(kind, value, known),
        Shape::Struct(shape) => apply_fields(shape, value, known),
    }
    if let Some(convert) = named.conversion {
        convert(value);
    }
}

fn apply_fields(shape: &Struct, value: &mut Value, known: Option<&Value>) {
    for field in shape.changing() {
        if let Some(default) = &field.default
            && is_unset(field, value)
        {
            value.insert(field.key.clone(), default.clone());
        }
        let below = field.kind.named().is_some_and(TypeId::has_setters);
        let known = known.and_then(|known| known.get(field.name));
        let is_open =
            |member: &Value| !member.is_null() && !known.is_some_and(|known| member.same_storage(known));
        if below && value.get(field.name).is_some_and(is_open) {
            let member = value.as_object_mut().and_then(|members| members.get_mut(field.name));
            if let Some(member) = member {
                apply_kind(&field.kind, member, known);
            }
        }
    }
}

fn is_unset(field: &Field, value: &Value) -> bool {
    value.get(field.name).is_none_or(|member| field.empty.as_ref() == Some(member))
}

fn apply_kind(kind: &Kind, value: &mut Value, known: Option<&Value>) {
    match kind {
        Kind::Scalar(_) => {}
        Kind::Named(id) => apply(*id, value, known),
        Kind::Pointer(kind) => apply_kind(kind, value, known),
        Kind::List(kind) => {
            for (index, item) in value.as_array_mut().into_iter().flatten().enumerate() {
                apply_kind(kind, item, known.and_then(|known| known.at(index)));
            }
        }
        Kind::Map(kind) => {
            for (key, member) in value.as_object_mut().into_iter().flat_map(Map::iter_mut) {
                apply_kind(kind, member, known.and_then(|known| known.get(key)));
            }
        }
    }
}
