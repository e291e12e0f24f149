//! When the map grows, and the task that splits buckets.
//!
//! The number of entries is estimated from a sample: the entries whose hashes begin with a number
//! of zeros. An operation that adds or removes one of these tells the map's [`Growth`] by a task.
//! So the sample's count is right whatever is added and removed, and nothing is counted twice. The
//! more buckets there are, the more zeros a hash of the sample has. So the sample is 1 of 32
//! entries of a small map, and has some thousand entries in a large one.
//!
//! If there are too few buckets for the entries, a *round* adds those that are missing. It is one
//! walk, by a bundle, that splits bucket after bucket; these are neighbours in memory. There is one
//! round at a time, as the array has one grower.

use super::change::Delta;
use super::hash::next_to_split;
use super::root::RootRef;
use super::split::SplitWalk;
use xtasking::{
    Context, JoinError, Priority,
    bundle::{Bundle, Next},
};

/// Entries for two buckets: a bucket has 1.5 entries on average.
const ENTRIES_PER_PAIR: usize = 3;
/// Zeros with which the hashes of the sample begin, in a small map.
const MIN_ZEROS: u32 = 5;
/// The sample of a large map has entries of about this power of two of buckets.
const SAMPLE_SHIFT: u32 = 13;
/// Rounds that follow each other for one operation, and keep the memory that is retired meanwhile.
/// Afterwards operations that add entries begin further rounds.
const MAX_ROUNDS: u32 = 8;

/// One of this many buckets may be missing: the estimate is not exact, and a round should be worth
/// its tasks.
const TOLERANCE: usize = 32;
/// The same after the last round of an operation. Perhaps no further operation adds entries.
const LAST_TOLERANCE: usize = 4;

/// The number of buckets for a number of entries.
pub(super) fn buckets_for(entries: usize) -> usize {
    entries.div_ceil(ENTRIES_PER_PAIR).saturating_mul(2)
}

/// The number of zeros with which the hashes of the sample begin.
fn zeros_of_sample(buckets: usize) -> u32 {
    buckets.ilog2().saturating_sub(SAMPLE_SHIFT).max(MIN_ZEROS)
}

/// The numbers of entries in the sample.
pub(super) struct Growth {
    /// By the number of zeros with which their hashes begin.
    counts: [i64; 65],
}

impl Growth {
    pub(super) fn new() -> Self {
        Self { counts: [0; 65] }
    }

    /// Returns the estimated number of entries.
    fn entries(&self, buckets: usize) -> usize {
        let zeros = zeros_of_sample(buckets);
        let sample: i64 = self.counts[zeros as usize..].iter().sum();
        // A removal may be counted before its addition.
        usize::try_from(sample << zeros).unwrap_or(0)
    }

    /// Begins a round if buckets are missing, and there is memory for them.
    fn grow(&self, root: RootRef, rounds_left: u32, cx: &mut Context) {
        let shared = root.get(cx);
        let buckets = shared.buckets.len();
        let missing = buckets_for(self.entries(buckets)).saturating_sub(buckets).min(buckets);
        let tolerance = if rounds_left > 0 { TOLERANCE } else { LAST_TOLERANCE };
        if missing <= buckets / tolerance {
            return;
        }
        // A round that goes on has the grower.
        let Some(mut grower) = shared.array.grower() else { return };
        if grower.try_reserve(missing).is_none() {
            return;
        }
        let walk = SplitWalk { root, grower, left: missing, scratch: Vec::new() };
        let round = Round { walk: Some(walk), root };
        // Batches that add entries would otherwise be faster than one worker that splits buckets
        // beside them.
        cx.task(()).priority(Priority::High).bundle_then(round, move |round, cx| {
            // The next round takes the grower.
            drop(round);
            let (shared, left) = (root.get(cx), rounds_left.saturating_sub(1));
            // A walk that could add none would not fare better now.
            if shared.buckets.len() > buckets {
                cx.task(shared.growth.write()).spawn(move |growth, cx| growth.grow(root, left, cx));
            }
        });
    }
}

/// Notes that an entry was added or removed.
#[inline(always)]
pub(super) fn note(root: RootRef, hash: u64, delta: Delta, cx: &mut Context) {
    if hash.leading_zeros() >= MIN_ZEROS && delta != Delta::None {
        note_sample(root, hash, delta, cx);
    }
}

#[cold]
#[inline(never)]
fn note_sample(root: RootRef, hash: u64, delta: Delta, cx: &mut Context) {
    let (shared, zeros) = (root.get(cx), hash.leading_zeros());
    if zeros < zeros_of_sample(shared.buckets.len()) {
        return;
    }
    cx.task(shared.growth.write()).spawn(move |growth, cx| {
        let count = &mut growth.counts[zeros as usize];
        match delta {
            Delta::Added => {
                *count += 1;
                growth.grow(root, MAX_ROUNDS, cx);
            }
            Delta::Removed => *count -= 1,
            Delta::None => {}
        }
    });
}

/// A round: the bundle of one walk.
struct Round {
    walk: Option<SplitWalk>,
    root: RootRef,
}

impl Bundle for Round {
    type Walk = SplitWalk;

    fn next(&mut self, cx: &mut Context) -> Next<SplitWalk> {
        let buckets = self.root.get(cx).buckets;
        let first = buckets.link(next_to_split(buckets.len()));
        self.walk.take().map(|walk| (first.write().into(), walk))
    }

    fn done(&mut self, _: SplitWalk, outcome: Result<(), JoinError>, _: &mut Context) {
        // A walk that has failed leaves the rest to the next round.
        _ = outcome;
    }
}
