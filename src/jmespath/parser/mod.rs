//! Parses tokens into a syntax tree, by the binding powers of the operators.

use std::fmt;
use std::mem::discriminant;

use crate::semantics::{Divergence, DivergenceSet};
use crate::value::Text;

use super::ast::{Argument, Call, Comparison, Node, Projection, ProjectionKind, Slice};
use super::error::ParseError;
use super::lexer::{self, Kind, Operator, Token};
use super::{MAX_EXPRESSION_BYTES, MAX_EXPRESSION_DEPTH};

/// A parsed expression and the divergences of its text.
pub(super) struct Parsed {
    pub(super) root: Node,
    pub(super) divergences: DivergenceSet,
}

pub(super) fn parse(text: &str) -> Result<Parsed, ParseError> {
    if text.len() > MAX_EXPRESSION_BYTES {
        let message = format!("longer than {MAX_EXPRESSION_BYTES} bytes");
        return Err(ParseError::plain(message, MAX_EXPRESSION_BYTES));
    }
    let tokens = lexer::tokens(text)?;
    let mut parser = Parser { tokens, position: 0, depth: 0, divergences: DivergenceSet::NONE };
    let tree = parser.expression(0)?;
    match parser.peek() {
        Kind::End => Ok(Parsed { root: tree.node, divergences: parser.divergences }),
        other => {
            let original = format!("Unexpected token at the end of the expression: {other}");
            parser.fail(format_args!("unexpected {} after the expression", other.plain()), original)
        }
    }
}

/// A node and its depth.
struct Tree {
    node: Node,
    depth: usize,
}

impl Tree {
    const fn leaf(node: Node) -> Self {
        Self { node, depth: 1 }
    }
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
    /// The number of open expressions.
    depth: usize,
    divergences: DivergenceSet,
}

/// The binding power of an operator on its left side.
const fn binding_power(kind: &Kind) -> u8 {
    match kind {
        Kind::Pipe => 1,
        Kind::Or => 2,
        Kind::And => 3,
        Kind::Comparison(_) => 5,
        Kind::Flatten => FLATTEN,
        Kind::Star => STAR,
        Kind::Filter => FILTER,
        Kind::Dot => DOT,
        Kind::Not => NOT,
        Kind::LeftBrace => 50,
        Kind::LeftBracket => 55,
        Kind::LeftParen => 60,
        _ => 0,
    }
}

const FLATTEN: u8 = 9;
const STAR: u8 = 20;
const FILTER: u8 = 21;
const DOT: u8 = 40;
const NOT: u8 = 45;
/// Operators with less power end a projection.
const PROJECTION_STOP: u8 = 10;

impl Parser {
    fn peek(&self) -> &Kind {
        self.ahead(0)
    }

    fn ahead(&self, distance: usize) -> &Kind {
        self.tokens.get(self.position + distance).map_or(&Kind::End, |token| &token.kind)
    }

    fn offset(&self) -> usize {
        self.tokens.get(self.position).map_or(0, |token| token.offset)
    }

    /// Consumes the current token unless it is the last one.
    fn advance(&mut self) {
        self.position = (self.position + 1).min(self.tokens.len() - 1);
    }

    fn fail<T>(&self, message: impl fmt::Display, original: impl fmt::Display) -> Result<T, ParseError> {
        Err(ParseError::syntax(message, original, self.offset()))
    }

    /// The error of a token that is none of the expected ones.
    fn unexpected<T>(&self, expected: &str, original: &str) -> Result<T, ParseError> {
        let found = self.peek();
        self.fail(
            format_args!("expected {expected}, found {}", found.plain()),
            format_args!("Expected {original}, received: {found}"),
        )
    }

    fn expect(&mut self, expected: &Kind) -> Result<(), ParseError> {
        if self.peek() != expected {
            return self.unexpected(expected.plain(), &expected.to_string());
        }
        self.advance();
        Ok(())
    }

    /// A node with children of this maximum depth.
    fn nest(&self, node: Node, below: usize) -> Result<Tree, ParseError> {
        if below >= MAX_EXPRESSION_DEPTH {
            return self.too_deep();
        }
        Ok(Tree { node, depth: below + 1 })
    }

