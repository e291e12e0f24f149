//! The value of a setting of percentiles.

/// Reads numbers from 0 to 100 with spaces between them. An error says what is wrong, in Redis'
/// words.
pub(super) fn parse(text: &str) -> Result<Vec<f64>, &'static str> {
    let read = |word: &str| match word.parse::<f64>() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number),
        Ok(number) if !number.is_nan() => {
            Err("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
        }
        _ => Err("Invalid latency-tracking-info-percentiles parameters"),
    };
    text.split_ascii_whitespace().map(read).collect()
}

/// Returns the numbers with as many digits as they have.
pub(super) fn show(percentiles: &[f64]) -> String {
    percentiles.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn percentiles_are_read_and_shown() {
        assert_eq!(show(&parse("0.0 50.0  99.9 100").unwrap()), "0 50 99.9 100");
        assert_eq!(show(&parse("").unwrap()), "");
        for wrong in ["10.0 a", "101", "-1", "nan"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
