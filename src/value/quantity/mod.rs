//! Kubernetes quantities: exact decimals with a suffix.

mod amount;
mod parse;

use std::cmp::Ordering;
use std::fmt;

use amount::{Amount, Rounding};

use super::float_text;

/// A quantity such as `500m`, `1.5Gi` or `1e3`: an exact decimal with its format.
///
/// Quantities compare by value, whatever their format. `Display` writes the canonical form.
///
/// ```
/// use kyv::value::Quantity;
///
/// let memory = Quantity::parse("1Gi")?;
/// assert_eq!(memory, Quantity::parse("1024Mi")?);
/// assert_eq!(memory.checked_add(&Quantity::parse("500Mi")?).unwrap().to_string(), "1524Mi");
/// # Ok::<(), kyv::value::QuantityError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: Amount,
    format: QuantityFormat,
}

/// The format of a [`Quantity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuantityFormat {
    /// With suffixes for powers of ten: `500m`, `2k`.
    DecimalSi,
    /// With suffixes for powers of two: `1Gi`.
    BinarySi,
    /// With an exponent: `1e3`.
    DecimalExponent,
}

/// Why a text is not a quantity, in the words of Kubernetes except for the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// The text does not have the format of a quantity.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Shape,
    /// The number has no digits.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// There is no such suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// The quantity has too many digits, or too large an exponent.
    #[error(
        "quantity has more than {} digits or an exponent beyond {}",
        parse::MAX_DIGITS,
        parse::MAX_EXPONENT
    )]
    OutOfRange,
}

/// The decimals that a parsed quantity is rounded to.
const NANO: i32 = 9;

/// The decimals of a thousandth.
const MILLI: i32 = 3;

impl Quantity {
    /// Parses a quantity as Kubernetes does: digits below nano are rounded away from zero, and binary values are capped at
    /// 2^63 − 1.
    ///
    /// # Errors
    ///
    /// Other text; also more than 1000 digits or an exponent beyond 1000, which Kubernetes accepts and which would make
    /// arithmetic arbitrarily expensive.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        parse::parse(text)
    }

    /// A whole number.
    pub const fn from_integer(value: i64) -> Self {
        Self { amount: Amount::small(value as i128, 0), format: QuantityFormat::DecimalSi }
    }

    /// From a float, through its text in Go's `%v`, so rounded to nano.
    ///
    /// # Errors
    ///
    /// Infinities and NaN.
    pub fn from_f64(value: f64) -> Result<Self, QuantityError> {
        Self::parse(&float_text(value))
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    /// Whether it has no fraction.
    pub fn is_integer(&self) -> bool {
        self.amount.is_integer()
    }

    /// The value if it is written as a whole number of 64 bits: `1k` is, `1000m` and `1.0` are not. So is Kubernetes' `AsInt64`.
    pub fn written_as_i64(&self) -> Option<i64> {
        self.amount.written_as_i64()
    }

    /// The value as float, with the rounding of Kubernetes' `AsApproximateFloat64`: the digits as a float,
    /// times a power of ten as a float.
    pub fn as_f64(&self) -> f64 {
        self.amount.as_f64()
    }

    /// The quantity rounded away from zero to thousandths; `None` if it has no finer digits.
    #[must_use]
    pub fn rounded_up_to_milli(&self) -> Option<Self> {
        let amount = self.amount.rounded(MILLI, Rounding::Up)?;
        let rounded = Self { amount, format: self.format };
        (rounded != *self).then_some(rounded)
    }

    /// The exact sum, in the format of the left side, or of the right side when the left is zero. `None`
    /// if it would have too many digits.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        let format = if self.is_zero() { other.format } else { self.format };
        Some(Self { amount: self.amount.checked_add(&other.amount)?, format })
    }

    /// The exact difference, formatted as a sum is. `None` as for a sum.
    pub fn checked_sub(&self, other: &Self) -> Option<Self> {
        let format = if self.is_zero() { other.format } else { self.format };
        Some(Self { amount: self.amount.checked_sub(&other.amount)?, format })
    }

    /// The exact product, in the format of the left side. `None` as for a sum.
    pub fn checked_mul(&self, other: &Self) -> Option<Self> {
        Some(Self { amount: self.amount.checked_mul(&other.amount)?, format: self.format })
    }

    /// The quotient, truncated to the larger number of decimals of both sides, in the format of the left side. `None` for a divisor of zero, and as for a sum.
    ///
    /// ```
    /// # use kyv::value::Quantity;
    /// # let quantity = |text| Quantity::parse(text).unwrap();
    /// let third = |text| quantity(text).checked_div(&quantity("3")).unwrap().to_string();
    /// assert_eq!([third("10"), third("10.00")], ["3", "3330m"]);
    /// ```
    pub fn checked_div(&self, divisor: &Self) -> Option<Self> {
        Some(Self { amount: self.amount.checked_div(&divisor.amount)?, format: self.format })
    }

    /// The remainder of two whole quantities, with the sign of the left side and in its
    /// format. `None` for a divisor of zero, for fractions, and as for a sum.
    pub fn checked_rem(&self, divisor: &Self) -> Option<Self> {
        Some(Self { amount: self.amount.checked_rem(&divisor.amount)?, format: self.format })
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By exact value.
impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.compare(&other.amount)
    }
}

/// The canonical form: no fraction, and the largest suffix that allows it.
///
/// Where no suffix is large or small enough, Kubernetes writes the digits without any; here the digits are
/// written out, or rounded to nano as when a quantity is read.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.format == QuantityFormat::BinarySi
            && let Some((digits, power)) = self.amount.binary_digits(BINARY.len() - 1)
        {
            return write!(f, "{digits}{}", BINARY.get(power).copied().unwrap_or_default());
        }
        if self.format == QuantityFormat::DecimalExponent {
            let (sign, digits, exponent) = self.amount.decimal_digits(i32::MAX);
            return match exponent {
                0 => write!(f, "{sign}{digits}"),
                _ => write!(f, "{sign}{digits}e{exponent}"),
            };
        }
        let rounded = self.amount.rounded(NANO, Rounding::Up);
        let (sign, digits, exponent) =
            rounded.as_ref().unwrap_or(&self.amount).decimal_digits(MAX_DECIMAL_EXPONENT);
        let suffix = DECIMAL.iter().find(|(_, power)| *power == exponent).map_or("", |(suffix, _)| suffix);
        write!(f, "{sign}{digits}{suffix}")
    }
}

/// The suffixes of powers of 1024, from the zeroth.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The suffixes of powers of ten.
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", MAX_DECIMAL_EXPONENT),
];

/// The exponent of the largest decimal suffix.
const MAX_DECIMAL_EXPONENT: i32 = 18;

#[cfg(test)]
mod tests;
