//! Numbers with a mantissa of 64 bits, as the long double of x86 that INCRBYFLOAT computes with.

use num_bigint::{BigInt, BigUint, Sign};

/// Bytes of a number's text, below which it is read.
const MAX_TEXT: usize = 5 * 1024;
/// Decimal exponents beyond which no number is in the range.
const MAX_DECIMAL_EXPONENT: i64 = 5000;
/// Binary exponents of the largest number and the smallest.
const MAX_EXPONENT: i64 = 16384;
const MIN_EXPONENT: i64 = -16445;
/// Digits after the point.
const FRACTION_DIGITS: u32 = 17;

/// A number `mantissa * 2^exponent`, or an infinity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongDouble {
    is_negative: bool,
    /// `None` is infinite.
    magnitude: Option<(u64, i64)>,
}

impl LongDouble {
    /// Reads a decimal number as C's `strtold`, without spaces. It takes an infinity, and no NaN. A
    /// number beyond the range is none.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok().filter(|text| text.len() < MAX_TEXT)?;
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let is_negative = text.starts_with('-');
        if ["inf", "infinity"].iter().any(|name| unsigned.eq_ignore_ascii_case(name)) {
            return Some(Self { is_negative, magnitude: None });
        }
        let (decimal, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (&unsigned[..at], parse_exponent(&unsigned[at + 1..])?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
        let digits = [whole, fraction].concat();
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let digits: BigUint = digits.parse().ok()?;
        let magnitude = scale(digits, exponent - fraction.len() as i64)?;
        Some(Self { is_negative, magnitude: Some(magnitude) })
    }

    /// Returns true if the number is no infinity.
    pub const fn is_finite(&self) -> bool {
        self.magnitude.is_some()
    }

    /// Adds two numbers, rounded to the nearest. `None` if the sum is infinite or no number.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        let (left, right) = (self.magnitude?, other.magnitude?);
        let exponent = left.1.min(right.1);
        let aligned = |number: &Self, (mantissa, own): (u64, i64)| {
            let sign = if number.is_negative { Sign::Minus } else { Sign::Plus };
            BigInt::from_biguint(sign, BigUint::from(mantissa) << (own - exponent) as u64)
        };
        let (sign, sum) = (aligned(self, left) + aligned(other, right)).into_parts();
        let magnitude = round(sum, exponent, false)?;
        Some(Self { is_negative: sign == Sign::Minus, magnitude: Some(magnitude) })
    }

    /// Returns the number times 1000, rounded up; `None` if it is no integer of 64 bits.
    pub fn ceil_thousandfold(&self) -> Option<i64> {
        let (mantissa, exponent) = self.magnitude?;
        let (mantissa, exponent) = round(BigUint::from(mantissa) * 1000u32, exponent, false)?;
        let mantissa = if self.is_negative { -i128::from(mantissa) } else { mantissa.into() };
        let shift = u32::try_from(exponent.unsigned_abs()).ok()?;
        let number = if exponent >= 0 {
            (mantissa == 0 || shift < 64).then(|| mantissa << shift.min(63))?
        } else {
            // Shifted right it is rounded down.
            -(-mantissa >> shift.min(127))
        };
        i64::try_from(number).ok()
    }
}

