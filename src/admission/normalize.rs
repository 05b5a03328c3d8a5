//! What decoding an object into its Go type and encoding it again changes, defaults aside.

use crate::value::{Map, Pointer, Quantity, Segment, Value};

use super::room::Room;
use super::types::{Field, Kind, Scalar, Shape, Struct, TypeId};
use super::{NotAdmitted, quantity_text, time};

/// Why the API server cannot decode a value.
pub(super) struct Fault {
    /// The path, from the value to the root.
    path: Vec<Segment>,
    message: String,
}

/// A value that differs from the written one; `None` if it does not.
type Normalized = Result<Option<Value>, Fault>;

/// What a value is decoded beside.
#[derive(Clone, Copy)]
struct Beside<'a> {
    /// The value at the same place of an object that was decoded.
    known: Option<&'a Value>,
    /// For objects to which defaults are added.
    room: &'a Room,
}

impl<'a> Beside<'a> {
    fn below(self, known: impl FnOnce(&'a Value) -> Option<&'a Value>) -> Self {
        Self { known: self.known.and_then(known), ..self }
    }

    fn has(self, value: &Value) -> bool {
        self.known.is_some_and(|known| value.same_storage(known))
    }
}

/// The object as JSON has it after it was decoded. What it shares with `known`, which was decoded, is not looked at.
///
/// # Errors
///
/// Values of other types than those of their fields, and more defaults than an API server takes.
pub(super) fn normalize(id: TypeId, object: &Value, known: Option<&Value>) -> Result<Value, NotAdmitted> {
    let room = Room::new();
    match named(id, object, Beside { known, room: &room }) {
        Ok(changed) => Ok(changed.unwrap_or_else(|| object.clone())),
        Err(_) if room.is_empty() => Err(NotAdmitted::ManyDefaults),
        Err(mut fault) => {
            fault.path.reverse();
            let mut at = Pointer::ROOT;
            for segment in fault.path {
                match segment {
                    Segment::Key(key) => at.push_key(key),
                    Segment::Index(index) => at.push_index(index),
                }
            }
            Err(NotAdmitted::Refused { at, message: fault.message })
        }
    }
}

fn named(id: TypeId, value: &Value, beside: Beside<'_>) -> Normalized {
    let named = id.get();
    match &named.shape {
        Shape::Collection(kind) => of_kind(kind, value, beside),
        Shape::Struct(shape) => match value {
            Value::Object(members) => fields((shape, named.room()), members, beside),
            other => Err(Fault::of_type(other, "struct")),
        },
    }
}

/// A value that is not `null`.
fn of_kind(kind: &Kind, value: &Value, beside: Beside<'_>) -> Normalized {
    if beside.has(value) {
        return Ok(None);
    }
    match kind {
        Kind::Scalar(scalar) => of_scalar(*scalar, value, beside.room),
        Kind::Named(id) => named(*id, value, beside),
        Kind::Pointer(kind) => of_kind(kind, value, beside),
        Kind::List(kind) => match value {
            Value::Array(items) => list(kind, items, beside),
            other => Err(Fault::of_type(other, "list")),
        },
        Kind::Map(kind) => match value {
            Value::Object(members) => map(kind, members, beside),
            other => Err(Fault::of_type(other, "map")),
        },
    }
}

fn list(kind: &Kind, items: &[Value], beside: Beside<'_>) -> Normalized {
    let mut changed: Option<Vec<Value>> = None;
    for (index, item) in items.iter().enumerate() {
        let beside = beside.below(|known| known.at(index));
        let item = element(kind, item, beside).map_err(|fault| fault.below(Segment::Index(index)))?;
        if let Some(item) = item {
            changed.get_or_insert_with(|| items.to_vec())[index] = item;
        }
    }
    Ok(changed.map(Value::array))
}

fn map(kind: &Kind, members: &Map, beside: Beside<'_>) -> Normalized {
    let mut changed: Option<Map> = None;
    for (key, member) in members {
        let beside = beside.below(|known| known.get(key));
        let member = element(kind, member, beside).map_err(|fault| fault.below(Segment::Key(key.clone())))?;
        if let Some(member) = member {
            changed.get_or_insert_with(|| members.clone()).insert(key.clone(), member);
        }
    }
    Ok(changed.map(Value::object))
}

/// An element of a list or map: `null` is an empty value there.
fn element(kind: &Kind, value: &Value, beside: Beside<'_>) -> Normalized {
    if value.is_null() {
        Ok(Some(kind.empty()).filter(|empty| !empty.is_null()))
    } else {
        of_kind(kind, value, beside)
    }
}

/// What becomes of a member.
enum Member {
    Keep,
    Replace(Value),
    Drop,
}

/// `room` is for members that defaults add.
fn fields((shape, room): (&Struct, usize), members: &Map, beside: Beside<'_>) -> Normalized {
    let known = beside.known.and_then(Value::as_object);
    let mut missing = shape.required;
    let mut next = 0;
    let mut changed: Option<Map> = None;
    for (index, (key, value)) in members.iter().enumerate() {
        let beside = Beside { known: known.and_then(|known| known.get_near(key, index)), ..beside };
        if shape.required == 0 && changed.is_none() && beside.has(value) {
            continue;
        }
        let field = shape.find_near(next, key);
        next = field.map_or(next, |place| place + 1);
        let member = match field {
            None => Member::Drop,
            Some(place) => field_value(&shape.fields[place], value, beside)
                .map_err(|fault| fault.below(Segment::Key(key.clone())))?,
        };
        if let (Some(place), Member::Keep | Member::Replace(_)) = (field, &member) {
            missing &= !(1 << place);
        }
        let value = match member {
            Member::Keep if changed.is_none() => continue,
            Member::Keep => Some(value.clone()),
            Member::Replace(value) => Some(value),
            Member::Drop => None,
        };
        let kept = changed.get_or_insert_with(|| {
            members.first(index, members.len() + missing.count_ones() as usize + room)
        });
        if let Some(value) = value {
            kept.push(key.clone(), value);
        }
    }
    if missing != 0 {
        let added = missing.count_ones() as usize + room;
        if !beside.room.take_object(members.len() + added) {
            return Err(Fault::new("too many defaults"));
        }
        let kept = changed.get_or_insert_with(|| members.with_room(added));
        for (place, field) in shape.fields.iter().enumerate() {
            if missing & 1 << place != 0
                && let Some(empty) = &field.empty
            {
                kept.insert(field.key.clone(), empty.clone());
            }
        }
    }
    Ok(changed.map(Value::object))
}

fn field_value(field: &Field, value: &Value, beside: Beside<'_>) -> Result<Member, Fault> {
    if value.is_null() {
        return Ok(if field.empty.as_ref().is_some_and(Value::is_null) {
            Member::Keep
        } else {
            Member::Drop
        });
    }
    let changed = of_kind(&field.kind, value, beside)?;
    if field.empty.is_none() && is_empty(&field.kind, changed.as_ref().unwrap_or(value)) {
        return Ok(Member::Drop);
    }
    Ok(changed.map_or(Member::Keep, Member::Replace))
}

/// Whether Go's JSON leaves a field with this value out, where it may.
fn is_empty(kind: &Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Pointer(_), _) => false,
        (_, Value::Null) => true,
        (_, Value::Bool(value)) => !value,
        (_, Value::Number(number)) => number.as_i64() == Some(0),
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(members)) => members.is_empty(),
    }
}

