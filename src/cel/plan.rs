//! What is evaluated: a checked expression with its names and functions resolved.

use std::sync::Arc;

use crate::regexp::Regexp;
use crate::value::Text;

use super::ast::FoldKind;
use super::cost::CostRule;
use super::functions::{Function, Overload};
use super::value::Val;

/// A step of an evaluation.
pub(super) enum Step {
    Const(Val),
    Path(Box<Path>),
    Call(Box<CallStep>),
    And(Vec<Self>),
    Or(Vec<Self>),
    Conditional(Box<[Self; 3]>),
    /// Elements, and whether each is optional.
    List(Vec<(Self, bool)>),
    /// Keys, values, and whether each entry is optional.
    Map(Vec<(Self, Self, bool)>),
    Message(Box<MessageStep>),
    Fold(Box<FoldStep>),
    Bind(Box<BindStep>),
    OptMap(Box<OptMapStep>),
    OrElse(Box<OrElseStep>),
}

/// Something, and selections from it.
pub(super) struct Path {
    pub(super) root: Root,
    pub(super) qualifiers: Vec<Qualifier>,
    /// `has(…)`: only whether the last selection is there.
    pub(super) test: bool,
}

pub(super) enum Root {
    /// A variable of the environment, by number.
    Variable(usize),
    /// `variables.NAME`, by number.
    Definition(usize),
    /// A variable of a macro, by its depth.
    Local(usize),
    Step(Step),
}

pub(super) struct Qualifier {
    pub(super) key: QualifierKey,
    pub(super) optional: bool,
    /// The operand is known to be a message.
    pub(super) of_message: bool,
}

pub(super) enum QualifierKey {
    Field(Text),
    Const(Val),
    Step(Step),
}

pub(super) struct CallStep {
    pub(super) function: &'static Function,
    /// The only overload that the types allow, if there is only one.
    pub(super) overload: Option<&'static Overload>,
    pub(super) cost: CostRule,
    /// Of a literal pattern.
    pub(super) regexp: Option<(Text, Arc<Regexp>)>,
    pub(super) args: Vec<Step>,
}

pub(super) struct MessageStep {
    pub(super) name: Text,
    pub(super) fields: Vec<(Text, Step, bool)>,
}

pub(super) struct FoldStep {
    pub(super) kind: FoldKind,
    pub(super) range: Step,
    pub(super) has_two: bool,
    pub(super) filter: Option<Step>,
    pub(super) body: Step,
}

pub(super) struct BindStep {
    pub(super) value: Step,
    pub(super) body: Step,
}

pub(super) struct OptMapStep {
    pub(super) target: Step,
    pub(super) body: Step,
    pub(super) flat: bool,
}

/// `left.or(right)` and `left.orValue(right)`; the right side is only evaluated if it is needed.
pub(super) struct OrElseStep {
    pub(super) left: Step,
    pub(super) right: Step,
    /// `orValue`.
    pub(super) value: bool,
    /// A left side that is not optional is the result.
    pub(super) lenient: bool,
}

impl Step {
    pub(super) const fn as_const(&self) -> Option<&Val> {
        if let Self::Const(value) = self { Some(value) } else { None }
    }
}
