//! Splits an expression into tokens.

use std::fmt;

use crate::value::{JsonReader, Text, Value};

use super::error::ParseError;

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Where it starts, in bytes.
    pub(super) offset: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Identifier(Text),
    Quoted(Text),
    /// `'…'`
    Raw(Text),
    /// JSON in backticks.
    Literal(Value),
    /// Digits with or without a minus, of any length; or only a minus.
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
    Comparison(Operator),
    Current,
    /// A single `=`.
    Unknown,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Kind {
    /// The token in an error message.
    pub(super) const fn plain(&self) -> &'static str {
        match self {
            Self::Identifier(_) => "a name",
            Self::Quoted(_) => "a name in quotes",
            Self::Raw(_) => "a string",
            Self::Literal(_) => "a JSON literal",
            Self::Number(_) => "a number",
            Self::Dot => "`.`",
            Self::Star => "`*`",
            Self::Flatten => "`[]`",
            Self::Filter => "`[?`",
            Self::LeftBracket => "`[`",
            Self::RightBracket => "`]`",
            Self::LeftBrace => "`{`",
            Self::RightBrace => "`}`",
            Self::LeftParen => "`(`",
            Self::RightParen => "`)`",
            Self::Comma => "`,`",
            Self::Colon => "`:`",
            Self::Pipe => "`|`",
            Self::Or => "`||`",
            Self::And => "`&&`",
            Self::Not => "`!`",
            Self::Ampersand => "`&`",
            Self::Comparison(Operator::Equal) => "`==`",
            Self::Comparison(Operator::NotEqual) => "`!=`",
            Self::Comparison(Operator::Less) => "`<`",
            Self::Comparison(Operator::LessOrEqual) => "`<=`",
            Self::Comparison(Operator::Greater) => "`>`",
            Self::Comparison(Operator::GreaterOrEqual) => "`>=`",
            Self::Current => "`@`",
            Self::Unknown => "`=`",
            Self::End => "the end",
        }
    }
}

/// The names in Kyverno's messages.
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
            Self::Comparison(Operator::Equal) => "tEQ",
            Self::Comparison(Operator::NotEqual) => "tNE",
            Self::Comparison(Operator::Less) => "tLT",
            Self::Comparison(Operator::LessOrEqual) => "tLTE",
            Self::Comparison(Operator::Greater) => "tGT",
            Self::Comparison(Operator::GreaterOrEqual) => "tGTE",
            Self::Current => "tCurrent",
            Self::Unknown => "tUnknown",
            Self::End => "tEOF",
        })
    }
}

/// The tokens of an expression; the last one is [`Kind::End`].
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

    fn take(&mut self, expected: char) -> bool {
        let found = self.rest().starts_with(expected);
        self.offset += if found { expected.len_utf8() } else { 0 };
        found
    }

    /// Consumes characters as long as they fit.
    fn take_while(&mut self, fits: fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.offset += end;
        &rest[..end]
    }

    fn token(&mut self) -> Result<Token, ParseError> {
        self.take_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
        let offset = self.offset;
        let Some(first) = self.rest().chars().next() else {
            return Ok(Token { kind: Kind::End, offset });
        };
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(Token { kind: Kind::Identifier(self.take_while(word).into()), offset });
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
            '!' if self.take('=') => Kind::Comparison(Operator::NotEqual),
            '!' => Kind::Not,
            '<' if self.take('=') => Kind::Comparison(Operator::LessOrEqual),
            '<' => Kind::Comparison(Operator::Less),
            '>' if self.take('=') => Kind::Comparison(Operator::GreaterOrEqual),
            '>' => Kind::Comparison(Operator::Greater),
            '=' if self.take('=') => Kind::Comparison(Operator::Equal),
            '=' => Kind::Unknown,
            '-' | '0'..='9' => {
                self.take_while(|c| c.is_ascii_digit());
                Kind::Number(self.text[offset..self.offset].into())
            }
            '\'' => self.raw(offset)?,
            '"' => self.quoted(offset)?,
            '`' => self.literal(offset)?,
            _ => {
                return Err(ParseError::syntax(
                    format_args!("unexpected character {first:?}"),
                    format_args!("Unknown char: {first:?}"),
                    offset,
                ));
            }
        };
        Ok(Token { kind, offset })
    }

    /// Consumes up to and with the delimiter; one after a backslash does not count. Returns the text before it.
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
            _ => Err(ParseError::syntax(
                "expected a name in quotes",
                "Expected an identifier in quotes",
                start,
            )),
        }
    }

    fn literal(&mut self, start: usize) -> Result<Kind, ParseError> {
        let text = self.until('`', start)?.replace("\\`", "`");
        json(&text, start).map(Kind::Literal)
    }
}

fn unclosed(delimiter: char, start: usize) -> ParseError {
    ParseError::syntax(
        format_args!("the quote {delimiter} is not closed"),
        format_args!("Unclosed delimiter: {delimiter}"),
        start,
    )
}

fn json(text: &str, start: usize) -> Result<Value, ParseError> {
    JsonReader::new(text).last_wins().read().map_err(|error| ParseError::plain(error.message, start))
}
