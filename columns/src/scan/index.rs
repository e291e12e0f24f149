//! The index of a batch's queries.

use super::joint;
use super::points::Points;
use super::spans::{Span, Spans};
use crate::plan::{Check, Checks};
use crate::value::Kind;
use std::collections::BTreeMap;
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
    /// Those that somebody is entered by, one or several together.
    pub(super) columns: Vec<Entered>,
    /// Queries that are entered nowhere: they have to be asked about each row.
    pub(super) others: Vec<u32>,
    /// What is left to be tested of all queries, and which part of it is each one's. What the fewest rows pass comes first.
    rest: Vec<Check>,
    parts: Vec<Range<u32>>,
}

/// Queries that are entered by a column, or by several together. Several have no ranges.
#[derive(Debug)]
pub(super) struct Entered {
    pub columns: Box<[usize]>,
    pub kind: Kind,
    /// But for those of which many ask for one.
    pub points: Points,
    /// Who asks for each slot of points for which many do.
    crowds: Box<[Option<Crowd>]>,
    pub spans: Spans,
}

/// Queries that ask for the same word of a column.
#[derive(Debug)]
pub(super) struct Crowd {
    /// Those that ask for a range of a second column, the same for all of them.
    pub second: Option<Second>,
    pub others: Vec<u32>,
}

/// Queries that are entered by a second column.
#[derive(Debug)]
pub(super) struct Second {
    pub column: usize,
    pub kind: Kind,
    pub spans: Spans,
}

/// So many queries have to ask for a word before it is worth the while to put its rows together, and to look at a second
/// column once for all of them and not once for each.
const MANY: usize = 4;

/// The same in the making.
#[derive(Default)]
struct Entries {
    kind: Option<Kind>,
    points: Vec<(u64, u32)>,
    spans: Vec<Span>,
}

/// To put the words of several columns together takes as long for a row as to test so many pairs: so it is worth the while if
/// one column alone would leave more for each row.
const WORTH: f64 = 0.03;

/// A query in the making: its checks with their shares, those that the fewest rows pass first.
struct Ordered {
    checks: Vec<(f64, Check)>,
    /// Those of them that ask for one word, by columns.
    equal: Vec<(usize, u64)>,
}

impl Ordered {
    fn new(checks: &Checks, bounds: &[Bounds]) -> Self {
        let with_share = |&check: &Check| (bounds[check.column()].share(check), check);
        let mut checks: Vec<_> = checks.0.iter().map(with_share).collect();
        checks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let equal = checks.iter().filter_map(|(_, check)| match *check {
            Check::Keys { column, kind, low, high } if low == high => Some((column, kind.keys().word(low))),
            _ => None,
        });
        let mut equal: Vec<_> = equal.collect();
        equal.sort_unstable();
        Self { checks, equal }
    }

    /// The columns of which it asks for one word each, if these are several.
    fn joint(&self) -> Option<Box<[usize]>> {
        let columns: Box<[usize]> = self.equal.iter().map(|&(column, _)| column).collect();
        // Nobody has two words in one column; such a query is left as it is.
        let is_joint = columns.len() > 1 && columns.windows(2).all(|pair| pair[0] < pair[1]);
        is_joint.then_some(columns)
    }

    /// What one column alone leaves of each row.
    fn share(&self) -> f64 {
        self.checks.first().map_or(1.0, |first| first.0)
    }
}

