//! The syntax tree, macros expanded to nodes of their own.

use crate::value::Text;

/// A part of an expression.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    /// Where messages point to: the operator of an operation, the bracket of a call.
    pub(super) at: usize,
    /// The bytes of the source.
    pub(super) span: (usize, usize),
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text),
    Bytes(Vec<u8>),
    /// A name; with a dot in front if it was written so.
    Ident(Text),
    Select(Box<Select>),
    Index(Box<Index>),
    Call(Box<Call>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Conditional(Box<[Expr; 3]>),
    List(Vec<Element>),
    Map(Vec<Entry>),
    Message(Box<Message>),
    Fold(Box<Fold>),
    Bind(Box<Bind>),
    OptMap(Box<OptMap>),
    /// What could not be parsed; the fault is reported.
    Error,
}

#[derive(Clone, Debug)]
pub(super) struct Select {
    pub(super) operand: Expr,
    pub(super) field: Text,
    /// `has(operand.field)`.
    pub(super) test: bool,
    /// `operand.?field`.
    pub(super) optional: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) operand: Expr,
    pub(super) index: Expr,
    /// `operand[?index]`.
    pub(super) optional: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) function: Text,
    pub(super) target: Option<Expr>,
    pub(super) args: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) value: Expr,
    pub(super) optional: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Expr,
    pub(super) value: Expr,
    pub(super) optional: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) name: Text,
    pub(super) fields: Vec<Field>,
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Of the colon.
    pub(super) at: usize,
    pub(super) name: Text,
    pub(super) value: Expr,
    pub(super) optional: bool,
}

/// A macro that goes through a list or map.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    pub(super) range: Expr,
    pub(super) var: Text,
    /// Of the two-variable forms.
    pub(super) var2: Option<Text>,
    pub(super) filter: Option<Expr>,
    pub(super) body: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    /// `map` and `transformList`.
    Map,
    Filter,
    /// `transformMap`.
    TransformMap,
    /// `transformMapEntry`.
    TransformEntry,
}

/// `cel.bind`, and what `sortBy` makes of it.
#[derive(Clone, Debug)]
pub(super) struct Bind {
    pub(super) var: Text,
    pub(super) value: Expr,
    pub(super) body: Expr,
}

/// `target.optMap(var, body)` and `optFlatMap`.
#[derive(Clone, Debug)]
pub(super) struct OptMap {
    pub(super) target: Expr,
    pub(super) var: Text,
    pub(super) body: Expr,
    /// The body is an optional value itself.
    pub(super) flat: bool,
}

impl Expr {
    /// `a.b.c`, if it is written so.
    pub(super) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Ident(name) => Some(name.to_string()),
            Kind::Select(select) if !select.test && !select.optional => {
                let mut name = select.operand.qualified_name()?;
                name.push('.');
                name.push_str(&select.field);
                Some(name)
            }
            _ => None,
        }
    }
}
