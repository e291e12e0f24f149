//! Sorted sets: members in order in one buffer when small; a hash table and a counted tree when
//! large.
//!
//! Ranges by score, by lexical order and by rank are all ranges of ranks: the ends are found by
//! [`SortedSet::partition_point`].

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use crate::value::counted_tree::CountedTree;
use crate::value::limits::CompactLimits;
use crate::value::memory::{ROUNDING, sampled, table_bytes};
use crate::value::packed::PackedList;
use crate::value::pieces::Removed;
use crate::value::table::{IndexedTable, scan_range};

/// What a member takes beside its bytes: the counts of an `Arc` are before them.
const BYTES_OF_ARC: usize = ROUNDING + 2 * size_of::<usize>();

/// A set of members, each with a score, in the order of scores and then members.
#[derive(Clone, Debug, Default)]
pub struct SortedSet {
    repr: Repr,
}

#[derive(Clone, Debug)]
enum Repr {
    /// In order; an entry is the score's 8 bytes and then the member.
    Packed(PackedList),
    Table(Box<ScoreIndex>),
}

/// Members by name and by rank.
#[derive(Clone, Debug, Default)]
struct ScoreIndex {
    scores: IndexedTable<Arc<[u8]>, f64>,
    order: CountedTree<RankedMember>,
    /// The bytes of all members.
    bytes: usize,
}

#[derive(Clone, Debug)]
struct RankedMember {
    score: f64,
    member: Arc<[u8]>,
}

impl Default for Repr {
    fn default() -> Self {
        Self::Packed(PackedList::new())
    }
}

/// Orders by score, then by member: the order in sorted sets.
pub(crate) fn order_ranked(left: (f64, &[u8]), right: (f64, &[u8])) -> Ordering {
    // Scores are never NaN; 0 and -0 are equal.
    left.0.partial_cmp(&right.0).unwrap_or(Ordering::Equal).then_with(|| left.1.cmp(right.1))
}

/// Returns the score and member of an entry.
fn decode(entry: &[u8]) -> (f64, &[u8]) {
    entry.split_first_chunk().map_or((0.0, entry), |(score, member)| (f64::from_le_bytes(*score), member))
}

/// Makes an entry. As in Redis, -0 becomes 0 in a compact set.
fn encode(score: f64, member: &[u8]) -> Vec<u8> {
    [&(score + 0.0).to_le_bytes(), member].concat()
}

impl SortedSet {
    /// Makes an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of members that are freed one by one.
    pub(super) fn pieces(&self) -> usize {
        match &self.repr {
            Repr::Packed(_) => 1,
            Repr::Table(index) => index.scores.len(),
        }
    }

    /// Frees the set, some members at a time.
    pub(super) fn into_pieces(self) -> impl Iterator<Item = ()> + Send {
        let ScoreIndex { scores, order, .. } = match self.repr {
            Repr::Packed(_) => ScoreIndex::default(),
            Repr::Table(index) => *index,
        };
        order.into_elements().map(drop).chain(scores.into_iter().map(drop))
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        match &self.repr {
            Repr::Packed(entries) => entries.len(),
            Repr::Table(indexed) => indexed.order.len(),
        }
    }

    /// Returns true if there is no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns about how many bytes it points to, from so many samples.
    pub(super) fn memory(&self, samples: usize) -> usize {
        match &self.repr {
            Repr::Packed(members) => members.memory(),
            Repr::Table(index) => {
                // The counts of an `Arc` are before its bytes; its members are in the tree too.
                let members = index.scores.keys().map(|member| 2 * size_of::<usize>() + member.len());
                table_bytes::<(Arc<[u8]>, f64)>(index.scores.capacity())
                    + self.len() * size_of::<RankedMember>()
                    + sampled(members, samples)
            }
        }
    }

    /// Returns how many bytes it points to.
    pub(super) fn bytes(&self) -> usize {
        match &self.repr {
            Repr::Packed(members) => members.memory(),
            Repr::Table(index) => {
                let len = index.order.len();
                // The members are in the tree too.
                let members = index.bytes + len * (BYTES_OF_ARC + size_of::<RankedMember>());
                table_bytes::<(Arc<[u8]>, f64)>(index.scores.capacity()) + members
            }
        }
    }

