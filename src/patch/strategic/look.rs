//! A look over an overlay before it is prepared.

use crate::value::{MAX_DEPTH, Number, Value};

use super::anchor::Anchor;
use super::tree::Traits;
use crate::patch::{Limit, PatchError};

/// What a look over an overlay tells: which parts of it are plain, and so are taken as they stand.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// The lists and maps, in the order they are come to.
    nodes: Vec<Node>,
    /// Some integer is another as a float.
    pub(super) loses_digits: bool,
    next: usize,
}

/// A list or map.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// How many lists and maps it is, with all below.
    size: usize,
    /// What occurs in it, where no key in it asks for more than to be merged.
    plain: Option<Traits>,
}

impl Look {
    /// Looks at a whole overlay.
    ///
    /// # Errors
    ///
    /// An overlay that is nested too deep.
    pub(super) fn over(overlay: &Value) -> Result<Self, PatchError> {
        let mut look = Self { nodes: Vec::with_capacity(16), ..Self::default() };
        look.node(overlay, 0)?;
        Ok(look)
    }

    fn node(&mut self, value: &Value, depth: usize) -> Result<Option<Traits>, PatchError> {
        if depth > MAX_DEPTH {
            return Err(PatchError::Limit(Limit::Depth));
        }
        let mut traits = Traits::default();
        let index = self.nodes.len();
        let mut is_plain = true;
        match value {
            Value::Object(members) => {
                self.nodes.push(Node { size: 1, plain: None });
                traits.empty_map = members.is_empty();
                for (key, member) in members.iter() {
                    is_plain &= is_plain_key(key);
                    self.below(member, depth, &mut traits, &mut is_plain)?;
                }
            }
            Value::Array(items) => {
                self.nodes.push(Node { size: 1, plain: None });
                for item in items.iter() {
                    self.below(item, depth, &mut traits, &mut is_plain)?;
                }
            }
            Value::String(text) => {
                traits.anchor_text = Anchor::parse(text).is_some_and(|(anchor, _)| anchor.is_test());
            }
            Value::Number(number) => self.loses_digits |= as_float(number).is_some(),
            Value::Null | Value::Bool(_) => {}
        }
        let plain = is_plain.then_some(traits);
        let size = self.nodes.len() - index;
        if let Some(node) = self.nodes.get_mut(index) {
            *node = Node { size, plain };
        }
        Ok(plain)
    }

    fn below(
        &mut self,
        value: &Value,
        depth: usize,
        traits: &mut Traits,
        is_plain: &mut bool,
    ) -> Result<(), PatchError> {
        match self.node(value, depth + 1)? {
            Some(below) => traits.join(below),
            None => *is_plain = false,
        }
        Ok(())
    }

    /// Comes to the next list or map: what occurs in it if all of it is plain, which then is passed over. A look that
    /// knows of nothing lets everything be prepared.
    pub(super) fn enter(&mut self) -> Option<Traits> {
        let Node { size, plain } = self.nodes.get(self.next).copied()?;
        self.next += if plain.is_some() { size } else { 1 };
        plain
    }

    /// Passes over a node.
    pub(super) fn pass(&mut self, value: &Value) {
        if matches!(value, Value::Object(_) | Value::Array(_)) {
            self.next += self.nodes.get(self.next).map_or(0, |node| node.size);
        }
    }
}

/// Whether a key asks for nothing but to be merged.
fn is_plain_key(key: &str) -> bool {
    !key.starts_with('$') && Anchor::parse(key).is_none()
}

/// The value with its integers as floats hold them.
pub(super) fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(as_float(number).unwrap_or_else(|| number.clone())),
        Value::Array(items) => Value::array(items.iter().map(rounded).collect()),
        Value::Object(members) => {
            members.iter().map(|(key, member)| (key.clone(), rounded(member))).collect()
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

/// The float next to an integer, where it is another number.
fn as_float(number: &Number) -> Option<Number> {
    /// Below, a float holds every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.as_f64().abs() < EXACT || !number.is_integer() {
        return None;
    }
    Number::from_f64(number.as_f64()).filter(|float| float.integer_text() != number.integer_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn plain_parts_are_passed_over_and_others_are_entered() {
        let overlay =
            json(r#"{"a":{"b":[{}]},"c":{"+(d)":{"e":{}},"f":["(g)"]},"h":{"$patch":"delete"},"i":[1]}"#);
        let mut look = Look::over(&overlay).unwrap();
        let mut entered = || look.enter().map(|traits| (traits.empty_map, traits.anchor_text));
        assert_eq!(entered(), None, "the whole");
        assert_eq!(entered(), Some((true, false)), "a");
        assert_eq!(entered(), None, "c");
        assert_eq!(entered(), Some((true, false)), "+(d)");
        assert_eq!(entered(), Some((false, true)), "f");
        assert_eq!(entered(), None, "h");
        assert_eq!(entered(), Some((false, false)), "i");
        assert_eq!(entered(), None, "nothing");
    }

    #[test]
    fn the_values_of_conditions_are_passed_over() {
        let overlay = json(r#"{"(a)":{"b":[{}]},"c":{"(d)":1},"(e)":1,"f":[]}"#);
        let mut look = Look::over(&overlay).unwrap();
        assert!(look.enter().is_none());
        look.pass(overlay.get("(a)").unwrap());
        assert!(look.enter().is_none(), "c");
        look.pass(&Value::from(1));
        look.pass(overlay.get("(e)").unwrap());
        assert!(look.enter().is_some(), "f");
    }

    #[test]
    fn what_is_nested_too_deep_is_refused() {
        let nested = |depth| (0..depth).fold(Value::Null, |inner, _| Value::array(vec![inner]));
        assert!(Look::over(&nested(MAX_DEPTH)).is_ok());
        assert!(matches!(Look::over(&nested(MAX_DEPTH + 1)), Err(PatchError::Limit(Limit::Depth))));
    }
}
