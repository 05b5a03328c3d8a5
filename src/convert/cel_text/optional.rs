//! Optional values, as short as they can be said.

use super::{Cel, Entry, Operator, joined_lists};

impl Cel {
    /// The value where it is present. The value of a path that is there is the path itself, as an optional one:
    /// `a.?b`, and `a.?b.or(c)` where another one comes second.
    pub(in crate::convert) fn optional(present: Self, value: Self) -> Self {
        if let (Some((first, rest)), Self::If { condition, then, otherwise }) = (first_of(&present), &value)
            && *first == **condition
        {
            let one = Self::optional(first.clone(), (**then).clone());
            if one.is_optional_path() {
                let other = Self::optional(Self::any(rest.to_vec()), (**otherwise).clone());
                return one.call("or", [other]);
            }
        }
        match present.tested_path() {
            Some(path) if path.strict() == value => path,
            _ => Self::if_else(present, Self::some(value), Self::none()),
        }
    }

    /// Whether it is an optional value.
    pub(in crate::convert) fn is_optional(&self) -> bool {
        match self {
            Self::If { then, otherwise, .. } => then.is_optional() && otherwise.is_optional(),
            Self::Call { of: None, name, .. } => matches!(*name, "optional.of" | "optional.none"),
            Self::Call { of: Some(_), name, .. } => *name == "or",
            _ => self.is_optional_path(),
        }
    }

    /// Whether it is a path of which parts may be missing.
    fn is_optional_path(&self) -> bool {
        match self {
            Self::Member { of, optional, .. } | Self::Index { of, optional, .. } => {
                *optional || of.is_optional_path()
            }
            _ => false,
        }
    }

