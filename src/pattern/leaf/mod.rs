//! Patterns of single values.

use std::cell::OnceCell;
use std::cmp::Ordering;

use super::numeric::{number_in_text, same_number};
use super::print::digits;
use super::{Range, is_wildcard, matches};
use crate::value::{GoDuration, Number, Quantity, Text, Value, exponent_text};

/// What a single value has to look like, prepared once for many values.
///
/// A text is read as alternatives (`|`) of parts that must all hold (`&`), each with an operator (`>`,
/// `>=`, `<`, `<=`, `!`) or a range (`1-10`, `1!-10`), and compared as duration, else as quantity, else as
/// text with wildcards.
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
    /// Alternatives of parts; `None` where there are too many to keep them all.
    Text {
        whole: Text,
        prepared: Option<Vec<Vec<Part>>>,
    },
    /// Lists match nothing here: they are no single values.
    List,
    /// An object stands for any object: its members are no matter of a single value.
    Object,
}

/// A text with more separators is taken apart for each value: a prepared part is large.
const MOST_SEPARATORS: usize = 1000;

/// A part of a text between `|` and `&`.
#[derive(Clone, Debug)]
enum Part {
    Compare(Comparison, Operand),
    Within(Operand, Operand),
    Outside(Operand, Operand),
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

/// What a value is compared with, in every reading it has.
#[derive(Clone, Debug)]
struct Operand {
    duration: Option<GoDuration>,
    quantity: Option<Quantity>,
    text: Box<str>,
    wildcard: bool,
}

/// Whether a value fits a pattern, for a pattern that is used only once.
pub fn matches_leaf(value: &Value, pattern: &Value) -> bool {
    LeafPattern::prepare(pattern).matches(value)
}

impl LeafPattern {
    /// Prepares a pattern.
    pub fn prepare(pattern: &Value) -> Self {
        Self(match pattern {
            Value::Null => Kind::Null,
            Value::Bool(wanted) => Kind::Bool(*wanted),
            Value::Number(number) => Kind::Number(number.clone()),
            Value::String(text) => return Self::text(text.clone()),
            Value::Array(_) => Kind::List,
            Value::Object(_) => Kind::Object,
        })
    }

    /// Prepares a pattern that is a text.
    pub fn text(pattern: impl Into<Text>) -> Self {
        let whole = pattern.into();
        let separators = whole.bytes().filter(|byte| matches!(byte, b'|' | b'&')).count();
        let prepared = (separators < MOST_SEPARATORS)
            .then(|| whole.split('|').map(|parts| parts.split('&').map(Part::parse).collect()).collect());
        Self(Kind::Text { whole, prepared })
    }

    /// Whether a value fits.
    ///
    /// Integers are compared by their digits, as Kyverno does where it holds an integer as such; where it
    /// holds it as a float, its text is `1.2E+01`, which no policy means.
    pub fn matches(&self, value: &Value) -> bool {
        self.fits(match value {
            Value::Null => Single::Null,
            Value::Bool(value) => Single::Bool(*value),
            Value::Number(number) => Single::Number(number),
            Value::String(text) => Single::Text(text),
            Value::Array(_) => Single::List,
            Value::Object(_) => Single::Object,
        })
    }

    /// Whether a text fits, as [`LeafPattern::matches`] says for a string.
    pub fn matches_text(&self, text: &str) -> bool {
        self.fits(Single::Text(text))
    }

    fn fits(&self, value: Single<'_>) -> bool {
        match &self.0 {
            Kind::Null => match value {
                Single::Null => true,
                Single::Bool(value) => !value,
                Single::Number(number) => number.as_f64() == 0.0,
                Single::Text(text) => text.is_empty(),
                Single::List | Single::Object => false,
            },
            Kind::Bool(wanted) => matches!(value, Single::Bool(value) if value == *wanted),
            Kind::Number(wanted) => match value {
                Single::Number(number) => same_number(number, wanted),
                Single::Text(text) => number_in_text(text, wanted),
                Single::Null | Single::Bool(_) | Single::List | Single::Object => false,
            },
            Kind::Text { whole, .. } if matches!(value, Single::Text(text) if *text == **whole) => true,
            Kind::Text { whole, prepared } => {
                let subject = Subject::new(value);
                match prepared {
                    Some(prepared) => {
                        prepared.iter().any(|parts| parts.iter().all(|part| part.holds(&subject)))
                    }
                    None => whole
                        .split('|')
                        .any(|parts| parts.split('&').all(|part| Part::parse(part).holds(&subject))),
                }
            }
            Kind::List => false,
            Kind::Object => matches!(value, Single::Object),
        }
    }
}

impl Part {
    fn parse(text: &str) -> Self {
        let text = text.trim_matches(' ');
        // A single character is always a text, also if it is an operator.
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
            Some(Range { low, high, outside: true }) => Self::Outside(Operand::new(low), Operand::new(high)),
            Some(Range { low, high, outside: false }) => Self::Within(Operand::new(low), Operand::new(high)),
            None => Self::Compare(Comparison::Equal, Operand::new(text.trim())),
        }
    }

