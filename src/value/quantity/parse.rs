//! Parsing quantities.

use std::cmp::Ordering;

use crate::value::split_digits;

use super::amount::{Amount, Rounding};
use super::{BINARY, DECIMAL, NANO, Quantity, QuantityError, QuantityFormat};

/// The maximum number of digits of a quantity.
pub(super) const MAX_DIGITS: usize = 1000;

/// The maximum absolute value of an exponent.
pub(super) const MAX_EXPONENT: u32 = 1000;

/// The number of digits that Kubernetes stores in 64 bits; longer quantities have 9 decimals.
const MAX_I64_DIGITS: usize = 18;

pub(super) fn parse(text: &str) -> Result<Quantity, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Shape);
    }
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let significant = unsigned.trim_start_matches('0');
    let zeros = unsigned.len() - significant.len();
    let (whole, rest) = split_digits(significant);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
    let suffix = Suffix::parse(suffix)?;
    // For Kubernetes, a number without significant digits has one digit.
    let whole_digits = whole.len().max(1);
    if whole_digits + fraction.len() > MAX_DIGITS {
        return Err(QuantityError::OutOfRange);
    }
    let digits = whole.bytes().chain(fraction.bytes());
    let decimals = fraction.len() as i32;
    match suffix {
        Suffix::Decimal { exponent, format } => {
            let scale = decimals - exponent;
            let amount = Amount::from_digits(negative, digits, scale);
            if whole_digits + fraction.len() <= MAX_I64_DIGITS && scale <= NANO {
                return Ok(Quantity { amount, format });
            }
            require_digit(zeros, whole, fraction)?;
            Ok(Quantity { amount: to_nano(amount)?, format })
        }
        Suffix::Binary { power } => {
            let amount = Amount::from_digits(negative, digits, decimals).shifted(10 * power);
            if fraction.is_empty() && whole_digits + 3 * power as usize <= 14 {
                return Ok(Quantity { amount, format: QuantityFormat::BinarySi });
            }
            require_digit(zeros, whole, fraction)?;
            let amount = to_nano(amount)?;
            let most = if negative { -i128::from(i64::MAX) } else { i128::from(i64::MAX) };
            let (cap, one) = (Amount::small(most, 0), Amount::small(most.signum(), 0));
            let (capped, below_one) = match negative {
                false => (Ordering::Greater, Ordering::Less),
                true => (Ordering::Less, Ordering::Greater),
            };
            if amount.compare(&cap) == capped {
                return Ok(Quantity { amount: cap, format: QuantityFormat::BinarySi });
            }
            let small = !amount.is_zero() && amount.compare(&one) == below_one;
            let format = if small { QuantityFormat::DecimalSi } else { QuantityFormat::BinarySi };
            Ok(Quantity { amount, format })
        }
    }
}

enum Suffix {
    Decimal { exponent: i32, format: QuantityFormat },
    Binary { power: u32 },
}

impl Suffix {
    fn parse(text: &str) -> Result<Self, QuantityError> {
        if let Some((_, exponent)) = DECIMAL.iter().find(|(suffix, _)| *suffix == text) {
            return Ok(Self::Decimal { exponent: *exponent, format: QuantityFormat::DecimalSi });
        }
        if let Some(power) =
            (1_u32..).zip(&BINARY[1..]).find_map(|(power, name)| (*name == text).then_some(power))
        {
            return Ok(Self::Binary { power });
        }
        let letters = text.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let digits = letters.strip_prefix(['+', '-']).unwrap_or(letters);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(QuantityError::Shape);
        }
        let exponent = text.strip_prefix(['e', 'E']).ok_or(QuantityError::Suffix)?;
        if exponent != letters || digits.is_empty() {
            return Err(QuantityError::Suffix);
        }
        // Kubernetes refuses what 64 bits cannot hold.
        let exponent: i64 = exponent.parse().map_err(|_| QuantityError::Suffix)?;
        match i32::try_from(exponent) {
            Ok(exponent) if exponent.unsigned_abs() <= MAX_EXPONENT => {
                Ok(Self::Decimal { exponent, format: QuantityFormat::DecimalExponent })
            }
            _ => Err(QuantityError::OutOfRange),
        }
    }
}

/// In Kubernetes, a number without digits is zero, except on its slow path.
const fn require_digit(zeros: usize, whole: &str, fraction: &str) -> Result<(), QuantityError> {
    if zeros == 0 && whole.is_empty() && fraction.is_empty() { Err(QuantityError::Number) } else { Ok(()) }
}

/// With exactly nine decimals, away from zero; zero stays as it is.
fn to_nano(amount: Amount) -> Result<Amount, QuantityError> {
    if amount.is_zero() {
        return Ok(amount);
    }
    amount.rounded(NANO, Rounding::Up).ok_or(QuantityError::OutOfRange)
}
