//! Numbers: exact, whatever their size.

use std::cmp::Ordering;
use std::fmt;

use super::Text;

/// A number of the JSON data model.
///
/// It keeps its written text, so that big integers and decimals are preserved; numbers are equal if their exact values
/// are equal.
#[derive(Clone, Debug)]
pub struct Number(Repr);

#[derive(Clone, Debug)]
enum Repr {
    /// An integer of 64 bits, written canonically.
    Int(i64),
    /// The same, marked as having an integer type in Kyverno, where other numbers are floats.
    Typed(i64),
    /// Any other number, as valid JSON text. Boxed: few numbers are, and values stay small.
    Text(Box<Text>),
}

impl Number {
    /// Parses a JSON number. `None` for other text and for values beyond the range of a 64-bit float.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let digits = usize::from(bytes.first() == Some(&b'-'));
        if !is_json_number(&bytes[digits..]) {
            return None;
        }
        if text != "-0"
            && let Ok(value) = text.parse::<i64>()
        {
            return Some(Self(Repr::Int(value)));
        }
        text.parse::<f64>().ok()?.is_finite().then(|| Self(Repr::Text(Box::new(text.into()))))
    }

    /// The bytes of its written text that are kept; none for an integer of 64 bits.
    pub fn text_bytes(&self) -> usize {
        if let Repr::Text(text) = &self.0 { text.len() } else { 0 }
    }

    /// A number from a float, in the format of Go's JSON encoder. `None` for infinities and NaN.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let magnitude = value.abs();
        if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
            let text = format!("{value:e}");
            let (mantissa, exponent) = text.split_once('e')?;
            let exponent: i32 = exponent.parse().ok()?;
            let sign = if exponent < 0 { '-' } else { '+' };
            return Self::parse(&format!("{mantissa}e{sign}{}", exponent.abs()));
        }
        Self::parse(&format!("{value}"))
    }

    /// The nearest 64-bit float; always finite.
    pub fn as_f64(&self) -> f64 {
        match &self.0 {
            #[expect(clippy::cast_precision_loss, reason = "the nearest float is asked for")]
            Repr::Int(value) | Repr::Typed(value) => *value as f64,
            Repr::Text(text) => text.parse().unwrap_or(0.0),
        }
    }

    /// The value as a 64-bit integer, if it is one: `3`, `3.0` and `3e0` all are.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(value) | Repr::Typed(value) => Some(*value),
            Repr::Text(_) => self.integer_text()?.parse().ok(),
        }
    }

    /// Whether the value has no fraction.
    pub fn is_integer(&self) -> bool {
        matches!(self.0, Repr::Int(_) | Repr::Typed(_)) || self.decimal().exponent >= 0
    }

    /// Whether it is written as an integer, without point and exponent.
    pub fn is_written_as_integer(&self) -> bool {
        match &self.0 {
            Repr::Int(_) | Repr::Typed(_) => true,
            Repr::Text(text) => !text.contains(['.', 'e', 'E']),
        }
    }

    /// The plain digits of an integer value (`1e3` gives `1000`); `None` for a fraction.
    pub fn integer_text(&self) -> Option<String> {
        let decimal = self.decimal();
        let zeros = usize::try_from(decimal.exponent).ok()?;
        let sign = if decimal.negative { "-" } else { "" };
        Some(format!("{sign}{}{}", decimal.digits, "0".repeat(zeros)))
    }

    /// The number, marked as having an integer type; unchanged unless it is an integer of 64 bits.
    #[must_use]
    pub fn typed(&self) -> Self {
        self.as_i64().map_or_else(|| self.clone(), |value| Self(Repr::Typed(value)))
    }

    /// The number without this mark.
    #[must_use]
    pub fn untyped(&self) -> Self {
        if let Repr::Typed(value) = &self.0 { Self(Repr::Int(*value)) } else { self.clone() }
    }

    /// Whether it is marked as having an integer type. Equality and order ignore the mark.
    pub const fn is_typed_integer(&self) -> bool {
        matches!(self.0, Repr::Typed(_))
    }

    fn decimal(&self) -> Decimal {
        match &self.0 {
            Repr::Int(value) | Repr::Typed(value) => Decimal::parse(&value.to_string()),
            Repr::Text(text) => Decimal::parse(text),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(Repr::Int(value))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(value) | Repr::Typed(value) => write!(f, "{value}"),
            Repr::Text(text) => f.write_str(text),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By exact value.
impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Int(a) | Repr::Typed(a), Repr::Int(b) | Repr::Typed(b)) => a.cmp(b),
            // The nearest floats have the same order, where they differ.
            _ => match self.as_f64().partial_cmp(&other.as_f64()) {
                Some(order) if order.is_ne() => order,
                _ => self.decimal().cmp(&other.decimal()),
            },
        }
    }
}

