//! Median, minimum and maximum of repetitions.

use serde::Serialize;

/// Median, minimum and maximum of repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The median; for an even count the mean of the two in the middle.
    pub median: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The number of repetitions.
    pub repetitions: usize,
}

impl Summary {
    /// Summarises numbers.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        let (middle, repetitions) = (numbers.len() / 2, numbers.len());
        let median = match repetitions % 2 {
            1 => numbers[middle],
            _ => (numbers[middle - 1] + numbers[middle]) / 2.0,
        };
        Self { median, min: numbers[0], max: numbers[repetitions - 1], repetitions }
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn the_median_is_in_the_middle() {
        let of = |numbers: &[f64]| Summary::of(numbers.to_vec());
        assert_eq!(of(&[3.0]), Summary { median: 3.0, min: 3.0, max: 3.0, repetitions: 1 });
        assert_eq!(of(&[9.0, 1.0, 2.0]), Summary { median: 2.0, min: 1.0, max: 9.0, repetitions: 3 });
        assert_eq!(of(&[4.0, 1.0, 2.0, 9.0]).median, 3.0);
    }
}
