//! Bookings of flights, as an airline's reservation system has them: a row for each passenger on each segment.
//!
//! Everything is a whole number: locators and names are codes, a day is counted from the first one, a fare is in cents.
//! The rows of a booking depend on the seed and its number alone, so that nobody has to keep them to ask for them, and
//! whoever has the seed has the same rows. They come in no order that would help anyone: the locators of neighbours are
//! as far from each other as any two, and so are the times at which they were booked.

use crate::ycsb::distribution::{Random, Zipfian};
use std::f64::consts::TAU;

/// The columns of a row, in their order. All are whole numbers, and only the last but one may be null.
pub const COLUMNS: [&str; 14] = [
    "pnr",
    "name",
    "carrier",
    "flight",
    "origin",
    "destination",
    "departure",
    "class",
    "status",
    "booked",
    "office",
    "fare",
    "flyer",
    "flags",
];

/// The places of columns in a row.
pub mod column {
    /// The booking's locator: six letters and digits, as a number. About three rows have the same.
    pub const PNR: usize = 0;
    /// The passenger's name, as a code.
    pub const NAME: usize = 1;
    /// The airline.
    pub const CARRIER: usize = 2;
    /// The flight's number, within its airline.
    pub const FLIGHT: usize = 3;
    /// The airport where the segment begins.
    pub const ORIGIN: usize = 4;
    /// The airport where it ends.
    pub const DESTINATION: usize = 5;
    /// The day on which it departs.
    pub const DEPARTURE: usize = 6;
    /// The cabin.
    pub const CLASS: usize = 7;
    /// What has become of it.
    pub const STATUS: usize = 8;
    /// The minute in which it was booked.
    pub const BOOKED: usize = 9;
    /// The office that booked it.
    pub const OFFICE: usize = 10;
    /// What it costs, in cents.
    pub const FARE: usize = 11;
    /// The passenger's number in the airline's programme; null for four of five.
    pub const FLYER: usize = 12;
    /// Twenty marks, a bit each.
    pub const FLAGS: usize = 13;
}

use column::*;

/// How many columns there are.
pub const WIDTH: usize = COLUMNS.len();

/// A row. [`NULL`] stands for a value that is not there.
pub type Row = [i64; WIDTH];

/// What no column has as a value.
pub const NULL: i64 = i64::MIN;

/// Flights of an airline.
pub const FLIGHTS: u64 = 200;
/// Days in which was booked what is there.
pub const DAYS: u64 = 330;
/// Minutes of a day.
pub const MINUTES: u64 = 24 * 60;
/// What can become of a segment.
pub const STATUSES: u64 = 5;

/// As many locators as there are words of six letters and digits.
const LOCATORS: u64 = 36u64.pow(6);
/// Has no divisor in common with the number of locators, so that no two bookings have the same.
const STRIDE: u64 = 1_345_269_419;

/// How many of a hundred there are of each, the last one taking the rest.
const PASSENGERS: [u64; 4] = [60, 25, 10, 5];
const SEGMENTS: [u64; 4] = [35, 50, 10, 5];
const CLASSES: [u64; 4] = [85, 9, 5, 1];
const STATES: [u64; STATUSES as usize] = [70, 15, 8, 5, 2];

/// The bookings of a seed.
#[derive(Clone, Debug)]
pub struct Bookings {
    seed: u64,
    rows: u64,
    count: u64,
    names: Zipfian,
    carriers: Zipfian,
    airports: Zipfian,
    offices: Zipfian,
}

impl Bookings {
    /// A table of so many rows, at least one. The last booking may lack some of its own.
    pub fn new(rows: u64, seed: u64) -> Self {
        assert!(rows > 0, "options were checked before any work");
        let zipfian = |items| Zipfian::new(items, 0.8);
        let (names, carriers) = (zipfian(100_000), zipfian(200));
        let mut bookings = Self {
            seed,
            rows,
            count: 0,
            names,
            carriers,
            airports: zipfian(3_000),
            offices: zipfian(20_000),
        };
        let mut found = 0;
        while found < rows {
            let (passengers, segments, _) = bookings.size(bookings.count);
            found += passengers * segments;
            bookings.count += 1;
        }
        bookings
    }

    /// Where all chance comes from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many rows the table has at first.
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    /// How many bookings the table has at first; later ones have greater numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The locator of a booking.
    pub fn locator(&self, number: u64) -> i64 {
        let shifted = (number + self.seed % LOCATORS) % LOCATORS;
        (u128::from(shifted) * u128::from(STRIDE) % u128::from(LOCATORS)) as i64
    }

    /// The passengers and segments of a booking, and the chance that is left for the rest of it.
    fn size(&self, number: u64) -> (u64, u64, Random) {
        let mut random = Random::new(self.seed, &[number]);
        let passengers = 1 + one_of(&PASSENGERS, &mut random);
        let segments = 1 + one_of(&SEGMENTS, &mut random);
        (passengers, segments, random)
    }