/// Writes a number with 17 digits after the point at most, without trailing zeros and exponent.
impl std::fmt::Display for LongDouble {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        let Some((mantissa, exponent)) = self.magnitude else {
            return write!(formatter, "{sign}inf");
        };
        let scaled = BigUint::from(mantissa) * BigUint::from(10u32).pow(FRACTION_DIGITS);
        let scaled = match u64::try_from(exponent) {
            Ok(up) => scaled << up,
            Err(_) => shift_right(scaled, exponent.unsigned_abs(), false),
        };
        let width = FRACTION_DIGITS as usize + 1;
        let digits = format!("{scaled:0>width$}");
        let (whole, fraction) = digits.split_at(digits.len() - FRACTION_DIGITS as usize);
        let text = format!("{whole}.{fraction}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        if text == "0" { write!(formatter, "0") } else { write!(formatter, "{sign}{text}") }
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // Beyond the range it does not matter how far.
    let exponent = digits.parse().unwrap_or(i64::from(u32::MAX)).min(i64::from(u32::MAX));
    Some(if text.starts_with('-') { -exponent } else { exponent })
}

/// Returns `digits * 10^exponent` as a mantissa and a binary exponent; `None` beyond the range.
fn scale(digits: BigUint, exponent: i64) -> Option<(u64, i64)> {
    if digits.bits() == 0 {
        return Some((0, 0));
    }
    // A digit has less than four bits, and more than three.
    let most = exponent + digits.bits() as i64 / 3;
    if !(-MAX_DECIMAL_EXPONENT..=MAX_DECIMAL_EXPONENT + MAX_TEXT as i64).contains(&most) {
        return None;
    }
    let power = BigUint::from(10u32).pow(exponent.unsigned_abs() as u32);
    if exponent >= 0 {
        return round(digits * power, 0, false);
    }
    // Enough bits for the quotient to have two more than a mantissa.
    let shift = (power.bits() + 66).saturating_sub(digits.bits());
    let shifted = digits << shift;
    let quotient = &shifted / &power;
    let is_exact = &quotient * &power == shifted;
    round(quotient, -(shift as i64), !is_exact)
}

/// Rounds `value * 2^exponent` to a mantissa of 64 bits. `has_rest` tells that the value is a little
/// larger. `None` beyond the range.
fn round(value: BigUint, exponent: i64, has_rest: bool) -> Option<(u64, i64)> {
    let excess = value.bits().saturating_sub(64);
    let mut mantissa = shift_right(value, excess, has_rest);
    let mut exponent = exponent + excess as i64;
    if mantissa.bits() > 64 {
        mantissa >>= 1;
        exponent += 1;
    }
    let top = exponent + mantissa.bits() as i64;
    let mantissa = u64::try_from(mantissa).ok()?;
    let is_in_range = mantissa == 0 || (MIN_EXPONENT..=MAX_EXPONENT).contains(&top);
    is_in_range.then_some((mantissa, exponent))
}

/// Divides by `2^shift`, to the nearest, ties to even. `has_rest` tells that the value is a little
/// larger.
fn shift_right(value: BigUint, shift: u64, has_rest: bool) -> BigUint {
    if shift == 0 {
        return value;
    }
    let quotient = &value >> shift;
    let is_half = value.bit(shift - 1);
    let is_above = has_rest || value.trailing_zeros().is_some_and(|zeros| zeros < shift - 1);
    let rounds_up = is_half && (is_above || quotient.bit(0));
    quotient + u32::from(rounds_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(left: &str, right: &str) -> Option<String> {
        let (left, right) = (LongDouble::parse(left.as_bytes())?, LongDouble::parse(right.as_bytes())?);
        left.checked_add(&right).map(|sum| sum.to_string())
    }

    #[test]
    fn sums_are_as_redis_writes_them() {
        let cases = [
            ("10.50", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("0", "0.1", "0.1"),
            ("3", "-3", "0"),
            ("-1.5", "0.25", "-1.25"),
            ("3.0e3", "0", "3000"),
            ("1", "1e-20", "1"),
            ("-0", "-0", "0"),
            ("17179869184", "1.5", "17179869185.5"),
            ("1e18", "0.1", "1000000000000000000.125"),
        ];
        for (left, right, expected) in cases {
            assert_eq!(sum(left, right).as_deref(), Some(expected), "{left} + {right}");
        }
    }

    #[test]
    fn seconds_become_milliseconds() {
        let milliseconds = |text: &str| LongDouble::parse(text.as_bytes())?.ceil_thousandfold();
        let cases = [("0", 0), ("1", 1000), ("0.001", 1), ("0.0001", 1), ("1.5", 1500), ("-0.0001", 0)];
        for (text, expected) in cases {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
        assert_eq!(milliseconds("-1"), Some(-1000));
        assert_eq!(milliseconds("9223372036854775"), Some(9_223_372_036_854_775_000));
        assert_eq!([milliseconds("9223372036854776"), milliseconds("inf"), milliseconds("1e30")], [None; 3]);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", " 1", "1 ", "abc", "nan", "1e", "e5", ".", "1e5000", "1e-5000", "--1"] {
            assert_eq!(LongDouble::parse(text.as_bytes()), None, "{text}");
        }
        for text in ["inf", "-Infinity", "1e4900", "1.", ".5", "+7"] {
            assert!(LongDouble::parse(text.as_bytes()).is_some(), "{text}");
        }
        assert_eq!(sum("inf", "1"), None);
    }
}
