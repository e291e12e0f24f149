//! What is known of a table's rows without looking at them: how far each column reaches, and a sample.

use crate::plan::{Check, Planned, Rows};
use crate::value::Kind;

/// The least and the greatest key that a column has had; the first is greater if it had none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub least: u64,
    pub greatest: u64,
}

impl Bounds {
    pub const NONE: Self = Self { least: u64::MAX, greatest: 0 };

    pub fn add(&mut self, key: u64) {
        self.least = self.least.min(key);
        self.greatest = self.greatest.max(key);
    }

    /// Adds what another has had.
    fn merge(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// What there can be of a range of keys. There is nothing if the first is greater.
    pub fn cut(self, low: u64, high: u64) -> (u64, u64) {
        (low.max(self.least), high.min(self.greatest))
    }

    /// The share of rows that pass, if the keys were spread evenly. Half of those that have to do with nulls.
    fn share(self, check: Check) -> f64 {
        match check {
            Check::Null { .. } => 0.5,
            Check::Keys { low, high, .. } => {
                let (low, high) = self.cut(low, high);
                let width = |low: u64, high: u64| (high - low) as f64 + 1.0;
                if low > high { 0.0 } else { width(low, high) / width(self.least, self.greatest) }
            }
        }
    }
}

/// See the module's documentation. It tells what is likely; nothing but time depends on it.
pub(crate) struct Statistics {
    /// What each column has had. It is never less than that, also when rows went.
    bounds: Box<[Bounds]>,
    kinds: Box<[Kind]>,
    sample: Sample,
    /// The keys of each column of the sample, in order; those that are no nulls. Empty as long as nobody has asked.
    sorted: Vec<Vec<u64>>,
}

impl Statistics {
    /// Of columns that have had nothing as yet.
    pub fn new(kinds: &[Kind]) -> Self {
        let bounds = vec![Bounds::NONE; kinds.len()].into();
        Self { bounds, kinds: kinds.into(), sample: Sample::new(), sorted: Vec::new() }
    }

    /// Notes what changes bring into the columns: how far that [reaches](brought), and which rows are added. Those that are
    /// changed later, or go, are not noted.
    pub fn note(&mut self, bounds: &[Bounds], changes: &[Planned]) {
        self.bounds.iter_mut().zip(bounds).for_each(|(all, more)| all.merge(*more));
        for change in changes {
            if let Planned::Insert(rows) = change
                && self.sample.note(rows)
            {
                self.sorted.clear();
            }
        }
    }

    /// Makes ready to be asked.
    pub fn settle(&mut self) -> &Self {
        if self.sorted.is_empty() {
            let of = |(column, kind): (usize, &Kind)| {
                let words = self.sample.rows.iter().filter_map(|row| row[column]);
                let mut keys: Vec<u64> = words.map(|word| kind.key(word)).collect();
                keys.sort_unstable();
                keys
            };
            self.sorted = self.kinds.iter().enumerate().map(of).collect();
        }
        self
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.bounds.len()
    }

    /// How far a column reaches.
    pub fn bounds(&self, column: usize) -> Bounds {
        self.bounds[column]
    }

    /// The share of rows that pass: as in the sample, to which one row is added whose keys are spread evenly over all that
    /// the column has had.
    pub fn share(&self, check: Check) -> f64 {
        let column = check.column();
        let evenly = self.bounds[column].share(check);
        let Some(sorted) = self.sorted.get(column) else { return evenly };
        let rows = self.sample.rows.len();
        let passing = match check {
            Check::Null { is_null, .. } => {
                if is_null {
                    rows - sorted.len()
                } else {
                    sorted.len()
                }
            }
            Check::Keys { low, high, .. } if low > high => return 0.0,
            Check::Keys { low, high, .. } => {
                sorted.partition_point(|&key| key <= high) - sorted.partition_point(|&key| key < low)
            }
        };
        (passing as f64 + evenly) / (rows as f64 + 1.0)
    }
}

/// How far each column of these kinds reaches in what changes bring.
pub(crate) fn brought(changes: &[Planned], kinds: &[Kind]) -> Vec<Bounds> {
    let mut bounds = vec![Bounds::NONE; kinds.len()];
    let mut note = |column: usize, word: Option<u64>| {
        word.into_iter().for_each(|word| bounds[column].add(kinds[column].key(word)));
    };
    for change in changes {
        match change {
            Planned::Insert(rows) => {
                for row in 0..rows.count {
                    rows.row(row).enumerate().for_each(|(column, cell)| note(column, cell.word));
                }
            }
            Planned::Set(_, set) => set.iter().for_each(|(column, entry)| note(*column, entry.cell().word)),
            Planned::Delete(_) => {}
        }
    }
    bounds
}

/// Rows of a sample: a share of one in a hundred is told within a third, as a rule.
const MOST: usize = 1024;

/// Some of all rows that have come, each of these as likely as any other. After algorithm L (Li, Reservoir-sampling
/// algorithms of time complexity O(n(1 + log(N/n))), 1994), which knows how many rows pass until it takes the next.
struct Sample {
    /// What each has in each column.
    rows: Vec<Box<[Option<u64>]>>,
    /// So many rows are passed by, once it is full.
    pass: usize,
    /// The greatest of as many random numbers as there are places, where the least of all were kept.
    threshold: f64,
    random: u64,
}

impl Sample {
    fn new() -> Self {
        Self { rows: Vec::new(), pass: 0, threshold: 1.0, random: 0 }
    }

