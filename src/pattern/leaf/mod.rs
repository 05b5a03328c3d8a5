//! Patterns of scalars.

use std::cell::OnceCell;
use std::cmp::Ordering;

use super::numeric::{number_in_text, same_number};
use super::print::digits;
use super::{Range, is_wildcard, matches};
use crate::value::{GoDuration, Number, Quantity, Text, Value, exponent_text};

/// A pattern of a scalar, compiled.
///
/// A string is parsed as alternatives (`|`) of terms that must all match (`&`), each with an operator (`>`, `>=`, `<`,
/// `<=`, `!`) or a range (`1-10`, `1!-10`), and compared as duration, else as quantity, else as text with wildcards.
///
/// ```
/// use kyv::{pattern::LeafPattern, value::Value};
///
/// let small = LeafPattern::text(">=128Mi & <1Gi | !*i");
/// assert!(small.matches(&Value::from("512Mi")));
/// assert!(!small.matches(&Value::from("1024Mi")));
/// assert!(small.matches(&Value::from("2G")));
/// ```
#[derive(Clone, Debug)]
pub struct LeafPattern(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    /// Alternatives of terms; `None` if there are too many to compile them all.
    Text {
        whole: Text,
        compiled: Option<Box<[Box<[Term]>]>>,
    },
    /// A list, which matches nothing.
    List,
    /// An object, which matches any object.
    Object,
}

/// A text with more separators is parsed for each value, because compiled terms are large.
const MAX_COMPILED_SEPARATORS: usize = 1000;

/// A term of a text, between `|` and `&`.
#[derive(Clone, Debug)]
enum Term {
    Compare(Comparison, Operand),
    Within(Box<[Operand; 2]>),
    Outside(Box<[Operand; 2]>),
}

#[derive(Clone, Copy, Debug)]
enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// The right-hand side of a comparison: as duration, quantity and text.
#[derive(Clone, Debug)]
struct Operand {
    /// `None` for a text that is neither, as most are.
    amount: Option<Box<OperandAmount>>,
    text: Box<str>,
    wildcard: bool,
}

/// A text that is a duration or quantity.
#[derive(Clone, Debug)]
struct OperandAmount {
    duration: Option<GoDuration>,
    quantity: Option<Quantity>,
}

impl LeafPattern {
    /// Compiles a pattern.
    pub fn prepare(pattern: &Value) -> Self {
        Self(match pattern {
            Value::Null => Kind::Null,
            Value::Bool(expected) => Kind::Bool(*expected),
            Value::Number(number) => Kind::Number(number.clone()),
            Value::String(text) => return Self::text(text.clone()),
            Value::Array(_) => Kind::List,
            Value::Object(_) => Kind::Object,
        })
    }

    /// Compiles a pattern that is a string.
    pub fn text(pattern: impl Into<Text>) -> Self {
        let whole = pattern.into();
        let separators = whole.bytes().filter(|byte| matches!(byte, b'|' | b'&')).count();
        let compiled = (separators < MAX_COMPILED_SEPARATORS)
            .then(|| whole.split('|').map(|terms| terms.split('&').map(Term::parse).collect()).collect());
        Self(Kind::Text { whole, compiled })
    }

    /// Whether a value matches.
    ///
    /// Integers are compared by their digits, as Kyverno compares integers. In Kyverno some of them are floats, whose text
    /// is `1.2E+01`, which no policy intends.
    pub fn matches(&self, value: &Value) -> bool {
        self.matches_leaf(match value {
            Value::Null => LeafValue::Null,
            Value::Bool(value) => LeafValue::Bool(*value),
            Value::Number(number) => LeafValue::Number(number),
            Value::String(text) => LeafValue::Text(text),
            Value::Array(_) => LeafValue::List,
            Value::Object(_) => LeafValue::Object,
        })
    }

    /// Whether a string matches, as in [`LeafPattern::matches`].
    pub fn matches_text(&self, text: &str) -> bool {
        self.matches_leaf(LeafValue::Text(text))
    }

    fn matches_leaf(&self, value: LeafValue<'_>) -> bool {
        match &self.0 {
            Kind::Null => match value {
                LeafValue::Null => true,
                LeafValue::Bool(value) => !value,
                LeafValue::Number(number) => number.as_f64() == 0.0,
                LeafValue::Text(text) => text.is_empty(),
                LeafValue::List | LeafValue::Object => false,
            },
            Kind::Bool(expected) => matches!(value, LeafValue::Bool(value) if value == *expected),
            Kind::Number(expected) => match value {
                LeafValue::Number(number) => same_number(number, expected),
                LeafValue::Text(text) => number_in_text(text, expected),
                LeafValue::Null | LeafValue::Bool(_) | LeafValue::List | LeafValue::Object => false,
            },
            Kind::Text { whole, .. } if matches!(value, LeafValue::Text(text) if *text == **whole) => true,
            Kind::Text { whole, compiled } => {
                let subject = Subject::new(value);
                match compiled {
                    Some(alternatives) => {
                        alternatives.iter().any(|terms| terms.iter().all(|term| term.matches(&subject)))
                    }
                    None => whole
                        .split('|')
                        .any(|terms| terms.split('&').all(|term| Term::parse(term).matches(&subject))),
                }
            }
            Kind::List => false,
            Kind::Object => matches!(value, LeafValue::Object),
        }
    }
}