    fn holds(&self, subject: &Subject<'_>) -> bool {
        match self {
            Self::Compare(comparison, operand) => operand.compare(*comparison, subject),
            Self::Within(low, high) => {
                low.compare(Comparison::GreaterOrEqual, subject)
                    && high.compare(Comparison::LessOrEqual, subject)
            }
            Self::Outside(low, high) => {
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
        Self {
            duration: GoDuration::read(text),
            quantity: Quantity::parse(text).ok(),
            text: text.into(),
            wildcard: is_wildcard(text),
        }
    }

    fn compare(&self, comparison: Comparison, subject: &Subject<'_>) -> bool {
        if let (Some(wanted), Some(found)) = (&self.duration, self.duration.and_then(|_| subject.duration()))
        {
            return comparison.accepts(found.cmp(wanted));
        }
        if let Some(wanted) = &self.quantity
            && let Some(found) = subject.quantity()
        {
            return comparison.accepts(found.cmp(wanted));
        }
        match comparison {
            Comparison::Equal => self.fits(subject) == Some(true),
            Comparison::NotEqual => self.fits(subject) == Some(false),
            Comparison::Greater | Comparison::GreaterOrEqual | Comparison::Less | Comparison::LessOrEqual => {
                false
            }
        }
    }

    /// Whether the text of a value fits. `None` for values that have no text.
    fn fits(&self, subject: &Subject<'_>) -> Option<bool> {
        let fits = |text: &str| if self.wildcard { matches(&self.text, text) } else { *self.text == *text };
        match subject.value {
            Single::Text(text) => Some(fits(text)),
            Single::Bool(value) => Some(fits(if value { "true" } else { "false" })),
            Single::Number(number) => {
                Some(fits(&digits(number).unwrap_or_else(|| exponent_text(number.as_f64(), 'E'))))
            }
            Single::Null | Single::List | Single::Object => None,
        }
    }
}

/// A value without what is in it.
#[derive(Clone, Copy)]
enum Single<'a> {
    Null,
    Bool(bool),
    Number(&'a Number),
    Text(&'a str),
    List,
    Object,
}

/// A value, with its readings as duration and quantity once they were asked for.
struct Subject<'a> {
    value: Single<'a>,
    duration: OnceCell<Option<GoDuration>>,
    quantity: OnceCell<Option<Quantity>>,
}

impl<'a> Subject<'a> {
    const fn new(value: Single<'a>) -> Self {
        Self { value, duration: OnceCell::new(), quantity: OnceCell::new() }
    }

    /// Null counts as zero, and zero is the only number that is a duration.
    fn duration(&self) -> Option<GoDuration> {
        *self.duration.get_or_init(|| match self.value {
            Single::Null => Some(GoDuration::ZERO),
            Single::Number(number) => (number.as_f64() == 0.0).then_some(GoDuration::ZERO),
            Single::Text(text) => GoDuration::read(text),
            Single::Bool(_) | Single::List | Single::Object => None,
        })
    }

    /// Null counts as zero, and fractions have six decimals.
    fn quantity(&self) -> Option<&Quantity> {
        let quantity = self.quantity.get_or_init(|| match self.value {
            Single::Null => Some(Quantity::from_integer(0)),
            Single::Number(number) => match number.as_i64() {
                Some(integer) => Some(Quantity::from_integer(integer)),
                None => {
                    let text = number.integer_text().unwrap_or_else(|| format!("{:.6}", number.as_f64()));
                    Quantity::parse(&text).ok()
                }
            },
            Single::Text(text) => Quantity::parse(text).ok(),
            Single::Bool(_) | Single::List | Single::Object => None,
        });
        quantity.as_ref()
    }
}

#[cfg(test)]
mod tests;