    /// The rows of a booking.
    pub fn booking(&self, number: u64) -> Vec<Row> {
        let (passengers, segments, mut random) = self.size(number);
        let random = &mut random;
        let mut row = [0; WIDTH];
        row[PNR] = self.locator(number);
        row[BOOKED] = random.below(DAYS * MINUTES) as i64;
        row[OFFICE] = self.offices.draw(random) as i64;
        row[CARRIER] = self.carriers.draw(random) as i64;
        row[NAME] = self.names.draw(random) as i64;
        // A lead of 45 days on the average.
        let lead = (-45.0 * (1.0 - random.fraction()).ln()).min(330.0);
        let mut departure = row[BOOKED] / MINUTES as i64 + lead as i64;
        let home = self.airports.draw(random) as i64;
        let mut at = home;
        let mut travelled = Vec::new();
        for segment in 0..segments {
            let last = segment > 0 && segment + 1 == segments;
            let to = if last { home } else { self.airports.draw(random) as i64 };
            row[FLIGHT] = 1 + random.below(FLIGHTS) as i64;
            (row[ORIGIN], row[DESTINATION]) = (at, to);
            row[DEPARTURE] = departure;
            row[CLASS] = one_of(&CLASSES, random) as i64;
            row[STATUS] = one_of(&STATES, random) as i64;
            row[FARE] = fare(random);
            travelled.push(row);
            at = to;
            departure += 1 + random.below(14) as i64;
        }
        let mut rows = Vec::with_capacity((passengers * segments) as usize);
        for passenger in 0..passengers {
            // Families have one name.
            let name = if passenger == 0 || random.below(10) < 7 {
                row[NAME]
            } else {
                self.names.draw(random) as i64
            };
            let flyer = if random.below(5) == 0 { random.below(10_000_000) as i64 } else { NULL };
            for segment in &travelled {
                let mut row = *segment;
                (row[NAME], row[FLYER]) = (name, flyer);
                // A mark is set in a quarter of all rows.
                row[FLAGS] = (random.below(1 << 20) & random.below(1 << 20)) as i64;
                rows.push(row);
            }
        }
        rows
    }

    /// All rows that the table has at first.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        (0..self.count).flat_map(|number| self.booking(number)).take(self.rows as usize)
    }
}

/// Draws one of some, each as often as its share of a hundred says.
fn one_of(shares: &[u64], random: &mut Random) -> u64 {
    let mut left = random.below(100);
    for (place, &share) in shares.iter().enumerate() {
        if left < share {
            return place as u64;
        }
        left -= share;
    }
    unreachable!("the shares come to a hundred")
}

/// A fare in cents: its logarithm is distributed normally, around that of 150.
fn fare(random: &mut Random) -> i64 {
    let normal = (-2.0 * (1.0 - random.fraction()).ln()).sqrt() * (TAU * random.fraction()).cos();
    (15_000.0 * (0.8 * normal).exp()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn a_seed_has_its_rows() {
        let rows = |seed| Bookings::new(10_000, seed).rows().collect::<Vec<_>>();
        assert_eq!(rows(1), rows(1));
        assert_ne!(rows(1), rows(2));
        assert_eq!(rows(1).len(), 10_000);
        // A greater table begins as a small one does.
        assert_eq!(rows(1), Bookings::new(20_000, 1).rows().take(10_000).collect::<Vec<_>>());
    }

    #[test]
    fn rows_are_as_they_are_said_to_be() {
        let bookings = Bookings::new(300_000, 7);
        let rows: Vec<_> = bookings.rows().collect();
        let share = |test: &dyn Fn(&Row) -> bool| {
            rows.iter().filter(|row| test(row)).count() as f64 / rows.len() as f64
        };
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 0.05 * expected, "{found} instead of {expected}");
        };
        near(rows.len() as f64 / bookings.count() as f64, 1.6 * 1.85);
        near(share(&|row| row[FLYER] == NULL), 0.8);
        near(share(&|row| row[STATUS] == 0), 0.7);
        near(share(&|row| row[FLAGS] & 1 << 19 != 0), 0.25);
        near(share(&|row| row[FARE] < 15_000), 0.5);
        let mut carriers = HashMap::new();
        rows.iter().for_each(|row| *carriers.entry(row[CARRIER]).or_insert(0u32) += 1);
        assert_eq!(carriers.len(), 200);
        near(f64::from(carriers[&0]) / f64::from(carriers[&1]), 2f64.powf(0.8));
        assert!(rows.iter().all(|row| row[FARE] > 0 && row[FLAGS] < 1 << 20));
        // What is close in the table has nothing to do with each other, but for bookings themselves.
        let rising = rows.windows(2).filter(|pair| pair[0][PNR] < pair[1][PNR]).count();
        let falling = rows.windows(2).filter(|pair| pair[0][PNR] > pair[1][PNR]).count();
        assert!(rising > rows.len() / 10 && falling > rows.len() / 10, "{rising} {falling}");
    }

    #[test]
    fn no_two_bookings_have_a_locator() {
        let bookings = Bookings::new(1_000, 3);
        let locators: HashSet<_> = (0..200_000).map(|number| bookings.locator(number)).collect();
        assert_eq!(locators.len(), 200_000);
        assert!(locators.iter().all(|&locator| (0..LOCATORS as i64).contains(&locator)));
    }
}
