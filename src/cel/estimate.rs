//! What an expression costs at least and at most, by its text alone.

use std::fmt;
use std::ops::Add;

use super::ast::FoldKind;
use super::cost::CostRule;
use super::eval::{FoldCosts, LIST_COST, MAP_COST, MESSAGE_COST};
use super::plan::{CallStep, FoldStep, Path, QualifierKey, Root, Step};

/// The least and the most that the evaluation of an expression costs, unless it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostEstimate {
    /// The least.
    pub min: u64,
    /// The most; `None` if it grows with the sizes of lists, maps and strings that the text does not tell.
    pub max: Option<u64>,
}

impl CostEstimate {
    const ZERO: Self = Self::exactly(0);
    /// Of a size that is not known.
    const UNKNOWN: Self = Self { min: 0, max: None };

    const fn exactly(cost: u64) -> Self {
        Self { min: cost, max: Some(cost) }
    }

    /// The same, or nothing.
    const fn at_most(self) -> Self {
        Self { min: 0, ..self }
    }

    fn either(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.zip(other.max).map(|(one, two)| one.max(two)) }
    }

    /// The smaller of two sizes.
    fn smaller(self, other: Self) -> Self {
        let max = match (self.max, other.max) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self { min: self.min.min(other.min), max }
    }

    fn times(self, other: Self) -> Self {
        let max = match (self.max, other.max) {
            (Some(0), _) | (_, Some(0)) => Some(0),
            (one, two) => one.zip(two).map(|(one, two)| one.saturating_mul(two)),
        };
        Self { min: self.min.saturating_mul(other.min), max }
    }

    fn map(self, change: impl Fn(u64) -> u64) -> Self {
        Self { min: change(self.min), max: self.max.map(change) }
    }

    /// Whether a cost is in the range.
    pub fn contains(&self, cost: u64) -> bool {
        self.min <= cost && self.max.is_none_or(|max| cost <= max)
    }
}

impl Add for CostEstimate {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let max = self.max.zip(other.max).map(|(one, two)| one.saturating_add(two));
        Self { min: self.min.saturating_add(other.min), max }
    }
}

impl fmt::Display for CostEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max {
            Some(max) if max == self.min => write!(f, "{max}"),
            Some(max) => write!(f, "{} to {max}", self.min),
            None => write!(f, "at least {}, more with longer lists and strings", self.min),
        }
    }
}

/// The cost of a step. The parser limits its depth.
pub(super) fn cost(step: &Step) -> CostEstimate {
    let sum = |steps: &mut dyn Iterator<Item = &Step>| steps.map(cost).fold(CostEstimate::ZERO, Add::add);
    match step {
        Step::Const(_) => CostEstimate::ZERO,
        Step::Path(path) => path_cost(path, true),
        Step::Call(call) => call_cost(call) + sum(&mut call.args.iter()),
        Step::And(terms) | Step::Or(terms) => {
            // The first may decide.
            let first = terms.first().map_or(CostEstimate::ZERO, cost);
            first + sum(&mut terms.iter().skip(1)).at_most()
        }
        Step::Conditional(parts) => {
            let [condition, then, otherwise] = &**parts;
            cost(condition) + branch(then).either(branch(otherwise))
        }
        Step::List(elements) => {
            CostEstimate::exactly(LIST_COST) + sum(&mut elements.iter().map(|(element, _)| element))
        }
        Step::Map(entries) => {
            let parts = &mut entries.iter().flat_map(|(key, value, _)| [key, value]);
            CostEstimate::exactly(MAP_COST) + sum(parts)
        }
        Step::Message(message) => {
            CostEstimate::exactly(MESSAGE_COST) + sum(&mut message.fields.iter().map(|(_, value, _)| value))
        }
        Step::Fold(fold) => fold_cost(fold),
        // It costs something at its first use.
        Step::Bind(bind) => cost(&bind.value).at_most() + cost(&bind.body),
        Step::OptMap(map) => {
            let target = cost(&map.target);
            // The value is found a second time when it is used.
            let used = target.at_most() + CostEstimate { min: 0, max: Some(1) };
            let body = CostEstimate::exactly(u64::from(!map.flat)) + used + cost(&map.body);
            target + CostEstimate::exactly(1) + body.either(CostEstimate::exactly(1))
        }
        Step::OrElse(or_else) => cost(&or_else.left) + cost(&or_else.right).at_most(),
    }
}

fn branch(step: &Step) -> CostEstimate {
    if let Step::Path(path) = step { path_cost(path, false) } else { cost(step) }
}

fn path_cost(path: &Path, counted: bool) -> CostEstimate {
    let root = match &path.root {
        Root::Variable(_) | Root::Local(_) => CostEstimate::ZERO,
        Root::Definition(_) => CostEstimate::exactly(1),
        Root::Step(step) => cost(step),
    };
    let own = counted && !path.test && !matches!(path.root, Root::Step(Step::Conditional(_)));
    let mut sum = root + CostEstimate::exactly(u64::from(own));
    // The value of a macro's variable, or of a step, may be an optional one.
    let mut is_optional = !matches!(path.root, Root::Variable(_));
    for qualifier in &path.qualifiers {
        let selected = CostEstimate::exactly(1);
        let key = match &qualifier.key {
            QualifierKey::Step(step) => branch(step),
            QualifierKey::Field(_) | QualifierKey::Const(_) => CostEstimate::ZERO,
        };
        let was_optional = is_optional;
        is_optional |= qualifier.optional;
        let selected = if is_optional { selected.at_most() } else { selected };
        // Behind a value that is absent nothing is selected.
        sum = sum + selected + if was_optional { key.at_most() } else { key };
    }
    sum
}

