//! Numbers, strings and the like.

use super::{Parsed, Parser};
use crate::cel::ast::{Expr, Kind};
use crate::cel::lexer::{Token, TokenKind};
use crate::cel::unescape;

impl Parser<'_> {
    pub(super) fn literal(&mut self) -> Parsed<Expr> {
        let first = self.peek();
        let negative = self.symbol() == Some("-") && self.is_number(self.next + 1);
        if negative {
            self.advance();
        }
        let token = self.peek();
        let kind = match token.kind {
            TokenKind::Int => self.int(token, negative),
            TokenKind::Uint => self.uint(token),
            TokenKind::Float => self.double(token, negative),
            TokenKind::String => match unescape::string(self.text(token)) {
                Ok(text) => Kind::String(text.into()),
                Err(error) => self.invalid(token, &error.to_string()),
            },
            TokenKind::Bytes => match unescape::bytes(self.text(token)) {
                Ok(bytes) => Kind::Bytes(bytes),
                Err(error) => self.invalid(token, &error.to_string()),
            },
            TokenKind::True => Kind::Bool(true),
            TokenKind::False => Kind::Bool(false),
            TokenKind::Null => Kind::Null,
            TokenKind::Ident | TokenKind::Escaped | TokenKind::Symbol(_) | TokenKind::End => {
                return Err(self.unexpected("an expression"));
            }
        };
        self.advance();
        Ok(Expr { at: first.start, span: (first.start, token.end), kind })
    }

    fn invalid(&mut self, token: Token, message: &str) -> Kind {
        self.report(token.start, message);
        Kind::Error
    }

    fn int(&mut self, token: Token, negative: bool) -> Kind {
        let text = self.text(token);
        let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
        let signed = if negative { format!("-{digits}") } else { digits.to_owned() };
        match i64::from_str_radix(&signed, radix) {
            Ok(value) => Kind::Int(value),
            Err(_) => self.invalid(token, "invalid int literal"),
        }
    }

    fn uint(&mut self, token: Token) -> Kind {
        let text = self.text(token);
        let text = &text[..text.len() - 1];
        let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
        match u64::from_str_radix(digits, radix) {
            Ok(value) => Kind::Uint(value),
            Err(_) => self.invalid(token, "invalid uint literal"),
        }
    }

    fn double(&mut self, token: Token, negative: bool) -> Kind {
        match self.text(token).parse::<f64>() {
            Ok(value) if value.is_finite() => Kind::Double(if negative { -value } else { value }),
            _ => self.invalid(token, "invalid double literal"),
        }
    }
}
