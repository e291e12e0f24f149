//! The index of a batch's queries.

use super::access_path::{AccessPaths, AnalyzedQuery};
use super::candidate::Candidate;
use super::composite_key::CompositeKey;
use super::hash_lookup::HashLookup;
use super::interval_index::{IntervalIndex, KeyInterval};
use super::shared_aggregation::{AggregateCells, SharedAggregation};
use super::slot_lists::SlotLists;
use crate::plan::{Conjunction, WordPredicate};
use crate::statistics::Statistics;
use crate::value::WordKind;
use std::collections::BTreeMap;
use std::ops::Range;

/// Maps rows to the queries that they may match. Queries are identified by their numbers.
#[derive(Debug, Default)]
pub(crate) struct QueryIndex {
    /// The indexes of single columns and of composite keys.
    pub(super) columns: Vec<ColumnIndex>,
    /// Queries without an access path: they are evaluated for every row.
    pub(super) unindexed: Vec<u32>,
    /// The residual predicates of all queries, the most selective first, and the range that belongs
    /// to each query.
    residual: Vec<WordPredicate>,
    residual_ranges: Vec<Range<u32>>,
    /// For each query, the shape of its aggregation if it can be shared.
    shapes: Vec<Option<usize>>,
    pub cells: AggregateCells,
}

/// The queries indexed by a column or a composite key. Composite keys have no intervals.
#[derive(Debug)]
pub(super) struct ColumnIndex {
    pub by: CompositeKey,
    pub kind: WordKind,
    pub lookup: HashLookup,
    /// For each slot of the lookup, the candidates, if they are few.
    pub candidates: SlotLists<Candidate>,
    /// For each slot of the lookup, the bucket, if it has many queries or shares an aggregation.
    pub buckets: Box<[Option<Box<Bucket>>]>,
    pub intervals: IntervalIndex,
    /// The ranges that share an aggregation.
    pub shared: Option<SharedAggregation>,
    /// For each slot of the intervals, the candidates, if few ranges overlap.
    pub interval_candidates: Option<SlotLists<Candidate>>,
}

/// Many queries that compare with the same word.
#[derive(Debug)]
pub(super) struct Bucket {
    /// Those that share an aggregation.
    pub shared: Option<SharedAggregation>,
    /// Of the others, those whose next test is on one column.
    pub secondary: Option<SecondaryTest>,
    pub others: Vec<u32>,
}

impl Bucket {
    /// Returns true if the bucket needs a list of its rows.
    #[inline(always)]
    pub fn needs_rows(&self) -> bool {
        self.secondary.is_some() || !self.others.is_empty()
    }
}

/// Queries indexed by a second column.
#[derive(Debug)]
pub(super) struct SecondaryTest {
    pub column: usize,
    pub kind: WordKind,
    pub intervals: IntervalIndex,
}

/// From this number of queries per word on, its rows are grouped, and a second column is looked up
/// once for all of them instead of once for each.
const MIN_BUCKET_QUERIES: usize = 4;

/// A column index under construction.
#[derive(Default)]
struct ColumnIndexBuilder {
    kind: Option<WordKind>,
    lookup: Vec<(u64, u32)>,
    intervals: Vec<KeyInterval>,
}

