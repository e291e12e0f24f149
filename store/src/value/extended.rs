//! Floating point as Redis adds it: with a mantissa of 64 bits, as C's `long double` on x86.
//!
//! INCRBYFLOAT and HINCRBYFLOAT show the results in decimal, so `10.5 + 0.1` has to be `10.6`,
//! which a double is not. Additions are rare and short; they are made exactly, and rounded once.

use num_bigint::BigUint;
use std::fmt;

/// A number of sign, mantissa and exponent: `mantissa * 2^exponent`; or infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    is_negative: bool,
    size: Size,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Finite {
        /// Its highest bit is set, unless it is zero.
        mantissa: u64,
        exponent: i64,
    },
    Infinite,
}

const ZERO: Size = Size::Finite { mantissa: 0, exponent: 0 };
/// The exponent of two above which a number is infinite, and below which it is zero.
const EXPONENTS: std::ops::Range<i64> = -16_445..16_385;
/// The longest text that is read as a number.
const LONGEST: usize = 5 * 1024;
/// Digits after the point that are shown at most.
const SHOWN_DECIMALS: u32 = 17;

impl Extended {
    /// Reads a number as C's `strtold` does, the whole text. It takes infinities, but no NaN and no
    /// number beyond the range.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() >= LONGEST {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(&text)),
        };
        let size = match unsigned {
            "inf" | "infinity" => Size::Infinite,
            digits => match digits.strip_prefix("0x") {
                Some(digits) => parse_digits(digits, 16, 'p')?,
                None => parse_digits(digits, 10, 'e')?,
            },
        };
        Some(Self { is_negative, size })
    }

    /// Returns true if the number is no infinity.
    pub fn is_finite(self) -> bool {
        matches!(self.size, Size::Finite { .. })
    }

    /// Returns the number times 1000, rounded up; the largest or smallest integer if it is beyond
    /// their range.
    pub fn ceil_thousandfold(self) -> i64 {
        let limit = if self.is_negative { i64::MIN } else { i64::MAX };
        let Size::Finite { mantissa, exponent } = self.size else { return limit };
        let product = mantissa * BigUint::from(1000u32);
        let (mantissa, exponent) = match round(&product, &BigUint::from(1u8), exponent) {
            // The mantissa has 64 bits, unless it is zero.
            Some(Size::Finite { mantissa, exponent: exponent @ ..=0 }) => (mantissa, exponent),
            _ => return limit,
        };
        let signed = if self.is_negative { -i128::from(mantissa) } else { mantissa.into() };
        // Shifted right it is rounded down.
        let number = -(-signed >> exponent.unsigned_abs().min(127));
        i64::try_from(number).unwrap_or(limit)
    }

    /// Returns the sum; `None` if it is infinite or no number.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let (Size::Finite { mantissa: a, exponent: a_exp }, Size::Finite { mantissa: b, exponent: b_exp }) =
            (self.size, other.size)
        else {
            return None;
        };
        let exponent = a_exp.min(b_exp);
        let a = BigUint::from(a) << (a_exp - exponent) as u64;
        let b = BigUint::from(b) << (b_exp - exponent) as u64;
        let (is_negative, sum) = match (self.is_negative == other.is_negative, a >= b) {
            (true, _) => (self.is_negative, a + b),
            (false, true) => (self.is_negative && a != b, a - b),
            (false, false) => (other.is_negative, b - a),
        };
        let size = round(&sum, &BigUint::from(1u8), exponent)?;
        Some(Self { is_negative, size })
    }
}