    /// Takes some of the rows, perhaps. Whether it has.
    fn note(&mut self, rows: &Rows) -> bool {
        let (mut row, mut has_taken) = (0, false);
        while row < rows.count {
            let place = if self.rows.len() < MOST {
                self.rows.push(Box::default());
                self.rows.len() - 1
            } else {
                let passed = self.pass.min(rows.count - row);
                self.pass -= passed;
                row += passed;
                if row == rows.count {
                    break;
                }
                self.next() as usize % MOST
            };
            self.rows[place] = rows.row(row).map(|cell| cell.word).collect();
            (row, has_taken) = (row + 1, true);
            if self.rows.len() == MOST {
                self.threshold *= (self.fraction().ln() / MOST as f64).exp();
                // It ends at the greatest number, if it is greater.
                self.pass = (self.fraction().ln() / (-self.threshold).ln_1p()) as usize;
            }
        }
        has_taken
    }

    /// A random number. (SplitMix64: Steele, Lea, Flood 2014.)
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// One between 0 and 1, neither of which it is.
    fn fraction(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Added;

    /// Rows whose word is their number, and a null in each third of them.
    fn rows(from: u64, count: u64) -> Planned {
        let column = |nulls| Added { words: (from..from + count).collect(), nulls, texts: None };
        let nulls = (from..from + count).map(|row| row % 3 != 0).collect::<Vec<_>>().into();
        Planned::Insert(Rows { columns: vec![column(None), column(Some(nulls))], count: count as usize })
    }

    fn noted(parts: &[u64]) -> Statistics {
        let kinds = [Kind::Int, Kind::Unsigned];
        let mut known = Statistics::new(&kinds);
        let mut from = 0;
        for &count in parts {
            let changes = [rows(from, count)];
            known.note(&brought(&changes, &kinds), &changes);
            from += count;
        }
        known.settle();
        known
    }

    fn below(word: u64) -> Check {
        Check::Keys { column: 0, kind: Kind::Int, low: Kind::Int.key(0), high: Kind::Int.key(word - 1) }
    }

    #[test]
    fn a_sample_is_of_all_rows_alike() {
        for parts in [&[100_000][..], &[1; 3000], &[1, 2000, 97_999], &[90_000, 1, 1, 9_998]] {
            let all: u64 = parts.iter().sum();
            let known = noted(parts);
            for tenths in 1..10 {
                let share = known.share(below(all * tenths / 10));
                assert!((share - tenths as f64 / 10.0).abs() < 0.07, "{tenths} tenths of {all}: {share}");
            }
            let nulls = known.share(Check::Null { column: 1, is_null: true });
            assert!((nulls - 1.0 / 3.0).abs() < 0.07, "{nulls}");
        }
    }

    #[test]
    fn few_rows_are_told_exactly() {
        let known = noted(&[100]);
        assert!((known.share(below(50)) - 0.5).abs() < 0.01);
        let none = Check::Keys { column: 0, kind: Kind::Int, low: 1, high: 0 };
        assert_eq!(known.share(none), 0.0);
        let unknown = noted(&[]).share(below(7));
        assert_eq!(unknown, 0.0);
    }

    /// In how many of many samples a row is tells how likely it is.
    #[test]
    fn late_rows_are_as_likely_as_early_ones() {
        let mut late = 0;
        for seed in 0..40 {
            let mut sample = Sample { random: seed << 32, ..Sample::new() };
            let Planned::Insert(rows) = rows(0, 20_000) else { unreachable!() };
            sample.note(&rows);
            assert_eq!(sample.rows.len(), MOST);
            let words: Vec<u64> = sample.rows.iter().filter_map(|row| row[0]).collect();
            late += words.iter().filter(|&&word| word >= 19_000).count();
            let mut once = words.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), MOST);
        }
        // 51 of each are expected, and 2048 in all.
        assert!((1800..2300).contains(&late), "{late}");
    }
}