fn fold_cost(fold: &FoldStep) -> CostEstimate {
    let costs = FoldCosts::of(fold);
    let before = CostEstimate::exactly(costs.before);
    let taken = CostEstimate::exactly(costs.taken);
    let body = cost(&fold.body);
    let element = match (&fold.filter, fold.kind) {
        (Some(filter), _) => before + cost(filter) + (taken + body).at_most(),
        (None, FoldKind::ExistsOne | FoldKind::Filter) => before + body + taken.at_most(),
        (None, _) => before + taken + body,
    };
    let length = size(&fold.range);
    // The first element may decide.
    let decides = matches!(fold.kind, FoldKind::All | FoldKind::Exists);
    let visited = if decides { CostEstimate { min: length.min.min(1), ..length } } else { length };
    cost(&fold.range) + visited.times(element) + CostEstimate::exactly(costs.result)
}

fn call_cost(call: &CallStep) -> CostEstimate {
    let size = |index: usize| call.args.get(index).map_or(CostEstimate::exactly(1), size);
    let tenth = |size: CostEstimate| size.map(|size| size.div_ceil(10));
    match call.cost {
        CostRule::Fixed(cost) => CostEstimate::exactly(cost),
        CostRule::Traverse => tenth(size(0)),
        CostRule::TraverseTwice => tenth(size(0).times(CostEstimate::exactly(2))),
        CostRule::Contains => tenth(size(0)).times(tenth(size(1))),
        CostRule::SizeOfSecond => size(1),
        CostRule::Smaller | CostRule::Equal => tenth(size(0).smaller(size(1))),
        CostRule::Both => tenth(size(0) + size(1)),
        _ => CostEstimate::UNKNOWN,
    }
}

/// The size of a value: the number of its characters, bytes, elements or entries; of others 1.
fn size(step: &Step) -> CostEstimate {
    let counted = |optional: &mut dyn Iterator<Item = bool>| {
        let (mut min, mut max) = (0, 0);
        for is_optional in optional {
            min += u64::from(!is_optional);
            max += 1;
        }
        CostEstimate { min, max: Some(max) }
    };
    match step {
        Step::Const(value) => CostEstimate::exactly(value.size()),
        Step::List(elements) => counted(&mut elements.iter().map(|(_, optional)| *optional)),
        // Optional entries may remove others.
        Step::Map(entries) => counted(&mut entries.iter().map(|(.., optional)| *optional)).at_most(),
        Step::Conditional(parts) => size(&parts[1]).either(size(&parts[2])),
        Step::And(_) | Step::Or(_) | Step::Message(_) => CostEstimate::exactly(1),
        Step::Path(path) if path.test => CostEstimate::exactly(1),
        Step::Fold(fold) => match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => CostEstimate::exactly(1),
            FoldKind::Map if fold.filter.is_none() => size(&fold.range),
            FoldKind::Map | FoldKind::Filter | FoldKind::TransformMap => size(&fold.range).at_most(),
            FoldKind::TransformEntry => CostEstimate::UNKNOWN,
        },
        _ => CostEstimate::UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use crate::cel::{Activation, Dialect, Env, Meter, Numbers, Program, Val};
    use crate::value::Value;

    const GROWS: &str = "more with longer lists and strings";

    #[test]
    fn a_cost_is_known_by_the_text_or_grows() {
        let env = Env::policy(Dialect::Kyverno).with_messages();
        let object = r#"{"n": 3, "name": "a-long-enough-name", "list": ["a", "b"], "map": {"a": 1}}"#;
        let mut activation = Activation::new(&env, &[]);
        activation.set("object", Val::from_json(&Value::from_json(object).unwrap(), Numbers::Exact));
        for (source, expected) in [
            ("true", "0".to_owned()),
            ("object.n == 3", "2 to 3".to_owned()),
            ("has(object.x) && object.x == 1", "1 to 4".to_owned()),
            ("object.?map.?b.orValue(1)", "2 to 4".to_owned()),
            ("object.n == 3 ? object.name : object.map.a", "3 to 5".to_owned()),
            ("Object{metadata: Object.metadata{labels: {'a': 'b'}}}", "80".to_owned()),
            ("[1, 2].map(x, x + 1)", "29".to_owned()),
            ("[1, 2].exists(x, x > 1)", "7 to 13".to_owned()),
            ("object.list.all(x, x == 'a')", format!("at least 3, {GROWS}")),
            ("object.name.startsWith('a')", format!("at least 2, {GROWS}")),
            ("object.?map.optMap(m, m.a)", "3 to 9".to_owned()),
            ("cel.bind(x, object.n, x + x)", "3 to 5".to_owned()),
        ] {
            let program = Program::compile(&env, source).unwrap();
            let estimate = program.cost();
            let mut meter = Meter::default();
            program.evaluate(&activation, &mut meter).ok();
            assert!(estimate.contains(meter.cost()), "{source}: {} is not {estimate}", meter.cost());
            assert_eq!(estimate.to_string(), expected, "{source}");
        }
    }
}
