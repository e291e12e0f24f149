//! The index of a batch's queries.

use super::Pair;
use super::points::Points;
use super::spans::{Span, Spans};
use crate::chunk::Chunk;
use crate::plan::{Check, Checks};
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

    /// The share of rows that pass, if the keys were spread evenly. Half of those that have to do with nulls.
    fn share(self, check: Check) -> f64 {
        match check {
            Check::Null { .. } => 0.5,
            Check::Keys { low, high, .. } => {
                let (low, high) = (low.max(self.least), high.min(self.greatest));
                let width = |low: u64, high: u64| (high - low) as f64 + 1.0;
                if low > high { 0.0 } else { width(low, high) / width(self.least, self.greatest) }
            }
        }
    }
}

/// See the module's documentation. Queries are known by their numbers.
pub(crate) struct Index {
    columns: Vec<Entered>,
    others: Vec<u32>,
    /// What is left to be tested of each query, what the fewest pass first.
    rest: Vec<Vec<Check>>,
}

/// Queries that are entered by a column.
struct Entered {
    column: usize,
    kind: Kind,
    points: Points,
    spans: Spans,
}

impl Entered {
    #[inline(always)]
    fn find<'a>(
        &self,
        chunk: &Chunk,
        of: impl Fn(u64) -> &'a [u32],
        pairs: &mut Vec<Pair>,
        most: usize,
        full: &mut impl FnMut(&mut Vec<Pair>),
    ) {
        let column = &chunk.columns[self.column];
        let words = column.words();
        chunk.live.for_each_of_both(&column.valid, |row| {
            let queries = of(self.kind.key(words[row]));
            if !queries.is_empty() {
                pairs.extend(queries.iter().map(|&query| (query, row as u16)));
                if pairs.len() >= most {
                    full(pairs);
                }
            }
        });
    }
}

/// The same in the making.
#[derive(Default)]
struct Entries {
    kind: Option<Kind>,
    points: Vec<(u64, u32)>,
    spans: Vec<Span>,
}

impl Index {
    /// Of all queries, by their checks, for columns with these bounds.
    pub fn new<'a>(queries: impl Iterator<Item = &'a Checks>, bounds: &[Bounds]) -> Self {
        let mut columns: Vec<Entries> = bounds.iter().map(|_| Entries::default()).collect();
        let (mut others, mut rest) = (Vec::new(), Vec::new());
        let mut entered = Vec::new();
        for (query, checks) in queries.enumerate() {
            let mut checks = checks.0.clone();
            let share = |check: &Check| bounds[check.column()].share(*check);
            checks.sort_by(|a, b| share(a).total_cmp(&share(b)));
            let first = checks.iter().position(|check| matches!(check, Check::Keys { .. }));
            match first.map(|first| checks.remove(first)) {
                None => others.push(query as u32),
                // Nobody passes; so it is entered nowhere.
                Some(Check::Keys { low, high, .. }) if low > high => {}
                Some(check @ Check::Keys { column, kind, low, high }) => {
                    columns[column].kind = Some(kind);
                    if low == high {
                        columns[column].points.push((low, query as u32));
                    } else {
                        columns[column].spans.push((low, high, query as u32));
                        entered.push((query, check));
                    }
                }
                Some(Check::Null { .. }) => unreachable!("it was looked for a test of keys"),
            }
            rest.push(checks);
        }
        let mut built = Vec::new();
        for (column, Entries { kind, points, spans }) in columns.into_iter().enumerate() {
            let Some(kind) = kind else { continue };
            let (spans, wide) = Spans::new(spans);
            for query in wide {
                let place = entered.binary_search_by_key(&(query as usize), |&(query, _)| query);
                let check = entered[place.expect("it was entered")].1;
                rest[query as usize].insert(0, check);
                others.push(query);
            }
            built.push(Entered { column, kind, points: Points::new(points), spans });
        }
        Self { columns: built, others, rest }
    }

    /// How many queries there are.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Those that no column's index tells: they have to be asked about each row.
    pub fn others(&self) -> &[u32] {
        &self.others
    }

    /// Calls `full` with pairs whenever there are `most` or somewhat more, and at the end with the rest.
    pub fn find(
        &self,
        chunk: &Chunk,
        pairs: &mut Vec<Pair>,
        most: usize,
        mut full: impl FnMut(&mut Vec<Pair>),
    ) {
        pairs.clear();
        for entered in &self.columns {
            if !entered.points.is_empty() {
                entered.find(chunk, |key| entered.points.of(key), pairs, most, &mut full);
            }
            if !entered.spans.is_empty() {
                entered.find(chunk, |key| entered.spans.of(key), pairs, most, &mut full);
            }
        }
        full(pairs);
    }

    /// Which of the rows pass what is left to be tested of a query.
    pub fn refine(
        &self,
        query: usize,
        chunk: &Chunk,
        rows: impl Iterator<Item = u16>,
        passed: &mut Vec<u16>,
    ) {
        passed.clear();
        passed.extend(rows);
        for check in &self.rest[query] {
            let column = &chunk.columns[check.column()];
            passed.retain(|&row| check.holds(column.get(row.into())));
        }
    }
}
