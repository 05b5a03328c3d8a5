//! Text to tokens.

use std::fmt;

use crate::value::{JsonReader, Text, Value};

use super::error::ParseError;

/// One token, with the byte it starts at.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) offset: usize,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Identifier(Text),
    Quoted(Text),
    /// `'…'`
    Raw(Text),
    /// JSON in backticks.
    Literal(Value),
    /// The text of an integer, perhaps one too large, perhaps a lone minus.
    Number(Text),
    Dot,
    Star,
    Flatten,
    Filter,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Comma,
    Colon,
    Pipe,
    Or,
    And,
    Not,
    Ampersand,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Current,
    /// A single `=`.
    Unknown,
    End,
}

/// Written with the names that error texts use.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Identifier(_) => "tUnquotedIdentifier",
            Self::Quoted(_) => "tQuotedIdentifier",
            Self::Raw(_) => "tStringLiteral",
            Self::Literal(_) => "tJSONLiteral",
            Self::Number(_) => "tNumber",
            Self::Dot => "tDot",
            Self::Star => "tStar",
            Self::Flatten => "tFlatten",
            Self::Filter => "tFilter",
            Self::LeftBracket => "tLbracket",
            Self::RightBracket => "tRbracket",
            Self::LeftBrace => "tLbrace",
            Self::RightBrace => "tRbrace",
            Self::LeftParen => "tLparen",
            Self::RightParen => "tRparen",
            Self::Comma => "tComma",
            Self::Colon => "tColon",
            Self::Pipe => "tPipe",
            Self::Or => "tOr",
            Self::And => "tAnd",
            Self::Not => "tNot",
            Self::Ampersand => "tExpref",
            Self::Equal => "tEQ",
            Self::NotEqual => "tNE",
            Self::Less => "tLT",
            Self::LessOrEqual => "tLTE",
            Self::Greater => "tGT",
            Self::GreaterOrEqual => "tGTE",
            Self::Current => "tCurrent",
            Self::Unknown => "tUnknown",
            Self::End => "tEOF",
        })
    }
}

/// Splits a text into tokens; the last one is [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut lexer = Lexer { text, offset: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.token()?;
        let last = token.kind == Kind::End;
        tokens.push(token);
        if last {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        self.offset += if found { wanted.len_utf8() } else { 0 };
        found
    }

    /// The text as long as its characters fit.
    fn run(&mut self, fits: fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.offset += end;
        &rest[..end]
    }

    fn token(&mut self) -> Result<Token, ParseError> {
        self.run(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
        let offset = self.offset;
        let Some(first) = self.rest().chars().next() else {
            return Ok(Token { kind: Kind::End, offset });
        };
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(Token { kind: Kind::Identifier(self.run(word).into()), offset });
        }
        self.offset += first.len_utf8();
        let kind = match first {
            '.' => Kind::Dot,
            '*' => Kind::Star,
            ']' => Kind::RightBracket,
            '{' => Kind::LeftBrace,
            '}' => Kind::RightBrace,
            '(' => Kind::LeftParen,
            ')' => Kind::RightParen,
            ',' => Kind::Comma,
            ':' => Kind::Colon,
            '@' => Kind::Current,
            '[' if self.take(']') => Kind::Flatten,
            '[' if self.take('?') => Kind::Filter,
            '[' => Kind::LeftBracket,
            '|' if self.take('|') => Kind::Or,
            '|' => Kind::Pipe,
            '&' if self.take('&') => Kind::And,
            '&' => Kind::Ampersand,
            '!' if self.take('=') => Kind::NotEqual,
            '!' => Kind::Not,
            '<' if self.take('=') => Kind::LessOrEqual,
            '<' => Kind::Less,
            '>' if self.take('=') => Kind::GreaterOrEqual,
            '>' => Kind::Greater,
            '=' if self.take('=') => Kind::Equal,
            '=' => Kind::Unknown,
            '-' | '0'..='9' => {
                self.run(|c| c.is_ascii_digit());
                Kind::Number(self.text[offset..self.offset].into())
            }
            '\'' => self.raw(offset)?,
            '"' => self.quoted(offset)?,
            '`' => self.literal(offset)?,
            _ => return Err(ParseError::syntax(format_args!("Unknown char: {first:?}"), offset)),
        };
        Ok(Token { kind, offset })
    }

    /// The text up to the delimiter, which is passed; a backslash takes the next character with it.
    fn until(&mut self, delimiter: char, start: usize) -> Result<&'a str, ParseError> {
        let rest = self.rest();
        let mut escaped = false;
        for (index, c) in rest.char_indices() {
            if escaped {
                escaped = false;
            } else if c == delimiter {
                self.offset += index + delimiter.len_utf8();
                return Ok(&rest[..index]);
            } else {
                escaped = c == '\\';
            }
        }
        Err(unclosed(delimiter, start))
    }

    /// Only `\'` is an escape; `\\` stays two characters.
    fn raw(&mut self, start: usize) -> Result<Kind, ParseError> {
        let rest = self.rest();
        let mut text = String::new();
        let mut chunk = 0;
        while let Some(found) = rest[chunk..].find('\'') {
            let end = chunk + found;
            match rest[chunk..end].strip_suffix('\\') {
                Some(before) => {
                    text.push_str(before);
                    text.push('\'');
                    chunk = end + 1;
                }
                None => {
                    text.push_str(&rest[chunk..end]);
                    self.offset += end + 1;
                    return Ok(Kind::Raw(text.into()));
                }
            }
        }
        Err(unclosed('\'', start))
    }

    fn quoted(&mut self, start: usize) -> Result<Kind, ParseError> {
        self.until('"', start)?;
        let value = json(&self.text[start..self.offset], start)?;
        match value {
            Value::String(text) => Ok(Kind::Quoted(text)),
            _ => Err(ParseError::syntax("Expected an identifier in quotes", start)),
        }
    }

    fn literal(&mut self, start: usize) -> Result<Kind, ParseError> {
        let text = self.until('`', start)?.replace("\\`", "`");
        json(&text, start).map(Kind::Literal)
    }
}

fn unclosed(delimiter: char, start: usize) -> ParseError {
    ParseError::syntax(format_args!("Unclosed delimiter: {delimiter}"), start)
}

fn json(text: &str, start: usize) -> Result<Value, ParseError> {
    JsonReader::new(text).last_wins().read().map_err(|error| ParseError::new(error.message, start))
}
