//! Statistics of a table's rows: bounds of each column, and a sample.

use crate::plan::{ChangePlan, NewRows, WordPredicate};
use crate::value::WordKind;

/// The least and the greatest key that a column has ever had; `least > greatest` if it had none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyBounds {
    pub least: u64,
    pub greatest: u64,
}

impl KeyBounds {
    pub const NONE: Self = Self { least: u64::MAX, greatest: 0 };

    pub fn add(&mut self, key: u64) {
        self.least = self.least.min(key);
        self.greatest = self.greatest.max(key);
    }

    /// Extends the bounds by others.
    fn merge(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// Clamps a range of keys to the bounds. The result is empty, with `low > high`, if they do not
    /// overlap.
    pub fn clamp(self, low: u64, high: u64) -> (u64, u64) {
        (low.max(self.least), high.min(self.greatest))
    }

    /// Estimates the selectivity of a predicate, assuming uniformly distributed keys, and one half
    /// for nulls.
    fn selectivity(self, predicate: WordPredicate) -> f64 {
        match predicate {
            WordPredicate::Null { .. } => 0.5,
            WordPredicate::Keys { low, high, .. } => {
                let (low, high) = self.clamp(low, high);
                let width = |low: u64, high: u64| (high - low) as f64 + 1.0;
                if low > high { 0.0 } else { width(low, high) / width(self.least, self.greatest) }
            }
        }
    }
}

/// Bounds and a sample. Estimates affect only speed, never results.
pub(crate) struct Statistics {
    /// The bounds of each column. They never shrink, even if rows are deleted.
    bounds: Box<[KeyBounds]>,
    kinds: Box<[WordKind]>,
    sample: Reservoir,
    /// The sorted keys of each column of the sample, without nulls. Empty after the sample has
    /// changed.
    sorted: Vec<Vec<u64>>,
}

impl Statistics {
    /// Creates statistics of an empty table.
    pub fn new(kinds: &[WordKind]) -> Self {
        let bounds = vec![KeyBounds::NONE; kinds.len()].into();
        Self { bounds, kinds: kinds.into(), sample: Reservoir::new(), sorted: Vec::new() }
    }

    /// Records the [bounds](bounds_of_changes) of changes, and samples the inserted rows. The
    /// sample ignores updates and deletes.
    pub fn record(&mut self, bounds: &[KeyBounds], changes: &[ChangePlan]) {
        self.bounds.iter_mut().zip(bounds).for_each(|(all, more)| all.merge(*more));
        for change in changes {
            if let ChangePlan::Insert(rows) = change
                && self.sample.record(rows)
            {
                self.sorted.clear();
            }
        }
    }

    /// Sorts the sample if it has changed, for estimates.
    pub fn sort_sample(&mut self) -> &Self {
        if self.sorted.is_empty() {
            let of = |(column, kind): (usize, &WordKind)| {
                let words = self.sample.rows.iter().filter_map(|row| row[column]);
                let mut keys: Vec<u64> = words.map(|word| kind.key(word)).collect();
                keys.sort_unstable();
                keys
            };
            self.sorted = self.kinds.iter().enumerate().map(of).collect();
        }
        self
    }

    /// Returns the number of columns.
    pub fn column_count(&self) -> usize {
        self.bounds.len()
    }

    /// Returns the bounds of a column.
    pub fn bounds(&self, column: usize) -> KeyBounds {
        self.bounds[column]
    }

    /// Estimates the selectivity of a predicate from the sample and one more row, whose keys are
    /// distributed uniformly within the column's bounds.
    pub fn selectivity(&self, predicate: WordPredicate) -> f64 {
        let column = predicate.column();
        let uniform = self.bounds[column].selectivity(predicate);
        let Some(sorted) = self.sorted.get(column) else { return uniform };
        let rows = self.sample.rows.len();
        let passing = match predicate {
            WordPredicate::Null { is_null, .. } => {
                if is_null {
                    rows - sorted.len()
                } else {
                    sorted.len()
                }
            }
            WordPredicate::Keys { low, high, .. } if low > high => return 0.0,
            WordPredicate::Keys { low, high, .. } => {
                sorted.partition_point(|&key| key <= high) - sorted.partition_point(|&key| key < low)
            }
        };
        (passing as f64 + uniform) / (rows as f64 + 1.0)
    }
}

/// Returns the bounds of the keys that changes bring into each column.
pub(crate) fn bounds_of_changes(changes: &[ChangePlan], kinds: &[WordKind]) -> Vec<KeyBounds> {
    let mut bounds = vec![KeyBounds::NONE; kinds.len()];
    let mut note = |column: usize, word: Option<u64>| {
        word.into_iter().for_each(|word| bounds[column].add(kinds[column].key(word)));
    };
    for change in changes {
        match change {
            ChangePlan::Insert(rows) => {
                for row in 0..rows.count {
                    rows.row(row).enumerate().for_each(|(column, cell)| note(column, cell.word));
                }
            }
            ChangePlan::Update(..) if planted!("bounds-without-updates") => {}
            ChangePlan::Update(_, set) => {
                set.iter().for_each(|(column, entry)| note(*column, entry.cell().word))
            }
            ChangePlan::Delete(_) => {}
        }
    }
    bounds
}

/// Rows of the sample. With 1024, a selectivity of 1 % is usually estimated to within a third.
const SAMPLE_ROWS: usize = 1024;

/// A uniform sample of all rows ever inserted, by algorithm L (Li, "Reservoir-sampling algorithms
/// of time complexity O(n(1 + log(N/n)))", 1994), which computes how many rows to skip.
struct Reservoir {
    /// The words of each sampled row.
    rows: Vec<Box<[Option<u64>]>>,
    /// The number of rows to skip before the next one is sampled, once the reservoir is full.
    skip: usize,
    /// The variable W of algorithm L: the greatest random key among the rows in the reservoir.
    threshold: f64,
    rng_state: u64,
}

impl Reservoir {
    fn new() -> Self {
        Self { rows: Vec::new(), skip: 0, threshold: 1.0, rng_state: 0 }
    }

