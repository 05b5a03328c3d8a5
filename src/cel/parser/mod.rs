//! Tokens to a syntax tree.

mod literal;
mod macros;

use crate::value::Text;

use super::ast::{Call, Element, Entry, Expr, Field, Index, Kind, Message, Select};
use super::env::Dialect;
use super::error::Issue;
use super::lexer::{Token, TokenKind, tokens};
use super::limits::{MAX_EXPRESSION_CHARS, MAX_EXPRESSION_DEPTH, MAX_SYNTAX_ERRORS};

/// Names that are no variables; they may be names of fields.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether a name is reserved: no variable may have it.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Parses an expression; the tree has [`Kind::Error`] where there are issues.
pub(super) fn parse(source: &str, dialect: Dialect, issues: &mut Vec<Issue>) -> Expr {
    let error = Expr { at: 0, span: (0, source.len()), kind: Kind::Error };
    if source.len() > MAX_EXPRESSION_CHARS {
        let chars = source.chars().count();
        if chars > MAX_EXPRESSION_CHARS {
            let message =
                format!("the expression has {chars} characters, the limit is {MAX_EXPRESSION_CHARS}");
            issues.push(Issue { offset: 0, message });
            return error;
        }
    }
    let tokens = tokens(source, issues);
    let mut parser = Parser { source, tokens: &tokens, next: 0, depth: 0, dialect, issues };
    match parser.whole() {
        Ok(expr) => expr,
        Err(Stop) => error,
    }
}

/// Parsing ends here; the fault is reported.
struct Stop;

type Parsed<T> = Result<T, Stop>;

struct Parser<'a> {
    source: &'a str,
    tokens: &'a [Token],
    next: usize,
    depth: usize,
    dialect: Dialect,
    issues: &'a mut Vec<Issue>,
}