/// Reads digits with a fraction and an exponent: of ten for decimal digits, of two for hexadecimal.
fn parse_digits(text: &str, radix: u32, exponent_sign: char) -> Option<Size> {
    let (number, exponent) = match text.split_once(exponent_sign) {
        Some((number, exponent)) => (number, parse_exponent(exponent)?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let value = BigUint::parse_bytes(digits.as_bytes(), radix)?;
    if value == BigUint::ZERO {
        return Some(ZERO);
    }
    let one = BigUint::from(1u8);
    if radix == 16 {
        return round(&value, &one, exponent - 4 * fraction.len() as i64);
    }
    let power = exponent - fraction.len() as i64;
    // Larger powers lead beyond the range in any case, and take long.
    if power.unsigned_abs() > 2 * LONGEST as u64 {
        return None;
    }
    let scale = BigUint::from(10u8).pow(power.unsigned_abs() as u32);
    if power >= 0 { round(&(value * scale), &one, 0) } else { round(&value, &scale, 0) }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| text.parse().ok().map(|exponent: i64| exponent.clamp(-1_000_000, 1_000_000)))?
}

/// Rounds `numerator / denominator * 2^exponent` to the nearest number, and to an even mantissa
/// between two. Returns `None` beyond the range.
fn round(numerator: &BigUint, denominator: &BigUint, exponent: i64) -> Option<Size> {
    if *numerator == BigUint::ZERO {
        return Some(ZERO);
    }
    // A quotient of 65 or 66 bits: the mantissa, and at least one bit below it.
    let shift = 65 - (numerator.bits() as i64 - denominator.bits() as i64);
    let shifted = |number: &BigUint, by: i64| number << by.max(0) as u64;
    let (numerator, denominator) = (shifted(numerator, shift), shifted(denominator, -shift));
    let quotient = &numerator / &denominator;
    let is_exact = &quotient * &denominator == numerator;
    let below = quotient.bits() - 64;
    let quotient = u128::try_from(quotient).expect("it has at most 66 bits");
    let (kept, rest, half) = (quotient >> below, quotient & ((1 << below) - 1), 1 << (below - 1));
    let is_up = rest > half || rest == half && (!is_exact || kept & 1 == 1);
    let mut mantissa = kept + u128::from(is_up);
    let mut exponent = exponent - shift + below as i64;
    if mantissa >> 64 != 0 {
        mantissa >>= 1;
        exponent += 1;
    }
    let mantissa = u64::try_from(mantissa).expect("it has 64 bits");
    EXPONENTS.contains(&(exponent + 64)).then_some(Size::Finite { mantissa, exponent })
}

/// Shows the number in decimal, with at most 17 digits after the point and no zeros at the end.
impl fmt::Display for Extended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        let Size::Finite { mantissa, exponent } = self.size else { return write!(f, "{sign}inf") };
        let scaled = BigUint::from(mantissa) * BigUint::from(10u8).pow(SHOWN_DECIMALS);
        let scaled = if exponent >= 0 {
            scaled << exponent as u64
        } else {
            let by = exponent.unsigned_abs();
            let (whole, one) = (&scaled >> by, BigUint::from(1u8));
            let (rest, half) = (scaled - (&whole << by), &one << (by - 1));
            let is_up = rest > half || rest == half && whole.bit(0);
            if is_up { whole + one } else { whole }
        };
        if scaled == BigUint::ZERO {
            return f.write_str("0");
        }
        let digits = format!("{:0>18}", scaled.to_string());
        let (whole, decimals) = digits.split_at(digits.len() - SHOWN_DECIMALS as usize);
        let decimals = decimals.trim_end_matches('0');
        let point = if decimals.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole}{point}{decimals}")
    }
}

#[cfg(test)]
mod tests {
    use super::Extended;

    fn sum(a: &str, b: &str) -> Option<String> {
        let parse = |text: &str| Extended::parse(text.as_bytes()).expect(text);
        parse(a).checked_add(parse(b)).map(|sum| sum.to_string())
    }

    #[test]
    fn sums_are_those_of_a_long_double() {
        let cases = [
            ("10.5", "0.1", "10.6"),
            ("5.0e3", "200", "5200"),
            ("3.0e3", "-3000", "0"),
            ("0.1", "0.2", "0.3"),
            ("1", "-1.1", "-0.1"),
            ("0", "1e-17", "0.00000000000000001"),
            ("17179869184", "17179869184", "34359738368"),
            ("0x10", "0", "16"),
            ("1e18", "0.5", "1000000000000000000.5"),
        ];
        for (a, b, expected) in cases {
            assert_eq!(sum(a, b).as_deref(), Some(expected), "{a} + {b}");
        }
        assert_eq!(sum("inf", "1"), None);
        assert_eq!(sum("1e4932", "1e4932"), None);
    }

    #[test]
    fn seconds_become_milliseconds() {
        let cases = [
            ("0", 0),
            ("1", 1000),
            ("0.001", 1),
            ("0.0001", 1),
            ("1.5", 1500),
            ("-0.0001", 0),
            ("-1", -1000),
            ("9223372036854775", 9_223_372_036_854_775_000),
            ("9223372036854776", i64::MAX),
            ("inf", i64::MAX),
            ("-1e30", i64::MIN),
        ];
        for (text, expected) in cases {
            let seconds = Extended::parse(text.as_bytes()).expect(text);
            assert_eq!(seconds.ceil_thousandfold(), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_numbers() {
        for text in ["", " 1", "1 ", "nan", "1e99999", "1e", "x", "0x", "--1", "1..2", "+-1"] {
            assert_eq!(Extended::parse(text.as_bytes()), None, "{text}");
        }
    }
}