    /// Checks the count of bytes against what is there.
    #[cfg(test)]
    pub(super) fn check_bytes(&self) {
        if let Repr::Table(index) = &self.repr {
            assert_eq!(index.bytes, index.scores.keys().map(|member| member.len()).sum::<usize>());
        }
    }

    /// Returns the encoding as `OBJECT ENCODING` names it.
    pub const fn encoding(&self) -> &'static str {
        match &self.repr {
            Repr::Packed(_) => "listpack",
            Repr::Table(_) => "skiplist",
        }
    }

    /// Returns the score of a member.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        match &self.repr {
            Repr::Packed(entries) => find(entries, member).map(|(_, score)| score),
            Repr::Table(indexed) => indexed.scores.get(member).copied(),
        }
    }

    /// Sets the score of a member. Returns its score before.
    ///
    /// The score must not be NaN.
    pub fn insert(&mut self, member: &[u8], score: f64, limits: &CompactLimits) -> Option<f64> {
        debug_assert!(!score.is_nan(), "a score is a number");
        if let Repr::Packed(entries) = &mut self.repr {
            let found = find(entries, member);
            if let Some((index, old)) = found {
                if old == score {
                    return Some(old);
                }
                entries.remove(index, 1);
            }
            let fits = found.is_some()
                || entries.len() < limits.zset_max_listpack_entries
                    && member.len() <= limits.zset_max_listpack_value;
            if fits {
                let at = packed_partition(entries, |s, m| order_ranked((s, m), (score, member)).is_lt());
                entries.insert(at, &encode(score, member));
                return found.map(|(_, old)| old);
            }
        }
        self.indexed().insert(member, score)
    }

    /// Removes a member. Returns its score.
    pub fn remove(&mut self, member: &[u8]) -> Option<f64> {
        match &mut self.repr {
            Repr::Packed(entries) => {
                let (index, score) = find(entries, member)?;
                entries.remove(index, 1);
                Some(score)
            }
            Repr::Table(indexed) => {
                let score = indexed.scores.swap_remove(member)?;
                indexed.bytes -= member.len();
                indexed.order.remove(indexed.rank(member, score));
                Some(score)
            }
        }
    }

    /// Removes the members of a range of ranks, which is within the set.
    pub fn remove_range(&mut self, range: Range<usize>) {
        drop(self.take_range(range));
    }

    /// Removes members as [`remove_range`](Self::remove_range) does. Returns what is to be freed,
    /// if that is much.
    pub(crate) fn take_range(&mut self, range: Range<usize>) -> Option<Removed> {
        let is_much = Removed::is_many(range.len());
        match &mut self.repr {
            Repr::Packed(entries) => {
                entries.remove(range.start, range.len());
                None
            }
            Repr::Table(indexed) if is_much && range.len() == indexed.order.len() => {
                let whole = std::mem::take(self);
                let bytes = whole.bytes();
                Some(Removed::whole(whole.into_pieces(), bytes))
            }
            Repr::Table(indexed) => {
                let mut members = Vec::with_capacity(if is_much { range.len() } else { 0 });
                let before = indexed.bytes;
                for _ in range.clone() {
                    let removed = indexed.order.remove(range.start);
                    indexed.scores.swap_remove(&removed.member);
                    indexed.bytes -= removed.member.len();
                    if is_much {
                        members.push(removed.member);
                    }
                }
                Removed::new(members, before - indexed.bytes + range.len() * BYTES_OF_ARC)
            }
        }
    }

    /// Returns the number of members of lower rank, and the score.
    pub fn rank(&self, member: &[u8]) -> Option<(usize, f64)> {
        match &self.repr {
            Repr::Packed(entries) => find(entries, member),
            Repr::Table(indexed) => {
                let score = *indexed.scores.get(member)?;
                Some((indexed.rank(member, score), score))
            }
        }
    }

    /// Returns the number of leading members for which `is_before` is true. It must be true for
    /// none after the first for which it is false.
    pub fn partition_point(&self, is_before: impl Fn(f64, &[u8]) -> bool) -> usize {
        match &self.repr {
            Repr::Packed(entries) => packed_partition(entries, is_before),
            Repr::Table(indexed) => {
                indexed.order.partition_point(|ranked| is_before(ranked.score, &ranked.member))
            }
        }
    }

    /// Iterates over members and scores of a range of ranks, from either end. The range is clamped
    /// to the set.
    pub fn range(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = (&[u8], f64)> {
        let (packed, tree) = match &self.repr {
            Repr::Packed(entries) => (Some(entries.iter_range(range)), None),
            Repr::Table(indexed) => (None, Some(indexed.order.range(range))),
        };
        let swap = |(score, member)| (member, score);
        let packed = packed.into_iter().flatten().map(move |entry| swap(decode(entry)));
        packed.chain(tree.into_iter().flatten().map(|ranked| (ranked.member.as_ref(), ranked.score)))
    }

    /// Iterates over all members and scores, from either end.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], f64)> {
        self.range(0..self.len())
    }

    /// Visits about `count` members from a cursor on, 0 at first, and returns the next cursor, 0 at
    /// the end. A compact set is visited at once.
    pub fn scan<'a>(&'a self, cursor: u64, count: usize, mut visit: impl FnMut(&'a [u8], f64)) -> u64 {
        let Repr::Table(indexed) = &self.repr else {
            self.iter().for_each(|(member, score)| visit(member, score));
            return 0;
        };
        let range = scan_range(indexed.scores.len(), cursor, count);
        for (member, score) in indexed.scores[range.clone()].iter().rev() {
            visit(member, *score);
        }
        range.start as u64
    }

    /// Converts to the hash table and tree, if it is none.
    fn indexed(&mut self) -> &mut ScoreIndex {
        if let Repr::Packed(entries) = &self.repr {
            let ranked = entries.iter().map(decode);
            let ranked: Vec<_> =
                ranked.map(|(score, member)| RankedMember { score, member: member.into() }).collect();
            let scores = ranked.iter().map(|ranked| (Arc::clone(&ranked.member), ranked.score)).collect();
            let bytes = ranked.iter().map(|ranked| ranked.member.len()).sum();
            let order = ranked.into_iter().collect();
            self.repr = Repr::Table(Box::new(ScoreIndex { scores, order, bytes }));
        }
        match &mut self.repr {
            Repr::Table(indexed) => indexed,
            Repr::Packed(_) => unreachable!("it was converted"),
        }
    }
}

