//! Generates bookings of flights, as in an airline's reservation system: a row for each passenger
//! on each segment.
//!
//! Everything is an integer: locators and names are codes, days are counted from the first one, a
//! fare is in cents. The rows of a booking depend on the seed and its number alone, so they need
//! not be stored to be asked for, and other processes can generate the same rows. The order of rows
//! is of no help: neighbours have unrelated locators and times.

use std::f64::consts::TAU;
use xtasking_harness::random::Random;
use xtasking_ycsb::distribution::Zipfian;

/// The columns of a row, in their order. All are integers; only `flyer` may be null.
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

/// Indexes of columns in a row.
pub mod column {
    /// The booking's locator (passenger name record): six letters and digits, as a number. About
    /// three rows share one.
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
    /// The day of departure.
    pub const DEPARTURE: usize = 6;
    /// The cabin.
    pub const CLASS: usize = 7;
    /// The state of the booking.
    pub const STATUS: usize = 8;
    /// The minute of the booking.
    pub const BOOKED: usize = 9;
    /// The office that made the booking.
    pub const OFFICE: usize = 10;
    /// The fare, in cents.
    pub const FARE: usize = 11;
    /// The passenger's number in the airline's programme; null in four of five rows.
    pub const FLYER: usize = 12;
    /// Twenty flags, a bit each.
    pub const FLAGS: usize = 13;
}

use column::*;

/// Number of columns.
pub const WIDTH: usize = COLUMNS.len();

/// A row. [`NULL`] stands for a missing value.
pub type Row = [i64; WIDTH];

/// The null value, which no column has otherwise.
pub const NULL: i64 = i64::MIN;

/// Flights of an airline.
pub const FLIGHTS: u64 = 200;
/// Days on which the initial bookings were made.
pub const DAYS: u64 = 330;
/// Minutes of a day.
pub const MINUTES: u64 = 24 * 60;
/// Number of states of a booking.
pub const STATUSES: u64 = 5;

/// Number of locators: words of six letters and digits.
const LOCATORS: u64 = 36u64.pow(6);
/// Coprime to the number of locators, so that no two bookings share one.
const STRIDE: u64 = 1_345_269_419;

/// Distributions, in percent.
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
    /// Creates a table of `rows` rows, at least one. The last booking may be truncated.
    pub fn new(rows: u64, seed: u64) -> Self {
        assert!(rows > 0, "the number of rows is checked with the options");
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
        let mut count = 0;
        while count < rows {
            let (passengers, segments, _) = bookings.size(bookings.count);
            count += passengers * segments;
            bookings.count += 1;
        }
        bookings
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the initial number of rows.
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    /// Returns the initial number of bookings; later ones have greater numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the locator of a booking.
    pub fn locator(&self, number: u64) -> i64 {
        let shifted = (number + self.seed % LOCATORS) % LOCATORS;
        (u128::from(shifted) * u128::from(STRIDE) % u128::from(LOCATORS)) as i64
    }

    /// Returns the passengers and segments of a booking, and the random numbers for the rest of it.
    fn size(&self, number: u64) -> (u64, u64, Random) {
        let mut random = Random::new(self.seed, &[number]);
        let passengers = 1 + one_of(&PASSENGERS, &mut random);
        let segments = 1 + one_of(&SEGMENTS, &mut random);
        (passengers, segments, random)
    }

    /// Returns the rows of a booking.
    pub fn booking(&self, number: u64) -> Vec<Row> {
        let (passengers, segments, mut random) = self.size(number);
        let random = &mut random;
        let mut row = [0; WIDTH];
        row[PNR] = self.locator(number);
        row[BOOKED] = random.below(DAYS * MINUTES) as i64;
        row[OFFICE] = self.offices.draw(random) as i64;
        row[CARRIER] = self.carriers.draw(random) as i64;
        row[NAME] = self.names.draw(random) as i64;
        // The mean lead is 45 days.
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
            // Families share a name.
            let name = if passenger == 0 || random.below(10) < 7 {
                row[NAME]
            } else {
                self.names.draw(random) as i64
            };
            let flyer = if random.below(5) == 0 { random.below(10_000_000) as i64 } else { NULL };
            for segment in &travelled {
                let mut row = *segment;
                (row[NAME], row[FLYER]) = (name, flyer);
                // Each flag is set in a quarter of all rows.
                row[FLAGS] = (random.below(1 << 20) & random.below(1 << 20)) as i64;
                rows.push(row);
            }
        }
        rows
    }

    /// Returns all initial rows.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        (0..self.count).flat_map(|number| self.booking(number)).take(self.rows as usize)
    }
}

/// Draws an index with the given distribution in percent.
fn one_of(shares: &[u64], random: &mut Random) -> u64 {
    let mut left = random.below(100);
    for (place, &share) in shares.iter().enumerate() {
        if left < share {
            return place as u64;
        }
        left -= share;
    }
    unreachable!("the shares add up to 100")
}

/// Draws a fare in cents: log-normal with a median of 15,000.
fn fare(random: &mut Random) -> i64 {
    let normal = (-2.0 * (1.0 - random.fraction()).ln()).sqrt() * (TAU * random.fraction()).cos();
    (15_000.0 * (0.8 * normal).exp()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn a_seed_determines_the_rows() {
        let rows = |seed| Bookings::new(10_000, seed).rows().collect::<Vec<_>>();
        assert_eq!(rows(1), rows(1));
        assert_ne!(rows(1), rows(2));
        assert_eq!(rows(1).len(), 10_000);
        // A greater table begins with the rows of a smaller one.
        assert_eq!(rows(1), Bookings::new(20_000, 1).rows().take(10_000).collect::<Vec<_>>());
    }

    #[test]
    fn columns_have_the_documented_distributions() {
        let bookings = Bookings::new(300_000, 7);
        let rows: Vec<_> = bookings.rows().collect();
        let share = |test: &dyn Fn(&Row) -> bool| {
            rows.iter().filter(|row| test(row)).count() as f64 / rows.len() as f64
        };
        let near = |count: f64, expected: f64| {
            assert!((count - expected).abs() < 0.05 * expected, "{count}; expected {expected}");
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
        // Neighbours in the table are unrelated, except within a booking.
        let rising = rows.windows(2).filter(|pair| pair[0][PNR] < pair[1][PNR]).count();
        let falling = rows.windows(2).filter(|pair| pair[0][PNR] > pair[1][PNR]).count();
        assert!(rising > rows.len() / 10 && falling > rows.len() / 10, "{rising} {falling}");
    }

    #[test]
    fn no_two_bookings_share_a_locator() {
        let bookings = Bookings::new(1_000, 3);
        let locators: HashSet<_> = (0..200_000).map(|number| bookings.locator(number)).collect();
        assert_eq!(locators.len(), 200_000);
        assert!(locators.iter().all(|&locator| (0..LOCATORS as i64).contains(&locator)));
    }
}