impl QueryIndex {
    /// Indexes queries by their filters. Queries with the same shape may share their aggregation.
    pub fn new<'a>(
        queries: impl Iterator<Item = (&'a Conjunction, Option<usize>)>,
        statistics: &Statistics,
    ) -> Self {
        let (queries, shapes): (Vec<_>, Vec<_>) =
            queries.map(|(filter, shape)| (AnalyzedQuery::new(filter, statistics), shape)).unzip();
        let paths = AccessPaths::new(&queries);
        let mut composites: BTreeMap<CompositeKey, ColumnIndexBuilder> = BTreeMap::new();
        let mut columns: Vec<ColumnIndexBuilder> =
            (0..statistics.column_count()).map(|_| ColumnIndexBuilder::default()).collect();
        let mut index = Self { shapes, ..Self::default() };
        for (number, mut query) in (0u32..).zip(queries) {
            if query.is_unsatisfiable() {
                // No row can match, so the query is not indexed.
            } else if let Some(path) = paths.path_of(&query, statistics) {
                let words = query.composite_words(&path, statistics);
                let builder = composites.entry(path).or_default();
                builder.lookup.extend(words.into_iter().map(|word| (word, number)));
            } else {
                index.add_by_single_test(&mut query.tests, number, &mut columns);
            }
            let begin = index.residual.len() as u32;
            index.residual.extend(query.tests.iter().map(|&(_, predicate)| predicate));
            index.residual_ranges.push(begin..index.residual.len() as u32);
        }
        for (column, builder) in columns.into_iter().enumerate() {
            if let Some(kind) = builder.kind {
                index.add_column(CompositeKey::single(column), kind, builder);
            }
        }
        for (key, builder) in composites {
            index.add_column(key, WordKind::Unsigned, builder);
        }
        index
    }

    /// Indexes a query by its most selective range of keys, and removes that test.
    fn add_by_single_test(
        &mut self,
        tests: &mut Vec<(f64, WordPredicate)>,
        query: u32,
        columns: &mut [ColumnIndexBuilder],
    ) {
        let first = tests.iter().position(|(_, predicate)| matches!(predicate, WordPredicate::Keys { .. }));
        match first.map(|first| tests.remove(first).1) {
            Some(WordPredicate::Keys { column, kind, low, high }) => {
                let builder = &mut columns[column];
                builder.kind = Some(kind);
                if low == high {
                    builder.lookup.push((kind.keys().decode(low), query));
                } else {
                    builder.intervals.push((low, high, query));
                }
            }
            _ => self.unindexed.push(query),
        }
    }

    fn add_column(&mut self, by: CompositeKey, kind: WordKind, builder: ColumnIndexBuilder) {
        let ColumnIndexBuilder { mut lookup, mut intervals, .. } = builder;
        lookup.sort_unstable();
        let (mut words, mut buckets, mut candidates) = (Vec::new(), Vec::new(), Vec::new());
        for (slot, same) in (0u32..).zip(lookup.chunk_by(|a, b| a.0 == b.0)) {
            words.push(same[0].0);
            let mut queries: Vec<u32> = same.iter().map(|&(_, query)| query).collect();
            let shared = self.share_bucket(&mut queries, same[0].0, &by, kind);
            let (mut secondary, mut others) = (None, Vec::new());
            if queries.len() >= MIN_BUCKET_QUERIES {
                (secondary, others) = self.secondary_test(queries, &by);
            } else {
                candidates.extend(queries.into_iter().map(|query| (slot, self.candidate(query))));
            }
            let bucket = Bucket { shared, secondary, others };
            buckets.push((bucket.shared.is_some() || bucket.needs_rows()).then(|| Box::new(bucket)));
        }
        let shared = self.share_intervals(&mut intervals, &by, kind);
        let intervals = IntervalIndex::new(&intervals);
        let interval_candidates = intervals.pairs().map(|pairs| {
            SlotLists::new(
                intervals.slots(),
                pairs.into_iter().map(|(slot, query)| (slot, self.candidate(query))),
            )
        });
        let (lookup, candidates) = (HashLookup::new(&words), SlotLists::new(words.len(), candidates));
        self.columns.push(ColumnIndex {
            by,
            kind,
            lookup,
            candidates,
            buckets: buckets.into(),
            intervals,
            shared,
            interval_candidates,
        });
    }

