//! The index of a batch's queries.

use super::candidate::Candidate;
use super::fold::{Cells, Fold};
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
    /// What is the same for all queries that make the same of rows, if that can be shared.
    shapes: Vec<Option<usize>>,
    pub cells: Cells,
}

/// Queries that are entered by a column, or by several together. Several have no ranges.
#[derive(Debug)]
pub(super) struct Entered {
    pub by: Joint,
    pub kind: Kind,
    pub points: Points,
    /// Who asks for each slot of points, if few do; nobody otherwise.
    pub few: Lists<Candidate>,
    /// The same if many do, and those that share cells.
    pub crowds: Box<[Option<Box<Crowd>>]>,
    pub spans: Spans,
    /// Those with ranges that share cells.
    pub fold: Option<Fold>,
    /// Who asks for each slot of spans, if few do throughout.
    pub paired: Option<Lists<Candidate>>,
}

/// Queries that ask for the same word.
#[derive(Debug)]
pub(super) struct Crowd {
    /// Those that share cells.
    pub fold: Option<Fold>,
    /// Of the others those whose next test is the same column for all of them.
    pub second: Option<Second>,
    pub others: Vec<u32>,
}

impl Crowd {
    /// Whether anybody has to be told of rows.
    #[inline(always)]
    pub fn wants_rows(&self) -> bool {
        self.second.is_some() || !self.others.is_empty()
    }
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
    /// Of all queries, by their checks, for rows of which this is known. Those of a shape make the same of rows.
    pub fn new<'a>(queries: impl Iterator<Item = (&'a Checks, Option<usize>)>, known: &Statistics) -> Self {
        let (queries, shapes): (Vec<_>, Vec<_>) =
            queries.map(|(checks, shape)| (Ordered::new(checks, known), shape)).unzip();
        let ways = Ways::new(&queries);
        let mut joints: BTreeMap<Joint, Entries> = BTreeMap::new();
        let mut columns: Vec<Entries> = (0..known.columns()).map(|_| Entries::default()).collect();
        let mut made = Self { shapes, ..Self::default() };
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
        let Entries { mut points, mut spans, .. } = entries;
        points.sort_unstable();
        let (mut words, mut crowds, mut few) = (Vec::new(), Vec::new(), Vec::new());
        for (slot, same) in (0u32..).zip(points.chunk_by(|a, b| a.0 == b.0)) {
            words.push(same[0].0);
            let mut queries: Vec<u32> = same.iter().map(|&(_, query)| query).collect();
            let fold = self.fold(&mut queries, same[0].0, &by, kind);
            let (mut second, mut others) = (None, Vec::new());
            if queries.len() >= MANY {
                (second, others) = self.second(queries, &by);
            } else {
                few.extend(queries.into_iter().map(|query| (slot, self.candidate(query))));
            }
            let crowd = Crowd { fold, second, others };
            crowds.push((crowd.fold.is_some() || crowd.wants_rows()).then(|| Box::new(crowd)));
        }
        let fold = self.fold_spans(&mut spans, &by, kind);
        let spans = Spans::new(&spans);
        let paired = spans.pairs().map(|pairs| {
            Lists::new(spans.slots(), pairs.into_iter().map(|(slot, query)| (slot, self.candidate(query))))
        });
        let (points, few) = (Points::new(&words), Lists::new(words.len(), few));
        self.columns.push(Entered { by, kind, points, few, crowds: crowds.into(), spans, fold, paired });
    }

    /// Takes out queries that ask for the same word, make the same of rows, and have nothing left to be tested but a range of
    /// the same column; if there are some.
    fn fold(&mut self, queries: &mut Vec<u32>, word: u64, by: &Joint, kind: Kind) -> Option<Fold> {
        let of = |query: u32| {
            let shape = self.shapes[query as usize]?;
            match *self.rest(query) {
                // Whoever has the word passes.
                [] => Some((shape, by.first(), kind, (0, u64::MAX, query))),
                [Check::Keys { column, kind, low, high }] => Some((shape, column, kind, (low, high, query))),
                _ => None,
            }
        };
        let mut all: Vec<_> = queries.iter().filter_map(|&query| of(query)).collect();
        all.sort_unstable();
        let most = all.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)).max_by_key(|same| same.len());
        let most = most?;
        let &[(shape, column, kind, _), ..] = most else { return None };
        let there = by.range(column, word).unwrap_or((0, u64::MAX));
        let cut = |&(.., (low, high, query)): &(_, _, _, Span)| (low.max(there.0), high.min(there.1), query);
        let ranges: Vec<Span> = most.iter().map(cut).collect();
        let mut folded: Vec<u32> = ranges.iter().map(|range| range.2).collect();
        folded.sort_unstable();
        queries.retain(|query| folded.binary_search(query).is_err());
        Some(Fold::new(column, kind.keys(), &ranges, shape, &mut self.cells))
    }

    /// The same with queries that ask for ranges of the column that they are entered by, and have nothing left to be tested.
    fn fold_spans(&mut self, spans: &mut Vec<Span>, by: &Joint, kind: Kind) -> Option<Fold> {
        let of = |span: &Span| self.shapes[span.2 as usize].filter(|_| self.rest(span.2).is_empty());
        let mut shapes: Vec<usize> = spans.iter().filter_map(of).collect();
        shapes.sort_unstable();
        let most = shapes.chunk_by(|a, b| a == b).max_by_key(|same| same.len());
        let shape = *most?.first()?;
        let (ranges, left) = spans.iter().partition::<Vec<Span>, _>(|span| of(span) == Some(shape));
        *spans = left;
        Some(Fold::new(by.first(), kind.keys(), &ranges, shape, &mut self.cells))
    }

    fn candidate(&self, query: u32) -> Candidate {
        Candidate::new(query, self.rest(query))
    }

    /// Enters queries that ask for the same word by what is to be tested next, if that is the same column for many; and tells
    /// who is left. What has been put into that word need not be tested.
    fn second(&self, queries: Vec<u32>, by: &Joint) -> (Option<Second>, Vec<u32>) {
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
            return (None, queries);
        };
        let (mut spans, mut others) = (Vec::new(), Vec::new());
        for query in queries {
            match next(query) {
                Some((at, _, span)) if at == column => spans.push(span),
                _ => others.push(query),
            }
        }
        (Some(Second { column, kind, spans: Spans::new(&spans) }), others)
    }

    /// What is left to be tested of a query where it is entered. No range is empty.
    #[inline]
    pub(super) fn rest(&self, query: u32) -> &[Check] {
        let Range { start, end } = self.parts[query as usize];
        &self.rest[start as usize..end as usize]
    }
}
