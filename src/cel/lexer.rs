//! Text to tokens.

use super::error::Issue;
use super::limits::MAX_SYNTAX_ERRORS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Int,
    Uint,
    Float,
    /// A string literal with its quotes and prefix.
    String,
    /// The same for bytes, with the `b`.
    Bytes,
    Ident,
    /// A name in backticks.
    Escaped,
    True,
    False,
    Null,
    /// An operator or bracket, `in` included.
    Symbol(&'static str),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Longest first.
const SYMBOLS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%",
];

/// The tokens of a source, the last of them [`TokenKind::End`].
pub(super) fn tokens(source: &str, issues: &mut Vec<Issue>) -> Vec<Token> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::with_capacity(source.len() / 4 + 1);
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        if start == source.len() {
            tokens.push(Token { kind: TokenKind::End, start, end: start });
            return tokens;
        }
        match lexer.next() {
            Some(kind) => tokens.push(Token { kind, start, end: lexer.at }),
            None => {
                let c = source[start..].chars().next().unwrap_or_default();
                lexer.at = (start + c.len_utf8()).max(lexer.at);
                if issues.len() < MAX_SYNTAX_ERRORS {
                    let message = match c {
                        '"' | '\'' => "syntax error: the string has no end or a wrong escape".to_owned(),
                        _ => format!("syntax error: unexpected character '{c}'"),
                    };
                    issues.push(Issue { offset: start, message });
                }
            }
        }
    }
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.source.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_blank(&mut self) {
        loop {
            match self.byte(0) {
                b' ' | b'\t' | b'\r' | b'\n' | 0x0c => self.at += 1,
                b'/' if self.byte(1) == b'/' => {
                    let rest = &self.source.as_bytes()[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// The next token; `None` for text that starts none.
    fn next(&mut self) -> Option<TokenKind> {
        let first = self.byte(0);
        if first.is_ascii_digit() || (first == b'.' && self.byte(1).is_ascii_digit()) {
            return Some(self.number());
        }
        if let Some(kind) = self.quoted() {
            return kind;
        }
        if first.is_ascii_alphabetic() || first == b'_' {
            return Some(self.word());
        }
        if first == b'`' {
            return self.escaped();
        }
        let rest = &self.source[self.at..];
        let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol))?;
        self.at += symbol.len();
        Some(TokenKind::Symbol(symbol))
    }

    fn word(&mut self) -> TokenKind {
        let start = self.at;
        while self.byte(0).is_ascii_alphanumeric() || self.byte(0) == b'_' {
            self.at += 1;
        }
        match &self.source[start..self.at] {
            "in" => TokenKind::Symbol("in"),
            "true" => TokenKind::True,
            "false" => TokenKind::False,
            "null" => TokenKind::Null,
            _ => TokenKind::Ident,
        }
    }

    fn escaped(&mut self) -> Option<TokenKind> {
        let rest = &self.source.as_bytes()[self.at + 1..];
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-/ ".contains(byte);
        let length = rest.iter().take_while(|byte| allowed(byte)).count();
        if length == 0 || rest.get(length) != Some(&b'`') {
            return None;
        }
        self.at += length + 2;
        Some(TokenKind::Escaped)
    }

    fn digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> TokenKind {
        if self.byte(0) == b'0' && self.byte(1) == b'x' && self.byte(2).is_ascii_hexdigit() {
            self.at += 2;
            while self.byte(0).is_ascii_hexdigit() {
                self.at += 1;
            }
            return self.integer();
        }
        self.digits();
        let mut kind = TokenKind::Int;
        if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.at += 1;
            self.digits();
            kind = TokenKind::Float;
        }
        if matches!(self.byte(0), b'e' | b'E') {
            let signed = usize::from(matches!(self.byte(1), b'+' | b'-'));
            if self.byte(1 + signed).is_ascii_digit() {
                self.at += 1 + signed;
                self.digits();
                kind = TokenKind::Float;
            }
        }
        if kind == TokenKind::Float { kind } else { self.integer() }
    }

    fn integer(&mut self) -> TokenKind {
        if matches!(self.byte(0), b'u' | b'U') {
            self.at += 1;
            return TokenKind::Uint;
        }
        TokenKind::Int
    }

    /// A string or bytes literal: `None` if none starts here, `Some(None)` if it does not end.
    fn quoted(&mut self) -> Option<Option<TokenKind>> {
        let mut ahead = 0;
        let mut kind = TokenKind::String;
        if matches!(self.byte(ahead), b'b' | b'B') {
            kind = TokenKind::Bytes;
            ahead += 1;
        }
        let raw = matches!(self.byte(ahead), b'r' | b'R');
        ahead += usize::from(raw);
        let quote = self.byte(ahead);
        if !matches!(quote, b'"' | b'\'') {
            return None;
        }
        let triple = self.byte(ahead + 1) == quote && self.byte(ahead + 2) == quote;
        let ends = if triple { 3 } else { 1 };
        let bytes = self.source.as_bytes();
        let mut at = self.at + ahead + ends;
        loop {
            match bytes.get(at) {
                None => return self.unended_triple(triple, ahead, kind),
                Some(b'\n' | b'\r') if !triple => return Some(None),
                Some(b'\\') if !raw => at += 2,
                Some(byte) if *byte == quote => {
                    if !triple || (bytes.get(at + 1) == Some(&quote) && bytes.get(at + 2) == Some(&quote)) {
                        self.at = at + ends;
                        return Some(Some(kind));
                    }
                    at += 1;
                }
                Some(_) => at += 1,
            }
        }
    }

    /// Three quotes that do not start a long string are an empty string and the start of another.
    fn unended_triple(&mut self, triple: bool, ahead: usize, kind: TokenKind) -> Option<Option<TokenKind>> {
        if triple {
            self.at += ahead + 2;
            return Some(Some(kind));
        }
        Some(None)
    }
}
