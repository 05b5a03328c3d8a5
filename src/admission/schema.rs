//! Schemas for server-side apply: what the values of a kind are, and how lists, maps and structs of it merge.

use std::iter;

use crate::value::GroupVersionKind;

use super::KindSchemas;
use super::crd::{self, Type};
use super::types::{Kind, ListKey, Merge, Named, Scalar, ScalarType, Shape, Struct, TypeId};

/// What is known of a value by its place in an object.
///
/// The rules are those that an API server derives from its `OpenAPI` documents.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a>(Node<'a>);

#[derive(Clone, Copy, Debug)]
enum Node<'a> {
    BuiltIn(&'static Kind, &'static Merge),
    Named(&'static Named, &'static Merge),
    Custom(&'a crd::Schema),
    Text,
    Free,
    Opaque,
}

/// The forms that a value may have; at least one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forms<'a> {
    /// The scalars, if it may be one.
    pub scalar: Option<ScalarType>,
    /// The list, if it may be one.
    pub list: Option<ListType<'a>>,
    /// The map or struct, if it may be one.
    pub map: Option<MapType<'a>>,
}

/// A list.
#[derive(Clone, Copy, Debug)]
pub struct ListType<'a> {
    /// How it merges.
    pub merge: ListMerge<'a>,
    /// Its elements.
    pub elements: Schema<'a>,
}

/// How a list merges with another one.
#[derive(Clone, Copy, Debug)]
pub enum ListMerge<'a> {
    /// It is replaced as a whole.
    Atomic,
    /// As a set of scalars.
    Set,
    /// Elements with equal values of these fields merge.
    Keys(&'a [ListKey]),
}

/// A map or struct.
#[derive(Clone, Copy, Debug)]
pub struct MapType<'a> {
    /// Whether it is replaced as a whole.
    pub is_atomic: bool,
    fields: Fields<'a>,
    /// The values of keys that are no fields; `None` if there may be none.
    pub values: Option<Schema<'a>>,
}

#[derive(Clone, Copy, Debug)]
enum Fields<'a> {
    None,
    BuiltIn(&'static Struct),
    Custom(&'a crd::Schema),
}

static BY_TYPE: Merge = Merge::ByType;

impl KindSchemas {
    /// The schema of a kind.
    pub fn of(&self, kind: &GroupVersionKind) -> Option<Schema<'_>> {
        match TypeId::of_kind(kind) {
            Some(id) => Some(Schema(Node::Named(id.get(), &BY_TYPE))),
            None => self.custom.get(kind).map(Schema::custom),
        }
    }
}

impl<'a> Schema<'a> {
    /// Any value: maps merge key by key, lists are replaced. The schema of a kind of which nothing is known.
    pub const FREE: Self = Self(Node::Free);
    /// Any value, replaced as a whole.
    const OPAQUE: Self = Self(Node::Opaque);

    fn custom(schema: &'a crd::Schema) -> Self {
        Self(if schema.is_free() { Node::Free } else { Node::Custom(schema) })
    }

    /// Whether it is a built-in type, not one of a custom resource.
    pub const fn is_built_in(self) -> bool {
        matches!(self.0, Node::BuiltIn(..) | Node::Named(..))
    }

    /// The forms of the value.
    pub fn forms(self) -> Forms<'a> {
        match self.0 {
            Node::BuiltIn(kind, merge) => of_kind(kind, merge),
            Node::Named(named, merge) => of_named(named, merge),
            Node::Custom(schema) => of_custom(schema),
            Node::Text => Forms::scalar(ScalarType::String),
            Node::Free => {
                Forms::any(ListMerge::Atomic, MapType { values: Some(Self::FREE), ..MapType::EMPTY })
            }
            Node::Opaque => Forms::any(
                ListMerge::Atomic,
                MapType { is_atomic: true, values: Some(Self::OPAQUE), ..MapType::EMPTY },
            ),
        }
    }
}

impl<'a> Forms<'a> {
    fn scalar(scalar: ScalarType) -> Self {
        Self { scalar: Some(scalar), ..Self::default() }
    }

    fn map(map: MapType<'a>) -> Self {
        Self { map: Some(map), ..Self::default() }
    }

    /// Any value, with opaque elements of lists.
    fn any(merge: ListMerge<'a>, map: MapType<'a>) -> Self {
        let list = ListType { merge, elements: Schema::OPAQUE };
        Self { scalar: Some(ScalarType::Any), list: Some(list), map: Some(map) }
    }
}

impl<'a> MapType<'a> {
    const EMPTY: Self = Self { is_atomic: false, fields: Fields::None, values: None };

