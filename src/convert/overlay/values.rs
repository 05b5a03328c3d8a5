//! Values of overlays: scalars, computed keys, and whole values of JSON patches.

use crate::convert::cel_text::{Cel, Entry};
use crate::convert::expression::{Mixed, Scope};
use crate::convert::patches::{Patch, holds_large, large_number};
use crate::convert::place::Place;
use crate::convert::problem::Problem;
use crate::convert::ty::{Merging, Ty};
use crate::convert::val::{Form, Val, homogeneous, homogeneous_members, literal};
use crate::value::{Pointer, Text, Value};

use super::{Fragment, Overlay, Result, is_dynamic};

impl<'a> Overlay<'_, 'a> {
    /// A scalar at a place.
    pub(super) fn scalar(&self, value: &Value, place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        let always = || vec![Cel::bool(true)];
        if value.is_null() {
            let remove = Cel::patch("remove", place.location.cel(), None);
            return Ok(Fragment {
                patches: vec![Patch::when(place.path.has(), remove)],
                touches: always(),
                ..Fragment::default()
            });
        }
        if is_dynamic(value) {
            return self.variable(value, place, at);
        }
        let value = self.typed(value, place);
        let is_of_another_type = matches!(
            (&place.path.ty, &value),
            (Ty::Text(_), Value::Number(_) | Value::Bool(_))
                | (Ty::Number, Value::String(_) | Value::Bool(_))
                | (Ty::Bool, Value::String(_) | Value::Number(_))
        );
        if is_of_another_type {
            return self.refuse(
                at,
                "a value of another type",
                "the kind has another type there",
                "correct the overlay",
            );
        }
        let cel = literal(&value);
        if matches!(place.merging(), Merging::Scalar) {
            return Ok(Fragment {
                apply: Some(cel),
                is_solid: true,
                touches: always(),
                ..Fragment::default()
            });
        }
        if matches!(place.merging(), Merging::Map | Merging::Keys(_) | Merging::Set | Merging::Atomic)
            || (place.is_patched && matches!(place.path.ty, Ty::List(_) | Ty::Map(_) | Ty::Object(_)))
        {
            return self.refuse(at, "a scalar", "the kind has a list or a map there", "correct the overlay");
        }
        if holds_large(&value) {
            return Err(large_number().at(at));
        }
        let mut patches = place.guards();
        patches.push(Patch::add(&place.location, cel));
        Ok(Fragment { patches, touches: always(), ..Fragment::default() })
    }

    /// A scalar as the kind has it: labels and annotations are texts.
    fn typed(&self, value: &Value, place: &Place<'a>) -> Value {
        let is_text_map = is_text_map(place);
        match value {
            Value::Bool(flag) if is_text_map => Value::from(flag.to_string()),
            Value::Number(number) if is_text_map => Value::from(number.to_string()),
            other => other.clone(),
        }
    }

    /// A text with variables at a place.
    fn variable(&self, value: &Value, place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        let problem = |problem: Problem| problem.at(at);
        let text = value.as_str().unwrap_or_default();
        let scope = self.scope.with("@", Val::path(place.path.clone()));
        let value = Mixed::of(text, &scope).and_then(Mixed::value).map_err(problem)?;
        // Labels and annotations are texts.
        let value = match value.ty {
            Ty::Number | Ty::Bool if is_text_map(place) && value.present().is_none() => {
                let text = crate::convert::expression::as_text(&value).map_err(problem)?;
                Val::failing(text, Ty::WORD, value.fails())
            }
            _ => value,
        };
        match (&place.path.ty, &value.ty) {
            (_, Ty::Null) => return self.scalar(&Value::Null, place, at),
            (Ty::Text(_), Ty::Number | Ty::Bool | Ty::List(_) | Ty::Map(_) | Ty::Object(_)) => {
                return self.refuse(
                    at,
                    format!("the variable `{text}`"),
                    "its value is no text, and the kind has a text there",
                    "put it into a text with another function, such as `to_string`",
                );
            }
            (Ty::Map(_) | Ty::Object(_), _) | (_, Ty::Map(_) | Ty::Object(_)) => {
                return self.refuse(
                    at,
                    format!("the map `{text}`"),
                    "a map from a variable is merged key by key, and CEL cannot join maps",
                    "write its keys",
                );
            }
            _ => {}
        }
        let is_list = value.ty.is_list() || place.path.ty.is_list();
        if is_list && !matches!(place.merging(), Merging::Atomic | Merging::Unknown) {
            return self.refuse(
                at,
                format!("the list `{text}`"),
                "its elements are merged with those of the object",
                "write its elements",
            );
        }
        let present = value.present();
        let cel = value.value();
        let is_scalar = matches!(place.merging(), Merging::Scalar);
        let Some(present) = present else {
            if is_scalar {
                return Ok(Fragment {
                    apply: Some(cel),
                    is_solid: true,
                    touches: vec![Cel::bool(true)],
                    ..Fragment::default()
                });
            }
            let mut patches = place.guards();
            patches.push(Patch::add(&place.location, cel));
            return Ok(Fragment { patches, touches: vec![Cel::bool(true)], ..Fragment::default() });
        };
        // A null removes the key.
        let mut patches = Vec::new();
        if !mentions(&value, place) {
            let gone = Cel::all(vec![present.clone().negated(), place.path.has()]);
            patches.push(Patch::when(gone, Cel::patch("remove", place.location.cel(), None)));
        }
        if is_scalar {
            let apply = Some(Cel::optional(present, cel));
            return Ok(Fragment { apply, patches, touches: vec![Cel::bool(true)], ..Fragment::default() });
        }
        patches.extend(place.guards());
        patches.push(Patch::when(present, Cel::patch("add", place.location.cel(), Some(cel))));
        Ok(Fragment { patches, touches: vec![Cel::bool(true)], ..Fragment::default() })
    }

    /// A key with variables.
    pub(super) fn computed_key(
        &self,
        key: &Text,
        value: &Value,
        place: &Place<'a>,
        at: &Pointer,
        entries: &mut Vec<Entry<Cel>>,
        fragment: &mut Fragment,
    ) -> Result<()> {
        let problem = |problem: Problem| problem.at(at);
        if key.contains('(') && (key.starts_with('(') || key.starts_with("+(") || key.starts_with("<(")) {
            return self.refuse(
                at,
                format!("the anchor `{key}`"),
                "its key has a variable",
                "write the key, or a precondition",
            );
        }
        let name = Mixed::of(key, self.scope).and_then(Mixed::value).map_err(problem)?;
        let is_member = matches!(place.merging(), Merging::Map) && !place.is_patched;
        // The place in a JSON patch is an error, too, if the value is no text.
        let may_be_text = name.ty.is_text() || (matches!(name.ty, Ty::Any) && !is_member);
        if name.present().is_some() || !may_be_text {
            return self.refuse(
                at,
                format!("the key `{key}`"),
                "its value may be no text",
                "give it a default",
            );
        }
        if matches!(value, Value::Object(_) | Value::Array(_) | Value::Null) {
            return self.refuse(
                at,
                format!("the key `{key}`"),
                "what is below it is merged with what the object has there",
                "write the key",
            );
        }
        let member = place.member("*");
        let written = self.json(&self.typed(value, &member), &member, at)?;
        fragment.touches.push(Cel::bool(true));
        if is_member {
            entries.push(Entry {
                key: Cel::function("string", [name.value()]),
                value: written,
                optional: false,
            });
            return Ok(());
        }
        fragment.patches.extend(place.guards_below());
        fragment.patches.push(Patch::add(&place.location.computed(name.value()), written));
        Ok(())
    }

    /// A whole value of a JSON patch.
    pub(super) fn json(&self, value: &Value, place: &Place<'a>, at: &Pointer) -> Result<Cel> {
        json(value, self.scope, Some(place), at)
    }
}