impl Index {
    /// Of all queries, by their checks, for columns with these bounds.
    pub fn new<'a>(queries: impl Iterator<Item = &'a Checks>, bounds: &[Bounds]) -> Self {
        let queries: Vec<Ordered> = queries.map(|checks| Ordered::new(checks, bounds)).collect();
        let mut joints: BTreeMap<Box<[usize]>, (f64, Entries)> = BTreeMap::new();
        for query in &queries {
            if let Some(columns) = query.joint() {
                joints.entry(columns).or_default().0 += query.share();
            }
        }
        joints.retain(|_, (left, _)| *left >= WORTH);
        let mut columns: Vec<Entries> = bounds.iter().map(|_| Entries::default()).collect();
        let mut made = Self::default();
        for (number, mut query) in (0u32..).zip(queries) {
            let joint = query.joint().and_then(|columns| joints.get_mut(&columns));
            if let Some((_, entries)) = joint {
                entries.points.push((joint::of(query.equal.iter().map(|&(_, word)| word)), number));
                // Others may have the same joint word, though hardly ever: so these are tested all the same, in the end.
                query.checks.sort_by_key(|(_, check)| {
                    query.equal.iter().any(|&(column, _)| column == check.column())
                });
            } else {
                made.enter_alone(&mut query.checks, number, &mut columns);
            }
            let begin = made.rest.len() as u32;
            made.rest.extend(query.checks.iter().map(|&(_, check)| check));
            made.parts.push(begin..made.rest.len() as u32);
        }
        for (column, entries) in columns.into_iter().enumerate() {
            if let Some(kind) = entries.kind {
                made.complete([column].into(), kind, entries);
            }
        }
        for (columns, (_, entries)) in joints {
            made.complete(columns, Kind::Unsigned, entries);
        }
        made
    }

    /// Enters a query by the column that leaves the fewest rows, whose check is taken out.
    fn enter_alone(&mut self, checks: &mut Vec<(f64, Check)>, query: u32, columns: &mut [Entries]) {
        let first = checks.iter().position(|(_, check)| matches!(check, Check::Keys { .. }));
        match first.map(|first| checks.remove(first).1) {
            // Nobody passes; so it is entered nowhere.
            Some(Check::Keys { low, high, .. }) if low > high => {}
            Some(Check::Keys { column, kind, low, high }) => {
                let entries = &mut columns[column];
                entries.kind = Some(kind);
                if low == high {
                    entries.points.push((kind.keys().word(low), query));
                } else {
                    entries.spans.push((low, high, query));
                }
            }
            _ => self.others.push(query),
        }
    }

    fn complete(&mut self, columns: Box<[usize]>, kind: Kind, entries: Entries) {
        let (mut points, spans) = (Points::new(entries.points), Spans::new(&entries.spans));
        let mut crowds: Box<[Option<Crowd>]> = (0..points.slots()).map(|_| None).collect();
        for (slot, queries) in points.take(MANY) {
            crowds[slot as usize] = Some(self.crowd(queries));
        }
        self.columns.push(Entered { columns, kind, points, crowds, spans });
    }

    /// Enters queries that ask for the same word by what is to be tested next, if that is the same column for many.
    fn crowd(&mut self, queries: Vec<u32>) -> Crowd {
        let next = |query: u32| match self.rest(query).first() {
            Some(&Check::Keys { column, kind, low, high }) if low <= high => {
                Some((column, kind, (low, high, query)))
            }
            _ => None,
        };
        let columns = queries.iter().filter_map(|&query| next(query)).map(|(column, kind, _)| (column, kind));
        let mut columns: Vec<_> = columns.collect();
        columns.sort_unstable_by_key(|&(column, _)| column);
        let most = columns.chunk_by(|a, b| a == b).max_by_key(|same| same.len());
        let Some(&[(column, kind), ..]) = most.filter(|same| same.len() >= MANY) else {
            return Crowd { second: None, others: queries };
        };
        let (mut spans, mut others) = (Vec::new(), Vec::new());
        for query in queries {
            match next(query) {
                Some((at, _, span)) if at == column => spans.push(span),
                _ => others.push(query),
            }
        }
        // These tests are made by entering.
        spans.iter().for_each(|span| self.parts[span.2 as usize].start += 1);
        Crowd { second: Some(Second { column, kind, spans: Spans::new(&spans) }), others }
    }

    /// What is left to be tested of a query where it is entered.
    #[inline]
    pub(super) fn rest(&self, query: u32) -> &[Check] {
        let Range { start, end } = self.parts[query as usize];
        &self.rest[start as usize..end as usize]
    }
}

impl Entered {
    /// Those that ask for the word of this slot, if they are many.
    #[inline]
    pub fn crowd(&self, slot: u32) -> Option<&Crowd> {
        self.crowds[slot as usize].as_ref()
    }
}