    fn too_deep<T>(&self) -> Result<T, ParseError> {
        let message = format!("nested deeper than {MAX_EXPRESSION_DEPTH} levels");
        Err(ParseError::plain(message, self.offset()))
    }

    fn expression(&mut self, power: u8) -> Result<Tree, ParseError> {
        if self.depth >= MAX_EXPRESSION_DEPTH {
            return self.too_deep();
        }
        self.depth += 1;
        let mut left = self.prefix()?;
        while power < binding_power(self.peek()) {
            left = self.infix(left)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Parses the start of an expression. Each kind has a function of its own, so that one level takes little stack.
    fn prefix(&mut self) -> Result<Tree, ParseError> {
        match self.peek() {
            Kind::Identifier(_) | Kind::Quoted(_) if *self.ahead(1) == Kind::LeftParen => self.call(),
            Kind::LeftParen => self.parenthesised(),
            Kind::LeftBracket => self.bracketed(),
            Kind::LeftBrace => self.hash(),
            Kind::Not => self.not(),
            Kind::Filter => self.filter(Tree::leaf(Node::Current)),
            Kind::Flatten => self.flattened(Tree::leaf(Node::Current)),
            Kind::Star => self.members(),
            _ => self.leaf(),
        }
    }

    fn leaf(&mut self) -> Result<Tree, ParseError> {
        let node = match self.peek().clone() {
            Kind::Literal(value) => Node::Literal(value),
            Kind::Raw(text) => Node::Literal(text.into()),
            Kind::Current => Node::Current,
            Kind::Identifier(name) | Kind::Quoted(name) => Node::Field(name),
            Kind::End => return self.fail("the expression ends too early", "Incomplete expression"),
            other => return self.invalid(&other),
        };
        self.advance();
        Ok(Tree::leaf(node))
    }

    fn invalid<T>(&self, kind: &Kind) -> Result<T, ParseError> {
        self.fail(format_args!("unexpected {}", kind.plain()), format_args!("Invalid token: {kind}"))
    }

    fn parenthesised(&mut self) -> Result<Tree, ParseError> {
        self.advance();
        let inner = self.expression(0)?;
        self.expect(&Kind::RightParen)?;
        Ok(inner)
    }

    fn bracketed(&mut self) -> Result<Tree, ParseError> {
        match (self.ahead(1), self.ahead(2)) {
            (Kind::Number(_) | Kind::Colon, _) => self.indexed(Tree::leaf(Node::Current)),
            (Kind::Star, Kind::RightBracket) => self.elements(Tree::leaf(Node::Current)),
            _ => self.list(),
        }
    }

    fn not(&mut self) -> Result<Tree, ParseError> {
        self.advance();
        let operand = self.expression(NOT)?;
        self.nest(Node::Not(Box::new(operand.node)), operand.depth)
    }

    /// `*`, at the start of an expression.
    fn members(&mut self) -> Result<Tree, ParseError> {
        self.advance();
        let right = if *self.peek() == Kind::RightBracket {
            Tree::leaf(Node::Current)
        } else {
            self.projected(STAR)?
        };
        self.projection(Tree::leaf(Node::Current), ProjectionKind::Members, right)
    }

    /// Parses the continuation of an expression.
    fn infix(&mut self, left: Tree) -> Result<Tree, ParseError> {
        match self.peek() {
            Kind::Dot if *self.ahead(1) == Kind::Star => self.members_of(left),
            Kind::Dot => self.dotted(left),
            Kind::Pipe | Kind::Or | Kind::And => self.logical(left),
            Kind::Filter => self.filter(left),
            Kind::Flatten => self.flattened(left),
            Kind::LeftBracket => match self.ahead(1) {
                Kind::Number(_) | Kind::Colon => self.indexed(left),
                _ => self.elements(left),
            },
            Kind::Comparison(operator) => self.compared(left, *operator),
            other => self.invalid(other),
        }
    }

    fn members_of(&mut self, left: Tree) -> Result<Tree, ParseError> {
        self.advance();
        self.advance();
        let right = self.projected(DOT)?;
        self.projection(left, ProjectionKind::Members, right)
    }

    fn dotted(&mut self, left: Tree) -> Result<Tree, ParseError> {
        self.advance();
        let right = self.after_dot(DOT)?;
        self.chain(left, right)
    }

    fn logical(&mut self, left: Tree) -> Result<Tree, ParseError> {
        let join = match self.peek() {
            Kind::Pipe => Node::Pipe,
            Kind::Or => Node::Or,
            _ => Node::And,
        };
        let power = binding_power(self.peek());
        self.advance();
        let right = self.expression(power)?;
        self.joined(left, right, join)
    }

    fn compared(&mut self, left: Tree, operator: Operator) -> Result<Tree, ParseError> {
        let power = binding_power(self.peek());
        self.advance();
        let right = self.expression(power)?;
        let depth = left.depth.max(right.depth);
        self.nest(
            Node::Comparison(Box::new(Comparison { operator, left: left.node, right: right.node })),
            depth,
        )
    }

    /// Joins two sides of an operator whose chains are flat.
    fn joined(&self, left: Tree, right: Tree, join: fn(Vec<Node>) -> Node) -> Result<Tree, ParseError> {
        if discriminant(&left.node) == discriminant(&join(Vec::new())) {
            let depth = left.depth.max(right.depth + 1);
            if depth > MAX_EXPRESSION_DEPTH {
                return self.too_deep();
            }
            let mut node = left.node;
            if let Node::Pipe(parts) | Node::Or(parts) | Node::And(parts) | Node::Chain(parts) = &mut node {
                parts.push(right.node);
            }
            return Ok(Tree { node, depth });
        }
        let depth = left.depth.max(right.depth);
        self.nest(join(vec![left.node, right.node]), depth)
    }

    fn chain(&self, left: Tree, right: Tree) -> Result<Tree, ParseError> {
        self.joined(left, right, Node::Chain)
    }

    fn projection(&self, left: Tree, kind: ProjectionKind, right: Tree) -> Result<Tree, ParseError> {
        let depth = left.depth.max(right.depth);
        self.nest(Node::Projection(Box::new(Projection { left: left.node, kind, right: right.node })), depth)
    }

    fn after_dot(&mut self, power: u8) -> Result<Tree, ParseError> {
        match self.peek() {
            Kind::Identifier(_) | Kind::Quoted(_) | Kind::Star => self.expression(power),
            Kind::LeftBracket => self.list(),
            Kind::LeftBrace => self.hash(),
            _ => self.fail("expected a name, `[` or `{`", "Expected identifier, lbracket, or lbrace"),
        }
    }

    /// Parses the right side of a projection.
    fn projected(&mut self, power: u8) -> Result<Tree, ParseError> {
        match self.peek() {
            kind if binding_power(kind) < PROJECTION_STOP => Ok(Tree::leaf(Node::Current)),
            // `[*][0]`: the index applies to each value.
            Kind::LeftBracket | Kind::Filter => self.expression(power),
            Kind::Dot => {
                self.advance();
                self.after_dot(power)
            }
            other => self.invalid(other),
        }
    }

    /// `[]`
    fn flattened(&mut self, left: Tree) -> Result<Tree, ParseError> {
        self.advance();
        let right = self.projected(FLATTEN)?;
        self.projection(left, ProjectionKind::Flattened, right)
    }

    /// `[*]`
    fn elements(&mut self, left: Tree) -> Result<Tree, ParseError> {
        self.advance();
        self.expect(&Kind::Star)?;
        self.expect(&Kind::RightBracket)?;
        let right = self.projected(STAR)?;
        self.projection(left, ProjectionKind::Elements, right)
    }

    /// `[1]` or `[1:2:3]`
    fn indexed(&mut self, left: Tree) -> Result<Tree, ParseError> {
        self.advance();
        if *self.peek() != Kind::Colon && *self.ahead(1) != Kind::Colon {
            let index = self.integer()?;
            self.expect(&Kind::RightBracket)?;
            return self.chain(left, Tree::leaf(Node::Index(index)));
        }
        let mut parts = [None; 3];
        let mut part = 0;
        while *self.peek() != Kind::RightBracket && part < parts.len() {
            match self.peek() {
                Kind::Colon => {
                    part += 1;
                    self.advance();
                }
                Kind::Number(_) if parts[part].is_none() => parts[part] = Some(self.integer()?),
                _ => return self.unexpected("`:` or a number", "tColon or tNumber"),
            }
        }
        self.expect(&Kind::RightBracket)?;
        let right = self.projected(STAR)?;
        let [start, stop, step] = parts;
        self.projection(left, ProjectionKind::Slice(Slice { start, stop, step }), right)
    }

    fn integer(&mut self) -> Result<i64, ParseError> {
        let Kind::Number(text) = self.peek() else {
            return self.unexpected("a number", "tNumber");
        };
        let value = text.parse().map_err(|_| {
            let (plain, why) = match &**text {
                "-" => ("is no number", "invalid syntax"),
                _ => ("is out of range", "value out of range"),
            };
            ParseError {
                message: format!("`{text}` {plain}"),
                original: Some(format!("strconv.Atoi: parsing {text:?}: {why}")),
                offset: self.offset(),
            }
        })?;
        self.advance();
        Ok(value)
    }

    /// `[?condition]`
    fn filter(&mut self, left: Tree) -> Result<Tree, ParseError> {
        self.advance();
        let condition = self.expression(0)?;
        self.expect(&Kind::RightBracket)?;
        let right =
            if *self.peek() == Kind::Flatten { Tree::leaf(Node::Current) } else { self.projected(FILTER)? };
        let below = left.depth.max(condition.depth);
        let left = Tree { node: left.node, depth: below };
        self.projection(left, ProjectionKind::Filtered(condition.node), right)
    }

    /// `[a, b]`
    fn list(&mut self) -> Result<Tree, ParseError> {
        self.advance();
        let mut items = Vec::new();
        let mut depth = 0;
        loop {
            let item = self.expression(0)?;
            depth = depth.max(item.depth);
            items.push(item.node);
            if *self.peek() == Kind::RightBracket {
                self.advance();
                return self.nest(Node::List(items), depth);
            }
            self.expect(&Kind::Comma)?;
        }
    }

    /// `{k: a}`
    fn hash(&mut self) -> Result<Tree, ParseError> {
        self.advance();
        let mut members = Vec::new();
        let mut depth = 0;
        loop {
            let (Kind::Identifier(key) | Kind::Quoted(key)) = self.peek().clone() else {
                return self.fail("expected a name", "Expected tQuotedIdentifier or tUnquotedIdentifier");
            };
            self.advance();
            self.expect(&Kind::Colon)?;
            let member = self.expression(0)?;
            depth = depth.max(member.depth);
            members.push((key, member.node));
            match self.peek() {
                Kind::Comma => self.advance(),
                Kind::RightBrace => {
                    self.advance();
                    return self.nest(Node::Hash(members), depth);
                }
                Kind::Identifier(_) | Kind::Quoted(_) => self.divergences.insert(Divergence::MissingComma),
                _ => {
                    return self.fail("expected a name", "Expected tQuotedIdentifier or tUnquotedIdentifier");
                }
            }
        }
    }

    /// `name(a, b)`
    fn call(&mut self) -> Result<Tree, ParseError> {
        let name = self.function_name()?;
        self.advance();
        let mut arguments = Vec::new();
        let mut depth = 0;
        while *self.peek() != Kind::RightParen {
            let by_reference = *self.peek() == Kind::Ampersand;
            if by_reference {
                self.advance();
            }
            let Tree { node, depth: deep } = self.expression(0)?;
            depth = depth.max(deep);
            arguments.push(if by_reference { Argument::Expression(node) } else { Argument::Value(node) });
            match self.peek() {
                Kind::Comma => self.advance(),
                Kind::RightParen | Kind::End => {}
                _ => self.divergences.insert(Divergence::MissingComma),
            }
        }
        self.advance();
        self.nest(Node::Call(Box::new(Call::new(name, arguments))), depth)
    }

    fn function_name(&mut self) -> Result<Text, ParseError> {
        let kind = self.peek().clone();
        self.advance();
        match kind {
            Kind::Identifier(name) => Ok(name),
            _ => self.fail(
                "the name of a function has no quotes",
                "Can't have quoted identifier as function name.",
            ),
        }
    }
}

#[cfg(test)]
mod tests;
