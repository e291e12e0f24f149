//! Numbers as Redis reads and writes them.

/// Reads a signed integer of 64 bits, written as Redis writes it: no plus sign, no leading zeros,
/// no spaces, no `-0`.
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !is_negative => return Some(0),
        [b'1'..=b'9', rest @ ..] if rest.len() < 19 => {}
        _ => return None,
    }
    let mut value: u64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    match is_negative {
        true => 0i64.checked_sub_unsigned(value),
        false => i64::try_from(value).ok(),
    }
}

/// Reads a double as C's `strtod` does, the whole text, without leading spaces. It takes `inf`,
/// `infinity` and numbers with an exponent or in hexadecimal; it does not take NaN.
pub fn parse_double(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(digits) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let value = parse_hexadecimal(digits)?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    let value: f64 = text.parse().ok()?;
    let is_named = unsigned.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let mantissa = unsigned.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = !mantissa.bytes().any(|digit| matches!(digit, b'1'..=b'9'));
    // A number beyond the range is no number here, as `strtod` reports it; nor is one too near 0.
    (is_named && !value.is_nan() || is_in_range(value, is_zero)).then_some(value)
}

fn is_in_range(value: f64, is_zero: bool) -> bool {
    value.is_finite() && (value == 0.0) == is_zero
}

/// Reads hexadecimal digits with a fraction and a binary exponent, without the prefix.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.find(['p', 'P']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // As many digits as an integer has.
    if whole.len() + fraction.len() == 0 || whole.len() + fraction.len() > 16 {
        return None;
    }
    if !whole.bytes().chain(fraction.bytes()).all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let value = scale(digits as f64, exponent.saturating_sub(4 * fraction.len() as i32));
    is_in_range(value, digits == 0).then_some(value)
}

/// Multiplies by a power of two, which may itself be beyond the range.
fn scale(value: f64, exponent: i32) -> f64 {
    // Beyond this any value is 0 or infinite.
    let exponent = exponent.clamp(-2000, 2000);
    let first = exponent.clamp(-1000, 1000);
    value * 2f64.powi(first) * 2f64.powi(exponent - first)
}

/// Writes a double as C's `%.17g` does.
///
/// ```
/// use xtasking_store::resp::format_double;
///
/// assert_eq!(format_double(0.1), "0.10000000000000001");
/// assert_eq!(format_double(3.0), "3");
/// assert_eq!(format_double(1e100), "1e+100");
/// assert_eq!(format_double(f64::NEG_INFINITY), "-inf");
/// ```
pub fn format_double(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:.16e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("there is an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    let mut text = match exponent {
        -4..17 => format!("{value:.*}", (16 - exponent) as usize),
        _ => mantissa.to_owned(),
    };
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if !(-4..17).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        text.push_str(&format!("e{sign}{:02}", exponent.abs()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_in_their_one_form() {
        let good = ["0", "7", "-7", "10", "9223372036854775807", "-9223372036854775808"];
        for text in good {
            assert_eq!(parse_integer(text.as_bytes()), text.parse().ok(), "{text}");
        }
        let bad =
            ["", "-", "-0", "+1", "01", " 1", "1 ", "1a", "9223372036854775808", "-9223372036854775809"];
        for text in bad {
            assert_eq!(parse_integer(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn doubles_are_read_as_c_does() {
        let good = [
            ("1", 1.0),
            ("1e3", 1000.0),
            ("-.5", -0.5),
            ("inf", f64::INFINITY),
            ("0x1F", 31.0),
            ("0e-999", 0.0),
            ("-0", 0.0),
            ("5e-324", f64::from_bits(1)),
            ("0x1p-1074", f64::from_bits(1)),
            ("0x0p-9999", 0.0),
            ("0x1.00000000000000", 1.0),
            ("0x1fffffffffffff80", 2f64.powi(61)),
        ];
        for (text, value) in good {
            assert_eq!(parse_double(text.as_bytes()), Some(value), "{text}");
        }
        let bad = [
            "",
            " 1",
            "1 ",
            "nan",
            "1e999",
            "x",
            "0x",
            "1_000",
            "1e-400",
            "-1e-400",
            "0x1p-1100",
            "0x1p9999",
        ];
        for text in bad {
            assert_eq!(parse_double(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn doubles_are_written_as_c_does() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.1, "1.1000000000000001"),
            (1e17, "1e+17"),
            (1e16, "10000000000000000"),
            (1e-5, "1.0000000000000001e-05"),
            (0.0001, "0.0001"),
            (123456.75, "123456.75"),
            (f64::INFINITY, "inf"),
        ];
        for (value, text) in cases {
            assert_eq!(format_double(value), text);
        }
    }
}