fn of_scalar(scalar: Scalar, value: &Value, room: &Room) -> Normalized {
    let unchanged = |matches: bool, name: &'static str| {
        if matches { Ok(None) } else { Err(Fault::of_type(value, name)) }
    };
    match scalar {
        Scalar::Bool => unchanged(matches!(value, Value::Bool(_)), "bool"),
        Scalar::String => unchanged(matches!(value, Value::String(_)), "string"),
        Scalar::Int32 => integer(value, "int32", |number| i32::try_from(number).is_ok()),
        Scalar::Int64 => integer(value, "int64", |_| true),
        Scalar::Float64 => unchanged(matches!(value, Value::Number(_)), "float64"),
        Scalar::Quantity => quantity(value),
        Scalar::IntOrString => match value {
            Value::String(_) => Ok(None),
            other => integer(other, "int32", |number| i32::try_from(number).is_ok()),
        },
        Scalar::Time => instant(value, time::seconds),
        Scalar::MicroTime => instant(value, time::microseconds),
        Scalar::Bytes => bytes(value),
        Scalar::Raw | Scalar::Json | Scalar::Fields => Ok(None),
        Scalar::SchemaOrBool => match value {
            Value::Object(_) => schema(value, room),
            other => {
                let allowed = matches!(other, Value::Bool(_));
                if allowed { Ok(None) } else { Err(Fault::new("boolean or JSON schema expected")) }
            }
        },
        Scalar::SchemaOrList => match value {
            Value::Object(_) => schema(value, room),
            Value::Array(items) if !items.is_empty() => schema_type()
                .map_or(Ok(None), |id| list(&Kind::Named(id), items, Beside { known: None, room })),
            _ => Ok(Some(Value::Null)),
        },
        Scalar::SchemaOrStrings => match value {
            Value::Object(_) => schema(value, room),
            Value::Array(items) if !items.is_empty() => {
                list(&Kind::Scalar(Scalar::String), items, Beside { known: None, room })
            }
            _ => Ok(Some(Value::Null)),
        },
    }
}

