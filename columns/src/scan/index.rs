//! The index of a batch's queries.

use super::points::Points;
use super::spans::{Span, Spans};
use crate::plan::{Check, Checks};
use crate::value::Kind;
use std::ops::Range;

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
    pub fn merge(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
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
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Those that somebody is entered by.
    pub(super) columns: Vec<Entered>,
    /// Queries that are entered nowhere: they have to be asked about each row.
    pub(super) others: Vec<u32>,
    /// What is left to be tested of all queries, and where each one's part of it ends. What the fewest rows pass comes first.
    rest: Vec<Check>,
    ends: Vec<u32>,
}

/// Queries that are entered by a column.
#[derive(Debug)]
pub(super) struct Entered {
    pub column: usize,
    pub kind: Kind,
    pub points: Points,
    pub spans: Spans,
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
        let mut made = Self::default();
        let mut by_share: Vec<(f64, Check)> = Vec::new();
        for (query, checks) in queries.enumerate() {
            by_share.clear();
            by_share.extend(checks.0.iter().map(|&check| (bounds[check.column()].share(check), check)));
            by_share.sort_by(|a, b| a.0.total_cmp(&b.0));
            let query = query as u32;
            let first = by_share.iter().position(|(_, check)| matches!(check, Check::Keys { .. }));
            match first.map(|first| by_share.remove(first).1) {
                // Nobody passes; so it is entered nowhere.
                Some(Check::Keys { low, high, .. }) if low > high => {}
                Some(Check::Keys { column, kind, low, high }) => {
                    let entries = &mut columns[column];
                    entries.kind = Some(kind);
                    if low == high {
                        entries.points.push((low, query));
                    } else {
                        entries.spans.push((low, high, query));
                    }
                }
                _ => made.others.push(query),
            }
            made.rest.extend(by_share.iter().map(|&(_, check)| check));
            made.ends.push(made.rest.len() as u32);
        }
        for (column, Entries { kind, points, spans }) in columns.into_iter().enumerate() {
            if let Some(kind) = kind {
                let (points, spans) = (Points::new(points), Spans::new(&spans));
                made.columns.push(Entered { column, kind, points, spans });
            }
        }
        made
    }

    /// What is left to be tested of a query that it is entered by.
    pub(super) fn rest(&self, query: usize) -> &[Check] {
        let begin = if query == 0 { 0 } else { self.ends[query - 1] };
        let part: Range<usize> = begin as usize..self.ends[query] as usize;
        &self.rest[part]
    }
}
