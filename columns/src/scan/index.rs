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
    /// What is left to be tested of all queries, and which part of it is each one's. What the fewest rows pass comes first.
    rest: Vec<Check>,
    parts: Vec<Range<u32>>,
}

/// Queries that are entered by a column.
#[derive(Debug)]
pub(super) struct Entered {
    pub column: usize,
    pub kind: Kind,
    pub points: Points,
    /// Of slots of points for which many ask: their queries by another column. Empty if there are none.
    nested: Box<[Option<Nested>]>,
    pub spans: Spans,
}

/// Queries that ask for the same key of one column, entered by a second one.
#[derive(Debug)]
pub(super) struct Nested {
    pub column: usize,
    pub kind: Kind,
    pub spans: Spans,
    /// Those that are not.
    pub others: Vec<u32>,
}

/// So many queries have to ask for a key before it is worth the while to look at a second column once for all of them, and
/// not once for each.
const MANY: usize = 4;

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
            let begin = made.rest.len() as u32;
            made.rest.extend(by_share.iter().map(|&(_, check)| check));
            made.parts.push(begin..made.rest.len() as u32);
        }
        for (column, Entries { kind, points, spans }) in columns.into_iter().enumerate() {
            if let Some(kind) = kind {
                let (points, spans) = (Points::new(points), Spans::new(&spans));
                let nested = made.nest(&points);
                made.columns.push(Entered { column, kind, points, nested, spans });
            }
        }
        made
    }

    /// Enters the queries of slots for which many ask by what is to be tested next, if that is the same column for many.
    fn nest(&mut self, points: &Points) -> Box<[Option<Nested>]> {
        let slots = 0..points.slots() as u32;
        if slots.clone().all(|slot| points.queries(slot).len() < MANY) {
            return Box::default();
        }
        slots
            .map(|slot| {
                Some(points.queries(slot))
                    .filter(|queries| queries.len() >= MANY)
                    .and_then(|queries| self.nest_one(queries))
            })
            .collect()
    }

    fn nest_one(&mut self, queries: &[u32]) -> Option<Nested> {
        let next = |query: u32| match self.rest(query as usize).first() {
            Some(&Check::Keys { column, kind, low, high }) if low <= high => {
                Some((column, kind, (low, high, query)))
            }
            _ => None,
        };
        let mut columns: Vec<usize> =
            queries.iter().filter_map(|&query| next(query)).map(|next| next.0).collect();
        columns.sort_unstable();
        let most = columns.chunk_by(|a, b| a == b).max_by_key(|same| same.len())?;
        let column = (most.len() >= MANY).then(|| most[0])?;
        let (mut kind, mut spans, mut others) = (None, Vec::new(), Vec::new());
        for &query in queries {
            match next(query) {
                Some((at, is, span)) if at == column => {
                    kind = Some(is);
                    spans.push(span);
                }
                _ => others.push(query),
            }
        }
        // These tests are made by entering.
        spans.iter().for_each(|span| self.parts[span.2 as usize].start += 1);
        Some(Nested { column, kind: kind?, spans: Spans::new(&spans), others })
    }

    /// What is left to be tested of a query where it is entered.
    pub(super) fn rest(&self, query: usize) -> &[Check] {
        let Range { start, end } = self.parts[query];
        &self.rest[start as usize..end as usize]
    }
}

impl Entered {
    /// The queries of a slot of points by another column, if they are entered so.
    pub fn nested(&self, slot: u32) -> Option<&Nested> {
        self.nested.get(slot as usize)?.as_ref()
    }
}
