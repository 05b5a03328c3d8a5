//! Sets the defaults of a value and of all below it, in the order of the API server's generated code.

use crate::value::Value;

use super::types::{Field, Kind, Shape, Struct, TypeId};

/// Sets the defaults of a normalized value of this type, then does what conversion does.
pub(super) fn apply(id: TypeId, value: &mut Value) {
    if value.is_null() || !id.has_setters() {
        return;
    }
    let named = id.get();
    for set in &named.defaults {
        set(value);
    }
    match &named.shape {
        Shape::Collection(kind) => apply_kind(kind, value),
        Shape::Struct(shape) => apply_fields(shape, value),
    }
    if let Some(convert) = named.conversion {
        convert(value);
    }
}

fn apply_fields(shape: &Struct, value: &mut Value) {
    for field in shape.changing() {
        if let Some(default) = &field.default
            && is_unset(field, value)
        {
            value.insert(field.key.clone(), default.clone());
        }
        let below = field.kind.named().is_some_and(TypeId::has_setters);
        if below && value.get(field.name).is_some_and(|member| !member.is_null()) {
            let member = value.as_object_mut().and_then(|members| members.get_mut(field.name));
            if let Some(member) = member {
                apply_kind(&field.kind, member);
            }
        }
    }
}

fn is_unset(field: &Field, value: &Value) -> bool {
    value.get(field.name).is_none_or(|member| field.empty.as_ref() == Some(member))
}

fn apply_kind(kind: &Kind, value: &mut Value) {
    match kind {
        Kind::Scalar(_) => {}
        Kind::Named(id) => apply(*id, value),
        Kind::Pointer(kind) => apply_kind(kind, value),
        Kind::List(kind) => {
            for item in value.as_array_mut().into_iter().flatten() {
                apply_kind(kind, item);
            }
        }
        Kind::Map(kind) => {
            for member in value.as_object_mut().into_iter().flat_map(|members| members.values_mut()) {
                apply_kind(kind, member);
            }
        }
    }
}