impl ScoreIndex {
    /// Returns the number of members before this one, which has or would have this score.
    fn rank(&self, member: &[u8], score: f64) -> usize {
        self.order
            .partition_point(|other| order_ranked((other.score, &other.member), (score, member)).is_lt())
    }

    /// Sets the score of a member. Returns its score before.
    fn insert(&mut self, member: &[u8], score: f64) -> Option<f64> {
        let (member, old) = match self.scores.get_full_mut(member) {
            Some((_, member, slot)) => {
                if *slot == score {
                    return Some(score);
                }
                let old = std::mem::replace(slot, score);
                (Arc::clone(member), Some(old))
            }
            None => {
                let member: Arc<[u8]> = member.into();
                self.scores.insert(Arc::clone(&member), score);
                self.bytes += member.len();
                (member, None)
            }
        };
        if let Some(old) = old {
            self.order.remove(self.rank(&member, old));
        }
        self.order.insert(self.rank(&member, score), RankedMember { score, member });
        old
    }
}

/// Returns the rank and score of a member of a compact set.
fn find(entries: &PackedList, member: &[u8]) -> Option<(usize, f64)> {
    let mut entries = entries.iter().map(decode).enumerate();
    entries.find(|(_, (_, other))| *other == member).map(|(rank, (score, _))| (rank, score))
}

fn packed_partition(entries: &PackedList, is_before: impl Fn(f64, &[u8]) -> bool) -> usize {
    let after = entries.iter().map(decode).position(|(score, member)| !is_before(score, member));
    after.unwrap_or(entries.len())
}
