//! The directive `$patch`.

use crate::convert::cel_text::Cel;
use crate::convert::patches::{Patch, index_name};
use crate::convert::place::{Place, Strategy, list_strategy};
use crate::value::{Pointer, Value};

use super::{Fragment, Overlay, Result, has_anchors};

/// The key of the directive.
pub(super) const DIRECTIVE: &str = "$patch";

/// A value without its directive.
fn rest(value: &Value) -> Value {
    let mut rest = value.clone();
    rest.remove(DIRECTIVE);
    rest
}

fn is(value: &Value, directive: &str) -> bool {
    value.get(DIRECTIVE).and_then(Value::as_str) == Some(directive)
}

impl<'a> Overlay<'_, 'a> {
    fn refused<T>(&self, at: &Pointer, reason: &str) -> Result<T> {
        self.refuse(at, format!("the directive `{DIRECTIVE}`"), reason, "write a JSON patch")
    }

    /// A map with a directive: it replaces that of the object, or deletes it.
    pub(super) fn directed_map(
        &self,
        directive: &Value,
        node: &Value,
        place: &Place<'a>,
        at: &Pointer,
    ) -> Result<Fragment> {
        let rest = rest(node);
        if self.depth > 0 || has_anchors(&rest) || place.steps.is_empty() {
            return self.refused(at, "here it has no counterpart in apply configurations");
        }
        let touches = vec![Cel::bool(true)];
        match directive.as_str() {
            Some("replace") => {
                let mut patches = place.guards();
                patches.push(Patch::add(&place.location, self.json(&rest, place, at)?));
                Ok(Fragment { patches, touches, ..Fragment::default() })
            }
            Some("delete") => {
                let remove = Cel::patch("remove", place.location.cel(), None);
                Ok(Fragment {
                    patches: vec![Patch::when(place.path.has(), remove)],
                    touches,
                    ..Fragment::default()
                })
            }
            _ => self.refused(at, "it is neither `replace` nor `delete`, and an error of the rule"),
        }
    }

    /// A list with a directive: an element that is nothing else replaces the whole list, others are deleted by their keys.
    pub(super) fn directed_list(&self, items: &[Value], place: &Place<'a>, at: &Pointer) -> Result<Fragment> {
        let is_alone =
            |item: &Value| is(item, "replace") && item.as_object().is_some_and(|item| item.len() == 1);
        let others: Vec<Value> = items.iter().filter(|item| !is_alone(item)).cloned().collect();
        if self.depth > 0 || others.iter().any(has_anchors) {
            return self.refused(at, "here it has no counterpart in apply configurations");
        }
        let touches = vec![Cel::bool(true)];
        if others.len() < items.len() {
            if others.iter().any(|item| item.get(DIRECTIVE).is_some()) {
                return self.refused(at, "two of them are in one list");
            }
            let mut patches = place.guards();
            patches.push(Patch::add(&place.location, self.json(&Value::array(others), place, at)?));
            return Ok(Fragment { patches, touches, ..Fragment::default() });
        }
        let Some(Strategy::Keys(keys)) = list_strategy(self.kinds, self.schemas, &place.steps) else {
            return self
                .refused(at, "the list has no merge key, or the kinds of the rule merge it differently");
        };
        if !items.iter().all(|item| is(item, "delete")) {
            return self.refused(at, "beside other elements it has no counterpart in apply configurations");
        }
        let variable = self.variable_of(place);
        let mut tests = Vec::new();
        for item in items {
            let mut own = Vec::new();
            for key in &keys {
                let Some(value) = item.get(key) else {
                    return self.refused(at, "the element lacks its merge key");
                };
                let element = place.element(&variable, "i").member(key);
                own.push(element.path.or(Cel::text("")).equals(self.json(value, &element, at)?));
            }
            tests.push(Cel::all(own));
        }
        let index = index_name(self.depth);
        let remove = Cel::patch("remove", place.element(&variable, &index).location.cel(), None);
        let patch = Patch::Each {
            list: place.path.or(Cel::List(Vec::new())),
            index,
            variable,
            condition: Cel::any(tests),
            body: vec![Patch::step(remove)],
            reversed: true,
        };
        Ok(Fragment { patches: vec![patch], touches, ..Fragment::default() })
    }
}