fn schema_type() -> Option<TypeId> {
    TypeId::of_name("apiextensions/v1.JSONSchemaProps")
}

fn schema(value: &Value, room: &Room) -> Normalized {
    schema_type().map_or(Ok(None), |id| named(id, value, Beside { known: None, room }))
}

/// kubectl and other clients send a number without a fraction as an integer, however it is written.
fn integer(value: &Value, name: &'static str, fits: impl Fn(i64) -> bool) -> Normalized {
    let Value::Number(number) = value else {
        return Err(Fault::of_type(value, name));
    };
    match number.as_i64().filter(|integer| fits(*integer)) {
        Some(integer) if number.is_written_as_integer() && !(integer == 0 && number.to_string() == "-0") => {
            Ok(None)
        }
        Some(integer) => Ok(Some(Value::from(integer))),
        None => Err(Fault::new(format!("cannot unmarshal number {number} into {name}"))),
    }
}

fn quantity(value: &Value) -> Normalized {
    let number;
    let written = match value {
        Value::String(text) => text.trim(),
        Value::Number(value) => {
            number = value.to_string();
            &*number
        }
        other => return Err(Fault::of_type(other, "quantity")),
    };
    let parsed = Quantity::parse(written).map_err(|error| Fault::new(error.to_string()))?;
    let text = if quantity_text::is_kept(written) { written.to_owned() } else { parsed.to_string() };
    Ok((value.as_str() != Some(&text)).then(|| Value::from(text)))
}

fn instant(value: &Value, canonical: fn(&str) -> Option<Value>) -> Normalized {
    let Value::String(text) = value else {
        return Err(Fault::of_type(value, "time"));
    };
    let time =
        canonical(text).ok_or_else(|| Fault::new(format!("cannot parse {text:?} as a time of RFC 3339")))?;
    Ok((time.as_str() != Some(text)).then_some(time))
}

fn bytes(value: &Value) -> Normalized {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    let Value::String(text) = value else {
        return Err(Fault::of_type(value, "bytes"));
    };
    if STANDARD.decode(&**text).is_ok() {
        return Ok(None);
    }
    // Go skips line breaks.
    let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    match STANDARD.decode(&joined) {
        Ok(_) => Ok(Some(Value::from(joined))),
        Err(_) => Err(Fault::new("illegal base64 data")),
    }
}

impl Fault {
    fn new(message: impl Into<String>) -> Self {
        Self { path: Vec::new(), message: message.into() }
    }

    /// A value of another JSON type, in the words of Go's decoder.
    fn of_type(found: &Value, expected: &str) -> Self {
        Self::new(format!("cannot unmarshal {} into {expected}", found.type_name()))
    }

    fn below(mut self, segment: Segment) -> Self {
        self.path.push(segment);
        self
    }
}
