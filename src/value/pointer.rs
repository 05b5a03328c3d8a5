//! Paths to the nodes of a value.

use std::fmt;

use super::Text;

/// One segment of a [`Pointer`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A member of an object.
    Key(Text),
    /// An element of a list.
    Index(usize),
}

/// The path from the root of a value to one of its nodes.
///
/// `Display` writes a field path as in kubectl, such as `spec.containers[0].image`;
/// [`Pointer::to_json_pointer`] writes RFC 6901.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(Vec<Segment>);

impl Pointer {
    /// The root.
    pub const ROOT: Self = Self(Vec::new());

    /// The segments, from the root.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether this is the root.
    pub const fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends a key.
    pub fn push_key(&mut self, key: impl Into<Text>) {
        self.0.push(Segment::Key(key.into()));
    }

    /// Appends an index.
    pub fn push_index(&mut self, index: usize) {
        self.0.push(Segment::Index(index));
    }

    /// Removes the last segment.
    pub fn pop(&mut self) -> Option<Segment> {
        self.0.pop()
    }

    /// The pointer to a member of the node.
    #[must_use]
    pub fn key(&self, key: impl Into<Text>) -> Self {
        self.child(Segment::Key(key.into()))
    }

    /// The pointer to an element of the node.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.child(Segment::Index(index))
    }

    /// Without spare capacity: large reports have many pointers.
    fn child(&self, segment: Segment) -> Self {
        let mut segments = Vec::with_capacity(self.0.len() + 1);
        segments.extend_from_slice(&self.0);
        segments.push(segment);
        Self(segments)
    }

    /// The pointer to the parent; the root is its own parent.
    #[must_use]
    pub fn parent(&self) -> Self {
        let mut parent = self.clone();
        parent.pop();
        parent
    }

    /// The concatenation of two pointers.
    #[must_use]
    pub fn join(&self, rest: &Self) -> Self {
        Self(self.0.iter().chain(&rest.0).cloned().collect())
    }

    /// Whether the other node is this one or a descendant.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// RFC 6901 text, such as `/metadata/annotations/a~1b`; empty for the root.
    pub fn to_json_pointer(&self) -> String {
        let mut out = String::new();
        for segment in &self.0 {
            out.push('/');
            match segment {
                Segment::Key(key) => out.push_str(&escaped_token(key)),
                Segment::Index(index) => out.push_str(&index.to_string()),
            }
        }
        out
    }
}

/// A key as a token of a JSON pointer (RFC 6901).
pub fn escaped_token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The key that a token of a JSON pointer stands for.
pub fn unescaped_token(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

impl FromIterator<Segment> for Pointer {
    fn from_iter<I: IntoIterator<Item = Segment>>(segments: I) -> Self {
        Self(segments.into_iter().collect())
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The maximum length of a label key, with its prefix.
        const MAX_LABEL_KEY_BYTES: usize = 317;
        let plain = |key: &str| !key.is_empty() && !key.contains(['.', '[', ']', '"', ' ', '\n', '\t']);
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) => {
                    let end = key.char_indices().nth(MAX_LABEL_KEY_BYTES).map_or(key.len(), |(end, _)| end);
                    let (shown, rest) = (&key[..end], if end < key.len() { "…" } else { "" });
                    if !plain(key) {
                        write!(f, "[{shown:?}{rest}]")?;
                    } else if position == 0 {
                        write!(f, "{shown}{rest}")?;
                    } else {
                        write!(f, ".{shown}{rest}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_paths_are_written_as_in_kubectl() {
        let pointer = Pointer::ROOT.key("spec").key("containers").index(0).key("image");
        assert_eq!(pointer.to_string(), "spec.containers[0].image");
        assert_eq!(Pointer::ROOT.key("metadata").key("a.b/c").to_string(), r#"metadata["a.b/c"]"#);
        let long = Pointer::ROOT.key("a").key("é".repeat(400)).key(" ".repeat(400)).to_string();
        assert_eq!(long, format!("a.{}…[\"{}\"…]", "é".repeat(317), " ".repeat(317)));
    }

    #[test]
    fn a_json_pointer_escapes() {
        assert_eq!(Pointer::ROOT.key("a/b~c").index(3).to_json_pointer(), "/a~1b~0c/3");
        assert_eq!(Pointer::ROOT.to_json_pointer(), "");
    }

    #[test]
    fn a_pointer_contains_its_descendants() {
        let spec = Pointer::ROOT.key("spec");
        assert!(spec.contains(&spec.key("x")) && spec.contains(&spec));
        assert!(!spec.key("x").contains(&spec));
    }
}
