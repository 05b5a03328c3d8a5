//! A scan of an overlay before it is compiled.

use crate::value::{MAX_DEPTH, Number, Value};

use super::anchor::Anchor;
use super::node::Features;
use crate::patch::{Limit, PatchError};

/// Which lists and maps of an overlay are plain, and so need not be compiled.
#[derive(Debug, Default)]
pub(super) struct Prescan {
    /// The lists and maps, in the order of traversal.
    nodes: Vec<Node>,
    /// Some integer changes its value when converted to a float.
    pub(super) loses_digits: bool,
    next: usize,
}

/// A list or map.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The number of lists and maps in it, itself included.
    size: usize,
    /// What it contains, if it has neither anchors nor directives.
    plain: Option<Features>,
}

impl Prescan {
    /// Scans an overlay.
    ///
    /// # Errors
    ///
    /// An overlay that is nested too deeply.
    pub(super) fn scan(overlay: &Value) -> Result<Self, PatchError> {
        let mut prescan = Self { nodes: Vec::with_capacity(16), ..Self::default() };
        prescan.node(overlay, 0)?;
        Ok(prescan)
    }

    fn node(&mut self, value: &Value, depth: usize) -> Result<Option<Features>, PatchError> {
        if depth > MAX_DEPTH {
            return Err(Limit::Depth.into());
        }
        let mut features = Features::default();
        let index = self.nodes.len();
        let mut is_plain = true;
        let mut merge = |nested| match nested {
            Some(nested) => features.merge(nested),
            None => is_plain = false,
        };
        match value {
            Value::Object(members) => {
                self.nodes.push(Node { size: 1, plain: None });
                for (key, member) in members.iter() {
                    let nested = self.node(member, depth + 1)?;
                    merge(nested.filter(|_| is_plain_key(key)));
                }
                features.empty_map |= members.is_empty();
            }
            Value::Array(items) => {
                self.nodes.push(Node { size: 1, plain: None });
                for item in items.iter() {
                    merge(self.node(item, depth + 1)?);
                }
            }
            Value::String(text) => {
                features.anchor_text = Anchor::is_test_key(text);
            }
            Value::Number(number) => self.loses_digits |= as_float(number).is_some(),
            Value::Null | Value::Bool(_) => {}
        }
        let plain = is_plain.then_some(features);
        let size = self.nodes.len() - index;
        if let Some(node) = self.nodes.get_mut(index) {
            *node = Node { size, plain };
        }
        Ok(plain)
    }

    /// Moves to the next list or map. If it is plain it is skipped, and what it contains is returned. An empty scan
    /// knows no plain nodes.
    pub(super) fn enter(&mut self) -> Option<Features> {
        let Node { size, plain } = self.nodes.get(self.next).copied()?;
        self.next += if plain.is_some() { size } else { 1 };
        plain
    }

    /// Skips a node.
    pub(super) fn skip(&mut self, value: &Value) {
        if matches!(value, Value::Object(_) | Value::Array(_)) {
            self.next += self.nodes.get(self.next).map_or(0, |node| node.size);
        }
    }
}

/// Whether a key is neither an anchor nor a directive.
fn is_plain_key(key: &str) -> bool {
    !key.starts_with('$') && Anchor::parse(key).is_none()
}

/// The value with its integers rounded to the nearest float.
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

/// The nearest float to an integer, if it is another number.
fn as_float(number: &Number) -> Option<Number> {
    /// Floats below this are exact for all integers.
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
    fn plain_nodes_are_skipped_and_others_are_entered() {
        let overlay =
            json(r#"{"a":{"b":[{}]},"c":{"+(d)":{"e":{}},"f":["(g)"]},"h":{"$patch":"delete"},"i":[1]}"#);
        let mut prescan = Prescan::scan(&overlay).unwrap();
        let mut entered = || prescan.enter().map(|features| (features.empty_map, features.anchor_text));
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
    fn the_values_of_conditions_are_skipped() {
        let overlay = json(r#"{"(a)":{"b":[{}]},"c":{"(d)":1},"(e)":1,"f":[]}"#);
        let mut prescan = Prescan::scan(&overlay).unwrap();
        assert!(prescan.enter().is_none());
        prescan.skip(overlay.get("(a)").unwrap());
        assert!(prescan.enter().is_none(), "c");
        prescan.skip(&Value::from(1));
        prescan.skip(overlay.get("(e)").unwrap());
        assert!(prescan.enter().is_some(), "f");
    }

    #[test]
    fn overlays_nested_too_deeply_are_refused() {
        let nested = |depth| (0..depth).fold(Value::Null, |inner, _| Value::array(vec![inner]));
        assert!(Prescan::scan(&nested(MAX_DEPTH)).is_ok());
        assert!(matches!(Prescan::scan(&nested(MAX_DEPTH + 1)), Err(PatchError::Limit(Limit::Depth))));
    }
}