    /// Takes out queries of a bucket that share an aggregation: those with the same shape and at
    /// most one residual predicate, a range of the same column. `None` if there are none.
    fn share_bucket(
        &mut self,
        queries: &mut Vec<u32>,
        word: u64,
        by: &CompositeKey,
        kind: WordKind,
    ) -> Option<SharedAggregation> {
        let of = |query: u32| {
            let shape = self.shapes[query as usize]?;
            match *self.residual(query) {
                // Every row with this word matches.
                [] => Some((shape, by.first(), kind, (0, u64::MAX, query))),
                [WordPredicate::Keys { column, kind, low, high }] => {
                    Some((shape, column, kind, (low, high, query)))
                }
                _ => None,
            }
        };
        let mut all: Vec<_> = queries.iter().filter_map(|&query| of(query)).collect();
        all.sort_unstable();
        let largest = all.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)).max_by_key(|same| same.len());
        let largest = largest?;
        let &[(shape, column, kind, _), ..] = largest else { return None };
        let key_range = by.range(column, word).unwrap_or((0, u64::MAX));
        let cut = |&(.., (low, high, query)): &(_, _, _, KeyInterval)| {
            (low.max(key_range.0), high.min(key_range.1), query)
        };
        let ranges: Vec<KeyInterval> = largest.iter().map(cut).collect();
        let mut shared: Vec<u32> = ranges.iter().map(|range| range.2).collect();
        shared.sort_unstable();
        queries.retain(|query| shared.binary_search(query).is_err());
        Some(SharedAggregation::new(column, kind.keys(), &ranges, shape, &mut self.cells))
    }

    /// Takes out ranges that share an aggregation: those of queries with the same shape and no
    /// residual predicate.
    fn share_intervals(
        &mut self,
        intervals: &mut Vec<KeyInterval>,
        by: &CompositeKey,
        kind: WordKind,
    ) -> Option<SharedAggregation> {
        let of =
            |span: &KeyInterval| self.shapes[span.2 as usize].filter(|_| self.residual(span.2).is_empty());
        let mut shapes: Vec<usize> = intervals.iter().filter_map(of).collect();
        shapes.sort_unstable();
        let largest = shapes.chunk_by(|a, b| a == b).max_by_key(|same| same.len());
        let shape = *largest?.first()?;
        let (ranges, left) =
            intervals.iter().partition::<Vec<KeyInterval>, _>(|span| of(span) == Some(shape));
        *intervals = left;
        Some(SharedAggregation::new(by.first(), kind.keys(), &ranges, shape, &mut self.cells))
    }

    fn candidate(&self, query: u32) -> Candidate {
        Candidate::new(query, self.residual(query))
    }

    /// Indexes the queries of a bucket by the next test, if many of them test the same column.
    /// Returns the others as they are. A column of the composite key needs no further test.
    fn secondary_test(&self, queries: Vec<u32>, by: &CompositeKey) -> (Option<SecondaryTest>, Vec<u32>) {
        let next = |query: u32| match self.residual(query).first() {
            Some(&WordPredicate::Keys { column, kind, low, high }) if !by.has_exact(column) => {
                Some((column, kind, (low, high, query)))
            }
            _ => None,
        };
        let columns = queries.iter().filter_map(|&query| next(query)).map(|(column, kind, _)| (column, kind));
        let mut columns: Vec<_> = columns.collect();
        columns.sort_unstable_by_key(|&(column, _)| column);
        let largest = columns.chunk_by(|a, b| a == b).max_by_key(|same| same.len());
        let Some(&[(column, kind), ..]) = largest.filter(|same| same.len() >= MIN_BUCKET_QUERIES) else {
            return (None, queries);
        };
        let (mut intervals, mut others) = (Vec::new(), Vec::new());
        for query in queries {
            match next(query) {
                Some((at, _, span)) if at == column => intervals.push(span),
                _ => others.push(query),
            }
        }
        (Some(SecondaryTest { column, kind, intervals: IntervalIndex::new(&intervals) }), others)
    }

    /// Returns the residual predicates of a query. No range among them is empty.
    #[inline]
    pub(super) fn residual(&self, query: u32) -> &[WordPredicate] {
        let Range { start, end } = self.residual_ranges[query as usize];
        &self.residual[start as usize..end as usize]
    }
}