    /// Samples rows. Returns true if the sample has changed.
    fn record(&mut self, rows: &NewRows) -> bool {
        let (mut row, mut has_taken) = (0, false);
        while row < rows.count {
            let place = if self.rows.len() < SAMPLE_ROWS {
                self.rows.push(Box::default());
                self.rows.len() - 1
            } else {
                let skipped = self.skip.min(rows.count - row);
                self.skip -= skipped;
                row += skipped;
                if row == rows.count {
                    break;
                }
                self.next_random() as usize % SAMPLE_ROWS
            };
            self.rows[place] = rows.row(row).map(|cell| cell.word).collect();
            (row, has_taken) = (row + 1, true);
            if self.rows.len() == SAMPLE_ROWS {
                self.threshold *= (self.unit_random().ln() / SAMPLE_ROWS as f64).exp();
                // The cast saturates.
                self.skip = (self.unit_random().ln() / (-self.threshold).ln_1p()) as usize;
            }
        }
        has_taken
    }

    /// Returns a random number by SplitMix64 (Steele, Lea, Flood 2014).
    fn next_random(&mut self) -> u64 {
        self.rng_state = self.rng_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.rng_state ^ self.rng_state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a random number between 0 and 1, exclusive.
    fn unit_random(&mut self) -> f64 {
        ((self.next_random() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::NewColumn;

    /// Rows whose words are their numbers; every third is null in the second column.
    fn rows(from: u64, count: u64) -> ChangePlan {
        let column = |nulls| NewColumn { words: (from..from + count).collect(), nulls, texts: None };
        let nulls = (from..from + count).map(|row| row % 3 != 0).collect::<Vec<_>>().into();
        ChangePlan::Insert(NewRows {
            columns: vec![column(None), column(Some(nulls))],
            count: count as usize,
        })
    }

    fn noted(parts: &[u64]) -> Statistics {
        let kinds = [WordKind::Int, WordKind::Unsigned];
        let mut statistics = Statistics::new(&kinds);
        let mut from = 0;
        for &count in parts {
            let changes = [rows(from, count)];
            statistics.record(&bounds_of_changes(&changes, &kinds), &changes);
            from += count;
        }
        statistics.sort_sample();
        statistics
    }

    fn below(word: u64) -> WordPredicate {
        WordPredicate::Keys {
            column: 0,
            kind: WordKind::Int,
            low: WordKind::Int.key(0),
            high: WordKind::Int.key(word - 1),
        }
    }

    #[test]
    fn the_sample_is_uniform_over_all_rows() {
        for parts in [&[100_000][..], &[1; 3000], &[1, 2000, 97_999], &[90_000, 1, 1, 9_998]] {
            let all: u64 = parts.iter().sum();
            let statistics = noted(parts);
            for tenths in 1..10 {
                let share = statistics.selectivity(below(all * tenths / 10));
                assert!((share - tenths as f64 / 10.0).abs() < 0.07, "{tenths} tenths of {all}: {share}");
            }
            let nulls = statistics.selectivity(WordPredicate::Null { column: 1, is_null: true });
            assert!((nulls - 1.0 / 3.0).abs() < 0.07, "{nulls}");
        }
    }

    #[test]
    fn few_rows_are_estimated_exactly() {
        let statistics = noted(&[100]);
        assert!((statistics.selectivity(below(50)) - 0.5).abs() < 0.01);
        let none = WordPredicate::Keys { column: 0, kind: WordKind::Int, low: 1, high: 0 };
        assert_eq!(statistics.selectivity(none), 0.0);
        let unknown = noted(&[]).selectivity(below(7));
        assert_eq!(unknown, 0.0);
    }

    /// The frequency of a row over many samples estimates its probability.
    #[test]
    fn late_rows_are_sampled_as_often_as_early_ones() {
        let mut late = 0;
        for seed in 0..40 {
            let mut sample = Reservoir { rng_state: seed << 32, ..Reservoir::new() };
            let ChangePlan::Insert(rows) = rows(0, 20_000) else { unreachable!() };
            sample.record(&rows);
            assert_eq!(sample.rows.len(), SAMPLE_ROWS);
            let words: Vec<u64> = sample.rows.iter().filter_map(|row| row[0]).collect();
            late += words.iter().filter(|&&word| word >= 19_000).count();
            let mut once = words.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), SAMPLE_ROWS);
        }
        // 51 of each sample are expected, 2048 in all.
        assert!((1800..2300).contains(&late), "{late}");
    }
}
