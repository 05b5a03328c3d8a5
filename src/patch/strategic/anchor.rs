//! Anchors: keys in parentheses, with a modifier in front or none.

use crate::value::{Text, Value};

/// The kinds of anchors, as Kyverno's documentation names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// `(k)`: the siblings apply if the value matches.
    Condition,
    /// `<(k)`: the whole patch applies if the value matches somewhere.
    Global,
    /// `+(k)`: the value is set if the key is missing.
    Add,
    /// `=(k)`: the value matches, if the key exists.
    Equality,
    /// `^(k)`: some element matches, if the list exists.
    Existence,
    /// `X(k)`: the key does not exist.
    Negation,
}

/// The name in an anchored key, and whether the anchor tests its value; `None` for a plain key.
pub fn split_anchor(key: &str) -> Option<(&str, bool)> {
    Anchor::parse(key).map(|(anchor, name)| (name, anchor != Anchor::Add))
}

/// Whether a node has one of these anchors, as the key of a member at any depth.
pub fn has_anchor(node: &Value, anchors: &[Anchor]) -> bool {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match node {
            Value::Object(members) => {
                let is_one =
                    |key: &Text| Anchor::parse(key).is_some_and(|(anchor, _)| anchors.contains(&anchor));
                if members.keys().any(is_one) {
                    return true;
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items.iter()),
            _ => {}
        }
    }
    false
}

impl Anchor {
    /// Splits an anchored key into its anchor and its name; `None` for a plain key.
    ///
    /// Parentheses inside the name belong to the name. Spaces around the key are ignored.
    pub fn parse(key: &str) -> Option<(Self, &str)> {
        // Fast path: most keys are plain.
        if key.as_bytes().last()?.is_ascii_alphanumeric() {
            return None;
        }
        let key = key.trim();
        let (anchor, rest) = match key.as_bytes().first()? {
            b'(' => (Self::Condition, key),
            b'<' => (Self::Global, &key[1..]),
            b'+' => (Self::Add, &key[1..]),
            b'=' => (Self::Equality, &key[1..]),
            b'^' => (Self::Existence, &key[1..]),
            b'X' => (Self::Negation, &key[1..]),
            _ => return None,
        };
        let name = rest.strip_prefix('(')?.strip_suffix(')')?;
        (!name.is_empty()).then_some((anchor, name))
    }

    /// Whether a text is a key that tests its value.
    pub fn is_test_key(key: &str) -> bool {
        Self::parse(key).is_some_and(|(anchor, _)| anchor.is_test())
    }

    /// Whether this anchor tests the value of its key.
    pub const fn is_test(self) -> bool {
        matches!(self, Self::Condition | Self::Global)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_parentheses_are_anchors() {
        for (key, expected) in [
            ("(a)", Some((Anchor::Condition, "a"))),
            ("<(a)", Some((Anchor::Global, "a"))),
            ("+(a)", Some((Anchor::Add, "a"))),
            ("=(a)", Some((Anchor::Equality, "a"))),
            ("^(a)", Some((Anchor::Existence, "a"))),
            ("X(a)", Some((Anchor::Negation, "a"))),
            ("(a(b)c)", Some((Anchor::Condition, "a(b)c"))),
            ("((a))", Some((Anchor::Condition, "(a)"))),
            (" (a) ", Some((Anchor::Condition, "a"))),
            ("()", None),
            ("(", None),
            ("+", None),
            ("a", None),
            ("(a", None),
            ("-(a)", None),
            ("<+(a)", None),
            ("", None),
        ] {
            assert_eq!(Anchor::parse(key), expected, "{key}");
        }
    }
}
