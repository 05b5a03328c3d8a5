//! Exact decimals of bounded size.

use std::cmp::Ordering;
use std::iter;

use num_bigint::{BigInt, Sign};

/// `digits` × 10^−`scale`. Trailing zeros count: the scale is the number of written decimals.
#[derive(Clone, Debug)]
pub(super) struct Amount {
    digits: Digits,
    scale: i32,
}

/// An integer: usually of 128 bits, without allocation.
#[derive(Clone, Debug)]
enum Digits {
    Small(i128),
    Big(BigInt),
}

/// How surplus decimals are rounded.
#[derive(Clone, Copy)]
pub(super) enum Rounding {
    /// Toward zero.
    Down,
    /// Away from zero.
    Up,
}

/// The maximum number of bits of a result.
const MAX_BITS: u64 = 1 << 15;

/// The maximum scale of a result, so that two amounts can always be converted to the same scale.
const MAX_SCALE: i32 = 4000;

impl Amount {
    pub(super) const fn small(digits: i128, scale: i32) -> Self {
        Self { digits: Digits::Small(digits), scale }
    }

    /// From ASCII digits.
    pub(super) fn from_digits(negative: bool, digits: impl Iterator<Item = u8> + Clone, scale: i32) -> Self {
        let small = digits.clone().try_fold(0_i128, |number, digit| {
            number.checked_mul(10)?.checked_add(i128::from(digit.wrapping_sub(b'0')))
        });
        let digits = match small {
            Some(number) => Digits::Small(if negative { -number } else { number }),
            None => {
                let values: Vec<u8> = digits.map(|digit| digit.wrapping_sub(b'0')).collect();
                let sign = if negative { Sign::Minus } else { Sign::Plus };
                Digits::from(BigInt::from_radix_be(sign, &values, 10).unwrap_or_default())
            }
        };
        Self { digits, scale }
    }

    /// The value, if it has no decimals, not even zeros, and fits. The largest
    /// numbers of both signs are the caps of larger ones, which do not fit.
    pub(super) fn written_as_i64(&self) -> Option<i64> {
        let Digits::Small(digits) = self.digits else { return None };
        let zeros = u32::try_from(self.scale.checked_neg()?).ok()?;
        let value = digits.checked_mul(10_i128.checked_pow(zeros)?)?;
        i64::try_from(value).ok().filter(|value| value.unsigned_abs() < i64::MAX.unsigned_abs())
    }

    pub(super) fn is_zero(&self) -> bool {
        matches!(self.digits, Digits::Small(0))
    }

    pub(super) fn is_negative(&self) -> bool {
        match &self.digits {
            Digits::Small(number) => *number < 0,
            Digits::Big(number) => number.sign() == Sign::Minus,
        }
    }

    /// Multiplies by a power of two.
    #[must_use]
    pub(super) fn shifted(&self, bits: u32) -> Self {
        let factor = 1_i128 << bits;
        let digits = match &self.digits {
            Digits::Small(number) => match number.checked_mul(factor) {
                Some(product) => Digits::Small(product),
                None => Digits::from(BigInt::from(*number) * factor),
            },
            Digits::Big(number) => Digits::from(number * factor),
        };
        Self { digits, scale: self.scale }
    }

    /// With exactly this scale; zero keeps its own. `None` if that needs too many digits.
    pub(super) fn rounded(&self, scale: i32, rounding: Rounding) -> Option<Self> {
        if self.is_zero() {
            return Some(self.clone());
        }
        if scale >= self.scale {
            return Some(Self { digits: self.digits_at(scale)?, scale });
        }
        let drop = scale.abs_diff(self.scale);
        let digits = match (&self.digits, 10_i128.checked_pow(drop)) {
            (Digits::Small(number), Some(unit)) => {
                let up = matches!(rounding, Rounding::Up) && number % unit != 0;
                Digits::Small(number / unit + if up { number.signum() } else { 0 })
            }
            (_, _) => {
                let (number, unit) = (self.big(), power_of_ten(drop)?);
                let up = matches!(rounding, Rounding::Up) && &number % &unit != BigInt::ZERO;
                let step = if self.is_negative() { -1 } else { 1 };
                Digits::from(number / unit + if up { step } else { 0 })
            }
        };
        Some(Self { digits, scale })
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        if let (Digits::Small(a), Digits::Small(b)) = (&self.digits, &other.digits) {
            if self.scale == other.scale || a.signum() != b.signum() || *a == 0 {
                return a.signum().cmp(&b.signum()).then_with(|| a.cmp(b));
            }
            let align = |number: i128, scale: i32| {
                10_i128.checked_pow(self.scale.max(other.scale).abs_diff(scale))?.checked_mul(number)
            };
            if let (Some(a), Some(b)) = (align(*a, self.scale), align(*b, other.scale)) {
                return a.cmp(&b);
            }
        }
        let scale = self.scale.max(other.scale);
        let align =
            |amount: &Self| power_of_ten(scale.abs_diff(amount.scale)).map(|unit| amount.big() * unit);
        align(self).cmp(&align(other))
    }

    pub(super) fn is_integer(&self) -> bool {
        self.rounded(0, Rounding::Down).is_some_and(|whole| whole.compare(self) == Ordering::Equal)
    }

    /// The integer value; `None` if there is a fraction.
    fn whole(&self) -> Option<BigInt> {
        if self.is_zero() {
            return Some(BigInt::ZERO);
        }
        let whole = self.rounded(0, Rounding::Down)?;
        (whole.compare(self) == Ordering::Equal).then(|| whole.big())
    }

