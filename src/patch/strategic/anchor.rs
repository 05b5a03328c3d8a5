//! Anchors: keys in brackets, with a sign in front or none.

/// What the sign of an anchored key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::patch) enum Anchor {
    /// `(k)`: the rest is done where the value fits.
    Condition,
    /// `<(k)`: the whole patch is done where the value fits somewhere.
    Global,
    /// `+(k)`: the value is set where there is none.
    Add,
    /// `=(k)`: the value fits, if there is one.
    Equality,
    /// `^(k)`: some element fits, if there is a list.
    Existence,
    /// `X(k)`: there is no such key.
    Negation,
}

impl Anchor {
    /// Splits an anchored key into its sign and the name in brackets; `None` for a plain key.
    ///
    /// Brackets inside the name belong to the name. Blanks around the key do not hide the anchor.
    pub(in crate::patch) fn parse(key: &str) -> Option<(Self, &str)> {
        // Mostly the last letter tells.
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

    /// Whether this anchor tests the value it stands at.
    pub(in crate::patch) const fn is_test(self) -> bool {
        matches!(self, Self::Condition | Self::Global)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_brackets_are_anchors() {
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
