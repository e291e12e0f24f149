//! Defines dates and their updates.
//!
//! An update decrements an even date and increments an odd one: 999 and 1000, 1001 and 1002, and so
//! on form pairs, and a date never leaves its pair.

use std::ops::RangeInclusive;
use xtasking_harness::random::Random;

/// A date, without a unit.
pub type Date = i32;

/// The initial dates of the module, of assemblies and of atomic parts.
pub const MIDDLE: RangeInclusive<Date> = 1000..=1999;
/// The initial dates of most composite parts.
pub const OLD: RangeInclusive<Date> = 0..=999;
/// The initial dates of the other composite parts.
pub const YOUNG: RangeInclusive<Date> = 2000..=2999;

/// Returns the updated date.
pub const fn updated(date: Date) -> Date {
    if date & 1 == 0 { date - 1 } else { date + 1 }
}

/// Returns all dates that updates can reach from these.
pub fn reached(from: &RangeInclusive<Date>) -> RangeInclusive<Date> {
    let (first, last) = (*from.start(), *from.end());
    first.min(updated(first))..=last.max(updated(last))
}

/// Draws one of these dates.
pub fn any(of: &RangeInclusive<Date>, random: &mut Random) -> Date {
    of.start() + random.below((of.end() - of.start() + 1) as u64) as Date
}

/// Draws a date for a composite part: one of ten is young.
pub fn of_composite(random: &mut Random) -> Date {
    let from = if random.below(10) == 0 { &YOUNG } else { &OLD };
    any(from, random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_keep_a_date_in_its_pair() {
        assert_eq!([0, -1, 999, 1000, 1001, 1999, 2000].map(updated), [-1, 0, 1000, 999, 1002, 2000, 1999]);
        assert!((-10..3010).all(|date| updated(updated(date)) == date && updated(date) != date));
    }

    #[test]
    fn updates_keep_dates_in_range() {
        for (range, reach) in [(MIDDLE, 999..=2000), (OLD, -1..=1000), (YOUNG, 1999..=3000)] {
            assert_eq!(reached(&range), reach);
            assert!(reach.clone().all(|date| reach.contains(&updated(date))));
        }
    }

    #[test]
    fn a_tenth_of_the_composite_parts_is_young() {
        let mut random = Random::new(7, &[]);
        let dates: Vec<_> = (0..10_000).map(|_| of_composite(&mut random)).collect();
        assert!(dates.iter().all(|date| OLD.contains(date) || YOUNG.contains(date)));
        let young = dates.iter().filter(|date| YOUNG.contains(date)).count();
        assert!((900..1_100).contains(&young), "{young}");
    }
}
