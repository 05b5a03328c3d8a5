//! What is known of the values of expressions, from the schemas of the kinds.

use crate::admission::{ListMerge, ScalarType, Schema};

/// The type of a value.
#[derive(Clone, Debug)]
pub(super) enum Ty<'a> {
    Null,
    Bool,
    /// An integer or a fraction.
    Number,
    /// A text; `true` if it never holds a wildcard or a line break, because the API server refuses them there.
    Text(bool),
    /// A quantity, as text.
    Quantity,
    /// Anything.
    Any,
    List(Box<Self>),
    /// A map with any keys.
    Map(Box<Self>),
    /// An object; one schema for each kind that it may be of.
    Object(Vec<Schema<'a>>),
}

/// How server-side apply treats a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Merging {
    /// It is set.
    Scalar,
    /// Member by member.
    Map,
    /// Elements with equal values of these fields are merged.
    Keys(Vec<String>),
    /// A list of scalars, each at most once.
    Set,
    /// As a whole: an apply configuration may not hold it.
    Atomic,
    /// The schema does not have it, or the kinds differ.
    Unknown,
}

impl<'a> Ty<'a> {
    pub(super) const TEXT: Self = Self::Text(false);
    /// A text without wildcards.
    pub(super) const WORD: Self = Self::Text(true);

    /// The type of values with these schemas.
    pub(super) fn of(schemas: Vec<Schema<'a>>) -> Self {
        let mut types = schemas.iter().map(|schema| Self::of_one(*schema));
        let Some(first) = types.next() else { return Self::Any };
        if matches!(first, Self::Object(_)) {
            return if types.all(|other| matches!(other, Self::Object(_))) {
                Self::Object(schemas)
            } else {
                Self::Any
            };
        }
        if !types.all(|other| first.is_like(&other)) {
            return Self::Any;
        }
        match first {
            Self::List(_) => {
                let elements = schemas.iter().filter_map(|schema| Some(schema.forms().list?.elements));
                Self::List(Box::new(Self::of(elements.collect())))
            }
            Self::Map(_) => {
                let values = schemas.iter().filter_map(|schema| schema.forms().map?.values);
                Self::Map(Box::new(Self::of(values.collect())))
            }
            other => other,
        }
    }

    fn of_one(schema: Schema<'a>) -> Self {
        let forms = schema.forms();
        match (forms.scalar, forms.list, forms.map) {
            (Some(ScalarType::Bool), None, None) => Self::Bool,
            (Some(ScalarType::Number), None, None) => Self::Number,
            (Some(ScalarType::String), None, None) => Self::TEXT,
            (Some(ScalarType::Any), None, None) => Self::Quantity,
            (None, Some(list), None) => Self::List(Box::new(Self::of_one(list.elements))),
            (None, None, Some(map)) => match map.values {
                Some(values) if map.names().next().is_none() => Self::Map(Box::new(Self::of_one(values))),
                _ => Self::Object(vec![schema]),
            },
            _ => Self::Any,
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// The type of a member, which has this path of names from the root of the object.
    pub(super) fn member(&self, name: &str) -> Self {
        match self {
            Self::Map(values) => Self::clone(values),
            Self::Object(schemas) => {
                let fields: Vec<_> = schemas
                    .iter()
                    .filter_map(|schema| {
                        let map = schema.forms().map?;
                        map.field(name).or(map.values)
                    })
                    .collect();
                if fields.len() == schemas.len() { Self::of(fields) } else { Self::Any }
            }
            _ => Self::Any,
        }
    }

    /// The type of the elements of a list.
    pub(super) fn element(&self) -> Self {
        match self {
            Self::List(elements) => Self::clone(elements),
            _ => Self::Any,
        }
    }

    pub(super) const fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    pub(super) const fn is_list(&self) -> bool {
        matches!(self, Self::List(_))
    }
}

/// The fields with this name.
pub(super) fn fields<'a>(schemas: &[Schema<'a>], name: &str) -> Option<Vec<Schema<'a>>> {
    let field = |schema: &Schema<'a>| {
        let map = schema.forms().map?;
        map.field(name).or(map.values)
    };
    schemas.iter().map(field).collect()
}

/// The elements of lists.
pub(super) fn elements<'a>(schemas: &[Schema<'a>]) -> Option<Vec<Schema<'a>>> {
    schemas.iter().map(|schema| Some(schema.forms().list?.elements)).collect()
}

/// How server-side apply treats values with these schemas.
pub(super) fn merging(schemas: &[Schema<'_>]) -> Merging {
    let one = |schema: &Schema<'_>| {
        let forms = schema.forms();
        match (forms.scalar, forms.list, forms.map) {
            (Some(_), None, None) => Merging::Scalar,
            (None, Some(list), None) => match list.merge {
                ListMerge::Atomic => Merging::Atomic,
                ListMerge::Set => Merging::Set,
                ListMerge::Keys(keys) => Merging::Keys(keys.iter().map(|key| key.name.to_string()).collect()),
            },
            (None, None, Some(map)) if map.is_atomic => Merging::Atomic,
            (None, None, Some(_)) => Merging::Map,
            // A scalar of several types, or anything.
            (Some(_), ..) => Merging::Unknown,
            _ => Merging::Unknown,
        }
    };
    let mut all = schemas.iter().map(one);
    let Some(first) = all.next() else { return Merging::Unknown };
    if all.all(|other| other == first) { first } else { Merging::Unknown }
}
