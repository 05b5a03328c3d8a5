//! Paths of operations: JSON pointers (RFC 6901).

use crate::value::Text;

/// A JSON pointer as written, with its reference tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::patch) struct Path {
    pub(in crate::patch) text: Text,
    pub(in crate::patch) tokens: Vec<Token>,
}

/// A reference token of a [`Path`].
#[derive(Clone, Debug, PartialEq)]
pub(in crate::patch) struct Token {
    /// The unescaped name or index.
    pub(in crate::patch) name: Text,
    /// Whether it was written with an escape.
    pub(in crate::patch) escaped: bool,
}

impl Path {
    /// Splits a pointer; `None` if it is neither empty nor starts with a slash.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let tokens = match text.strip_prefix('/') {
            Some(rest) => rest.split('/').map(Token::parse).collect(),
            None if text.is_empty() => Vec::new(),
            None => return None,
        };
        Some(Self { text: text.into(), tokens })
    }

    /// The last token and those before it; `None` for the whole document.
    pub(super) fn split_last(&self) -> Option<(&Token, &[Token])> {
        self.tokens.split_last()
    }
}

impl Token {
    fn parse(text: &str) -> Self {
        if !text.contains('~') {
            return Self { name: text.into(), escaped: false };
        }
        let mut name = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('~') {
            name.push_str(&rest[..at]);
            let (plain, width) = match rest.as_bytes().get(at + 1) {
                Some(b'0') => ('~', 2),
                Some(b'1') => ('/', 2),
                _ => ('~', 1),
            };
            name.push(plain);
            rest = &rest[at + width..];
        }
        name.push_str(rest);
        Self { escaped: name != text, name: name.into() }
    }

    /// The index of a list: a signed decimal number.
    pub(in crate::patch) fn index(&self) -> Option<i64> {
        self.name.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_split_and_unescaped() {
        for (text, tokens) in [
            ("", &[] as &[&str]),
            ("/", &[""]),
            ("/data/kk/", &["data", "kk", ""]),
            ("/a~1b~0c", &["a/b~c"]),
            ("/~01", &["~1"]),
            ("/~2/~", &["~2", "~"]),
        ] {
            let path = Path::parse(text).unwrap();
            assert_eq!(path.tokens.iter().map(|token| &*token.name).collect::<Vec<_>>(), tokens, "{text}");
        }
    }
}