impl Parser<'_> {
    fn whole(&mut self) -> Parsed<Expr> {
        let expr = self.expr()?;
        if self.peek().kind != TokenKind::End {
            return Err(self.unexpected("an operator or the end"));
        }
        Ok(expr)
    }

    fn peek(&self) -> Token {
        self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn text(&self, token: Token) -> &str {
        &self.source[token.start..token.end]
    }

    fn symbol(&self) -> Option<&'static str> {
        if let TokenKind::Symbol(symbol) = self.peek().kind { Some(symbol) } else { None }
    }

    fn accept(&mut self, symbol: &str) -> Option<Token> {
        (self.symbol() == Some(symbol)).then(|| self.advance())
    }

    fn expect(&mut self, symbol: &str) -> Parsed<Token> {
        self.accept(symbol).ok_or_else(|| self.unexpected(&format!("'{symbol}'")))
    }

    fn report(&mut self, offset: usize, message: impl Into<String>) {
        if self.issues.len() < MAX_SYNTAX_ERRORS {
            self.issues.push(Issue { offset, message: message.into() });
        }
    }

    fn unexpected(&mut self, expected: &str) -> Stop {
        let token = self.peek();
        let found = match token.kind {
            TokenKind::End => "the end".to_owned(),
            _ => format!("'{}'", crate::value::shortened(self.text(token), 40)),
        };
        self.report(token.start, format!("syntax error: expected {expected}, found {found}"));
        Stop
    }

    /// Counts one more level; the level ends with the function that `run` is.
    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let before = self.depth;
        self.level()?;
        let result = run(self);
        self.depth = before;
        result
    }

    fn level(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_EXPRESSION_DEPTH {
            let offset = self.peek().start;
            self.report(
                offset,
                format!("the expression is nested deeper than the limit of {MAX_EXPRESSION_DEPTH}"),
            );
            return Err(Stop);
        }
        Ok(())
    }

    /// A whole expression, the lowest precedence.
    fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(|parser| {
            let condition = parser.logic(true)?;
            let Some(operator) = parser.accept("?") else { return Ok(condition) };
            let then = parser.logic(true)?;
            parser.expect(":")?;
            let otherwise = parser.expr()?;
            let span = (condition.span.0, otherwise.span.1);
            let branches = Box::new([condition, then, otherwise]);
            Ok(Expr { at: operator.start, span, kind: Kind::Conditional(branches) })
        })
    }

    /// `||` and, below it, `&&`; chains are one node.
    fn logic(&mut self, or: bool) -> Parsed<Expr> {
        let operand =
            |parser: &mut Self| if or { parser.logic(false) } else { parser.deeper(|p| p.binary(0)) };
        let operator = if or { "||" } else { "&&" };
        let first = operand(self)?;
        let Some(token) = self.accept(operator) else { return Ok(first) };
        let mut terms = vec![first];
        loop {
            terms.push(operand(self)?);
            if self.accept(operator).is_none() {
                break;
            }
        }
        let span = (terms[0].span.0, terms.last().map_or(token.end, |last| last.span.1));
        let kind = if or { Kind::Or(terms) } else { Kind::And(terms) };
        Ok(Expr { at: token.start, span, kind })
    }

    /// Relations, sums, products; all are left-associative.
    fn binary(&mut self, level: usize) -> Parsed<Expr> {
        const LEVELS: &[&[(&str, &str)]] = &[
            &[
                ("<", "_<_"),
                ("<=", "_<=_"),
                (">=", "_>=_"),
                (">", "_>_"),
                ("==", "_==_"),
                ("!=", "_!=_"),
                ("in", "@in"),
            ],
            &[("+", "_+_"), ("-", "_-_")],
            &[("*", "_*_"), ("/", "_/_"), ("%", "_%_")],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let before = self.depth;
        let mut left = self.binary(level + 1)?;
        while let Some((_, function)) =
            operators.iter().find(|(symbol, _)| self.symbol() == Some(*symbol)).copied()
        {
            self.level()?;
            let operator = self.advance();
            let right = self.binary(level + 1)?;
            let span = (left.span.0, right.span.1);
            left = call(operator.start, span, function, None, vec![left, right]);
        }
        self.depth = before;
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let first = self.peek();
        let (symbol, function) = match first.kind {
            TokenKind::Symbol("!") => ("!", "!_"),
            TokenKind::Symbol("-") if !self.is_number(self.next + 1) => ("-", "-_"),
            _ => return self.member(),
        };
        let mut count = 0;
        while self.accept(symbol).is_some() {
            count += 1;
        }
        let operand = self.member()?;
        if count % 2 == 0 {
            return Ok(operand);
        }
        let span = (first.start, operand.span.1);
        Ok(call(first.start, span, function, None, vec![operand]))
    }

    fn is_number(&self, index: usize) -> bool {
        self.tokens.get(index).is_some_and(|token| matches!(token.kind, TokenKind::Int | TokenKind::Float))
    }

    /// A primary expression and the selections, calls and indices after it.
    fn member(&mut self) -> Parsed<Expr> {
        let before = self.depth;
        let mut operand = self.primary()?;
        loop {
            if let Some(dot) = self.accept(".") {
                self.level()?;
                operand = self.selection(operand, dot)?;
            } else if let Some(bracket) = self.accept("[") {
                self.level()?;
                let optional = self.accept("?").is_some();
                let index = self.expr()?;
                let end = self.expect("]")?.end;
                let span = (operand.span.0, end);
                let index = Index { operand, index, optional };
                operand = Expr { at: bracket.start, span, kind: Kind::Index(Box::new(index)) };
            } else {
                self.depth = before;
                return Ok(operand);
            }
        }
    }

    /// What follows a dot.
    fn selection(&mut self, operand: Expr, dot: Token) -> Parsed<Expr> {
        let optional = self.accept("?").is_some();
        let name = self.peek();
        let field: Text = self.field_name()?;
        let start = operand.span.0;
        if !optional
            && name.kind == TokenKind::Ident
            && let Some(open) = self.accept("(")
        {
            let args = self.list_of(")", Self::expr, false)?;
            let end = self.expect(")")?.end;
            return Ok(self.call_or_macro(open.start, (start, end), &field, Some(operand), args));
        }
        let select = Select { operand, field, test: false, optional };
        Ok(Expr { at: dot.start, span: (start, name.end), kind: Kind::Select(Box::new(select)) })
    }

    /// A name, in backticks where the dialect has them.
    fn field_name(&mut self) -> Parsed<Text> {
        let token = self.peek();
        match token.kind {
            TokenKind::Ident => {
                self.advance();
                Ok(self.text(token).into())
            }
            TokenKind::Escaped => {
                if !self.dialect.has_escaped_names() {
                    self.report(token.start, "unsupported syntax: '`'");
                }
                self.advance();
                Ok(self.text(token).trim_matches('`').into())
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// What is between brackets, separated by commas; the bracket itself stays.
    fn list_of<T>(
        &mut self,
        end: &str,
        item: impl Fn(&mut Self) -> Parsed<T>,
        trailing: bool,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.symbol() == Some(end) {
            return Ok(items);
        }
        if trailing && self.symbol() == Some(",") && self.is_symbol_at(self.next + 1, end) {
            self.advance();
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.accept(",").is_none() || (trailing && self.symbol() == Some(end)) {
                return Ok(items);
            }
        }
    }

    fn is_symbol_at(&self, index: usize, symbol: &str) -> bool {
        self.tokens
            .get(index)
            .is_some_and(|token| matches!(token.kind, TokenKind::Symbol(found) if found == symbol))
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.peek();
        match token.kind {
            TokenKind::Symbol("(") => {
                self.advance();
                let mut inner = self.expr()?;
                let end = self.expect(")")?.end;
                inner.span = (token.start, end);
                Ok(inner)
            }
            TokenKind::Symbol("[") => self.list(),
            TokenKind::Symbol("{") => self.map(),
            TokenKind::Symbol(".") => self.named(),
            TokenKind::Ident => self.named(),
            _ => self.literal(),
        }
    }

    fn list(&mut self) -> Parsed<Expr> {
        let open = self.advance();
        let element = |parser: &mut Self| {
            let optional = parser.accept("?").is_some();
            Ok(Element { value: parser.expr()?, optional })
        };
        let elements = self.list_of("]", element, true)?;
        let end = self.expect("]")?.end;
        Ok(Expr { at: open.start, span: (open.start, end), kind: Kind::List(elements) })
    }

    fn map(&mut self) -> Parsed<Expr> {
        let open = self.advance();
        let entry = |parser: &mut Self| {
            let optional = parser.accept("?").is_some();
            let key = parser.expr()?;
            parser.expect(":")?;
            Ok(Entry { key, value: parser.expr()?, optional })
        };
        let entries = self.list_of("}", entry, true)?;
        let end = self.expect("}")?.end;
        Ok(Expr { at: open.start, span: (open.start, end), kind: Kind::Map(entries) })
    }

    /// A variable, a call of a function or the construction of a message.
    fn named(&mut self) -> Parsed<Expr> {
        let start = self.peek().start;
        let dot = self.accept(".").is_some();
        if self.peek().kind != TokenKind::Ident {
            return Err(self.unexpected("a name"));
        }
        if let Some(open) = self.message_start() {
            return self.message(start, open);
        }
        let token = self.advance();
        let name = self.text(token).to_owned();
        if is_reserved(&name) {
            self.report(token.start, format!("reserved identifier: {name}"));
        }
        let full = if dot { format!(".{name}") } else { name };
        if let Some(open) = self.accept("(") {
            let args = self.list_of(")", Self::expr, false)?;
            let end = self.expect(")")?.end;
            return Ok(self.call_or_macro(open.start, (start, end), &full, None, args));
        }
        Ok(Expr { at: token.start, span: (start, token.end), kind: Kind::Ident(full.into()) })
    }

    /// The index of the `{` if a message is constructed here: `Name.name{`.
    fn message_start(&self) -> Option<usize> {
        let mut index = self.next + 1;
        while self.is_symbol_at(index, ".")
            && self.tokens.get(index + 1).is_some_and(|token| token.kind == TokenKind::Ident)
        {
            index += 2;
        }
        self.is_symbol_at(index, "{").then_some(index)
    }

    fn message(&mut self, start: usize, open: usize) -> Parsed<Expr> {
        let mut name = if self.source[start..].starts_with('.') { String::from(".") } else { String::new() };
        while self.next < open {
            let token = self.advance();
            name.push_str(self.text(token));
        }
        let bracket = self.advance();
        let field = |parser: &mut Self| {
            let optional = parser.accept("?").is_some();
            let name = parser.field_name()?;
            let at = parser.expect(":")?.start;
            Ok(Field { at, name, value: parser.expr()?, optional })
        };
        let fields = self.list_of("}", field, true)?;
        let end = self.expect("}")?.end;
        let message = Message { name: name.into(), fields };
        Ok(Expr { at: bracket.start, span: (start, end), kind: Kind::Message(Box::new(message)) })
    }
}

fn call(at: usize, span: (usize, usize), function: &str, target: Option<Expr>, args: Vec<Expr>) -> Expr {
    let call = Call { function: function.into(), target, args };
    Expr { at, span, kind: Kind::Call(Box::new(call)) }
}