/// Whether a place is a label or an annotation.
fn is_text_map(place: &Place<'_>) -> bool {
    let names: Vec<Option<&str>> = place.steps.iter().rev().skip(1).take(2).map(Option::as_deref).collect();
    matches!(names.as_slice(), [Some("labels" | "annotations"), Some("metadata")])
}

/// Whether a value is, in one of its forms, what the object has at a place.
fn mentions(value: &Val<'_>, place: &Place<'_>) -> bool {
    let own = place.path.strict();
    matches!(&value.form, Form::Nullable { value, .. } if value.contains(&own))
}

/// A value with variables as CEL. Members that may be null are left out.
pub(in crate::convert) fn json(
    value: &Value,
    scope: &Scope<'_>,
    place: Option<&Place<'_>>,
    at: &Pointer,
) -> Result<Cel> {
    match value {
        Value::Object(members) => {
            let mut entries = Vec::new();
            for (key, member) in members.iter() {
                let below = at.key(key.clone());
                let problem = |problem: Problem| problem.at(&below);
                let name = if key.contains("{{") {
                    Mixed::of(key, scope).and_then(Mixed::value).map_err(problem)?.strict()
                } else {
                    Cel::text(&**key)
                };
                let inner = place.map(|place| place.member(key));
                let optional = match member {
                    Value::String(text) if is_dynamic(member) => {
                        let value = Mixed::of(text, scope).and_then(Mixed::value).map_err(problem)?;
                        value.present().map(|present| (present, value.value()))
                    }
                    _ => None,
                };
                let (value, optional) = match optional {
                    Some((present, value)) => (Cel::optional(present, value), true),
                    None => (json(member, scope, inner.as_ref(), &below)?, false),
                };
                entries.push(Entry { key: name, value, optional });
            }
            Ok(Cel::Map(homogeneous_members(entries)))
        }
        Value::Array(items) => {
            let items = items
                .iter()
                .enumerate()
                .map(|(index, item)| json(item, scope, None, &at.index(index)))
                .collect::<Result<Vec<_>>>()?;
            Ok(Cel::List(homogeneous(items)))
        }
        Value::String(text) if is_dynamic(value) => {
            let value = Mixed::of(text, scope).and_then(Mixed::value).map_err(|problem| problem.at(at))?;
            if value.present().is_some() {
                return Err(Problem::new(
                    format!("the variable `{text}`"),
                    "it may be null in a place where that is a value",
                    "give it a default with `||`",
                )
                .at(at));
            }
            Ok(value.strict())
        }
        other if holds_large(other) => Err(large_number().at(at)),
        other => Ok(literal(other)),
    }
}