impl Term {
    fn parse(text: &str) -> Self {
        let text = text.trim_matches(' ');
        // A single character is always a text, even if it is an operator.
        if text.len() < 2 {
            return Self::Compare(Comparison::Equal, Operand::new(text.trim()));
        }
        for (prefix, comparison) in [
            (">=", Comparison::GreaterOrEqual),
            ("<=", Comparison::LessOrEqual),
            (">", Comparison::Greater),
            ("<", Comparison::Less),
            ("!", Comparison::NotEqual),
        ] {
            if let Some(operand) = text.strip_prefix(prefix) {
                return Self::Compare(comparison, Operand::new(operand.trim()));
            }
        }
        match Range::parse(text) {
            Some(Range { low, high, outside }) => {
                let ends = Box::new([low, high].map(Operand::new));
                if outside { Self::Outside(ends) } else { Self::Within(ends) }
            }
            None => Self::Compare(Comparison::Equal, Operand::new(text.trim())),
        }
    }

    fn matches(&self, subject: &Subject<'_>) -> bool {
        match self {
            Self::Compare(comparison, operand) => operand.compare(*comparison, subject),
            Self::Within(ends) => {
                let [low, high] = &**ends;
                low.compare(Comparison::GreaterOrEqual, subject)
                    && high.compare(Comparison::LessOrEqual, subject)
            }
            Self::Outside(ends) => {
                let [low, high] = &**ends;
                low.compare(Comparison::Less, subject) || high.compare(Comparison::Greater, subject)
            }
        }
    }
}

impl Comparison {
    const fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
        }
    }
}

impl Operand {
    fn new(text: &str) -> Self {
        let amount = OperandAmount { duration: GoDuration::read(text), quantity: Quantity::parse(text).ok() };
        let is_amount = amount.duration.is_some() || amount.quantity.is_some();
        Self { amount: is_amount.then(|| Box::new(amount)), text: text.into(), wildcard: is_wildcard(text) }
    }

    fn compare(&self, comparison: Comparison, subject: &Subject<'_>) -> bool {
        if let Some(amount) = &self.amount {
            if let (Some(expected), Some(found)) =
                (&amount.duration, amount.duration.and_then(|_| subject.duration()))
            {
                return comparison.accepts(found.cmp(expected));
            }
            if let Some(expected) = &amount.quantity
                && let Some(found) = subject.quantity()
            {
                return comparison.accepts(found.cmp(expected));
            }
        }
        match comparison {
            Comparison::Equal => self.matches_text(subject) == Some(true),
            Comparison::NotEqual => self.matches_text(subject) == Some(false),
            Comparison::Greater | Comparison::GreaterOrEqual | Comparison::Less | Comparison::LessOrEqual => {
                false
            }
        }
    }

    /// Whether the text of a value matches; `None` for values without text.
    fn matches_text(&self, subject: &Subject<'_>) -> Option<bool> {
        let is_match =
            |text: &str| if self.wildcard { matches(&self.text, text) } else { *self.text == *text };
        match subject.value {
            LeafValue::Text(text) => Some(is_match(text)),
            LeafValue::Bool(value) => Some(is_match(if value { "true" } else { "false" })),
            LeafValue::Number(number) => {
                Some(is_match(&digits(number).unwrap_or_else(|| exponent_text(number.as_f64(), 'E'))))
            }
            LeafValue::Null | LeafValue::List | LeafValue::Object => None,
        }
    }
}

/// A value without the contents of lists and objects.
#[derive(Clone, Copy)]
enum LeafValue<'a> {
    Null,
    Bool(bool),
    Number(&'a Number),
    Text(&'a str),
    List,
    Object,
}

/// A value, with its duration and quantity, parsed on demand.
struct Subject<'a> {
    value: LeafValue<'a>,
    duration: OnceCell<Option<GoDuration>>,
    quantity: OnceCell<Option<Quantity>>,
}

impl<'a> Subject<'a> {
    const fn new(value: LeafValue<'a>) -> Self {
        Self { value, duration: OnceCell::new(), quantity: OnceCell::new() }
    }

    /// The value as duration: null is zero, and zero is the only number that is a duration.
    fn duration(&self) -> Option<GoDuration> {
        *self.duration.get_or_init(|| match self.value {
            LeafValue::Null => Some(GoDuration::ZERO),
            LeafValue::Number(number) => (number.as_f64() == 0.0).then_some(GoDuration::ZERO),
            LeafValue::Text(text) => GoDuration::read(text),
            LeafValue::Bool(_) | LeafValue::List | LeafValue::Object => None,
        })
    }

    /// The value as quantity: null is zero, and fractions have six decimals.
    fn quantity(&self) -> Option<&Quantity> {
        let quantity = self.quantity.get_or_init(|| match self.value {
            LeafValue::Null => Some(Quantity::from_integer(0)),
            LeafValue::Number(number) => match number.as_i64() {
                Some(integer) => Some(Quantity::from_integer(integer)),
                None => {
                    let text = number.integer_text().unwrap_or_else(|| format!("{:.6}", number.as_f64()));
                    Quantity::parse(&text).ok()
                }
            },
            LeafValue::Text(text) => Quantity::parse(text).ok(),
            LeafValue::Bool(_) | LeafValue::List | LeafValue::Object => None,
        });
        quantity.as_ref()
    }
}

#[cfg(test)]
mod tests;