    /// The optional path that a test finds present.
    pub(in crate::convert) fn tested_path(&self) -> Option<Self> {
        match self {
            Self::Call { of: Some(path), name: "hasValue", .. } => Some((**path).clone()),
            Self::Call { of: None, name: "has", arguments } => match arguments.as_slice() {
                [Self::Member { of, name, .. }] => Some((**of).clone().maybe(name)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The path without optional parts.
    pub(in crate::convert) fn strict(&self) -> Self {
        match self {
            Self::Member { of, name, .. } => Self::strict(of).member(name),
            Self::Index { of, key, .. } => Self::strict(of).index((**key).clone()),
            other => other.clone(),
        }
    }

    /// Whether the value of a path is there where the condition holds: it, or one below it.
    pub(in crate::convert) fn proves(&self, value: &Self) -> bool {
        let is_of = |cel: &Self, is_other: &dyn Fn(&Self) -> bool| {
            matches!(cel, Self::Call { of: Some(path), name: "orValue", arguments }
                if path.strict().is_at_or_below(value) && arguments.first().is_some_and(is_other))
        };
        match self {
            Self::Chain { operator: Operator::And, operands } => operands.iter().any(|one| one.proves(value)),
            Self::Chain { operator: Operator::Or, operands } => operands.iter().all(|one| one.proves(value)),
            Self::Chain { operator: Operator::NotEqual, operands } => match operands.as_slice() {
                [read, other @ Self::Text(_)] => is_of(read, &|default| default == other),
                _ => false,
            },
            Self::Chain { operator: Operator::Equal, operands } => match operands.as_slice() {
                [read, other] if other.is_literal() => {
                    is_of(read, &|default| default.is_literal() && default != other)
                }
                _ => false,
            },
            Self::Chain { operator: Operator::In, operands } => match operands.as_slice() {
                [read, Self::List(others)] if others.iter().all(Self::is_literal) => {
                    is_of(read, &|default| default.is_literal() && !others.contains(default))
                }
                _ => false,
            },
            test => test.tested_path().is_some_and(|path| path.strict().is_at_or_below(value)),
        }
    }

    /// Whether another condition, all of it, is a part of this one.
    pub(in crate::convert) fn includes(&self, condition: &Self) -> bool {
        self == condition
            || match (self, condition) {
                (
                    Self::Chain { operator: Operator::And, operands },
                    Self::Chain { operator: Operator::And, operands: parts },
                ) => parts.iter().all(|part| operands.contains(part)),
                (Self::Chain { operator: Operator::And, operands }, part) => operands.contains(part),
                _ => false,
            }
    }

    /// Whether it is a text, `true` or `false`.
    fn is_literal(&self) -> bool {
        matches!(self, Self::Text(_)) || self.is_true() || self.is_false()
    }

    /// Whether it is a path, or one below it.
    fn is_at_or_below(&self, path: &Self) -> bool {
        self == path
            || match self {
                Self::Member { of, .. } | Self::Index { of, .. } => of.is_at_or_below(path),
                _ => false,
            }
    }

    /// The steps of a JSON patch without those that create what is there where the conditions hold.
    pub(in crate::convert) fn without_created(&self, conditions: &[&Self]) -> Self {
        match self {
            Self::If { condition, then, otherwise } => {
                let then = then.without_created(&[conditions, &[&**condition]].concat());
                Self::if_else((**condition).clone(), then, (**otherwise).clone())
            }
            Self::Chain { operator: Operator::Plus, operands } => {
                let left = operands.iter().filter(|steps| !steps.only_creates(conditions));
                joined_lists(left.map(|steps| steps.without_created(conditions)))
            }
            // The steps for the elements that meet a condition.
            Self::Call { of: Some(list), name: "transformList", arguments } => {
                let Some((body, before)) = arguments.split_last() else { return self.clone() };
                let own = before.iter().skip(2).chain(list.kept_by());
                let conditions: Vec<&Self> = conditions.iter().copied().chain(own).collect();
                let body = body.without_created(&conditions);
                let arguments: Vec<Self> = before.iter().cloned().chain([body]).collect();
                (**list).clone().call("transformList", arguments)
            }
            Self::Call { of: Some(lists), name: "flatten", .. } => {
                lists.without_created(conditions).flattened()
            }
            Self::Call { of: Some(list), name: "reverse", .. } => {
                list.without_created(conditions).call("reverse", [])
            }
            other => other.clone(),
        }
    }

    /// The optional paths that lead to nothing where the condition holds.
    pub(in crate::convert) fn missing(&self) -> Vec<Self> {
        match self {
            Self::Chain { operator: Operator::And, operands } => {
                operands.iter().flat_map(Self::missing).collect()
            }
            Self::Not(test) => test.tested_path().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// What the elements of a filtered list meet.
    fn kept_by(&self) -> Option<&Self> {
        match self {
            Self::Call { name: "filter", arguments, .. } => arguments.last(),
            _ => None,
        }
    }

    /// Whether these are steps that create what is there where the conditions hold.
    fn only_creates(&self, conditions: &[&Self]) -> bool {
        let Self::If { condition, otherwise, .. } = self else { return false };
        let Self::Not(test) = &**condition else { return false };
        let is_there = |path: &Self| conditions.iter().any(|condition| condition.proves(&path.strict()));
        **otherwise == Self::List(Vec::new()) && test.tested_path().is_some_and(|path| is_there(&path))
    }

    /// The elements of the lists of a list: one for each element where each has one.
    pub(in crate::convert) fn flattened(self) -> Self {
        if let Self::Call { of: Some(list), name: "transformList", arguments } = &self
            && let Some((items, before)) = arguments.split_last()
            && let Some(item) = items.only_item()
        {
            let arguments: Vec<Self> = before.iter().cloned().chain([item]).collect();
            return (**list).clone().call("transformList", arguments);
        }
        self.call("flatten", [])
    }

    /// The element of a list that always has one.
    fn only_item(&self) -> Option<Self> {
        match self {
            Self::List(items) => match items.as_slice() {
                [item] => Some(item.clone()),
                _ => None,
            },
            Self::If { condition, then, otherwise } => {
                Some(Self::if_else((**condition).clone(), then.only_item()?, otherwise.only_item()?))
            }
            _ => None,
        }
    }

    /// What is left where a path leads to nothing.
    pub(in crate::convert) fn without(&self, path: &Self) -> Self {
        if self.tested_path().as_ref() == Some(path) {
            return Self::bool(false);
        }
        let inner = |cel: &Self| cel.without(path);
        let all = |items: &[Self]| items.iter().map(inner).collect::<Vec<_>>();
        match self {
            Self::Call { of: Some(of), name: "or" | "orValue", arguments } if **of == *path => {
                arguments.first().map_or_else(Self::none, inner)
            }
            Self::Call { of, name, arguments } => {
                Self::Call { of: of.as_ref().map(|of| Box::new(inner(of))), name, arguments: all(arguments) }
            }
            Self::If { condition, then, otherwise } => {
                Self::if_else(inner(condition), inner(then), inner(otherwise))
            }
            Self::Not(operand) => inner(operand).negated(),
            Self::Chain { operator: Operator::And, operands } => Self::all(all(operands)),
            Self::Chain { operator: Operator::Or, operands } => Self::any(all(operands)),
            Self::Chain { operator, operands } => match (operator, all(operands).as_slice()) {
                (Operator::Equal, [Self::Text(one), Self::Text(other)]) => Self::bool(one == other),
                (Operator::NotEqual, [Self::Text(one), Self::Text(other)]) => Self::bool(one != other),
                (_, operands) => Self::Chain { operator: *operator, operands: operands.to_vec() },
            },
            Self::Message { name, fields } => Self::Message {
                name: name.clone(),
                fields: fields
                    .iter()
                    .map(|field| Entry { value: inner(&field.value), ..field.clone() })
                    .collect(),
            },
            Self::List(items) => Self::List(all(items)),
            other => other.clone(),
        }
    }
}

/// Joins the test that a text is there with the one behind it that it equals another: `a.?b.orValue("") == "x"`.
pub(super) fn join_tests(conditions: &mut Vec<Cel>) {
    let joined = |pair: &[Cel]| -> Option<Cel> {
        let [is_there, Cel::Chain { operator: Operator::Equal, operands: equals }] = pair else {
            return None;
        };
        let path = text_there(is_there)?;
        let [value, text @ Cel::Text(other)] = equals.as_slice() else { return None };
        let is_same = !other.is_empty() && path.strict() == *value;
        is_same.then(|| path.or_value(Cel::text("")).equals(text.clone()))
    };
    let mut index = 0;
    while let Some(pair) = conditions.get(index..index + 2) {
        match joined(pair) {
            Some(one) => drop(conditions.splice(index..index + 2, [one])),
            None => index += 1,
        }
    }
}

/// The optional path of a text that a test finds: `has(a.b)`, or `a.?b.orValue("") != ""`.
fn text_there(test: &Cel) -> Option<Cel> {
    let Cel::Chain { operator: Operator::NotEqual, operands } = test else { return test.tested_path() };
    match operands.as_slice() {
        [Cel::Call { of: Some(path), name: "orValue", arguments }, Cel::Text(empty)]
            if empty.is_empty() && arguments.as_slice() == [Cel::text("")] =>
        {
            Some((**path).clone())
        }
        _ => None,
    }
}

/// The first of several conditions of which one must hold, and the others.
fn first_of(condition: &Cel) -> Option<(&Cel, &[Cel])> {
    match condition {
        Cel::Chain { operator: Operator::Or, operands } => operands.split_first(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(names: &[&str]) -> Cel {
        names.iter().fold(Cel::atom("a"), |of, name| of.maybe(name))
    }

    fn is_there(path: &Cel) -> Cel {
        path.clone().call("hasValue", [])
    }

    #[test]
    fn a_path_that_is_there_is_itself() {
        let (one, other) = (path(&["b"]), path(&["c"]));
        assert_eq!(Cel::optional(is_there(&one), one.strict()).to_string(), "a.?b");
        let has = Cel::function("has", [one.strict()]);
        assert_eq!(Cel::optional(has, one.strict()).to_string(), "a.?b");
        let either = Cel::any(vec![is_there(&one), is_there(&other)]);
        let value = Cel::if_else(is_there(&one), one.strict(), other.strict());
        assert_eq!(Cel::optional(either, value).to_string(), "a.?b.or(a.?c)");
        let text = Cel::optional(is_there(&one), Cel::text("x"));
        assert_eq!(text.to_string(), "a.?b.hasValue() ? optional.of(\"x\") : optional.none()");
    }

    #[test]
    fn what_is_missing_is_left_out() {
        let (one, other) = (path(&["b"]), path(&["c"]));
        assert_eq!(one.clone().call("or", [other.clone()]).without(&one).to_string(), "a.?c");
        let text = one.clone().or_value(Cel::text("")).compare(Operator::NotEqual, Cel::text(""));
        let choice = Cel::if_else(text, Cel::text("x"), other.or_value(Cel::text("y")));
        assert_eq!(choice.without(&one).to_string(), "a.?c.orValue(\"y\")");
    }
}
