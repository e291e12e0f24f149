//! Linear and logarithmic axes.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// An axis for numbers from 0 on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Linear, from 0 to a maximum.
    Linear(f64),
    /// Logarithmic, from one exponent of ten to another. A smaller number is drawn at the lower
    /// end.
    Logarithmic(i32, f64),
}

/// The ratio of maximum to minimum above which the axis is logarithmic: on a linear one the minimum
/// would look like 0.
const MAX_LINEAR_RATIO: f64 = 100.0;
/// The fraction of the axis above the maximum.
const HEADROOM: f64 = 0.1;
/// The least number of decades below the minimum, so that it does not lie on the axis.
const DECADES_BELOW_MIN: f64 = 0.2;

impl Scale {
    /// Chooses a scale on which all of the numbers can be distinguished.
    pub fn of(numbers: impl Iterator<Item = f64> + Clone) -> Self {
        let greatest = numbers.clone().fold(0.0, f64::max);
        let least = numbers.filter(|&number| number > 0.0).fold(f64::INFINITY, f64::min);
        if greatest > least * MAX_LINEAR_RATIO {
            let from = (least.log10() - DECADES_BELOW_MIN).floor();
            return Self::Logarithmic(from as i32, from + (greatest.log10() - from) / (1.0 - HEADROOM));
        }
        // If all numbers are zero, any positive maximum will do.
        Self::Linear(if greatest > 0.0 { greatest / (1.0 - HEADROOM) } else { 1.0 })
    }

    /// Returns true if equal distances on the axis are equal ratios.
    pub fn is_logarithmic(self) -> bool {
        matches!(self, Self::Logarithmic(..))
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, &number: &f64, pixels: (i32, i32)) -> i32 {
        match *self {
            Self::Linear(to) => RangedCoordf64::from(0.0..to).map(&number, pixels),
            Self::Logarithmic(from, to) => {
                let from = f64::from(from);
                RangedCoordf64::from(from..to).map(&number.log10().max(from), pixels)
            }
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match *self {
            Self::Linear(to) => RangedCoordf64::from(0.0..to).key_points(hint),
            Self::Logarithmic(from, to) => {
                let powers = from..=to.floor() as i32;
                let every = powers.clone().count().div_ceil(hint.max_num_points().max(1));
                powers.step_by(every).map(|power| 10f64.powi(power)).collect()
            }
        }
    }

    fn range(&self) -> Range<f64> {
        match *self {
            Self::Linear(to) => 0.0..to,
            Self::Logarithmic(from, to) => 10f64.powi(from)..10f64.powf(to),
        }
    }
}

/// Formats the number at a mark, without trailing zeros.
pub(super) fn tick(number: &f64) -> String {
    // A power of ten may need more than three digits.
    let digits = if *number > 0.0 { 3.max(-number.log10().floor() as usize) } else { 0 };
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(numbers: &[f64], max: usize) -> Vec<String> {
        Scale::of(numbers.iter().copied()).key_points(max).iter().map(tick).collect()
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(marks(&[1.0, 90.0, 0.0], 6), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(marks(&[0.0], 6), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(marks(&[0.002, 28.8, 0.0], 6), ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(marks(&[0.002, 28.8, 0.0], 4), ["0.001", "0.1", "10"]);
        assert_eq!(marks(&[0.00002, 50.0], 4), ["0.00001", "0.001", "0.1", "10"]);
    }

    #[test]
    fn numbers_of_different_magnitudes_get_a_logarithmic_axis() {
        let scale = Scale::of([0.002, 1.0, 1000.0].into_iter());
        let at = |number| scale.map(&number, (0, 900));
        assert_eq!([0.0, 0.0005, 0.001].map(at), [0; 3]);
        assert_eq!((at(1.0), at(1000.0)), (405, 810));
        assert_eq!(Scale::of([0.0011, 1.0].into_iter()).range().start, 0.0001);
        let linear = Scale::of([10.0, 1000.0].into_iter());
        assert_eq!([0.0, 500.0, 1000.0].map(|number| linear.map(&number, (0, 900))), [0, 405, 810]);
    }
}
