//! Several questions about one value.

use super::{Cel, Operator};

impl Cel {
    /// Whether one fails just where the other does: both compare the same value with constants.
    pub(in crate::convert) fn fails_as(&self, other: &Self) -> bool {
        self.asked().is_some_and(|value| other.asked() == Some(value))
    }

    /// The value that it compares with constants.
    fn asked(&self) -> Option<&Self> {
        match self {
            Self::Not(test) => test.asked(),
            Self::Chain { operator: Operator::And | Operator::Or, operands } => {
                let (first, rest) = operands.split_first()?;
                let value = first.asked()?;
                rest.iter().all(|other| other.asked() == Some(value)).then_some(value)
            }
            Self::Chain { operator: Operator::Equal | Operator::NotEqual | Operator::In, operands } => {
                match operands.as_slice() {
                    [value, constant] if constant.is_constant() => Some(value),
                    _ => None,
                }
            }
            Self::Call {
                of: Some(value),
                name: "startsWith" | "endsWith" | "contains" | "matches",
                arguments,
            } => arguments.iter().all(Self::is_constant).then_some(value),
            _ => None,
        }
    }

    /// Whether it is a choice because an error of the first test counts, whatever the second says.
    pub(in crate::convert) fn keeps_errors(&self) -> bool {
        let is_truth = |cel: &Self| cel.is_true() || cel.is_false();
        match self {
            Self::If { then, otherwise, .. } => is_truth(then) || is_truth(otherwise),
            Self::Chain { operator: Operator::Equal, operands } => {
                matches!(operands.as_slice(), [Self::List(_), Self::List(truths)] if truths.iter().all(is_truth))
            }
            _ => false,
        }
    }
}

/// Joins neighbours that compare the same value with texts: `x in ["a", "b"]`.
pub(super) fn join_alternatives(alternatives: &mut Vec<Cel>) {
    let texts = |cel: &Cel| -> Option<(Cel, Vec<Cel>)> {
        match cel {
            Cel::Chain { operator: Operator::Equal, operands } => match operands.as_slice() {
                [value, text @ Cel::Text(_)] => Some((value.clone(), vec![text.clone()])),
                _ => None,
            },
            Cel::Chain { operator: Operator::In, operands } => match operands.as_slice() {
                [value, Cel::List(texts)] if texts.iter().all(|text| text.as_text().is_some()) => {
                    Some((value.clone(), texts.clone()))
                }
                _ => None,
            },
            _ => None,
        }
    };
    let joined = |pair: &[Cel]| -> Option<Cel> {
        let [one, other] = pair else { return None };
        let ((value, mut known), (other_value, more)) = (texts(one)?, texts(other)?);
        known.extend(more.into_iter().filter(|text| !known.contains(text)).collect::<Vec<_>>());
        (value == other_value).then(|| value.compare(Operator::In, Cel::List(known)))
    };
    let mut index = 0;
    while let Some(pair) = alternatives.get(index..index + 2) {
        match joined(pair) {
            Some(one) => drop(alternatives.splice(index..index + 2, [one])),
            None => index += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_for_one_value_are_a_list() {
        let is = |name: &str, text: &str| Cel::atom(name).equals(Cel::text(text));
        let any = Cel::any(vec![is("x", "a"), is("x", "b"), is("y", "c"), is("x", "a")]);
        assert_eq!(any.to_string(), "x in [\"a\", \"b\"] || y == \"c\" || x == \"a\"");
        assert_eq!(
            Cel::any(vec![is("x", "a"), is("x", "b")]).negated().to_string(),
            "!(x in [\"a\", \"b\"])"
        );
    }

    #[test]
    fn questions_about_one_value_fail_together() {
        let value = || Cel::atom("object").member("a");
        let is = value().equals(Cel::text("x"));
        let starts = value().call("startsWith", [Cel::text("y")]);
        assert!(is.fails_as(&starts) && starts.negated().fails_as(&is));
        assert!(!is.fails_as(&Cel::atom("object").member("b").equals(Cel::text("x"))));
        assert!(!is.fails_as(&value().equals(Cel::atom("object").member("b"))));
    }
}
