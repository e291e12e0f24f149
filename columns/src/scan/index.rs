//! The index of a batch's queries.

use super::candidate::Candidate;
use super::joint::Joint;
use super::lists::Lists;
use super::points::Points;
use super::spans::{Span, Spans};
use super::ways::{Ordered, Ways};
use crate::plan::{Check, Checks};
use crate::statistics::Statistics;
use crate::value::Kind;
use std::collections::BTreeMap;
use std::ops::Range;

/// See the module's documentation. Queries are known by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Those that somebody is entered by, one column or several together.
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
    pub by: Joint,
    pub kind: Kind,
    pub points: Points,
    /// Who asks for each slot of points, if few do; nobody otherwise.
    pub few: Lists<Candidate>,
    /// The same if many do.
    crowds: Box<[Option<Crowd>]>,
    pub spans: Spans,
    /// Who asks for each slot of spans, if few do throughout.
    pub paired: Option<Lists<Candidate>>,
}

/// Queries that ask for the same word.
#[derive(Debug)]
pub(super) struct Crowd {
    /// Those whose next test is the same column for all of them.
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

impl Index {
    /// Of all queries, by their checks, for rows of which this is known.
    pub fn new<'a>(queries: impl Iterator<Item = &'a Checks>, known: &Statistics) -> Self {
        let queries: Vec<Ordered> = queries.map(|checks| Ordered::new(checks, known)).collect();
        let ways = Ways::new(&queries);
        let mut joints: BTreeMap<Joint, Entries> = BTreeMap::new();
        let mut columns: Vec<Entries> = (0..known.columns()).map(|_| Entries::default()).collect();
        let mut made = Self::default();
        for (number, mut query) in (0u32..).zip(queries) {
            if query.is_in_vain() {
                // Nobody passes; so it is entered nowhere.
            } else if let Some(way) = ways.of(&query, known) {
                let words = query.enter(&way, known);
                let entries = joints.entry(way).or_default();
                entries.points.extend(words.into_iter().map(|word| (word, number)));
            } else {
                made.enter_alone(&mut query.checks, number, &mut columns);
            }
            let begin = made.rest.len() as u32;
            made.rest.extend(query.checks.iter().map(|&(_, check)| check));
            made.parts.push(begin..made.rest.len() as u32);
        }
        for (column, entries) in columns.into_iter().enumerate() {
            if let Some(kind) = entries.kind {
                made.complete(Joint::alone(column), kind, entries);
            }
        }
        for (joint, entries) in joints {
            made.complete(joint, Kind::Unsigned, entries);
        }
        made
    }

    /// Enters a query by the column that leaves the fewest rows, whose check is taken out.
    fn enter_alone(&mut self, checks: &mut Vec<(f64, Check)>, query: u32, columns: &mut [Entries]) {
        let first = checks.iter().position(|(_, check)| matches!(check, Check::Keys { .. }));
        match first.map(|first| checks.remove(first).1) {
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

    fn complete(&mut self, by: Joint, kind: Kind, entries: Entries) {
        let Entries { mut points, spans, .. } = entries;
        points.sort_unstable();
        let (mut words, mut crowds, mut few) = (Vec::new(), Vec::new(), Vec::new());
        for (slot, same) in (0u32..).zip(points.chunk_by(|a, b| a.0 == b.0)) {
            words.push(same[0].0);
            let queries = same.iter().map(|&(_, query)| query);
            if same.len() >= MANY {
                crowds.push(Some(self.crowd(queries.collect(), &by)));
            } else {
                crowds.push(None);
                few.extend(queries.map(|query| (slot, self.candidate(query))));
            }
        }
        let spans = Spans::new(&spans);
        let paired = spans.pairs().map(|pairs| {
            Lists::new(spans.slots(), pairs.into_iter().map(|(slot, query)| (slot, self.candidate(query))))
        });
        let (points, few) = (Points::new(&words), Lists::new(words.len(), few));
        self.columns.push(Entered { by, kind, points, few, crowds: crowds.into(), spans, paired });
    }

    fn candidate(&self, query: u32) -> Candidate {
        Candidate::new(query, self.rest(query))
    }

    /// Enters queries that ask for the same word by what is to be tested next, if that is the same column for many. What has
    /// been put into that word need not be.
    fn crowd(&self, queries: Vec<u32>, by: &Joint) -> Crowd {
        let next = |query: u32| match self.rest(query).first() {
            Some(&Check::Keys { column, kind, low, high }) if !by.has(column) => {
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
        Crowd { second: Some(Second { column, kind, spans: Spans::new(&spans) }), others }
    }

    /// What is left to be tested of a query where it is entered. No range is empty.
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
