//! Lists that merge by a key, as one value of a JSON patch: the elements of the overlay, then the others.

use crate::admission::Schema;
use crate::convert::cel_text::{Cel, Entry, Operator};
use crate::convert::patches::Patch;
use crate::convert::place::Place;
use crate::convert::ty::{self, Merging};
use crate::value::{Pointer, Value};

use super::elements::{Element, has_unique_keys, missing_key};
use super::{Fragment, Overlay, Result};

/// How many fields of an element may be copied one by one.
const MAX_COPIED: usize = 2;

impl<'a> Overlay<'_, 'a> {
    /// Elements without anchors, where an apply configuration may not hold them.
    pub(super) fn written(
        &self,
        plain: &[Element<'_>],
        keys: &[String],
        place: &Place<'a>,
        at: &Pointer,
        mut fragment: Fragment,
    ) -> Result<Fragment> {
        let [key] = keys else {
            return self.refuse(
                at,
                "a list that merges by several keys",
                "server-side apply merges it by other ones",
                "write a JSON patch",
            );
        };
        if plain.is_empty() {
            return Ok(fragment);
        }
        let list = Keyed { key, place, variable: self.variable_of(place) };
        let mut names = Vec::new();
        for element in plain {
            let Some(name) = element.value.get(key) else { return Err(missing_key(key, &element.at)) };
            names.push(self.json(name, &place.member(key), &element.at.key(&**key))?);
        }
        fragment.patches.extend(place.guards());
        fragment.touches.push(Cel::bool(true));
        let set = plain.first().map(|first| fields(first.value)).unwrap_or_default();
        let copied = list.other_fields(&set).filter(|copied| copied.len() <= MAX_COPIED);
        if let Some(copied) = copied.filter(|_| plain.iter().all(|element| sets(element.value, &set))) {
            let elements = plain.iter().map(|element| self.json(element.value, place, &element.at));
            let elements = elements.collect::<Result<Vec<_>>>()?;
            let is_whole = |element: &Cel| matches!(element, Cel::Map(entries) if entries.iter().all(|entry| !entry.optional));
            if elements.iter().all(is_whole) {
                let elements = list.with_copied(elements, &set, &copied);
                fragment.patches.push(Patch::add(&place.location, elements.plus(list.others(&names))));
                return Ok(fragment);
            }
        }
        if !has_unique_keys(place) || !plain.iter().all(|element| list.sets_scalars(element.value)) {
            return self.refuse(
                at,
                "an element of a list",
                "server-side apply replaces such elements, and a JSON patch would have to merge them",
                "write a JSON patch",
            );
        }
        let mut parts: Vec<Cel> = names.iter().map(|name| list.found_or_new(name)).collect();
        parts.push(list.others(&names));
        fragment.patches.push(Patch::add(&place.location, Cel::joined(Operator::Plus, parts)));
        for (index, element) in plain.iter().enumerate() {
            let at_index = place.location.key(&index.to_string());
            let members = element.value.as_object().into_iter().flat_map(|members| members.iter());
            for (name, value) in members.filter(|(name, _)| **name != **key) {
                let value = self.json(value, &list.member(name), &element.at.key(name.clone()))?;
                fragment.patches.push(Patch::add(&at_index.key(name), value));
            }
        }
        Ok(fragment)
    }
}

/// A list that merges by a key.
struct Keyed<'k, 'a> {
    key: &'k str,
    place: &'k Place<'a>,
    variable: String,
}