    /// The digits as float times the power of ten as float.
    pub(super) fn as_f64(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "the nearest float is asked for")]
        let base = match &self.digits {
            Digits::Small(number) => *number as f64,
            Digits::Big(number) => number.to_string().parse().unwrap_or(f64::INFINITY),
        };
        match -self.scale {
            0 => base,
            exponent => base * go_power_of_ten(exponent),
        }
    }

    pub(super) fn checked_add(&self, other: &Self) -> Option<Self> {
        self.combined(other, i128::checked_add, |a, b| a + b)
    }

    pub(super) fn checked_sub(&self, other: &Self) -> Option<Self> {
        self.combined(other, i128::checked_sub, |a, b| a - b)
    }

    pub(super) fn checked_mul(&self, other: &Self) -> Option<Self> {
        let scale = self.scale.checked_add(other.scale)?;
        if let (Digits::Small(a), Digits::Small(b)) = (&self.digits, &other.digits)
            && let Some(product) = a.checked_mul(*b)
        {
            return Self::small(product, scale).bounded();
        }
        Self::big_bounded(self.big() * other.big(), scale)
    }

    pub(super) fn checked_div(&self, divisor: &Self) -> Option<Self> {
        if divisor.is_zero() {
            return None;
        }
        let scale = self.scale.max(divisor.scale);
        let shift = scale.checked_sub(self.scale)?.checked_add(divisor.scale)?;
        let unit = power_of_ten(shift.unsigned_abs())?;
        let quotient =
            if shift >= 0 { self.big() * unit / divisor.big() } else { self.big() / (divisor.big() * unit) };
        Self::big_bounded(quotient, scale)
    }

    pub(super) fn checked_rem(&self, divisor: &Self) -> Option<Self> {
        let divisor = divisor.whole().filter(|divisor| *divisor != BigInt::ZERO)?;
        Self::big_bounded(self.whole()? % divisor, 0)
    }

    /// A whole amount of at least 1024, divided by the largest power of 1024 that divides it, and the exponent of that power.
    /// `None` for other amounts.
    pub(super) fn binary_digits(&self, largest: usize) -> Option<(String, usize)> {
        let mut number = self.whole()?;
        if number.bits() <= 10 {
            return None;
        }
        let unit = BigInt::from(1024);
        let mut power = 0;
        while power < largest && &number % &unit == BigInt::ZERO {
            number /= &unit;
            power += 1;
        }
        Some((number.to_string(), power))
    }

    /// Sign, digits and the largest exponent of ten that is a multiple of three and allows digits without
    /// a fraction, not above `largest`.
    pub(super) fn decimal_digits(&self, largest: i32) -> (&'static str, String, i32) {
        let sign = if self.is_negative() { "-" } else { "" };
        let written = match &self.digits {
            Digits::Small(number) => number.unsigned_abs().to_string(),
            Digits::Big(number) => number.magnitude().to_string(),
        };
        let mut digits = written.trim_end_matches('0').to_owned();
        let exponent = i32::try_from(written.len() - digits.len()).unwrap_or_default() - self.scale;
        let reached = (exponent - exponent.rem_euclid(3)).min(largest);
        let zeros = usize::try_from(exponent - reached).unwrap_or_default();
        digits.extend(iter::repeat_n('0', zeros));
        (sign, digits, reached)
    }

    fn combined(
        &self,
        other: &Self,
        small: fn(i128, i128) -> Option<i128>,
        big: fn(BigInt, BigInt) -> BigInt,
    ) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.digits_at(scale)?, other.digits_at(scale)?);
        if let (Digits::Small(a), Digits::Small(b)) = (&a, &b)
            && let Some(result) = small(*a, *b)
        {
            return Some(Self::small(result, scale));
        }
        Self::big_bounded(big(a.big(), b.big()), scale)
    }

    /// The digits for a scale that is not below the own.
    fn digits_at(&self, scale: i32) -> Option<Digits> {
        let shift = u32::try_from(scale.checked_sub(self.scale)?).ok()?;
        if let Digits::Small(number) = &self.digits
            && let Some(shifted) = 10_i128.checked_pow(shift).and_then(|unit| unit.checked_mul(*number))
        {
            return Some(Digits::Small(shifted));
        }
        Some(Digits::from(self.big() * power_of_ten(shift)?))
    }

    fn big(&self) -> BigInt {
        self.digits.big()
    }

    fn big_bounded(digits: BigInt, scale: i32) -> Option<Self> {
        if digits.bits() > MAX_BITS {
            return None;
        }
        Self { digits: Digits::from(digits), scale }.bounded()
    }

    fn bounded(self) -> Option<Self> {
        (self.scale.abs() <= MAX_SCALE).then_some(self)
    }
}

impl Digits {
    fn big(&self) -> BigInt {
        match self {
            Self::Small(number) => BigInt::from(*number),
            Self::Big(number) => number.clone(),
        }
    }
}

impl From<BigInt> for Digits {
    fn from(number: BigInt) -> Self {
        i128::try_from(&number).map_or_else(|_| Self::Big(number), Self::Small)
    }
}

fn power_of_ten(exponent: u32) -> Option<BigInt> {
    // Ten has less than four bits, and two scales are at most twice the largest apart.
    (u64::from(exponent) <= MAX_BITS / 4).then(|| BigInt::from(10).pow(exponent))
}

/// 10^`exponent` with the rounding of Go's `math.Pow10`, which is made of two steps of a table.
fn go_power_of_ten(exponent: i32) -> f64 {
    let step = |exponent: i32| format!("1e{exponent}").parse::<f64>().unwrap_or(f64::INFINITY);
    match exponent {
        0..=308 => step(exponent / 32 * 32) * step(exponent % 32),
        -323..=-1 => step(exponent / 32 * 32) / step(-(exponent % 32)),
        _ if exponent > 0 => f64::INFINITY,
        _ => 0.0,
    }
}