    /// The field with this name.
    pub fn field(self, name: &str) -> Option<Schema<'a>> {
        match self.fields {
            Fields::None => None,
            Fields::BuiltIn(shape) => {
                let field = &shape.fields[shape.find(name)?];
                Some(Schema(Node::BuiltIn(&field.kind, &field.merge)))
            }
            Fields::Custom(schema) => match name {
                "apiVersion" | "kind" if schema.is_embedded => Some(Schema(Node::Text)),
                "metadata" if schema.is_embedded => {
                    let id = TypeId::of_name("meta/v1.ObjectMeta")?;
                    Some(Schema(Node::Named(id.get(), &BY_TYPE)))
                }
                _ => schema.properties.get(name).map(Schema::custom),
            },
        }
    }

    /// The names of the fields.
    pub fn names(self) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        match self.fields {
            Fields::None => Box::new(iter::empty()),
            Fields::BuiltIn(shape) => Box::new(shape.fields.iter().map(|field| field.name)),
            Fields::Custom(schema) => {
                let meta = crd::META_FIELDS.into_iter().filter(|_| schema.is_embedded);
                Box::new(schema.properties.keys().map(|name| &**name).chain(meta))
            }
        }
    }
}

fn of_named(named: &'static Named, merge: &'static Merge) -> Forms<'static> {
    match &named.shape {
        Shape::Collection(kind) => of_kind(kind, merge),
        Shape::Struct(shape) => Forms::map(MapType {
            is_atomic: match merge {
                Merge::Atomic => true,
                Merge::Granular => false,
                _ => shape.is_atomic,
            },
            fields: Fields::BuiltIn(shape),
            // OpenAPI has no other way to say that there may be any.
            values: shape.fields.is_empty().then_some(Schema::FREE),
        }),
    }
}

fn of_kind(kind: &'static Kind, merge: &'static Merge) -> Forms<'static> {
    let inner = |kind| Schema(Node::BuiltIn(kind, &BY_TYPE));
    match kind {
        Kind::Scalar(scalar) => of_scalar(*scalar),
        Kind::Pointer(kind) => of_kind(kind, merge),
        Kind::Named(id) => of_named(id.get(), merge),
        Kind::Map(values) => Forms::map(MapType {
            is_atomic: *merge == Merge::Atomic,
            values: Some(inner(values)),
            ..MapType::EMPTY
        }),
        Kind::List(elements) => {
            let merge = match merge {
                Merge::Set => ListMerge::Set,
                Merge::Keys(keys) => ListMerge::Keys(keys),
                Merge::ByType | Merge::Atomic | Merge::Granular => ListMerge::Atomic,
            };
            Forms { list: Some(ListType { merge, elements: inner(elements) }), ..Forms::default() }
        }
    }
}

fn of_scalar(scalar: Scalar) -> Forms<'static> {
    match scalar {
        Scalar::Bool => Forms::scalar(ScalarType::Bool),
        Scalar::String | Scalar::Bytes => Forms::scalar(ScalarType::String),
        Scalar::Int32 | Scalar::Int64 | Scalar::Float64 => Forms::scalar(ScalarType::Number),
        Scalar::Quantity | Scalar::Time | Scalar::MicroTime => Forms::scalar(ScalarType::Any),
        Scalar::Raw => Schema::OPAQUE.forms(),
        Scalar::Fields => Forms::map(MapType { values: Some(Schema::FREE), ..MapType::EMPTY }),
        Scalar::IntOrString
        | Scalar::Json
        | Scalar::SchemaOrBool
        | Scalar::SchemaOrList
        | Scalar::SchemaOrStrings => Schema::FREE.forms(),
    }
}

fn of_custom(schema: &crd::Schema) -> Forms<'_> {
    let list = || ListType {
        merge: match &schema.merge {
            Merge::Set => ListMerge::Set,
            Merge::Keys(keys) => ListMerge::Keys(keys),
            Merge::ByType | Merge::Atomic | Merge::Granular => ListMerge::Atomic,
        },
        elements: schema.items.as_deref().map_or(Schema::OPAQUE, Schema::custom),
    };
    let map = || MapType {
        is_atomic: schema.merge == Merge::Atomic,
        fields: Fields::Custom(schema),
        values: match &schema.additional {
            Some(values) => Some(Schema::custom(values)),
            None => schema.has_free_keys().then_some(Schema::FREE),
        },
    };
    match schema.value_type {
        Type::Any => Forms { scalar: Some(ScalarType::Any), list: Some(list()), map: Some(map()) },
        Type::Object => Forms::map(map()),
        Type::List => Forms { list: Some(list()), ..Forms::default() },
        Type::Scalar(scalar) => Forms::scalar(scalar),
    }
}
