//! Where numbers stand along an axis.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// An axis for numbers from 0 on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// From 0 to a number.
    Even(f64),
    /// From a power of ten to another one, which need not be whole. What is less stands at the beginning.
    Powers(i32, f64),
}

/// Beside a number that is so many times as great, one can no longer be seen to be greater than 0.
const SPREAD: f64 = 100.0;
/// How much of the axis is left free above the greatest number.
const ROOM: f64 = 0.1;
/// So many powers of ten there are below the least number at least, so that it looks like more than nothing.
const BELOW: f64 = 0.2;

impl Scale {
    /// One on which all of these numbers can be told apart.
    pub fn of(numbers: impl Iterator<Item = f64> + Clone) -> Self {
        let greatest = numbers.clone().fold(0.0, f64::max);
        let least = numbers.filter(|&number| number > 0.0).fold(f64::INFINITY, f64::min);
        if greatest > least * SPREAD {
            let from = (least.log10() - BELOW).floor();
            return Self::Powers(from as i32, from + (greatest.log10() - from) / (1.0 - ROOM));
        }
        // Something to divide by if all are zero.
        Self::Even(if greatest > 0.0 { greatest / (1.0 - ROOM) } else { 1.0 })
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, &number: &f64, pixels: (i32, i32)) -> i32 {
        match *self {
            Self::Even(to) => RangedCoordf64::from(0.0..to).map(&number, pixels),
            Self::Powers(from, to) => {
                let from = f64::from(from);
                RangedCoordf64::from(from..to).map(&number.log10().max(from), pixels)
            }
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match *self {
            Self::Even(to) => RangedCoordf64::from(0.0..to).key_points(hint),
            Self::Powers(from, to) => {
                let powers = from..=to.floor() as i32;
                let every = powers.clone().count().div_ceil(hint.max_num_points().max(1));
                powers.step_by(every).map(|power| 10f64.powi(power)).collect()
            }
        }
    }

    fn range(&self) -> Range<f64> {
        match *self {
            Self::Even(to) => 0.0..to,
            Self::Powers(from, to) => 10f64.powi(from)..10f64.powf(to),
        }
    }
}

/// The number at a mark, without digits that say nothing.
pub(super) fn tick(number: &f64) -> String {
    // A power of ten may have more digits than three.
    let digits = if *number > 0.0 { 3.max(-number.log10().floor() as usize) } else { 0 };
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(numbers: &[f64], most: usize) -> Vec<String> {
        Scale::of(numbers.iter().copied()).key_points(most).iter().map(tick).collect()
    }

    #[test]
    fn what_is_marked_can_be_read() {
        assert_eq!(marks(&[1.0, 90.0, 0.0], 6), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(marks(&[0.0], 6), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(marks(&[0.002, 28.8, 0.0], 6), ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(marks(&[0.002, 28.8, 0.0], 4), ["0.001", "0.1", "10"]);
        assert_eq!(marks(&[0.00002, 50.0], 4), ["0.00001", "0.001", "0.1", "10"]);
    }

    #[test]
    fn numbers_that_are_far_apart_stand_by_their_powers() {
        let scale = Scale::of([0.002, 1.0, 1000.0].into_iter());
        let at = |number| scale.map(&number, (0, 900));
        assert_eq!([0.0, 0.0005, 0.001].map(at), [0; 3]);
        assert_eq!((at(1.0), at(1000.0)), (405, 810));
        assert_eq!(Scale::of([0.0011, 1.0].into_iter()).range().start, 0.0001);
        let even = Scale::of([10.0, 1000.0].into_iter());
        assert_eq!([0.0, 500.0, 1000.0].map(|number| even.map(&number, (0, 900))), [0, 405, 810]);
    }
}
