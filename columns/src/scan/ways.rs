//! By what each query is entered: by one of its tests, or by words of several columns put together.
//!
//! A test alone leaves a share of the rows, as far as is known, each of which has to be tested further. Where that are too
//! many for all that ask for words of the same columns, these are put together; and if that does not help, or is not
//! possible, a range that they ask for besides is put to them by bins.

use super::joint::Joint;
use crate::plan::{Check, Checks};
use crate::statistics::Statistics;
use crate::value::Kind;
use std::collections::BTreeMap;

/// To put words of several columns together takes as long for a row as to test a few of these pairs of a row and a query:
/// so it is worth the while if that leaves more for each row.
const WORTH: f64 = 0.1;
/// A query is in no more bins than this.
const BINS: u64 = 8;
/// A range that more rows than these pass is not worth its bins.
const WIDE: f64 = 0.5;

/// A query in the making: its checks with the shares of rows that pass, the fewest first.
pub(super) struct Ordered {
    pub checks: Vec<(f64, Check)>,
    /// Columns of which it asks for one key, and these; in order of columns. None if it asks for several of one.
    keys: Vec<(usize, Kind, u64)>,
    /// The range that the fewest rows pass, cut to what there is.
    range: Option<Range>,
}

#[derive(Clone, Copy)]
struct Range {
    share: f64,
    column: usize,
    kind: Kind,
    low: u64,
    high: u64,
}

impl Ordered {
    pub fn new(checks: &Checks, known: &Statistics) -> Self {
        let with_share = |&check: &Check| (known.share(check), check);
        let mut checks: Vec<_> = checks.0.iter().map(with_share).collect();
        checks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut keys, mut range) = (Vec::new(), None);
        for &(share, check) in &checks {
            let Check::Keys { column, kind, low, high } = check else { continue };
            if low == high {
                keys.push((column, kind, low));
            } else if range.is_none() {
                let (low, high) = known.bounds(column).cut(low, high);
                range = Some(Range { share, column, kind, low, high }).filter(|_| low <= high);
            }
        }
        keys.sort_unstable();
        if keys.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            keys.clear();
        }
        Self { checks, keys, range }
    }

    /// Whether no row passes, whatever it has.
    pub fn is_in_vain(&self) -> bool {
        self.checks.iter().any(|(_, check)| matches!(check, Check::Keys { low, high, .. } if low > high))
    }

    fn columns(&self) -> Box<[usize]> {
        self.keys.iter().map(|&(column, ..)| column).collect()
    }

    /// What the best test alone leaves of each row.
    fn alone(&self) -> f64 {
        self.checks.first().map_or(1.0, |first| first.0)
    }

    /// What all words together leave of it, if they had nothing to do with each other.
    fn together(&self) -> f64 {
        let of_keys =
            |&&(_, check): &&(f64, Check)| matches!(check, Check::Keys { low, high, .. } if low == high);
        self.checks.iter().filter(of_keys).map(|(share, _)| share).product()
    }

    /// The joint words by which it is entered that way. What these have tested is taken out of its checks; or moved to their
    /// end, if others may have the same words.
    pub fn enter(&mut self, way: &Joint, known: &Statistics) -> Vec<u64> {
        let is_tested = |check: Check| matches!(check, Check::Keys { column, low, high, .. } if low == high && way.has(column));
        if way.is_exact {
            self.checks.retain(|&(_, check)| !is_tested(check));
        } else {
            self.checks.sort_by_key(|&(_, check)| is_tested(check));
        }
        let is_there =
            |&(column, _, key): &(usize, Kind, u64)| known.bounds(column).cut(key, key) == (key, key);
        if !self.keys.iter().all(is_there) {
            return Vec::new();
        }
        let range = self.range.map(|range| (range.low, range.high));
        let keys: Vec<_> = self.keys.iter().map(|&(.., key)| (key, key)).chain(range).collect();
        way.of(&keys).collect()
    }
}

/// What is left of each row for all queries that ask for words of the same columns.
#[derive(Default)]
struct Left {
    alone: f64,
    together: f64,
    /// The same with bins of a column, and how many bits those keys differ in that each one's range has.
    by_range: BTreeMap<usize, (f64, Vec<u32>)>,
}

/// The ways of a batch's queries.
pub(super) struct Ways(BTreeMap<Box<[usize]>, Left>);

impl Ways {
    pub fn new(queries: &[Ordered]) -> Self {
        let mut all: BTreeMap<Box<[usize]>, Left> = BTreeMap::new();
        for query in queries.iter().filter(|query| !query.keys.is_empty()) {
            let left = all.entry(query.columns()).or_default();
            left.alone += query.alone();
            left.together += query.together();
            if let Some(range) = query.range.filter(|range| range.share < WIDE) {
                let (left, bits) = left.by_range.entry(range.column).or_default();
                *left += query.alone().min(query.together());
                bits.push(u64::BITS - (range.high - range.low).leading_zeros());
            }
        }
        for left in all.values_mut() {
            left.by_range.retain(|_, (left, _)| *left >= WORTH);
            left.by_range.values_mut().for_each(|(_, bits)| bits.sort_unstable());
        }
        Self(all)
    }

    /// The way of one of the queries; `None` if it is entered by one test alone.
    pub fn of(&self, query: &Ordered, known: &Statistics) -> Option<Joint> {
        let columns = query.columns();
        let left = self.0.get(&columns).filter(|left| left.alone >= WORTH)?;
        let bins = || {
            let range = query.range.filter(|range| range.share < WIDE)?;
            let (_, bits) = left.by_range.get(&range.column)?;
            // The median is in two bins or in three: so most rows of its bins are in the range.
            let bits = bits[bits.len() / 2].saturating_sub(1);
            ((range.high >> bits) - (range.low >> bits) < BINS).then_some((range.column, range.kind, bits))
        };
        let is_enough = columns.len() > 1 && left.together < WORTH;
        let bins = if is_enough { None } else { bins() };
        let columns = query.keys.iter().map(|&(column, kind, _)| (column, kind, 0)).chain(bins);
        (query.keys.len() > 1 || bins.is_some()).then(|| Joint::new(columns, known))
    }
}
