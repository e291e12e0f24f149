//! Selection of access paths: whether the index holds a query under one of its tests or under a
//! composite key of several columns.
//!
//! A single test lets through a fraction of the rows, its selectivity, and each of these rows
//! remains to be tested. If too many remain, over all queries that compare the same columns for
//! equality, these columns form a composite key. If that does not suffice, or there is only one
//! such column, a range of another column joins the key, divided into bins.

use super::composite_key::CompositeKey;
use crate::plan::{Conjunction, WordPredicate};
use crate::statistics::Statistics;
use crate::value::WordKind;
use std::collections::BTreeMap;

/// A composite key costs each row as much as the test of a few candidates. It pays if single tests
/// would leave at least this many candidates per row.
const MIN_CANDIDATES_PER_ROW: f64 = 0.1;
/// The most bins that the range of a query may cover.
const MAX_BINS: u64 = 8;
/// A range that lets through a larger fraction of the rows does not pay for its bins.
const MAX_RANGE_SELECTIVITY: f64 = 0.5;

/// A query under analysis: its tests with their selectivities, the most selective first.
pub(super) struct AnalyzedQuery {
    pub tests: Vec<(f64, WordPredicate)>,
    /// The columns that it compares for equality, with the key, in order of columns. Empty if it
    /// compares a column with several keys.
    keys: Vec<(usize, WordKind, u64)>,
    /// Its most selective range, clamped to the bounds of the column.
    range: Option<RangeTest>,
}

#[derive(Clone, Copy)]
struct RangeTest {
    selectivity: f64,
    column: usize,
    kind: WordKind,
    low: u64,
    high: u64,
}

impl AnalyzedQuery {
    pub fn new(filter: &Conjunction, statistics: &Statistics) -> Self {
        let with_selectivity = |&predicate: &WordPredicate| (statistics.selectivity(predicate), predicate);
        let mut tests: Vec<_> = filter.words.iter().map(with_selectivity).collect();
        tests.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut keys, mut range) = (Vec::new(), None);
        for &(selectivity, predicate) in &tests {
            let WordPredicate::Keys { column, kind, low, high } = predicate else { continue };
            if low == high {
                keys.push((column, kind, low));
            } else if range.is_none() {
                let (low, high) = statistics.bounds(column).clamp(low, high);
                range = Some(RangeTest { selectivity, column, kind, low, high }).filter(|_| low <= high);
            }
        }
        keys.sort_unstable();
        if keys.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            keys.clear();
        }
        Self { tests, keys, range }
    }

    /// Returns true if no row can match.
    pub fn is_unsatisfiable(&self) -> bool {
        self.tests
            .iter()
            .any(|(_, predicate)| matches!(predicate, WordPredicate::Keys { low, high, .. } if low > high))
    }

    fn columns(&self) -> Box<[usize]> {
        self.keys.iter().map(|&(column, ..)| column).collect()
    }

    /// Returns the selectivity of the best single test.
    fn single(&self) -> f64 {
        self.tests.first().map_or(1.0, |first| first.0)
    }

    /// Estimates the selectivity of all equality tests together, assuming independent columns.
    fn composite(&self) -> f64 {
        let of_keys = |&&(_, predicate): &&(f64, WordPredicate)| match predicate {
            WordPredicate::Keys { low, high, .. } => low == high,
            _ => false,
        };
        self.tests.iter().filter(of_keys).map(|(selectivity, _)| selectivity).product()
    }

    /// Returns the composite words under which the index holds the query. Removes the tests that
    /// the words decide; if they decide only approximately, moves these tests to the end.
    pub fn composite_words(&mut self, path: &CompositeKey, statistics: &Statistics) -> Vec<u64> {
        let is_tested = |predicate: WordPredicate| match predicate {
            WordPredicate::Keys { column, low, high, .. } => low == high && path.has_exact(column),
            _ => false,
        };
        if path.is_exact {
            self.tests.retain(|&(_, predicate)| !is_tested(predicate));
        } else {
            self.tests.sort_by_key(|&(_, predicate)| is_tested(predicate));
        }
        let is_within_bounds = |&(column, _, key): &(usize, WordKind, u64)| {
            statistics.bounds(column).clamp(key, key) == (key, key)
        };
        if !self.keys.iter().all(is_within_bounds) {
            return Vec::new();
        }
        let range = self.range.map(|range| (range.low, range.high));
        let keys: Vec<_> = self.keys.iter().map(|&(.., key)| (key, key)).chain(range).collect();
        path.words_for(&keys).collect()
    }
}

/// The expected candidates per row of all queries that compare the same columns for equality.
#[derive(Default)]
struct PathCosts {
    single: f64,
    composite: f64,
    /// For each column whose range could join the key: the expected candidates per row, and for
    /// each query the number of low bits in which the keys of its range differ.
    by_range: BTreeMap<usize, (f64, Vec<u32>)>,
}

/// The access paths of a batch's queries.
pub(super) struct AccessPaths(BTreeMap<Box<[usize]>, PathCosts>);

impl AccessPaths {
    pub fn new(queries: &[AnalyzedQuery]) -> Self {
        let mut all: BTreeMap<Box<[usize]>, PathCosts> = BTreeMap::new();
        for query in queries.iter().filter(|query| !query.keys.is_empty()) {
            let costs = all.entry(query.columns()).or_default();
            costs.single += query.single();
            costs.composite += query.composite();
            if let Some(range) = query.range.filter(|range| range.selectivity < MAX_RANGE_SELECTIVITY) {
                let (costs, bits) = costs.by_range.entry(range.column).or_default();
                *costs += query.single().min(query.composite());
                bits.push(u64::BITS - (range.high - range.low).leading_zeros());
            }
        }
        for costs in all.values_mut() {
            costs.by_range.retain(|_, (costs, _)| *costs >= MIN_CANDIDATES_PER_ROW);
            costs.by_range.values_mut().for_each(|(_, bits)| bits.sort_unstable());
        }
        Self(all)
    }

    /// Returns the composite key of a query; `None` if a single test is the better path.
    pub fn path_of(&self, query: &AnalyzedQuery, statistics: &Statistics) -> Option<CompositeKey> {
        let columns = query.columns();
        let costs = self.0.get(&columns).filter(|costs| costs.single >= MIN_CANDIDATES_PER_ROW)?;
        let bins = || {
            let range = query.range.filter(|range| range.selectivity < MAX_RANGE_SELECTIVITY)?;
            let (_, bits) = costs.by_range.get(&range.column)?;
            // Ranges of median width cover two or three bins, so most rows of these bins are in
            // range.
            let bits = bits[bits.len() / 2].saturating_sub(1);
            ((range.high >> bits) - (range.low >> bits) < MAX_BINS).then_some((
                range.column,
                range.kind,
                bits,
            ))
        };
        let is_enough = columns.len() > 1 && costs.composite < MIN_CANDIDATES_PER_ROW;
        let bins = if is_enough { None } else { bins() };
        let columns = query.keys.iter().map(|&(column, kind, _)| (column, kind, 0)).chain(bins);
        (query.keys.len() > 1 || bins.is_some()).then(|| CompositeKey::new(columns, statistics))
    }
}