/// `digits` × 10^`exponent`, without zeros at either end of the digits; zero is `0` × 10^0.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Parses a valid JSON number within the range of a float, which bounds the exponent.
    fn parse(text: &str) -> Self {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        // An exponent beyond 64 bits is negative, because the number is finite.
        let mut exponent = exponent.parse().unwrap_or(i64::MIN).saturating_sub(fraction.len() as i64);
        let significant = digits.trim_start_matches('0');
        let trimmed = significant.trim_end_matches('0');
        if trimmed.is_empty() {
            return Self { negative: false, digits: "0".into(), exponent: 0 };
        }
        exponent += (significant.len() - trimmed.len()) as i64;
        Self { negative, digits: trimmed.into(), exponent }
    }

    fn is_zero(&self) -> bool {
        self.digits == "0"
    }

    /// The decimal exponent of the first digit.
    fn magnitude(&self) -> i64 {
        self.exponent + self.digits.len() as i64
    }

    fn cmp(&self, other: &Self) -> Ordering {
        if self.negative != other.negative {
            return other.negative.cmp(&self.negative);
        }
        let absolute = match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => {
                self.magnitude().cmp(&other.magnitude()).then_with(|| self.digits.cmp(&other.digits))
            }
        };
        if self.negative { absolute.reverse() } else { absolute }
    }
}

/// Whether these bytes are an unsigned number of the JSON grammar.
fn is_json_number(bytes: &[u8]) -> bool {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(0);
    if whole == 0 || (whole > 1 && bytes[0] == b'0') {
        return false;
    }
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if fraction == 0 {
            return false;
        }
        end += 1 + fraction;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        end += 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end);
        if exponent == 0 {
            return false;
        }
        end += exponent;
    }
    end == bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn numbers_are_equal_by_exact_value() {
        for (a, b) in [("1", "1.0"), ("1000", "1e3"), ("0", "-0"), ("0.10", "1e-1"), ("-2.50", "-25E-1")] {
            assert_eq!(number(a), number(b), "{a} {b}");
        }
        for (a, b) in [("9007199254740993", "9007199254740992"), ("1", "-1"), ("0.1", "0.10000000000000001")]
        {
            assert_ne!(number(a), number(b), "{a} {b}");
        }
    }

    #[test]
    fn exponents_beyond_all_bounds_are_tiny_numbers() {
        for text in ["1.5e-9223372036854775808", "1e-99999999999999999999"] {
            assert!(number(text) < number("1e-300") && number(text) > number("0"), "{text}");
        }
        assert_eq!(number("0e99999999999999999999"), number("0"));
    }

    #[test]
    fn a_typed_integer_is_the_same_number() {
        for (text, is_typed_integer) in
            [("3", true), ("3.0", true), ("1.5", false), ("12345678901234567890", false)]
        {
            let typed = number(text).typed();
            assert_eq!((typed.is_typed_integer(), &typed), (is_typed_integer, &number(text)), "{text}");
            assert!(!typed.untyped().is_typed_integer());
        }
        assert_eq!(number("1e3").typed().to_string(), "1000");
        assert!(number("2").typed() < number("3"));
    }

    #[test]
    fn order_is_by_value() {
        let sorted = ["-1e30", "-2", "-1.5", "0", "1e-9", "0.5", "1", "12", "18446744073709551616", "1e300"];
        for pair in sorted.windows(2) {
            assert!(number(pair[0]) < number(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn text_is_kept() {
        for text in ["1.10", "12345678901234567890", "1e3", "-0", "0.1"] {
            assert_eq!(number(text).to_string(), text);
        }
    }

    #[test]
    fn other_text_is_no_number() {
        for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "0x1", "1_0", "NaN", "1e999"] {
            assert!(Number::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn floats_are_written_as_go_writes_them() {
        for (value, text) in [
            (1.0, "1"),
            (0.1, "0.1"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-7, "1e-7"),
            (0.000_001, "0.000001"),
            (-2.5, "-2.5"),
        ] {
            assert_eq!(Number::from_f64(value).unwrap().to_string(), text);
        }
        assert!(Number::from_f64(f64::NAN).is_none());
    }

    #[test]
    fn integers_hide_behind_points_and_exponents() {
        assert_eq!(number("3.0").as_i64(), Some(3));
        assert_eq!(number("1e3").as_i64(), Some(1000));
        assert_eq!(number("1.5").as_i64(), None);
        assert!(number("12345678901234567890").is_integer());
        assert_eq!(number("1e20").integer_text().unwrap(), "100000000000000000000");
    }
}