impl<'a> Keyed<'_, 'a> {
    fn list(&self) -> Cel {
        self.place.path.or(Cel::List(Vec::new()))
    }

    /// The place of a member of an element.
    fn member(&self, name: &str) -> Place<'a> {
        self.place.element(&self.variable, "i").member(name)
    }

    /// The key of an element.
    fn own_key(&self) -> Cel {
        self.member(self.key).path.or(Cel::text(""))
    }

    fn with_key(&self, name: &Cel) -> Cel {
        let test = self.own_key().equals(name.clone());
        self.list().call("filter", [Cel::atom(&*self.variable), test])
    }

    /// The elements with other keys.
    fn others(&self, names: &[Cel]) -> Cel {
        let is_other = match names {
            [one] => self.own_key().compare(Operator::NotEqual, one.clone()),
            _ => self.own_key().compare(Operator::In, Cel::List(names.to_vec())).negated(),
        };
        self.list().call("filter", [Cel::atom(&*self.variable), is_other])
    }

    /// The element with a key, or a new one that has nothing else.
    fn found_or_new(&self, name: &Cel) -> Cel {
        let test = self.own_key().equals(name.clone());
        let exists = self.list().call("exists", [Cel::atom(&*self.variable), test]);
        let new = Cel::Map(vec![Entry { key: Cel::text(self.key), value: name.clone(), optional: false }]);
        Cel::if_else(exists, self.with_key(name), Cel::List(vec![new]))
    }

    /// The fields of the elements but for some; `None` if they are not known, or one of these is no scalar.
    fn other_fields(&self, set: &[&str]) -> Option<Vec<String>> {
        let schemas = ty::elements(self.place.schemas.as_ref()?)?;
        let is_scalar = |name: &&str| {
            ty::fields(&schemas, name).is_some_and(|fields| ty::merging(&fields) == Merging::Scalar)
        };
        let others = |schema: &Schema<'a>| {
            let map = schema.forms().map.filter(|map| map.values.is_none())?;
            Some(map.names().filter(|name| !set.contains(name)).map(str::to_owned).collect::<Vec<_>>())
        };
        let (first, rest) = schemas.split_first()?;
        let found = others(first)?;
        let is_known =
            set.iter().all(is_scalar) && rest.iter().all(|other| others(other).as_ref() == Some(&found));
        is_known.then_some(found)
    }

    /// New elements with further fields of those that they replace.
    fn with_copied(&self, elements: Vec<Cel>, set: &[&str], copied: &[String]) -> Cel {
        if copied.is_empty() {
            return Cel::List(elements);
        }
        let kept = |name: &Cel| {
            let old = self.with_key(name).maybe_index(Cel::int(0));
            let entry = |name: &String| Entry {
                key: Cel::text(name),
                value: old.clone().maybe(name),
                optional: true,
            };
            copied.iter().map(entry).collect::<Vec<_>>()
        };
        let any_type = |entry: Entry<Cel>| Entry { value: Cel::function("dyn", [entry.value]), ..entry };
        if let [Cel::Map(entries)] = elements.as_slice()
            && let Some(name) = entries.iter().find(|entry| entry.key.as_text() == Some(self.key))
        {
            let own = entries.iter().cloned().map(any_type);
            return Cel::List(vec![Cel::Map(own.chain(kept(&name.value)).collect())]);
        }
        let new = Cel::atom(if self.variable == "new" { "new2" } else { "new" });
        let own = |name: &&str| {
            any_type(Entry { key: Cel::text(*name), value: new.clone().member(name), optional: false })
        };
        let own = set.iter().map(own).chain(kept(&new.clone().member(self.key)));
        Cel::List(elements).call("map", [new.clone(), Cel::Map(own.collect())])
    }

    /// Whether an element has only values that are replaced as a whole.
    fn sets_scalars(&self, element: &Value) -> bool {
        let Some(schemas) = self.place.schemas.as_ref().and_then(|schemas| ty::elements(schemas)) else {
            return false;
        };
        let mut members = element.as_object().into_iter().flat_map(|members| members.iter());
        members.all(|(name, value)| match value {
            Value::Null | Value::Object(_) => false,
            Value::Array(items) => {
                let merging = ty::fields(&schemas, name).map(|fields| ty::merging(&fields));
                merging == Some(Merging::Atomic) && items.iter().all(|item| item.as_object().is_none())
            }
            _ => ty::fields(&schemas, name).is_some_and(|fields| ty::merging(&fields) == Merging::Scalar),
        })
    }
}

/// Whether an element has values for just these members.
fn sets(element: &Value, names: &[&str]) -> bool {
    let mut values = element.as_object().into_iter().flat_map(|members| members.values());
    fields(element) == names && values.all(|value| !value.is_null())
}

/// The names of the members of an element.
fn fields(element: &Value) -> Vec<&str> {
    element.as_object().into_iter().flat_map(|members| members.keys()).map(|name| &**name).collect()
}
