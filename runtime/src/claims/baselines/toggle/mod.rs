//! Toggle, a baseline: tasks wait in buckets of granules, which workers host.
//!
//! The granules are divided into as many equal *outer buckets* as there are workers, each hosted by
//! one worker, and each outer bucket into equal *inner buckets*. A task waits in the lowest outer
//! bucket that it covers. The host takes its tasks in FIFO order, in two modes:
//!
//! - *Outer mode:* a task that fits one of the inner buckets is moved there. The host runs any
//!   other one itself, with the locks of all outer buckets that the task covers.
//! - *Inner mode:* the host holds the lock of its own bucket, which excludes all others there, so
//!   inner buckets can be run in parallel. The host claims one after the other, and so do idle
//!   workers, the *thieves*. When all inner buckets are done, it goes back to outer mode.
//!
//! (Toggle: Contention-Aware Task Scheduler for Concurrent Hierarchical Operations. Kalikar, Nasre,
//! Euro-Par 2019.)
//!
//! # What was repaired
//!
//! - As published, hosts take no lock in their own buckets, so their tasks race with tasks of other
//!   hosts that reach into the bucket. Here hosts take it like all others, for each task that they
//!   run themselves and for each inner phase.
//! - The fences between hosts and thieves were on the wrong sides, and the host had no way to wait
//!   for thieves: see `phase`.
//!
//! # What the publication leaves open
//!
//! - *The locks of hosts.* By default there is one for each outer bucket. They may be locks of
//!   intervals instead: see `host_locks`.
//! - *The thresholds.* A host changes to inner mode when [`THRESHOLD`] tasks wait in its inner
//!   buckets together; or when it has run [`DELAY_THRESHOLD`] tasks itself since the last inner
//!   phase; or when its outer bucket is empty.
//! - *The number of inner buckets:* as many as workers, so that each finds one to claim, but at
//!   least [`MIN_INNER`].
//! - *Readers* are treated like writers: they exclude each other unless they are in different
//!   buckets.
//! - *Order* is FIFO between tasks that wait in the same bucket and run in the same mode, and
//!   unspecified otherwise.
//! - *The end of a host.* A host is a message to its worker, sent when a task comes into an empty
//!   bucket. After each inner phase, or when there is nothing for one, it goes to the end of the
//!   worker's run queue. So a bucket with waiting tasks always has a host, and no other bucket has.
//! - *Thieves* are called: a worker that runs tasks of an inner bucket, while others are left to be
//!   claimed, sends a message to an idle worker. That worker claims buckets of this host until none
//!   is left.
//! - *Tasks with objects, or bound to a place,* go where they have to, and lock the outer buckets
//!   that they cover there.
//! - *Planned claims.* The task waits where its plan says, as far as the plan can see: it peeks at
//!   no granule in a locked bucket. When the task has the locks, or its inner bucket, the plan runs
//!   again; if it names other granules, the task goes to their bucket. After a bounded number of
//!   runs the task is granted all granules.

mod claim_state;
mod counters;
mod host;
mod host_locks;
mod pending;
mod phase;

use self::counters::ToggleCounters;
use self::host::HostMessage;
use self::host_locks::HostIntervals;
use super::cover::Granularity;
use super::ticket_lock::TicketLock;
use crate::claims::claim_state::ClaimState;
use crate::claims::rights::{Ranges, Rights};
use crate::scheduler::RuntimeState;
use crate::sync::{Padded, SpinMutex, UnsafeCell, under_model};
use crate::task::spawner::sealed::Origin;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::mem::replace;
use core::ops::Range;
use core::ptr::NonNull;
use smallvec::SmallVec;

pub use self::counters::ToggleCounts;
pub(crate) use self::phase::Phase;

/// How many tasks in its inner buckets make a host change to inner mode.
const THRESHOLD: usize = under_model(64, 2) as usize;
/// How many tasks that a host has run itself make it change to inner mode.
const DELAY_THRESHOLD: usize = under_model(32, 2) as usize;
/// The least number of inner buckets of a host that has as many granules.
const MIN_INNER: usize = under_model(4, 2) as usize;

/// The outer buckets: see the module's documentation.
pub(in crate::claims) struct Toggle {
    granules: u32,
    buckets: Box<[Padded<Bucket>]>,
    /// What keeps tasks of different hosts apart, unless the locks of the buckets do.
    intervals: Option<HostIntervals>,
    counters: ToggleCounters,
}

/// An outer bucket, with the inner ones.
struct Bucket {
    /// Its granules.
    range: Range<u32>,
    outer: SpinMutex<Outer>,
    lock: TicketLock,
    /// Owned by the host in outer mode, and in inner mode by the worker that has claimed each.
    inner: Box<[UnsafeCell<Tasks>]>,
    phase: Phase,
    host: HostMessage,
}

// SAFETY: it owns the states of the claims in its queues, as `Outer` does, and its message.
unsafe impl Send for Bucket {}

/// The claims of tasks that wait, in FIFO order.
type Tasks = VecDeque<NonNull<ClaimState>>;

/// The queue of an outer bucket.
#[derive(Default)]
struct Outer {
    tasks: Tasks,
    /// The host's message was sent, and its last round is not over.
    has_host: bool,
}

// SAFETY: it points to parked claims, whose states the queue owns: `enqueue` takes over the
// ownership, and the host that dequeues one has it then.
unsafe impl Send for Outer {}

/// Numbers of outer buckets, ascending. Most tasks cover few.
type Covered = SmallVec<[u32; 4]>;

impl Toggle {
    /// Creates the buckets. Hosts lock these, or intervals of granules if `granularity` says how.
    pub fn new(granularity: Option<Granularity>, shared: &RuntimeState, granules: u32) -> Self {
        let workers = shared.slots.len();
        let start = |bucket: usize| (bucket as u64 * u64::from(granules)).div_ceil(workers as u64) as u32;
        let buckets = (0..workers).map(|bucket| {
            let range = start(bucket)..start(bucket + 1);
            let inner = workers.max(MIN_INNER).min(range.len());
            Padded(Bucket {
                range,
                outer: SpinMutex::default(),
                lock: TicketLock::default(),
                inner: (0..inner).map(|_| UnsafeCell::new(Tasks::new())).collect(),
                phase: Phase::new(inner),
                host: HostMessage::new(),
            })
        });
        Self {
            granules,
            buckets: buckets.collect(),
            intervals: granularity.map(|granularity| HostIntervals::new(granularity, shared, granules)),
            counters: ToggleCounters::default(),
        }
    }

    /// Returns what hosts and thieves have done until now.
    pub fn counts(&self) -> ToggleCounts {
        self.counters.get()
    }

    /// Returns the outer bucket that a granule is in.
    fn bucket_of(&self, granule: u32) -> u32 {
        (u64::from(granule) * self.buckets.len() as u64 / u64::from(self.granules)) as u32
    }

    fn bucket(&self, bucket: u32) -> &Bucket {
        &self.buckets[bucket as usize].0
    }

    /// Returns all outer buckets that have some of these granules.
    fn covered(&self, rights: &Rights) -> Covered {
        let mut covered = Covered::new();
        for (range, _) in rights.iter() {
            let (first, last) = (self.bucket_of(range.start), self.bucket_of(range.end - 1));
            let from = covered.last().map_or(first, |&before: &u32| first.max(before + 1));
            covered.extend(from..=last);
        }
        covered
    }

    /// Returns all granules of these buckets, to write them.
    fn all_of(&self, buckets: &[u32]) -> Rights {
        let mut all = Ranges::default();
        buckets.iter().for_each(|&bucket| all.add(self.bucket(bucket).range.clone(), true));
        all.rights()
    }

    /// Locks outer buckets. They must be in ascending order, which rules out deadlock.
    fn lock(&self, buckets: &[u32], shared: &RuntimeState) {
        for &bucket in buckets {
            self.bucket(bucket).lock.lock(|| _ = shared.yield_to_others(true));
        }
    }

    /// Unlocks outer buckets.
    fn unlock(&self, buckets: &[u32]) {
        buckets.iter().for_each(|&bucket| self.bucket(bucket).lock.unlock());
    }

    /// Enqueues a claim in the lowest outer bucket that it covers, and calls the bucket's host if
    /// it has none.
    ///
    /// # Safety
    ///
    /// The caller owns the state, whose task is parked and which claims a granule at least; it
    /// gives up its ownership. The granules outlive the call.
    unsafe fn enqueue(&self, state: NonNull<ClaimState>, spawner: &mut impl Origin) {
        // SAFETY: the caller owns the state.
        let rights = unsafe { &state.as_ref().inner().rights };
        let (range, _) = rights.iter().next().expect("an enqueued claim has a granule");
        let number = self.bucket_of(range.start);
        let bucket = self.bucket(number);
        let needs_host = {
            let mut outer = bucket.outer.lock();
            outer.tasks.push_back(state);
            !replace(&mut outer.has_host, true)
        };
        if needs_host {
            // SAFETY: `has_host` was false, so the message is not under way, and this thread has
            // set it.
            unsafe { self.call_host(number, spawner) };
        }
    }
}

impl Bucket {
    /// Returns the inner bucket that has all these granules, if there is one.
    fn inner_of(&self, rights: &Rights) -> Option<usize> {
        let mut ranges = rights.iter();
        let first = ranges.next()?.0.clone();
        let end = ranges.next_back().map_or(first.end, |last| last.0.end);
        let inner = |granule: u32| {
            (u64::from(granule - self.range.start) * self.inner.len() as u64 / self.range.len() as u64)
                as usize
        };
        (end <= self.range.end && inner(first.start) == inner(end - 1)).then(|| inner(first.start))
    }

    /// Returns all granules of an inner bucket, to write them.
    fn all_of(&self, inner: usize) -> Rights {
        let start = |inner: usize| {
            let before = (inner as u64 * self.range.len() as u64).div_ceil(self.inner.len() as u64);
            self.range.start + before as u32
        };
        let mut all = Ranges::default();
        all.add(start(inner)..start(inner + 1), true);
        all.rights()
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use crate::Runtime;

    fn rights(ranges: &[Range<u32>]) -> Rights {
        let mut all = Ranges::default();
        ranges.iter().for_each(|range| all.add(range.clone(), false));
        all.rights()
    }

    /// The outer and the inner buckets partition the granules, for all numbers of both.
    #[test]
    fn buckets_partition_the_granules() {
        for workers in [1, 2, 3, 7] {
            let rt = Runtime::builder().workers(workers).build().unwrap();
            for granules in [1, 2, 5, 6, 16, 100, 101] {
                let toggle = Toggle::new(None, rt.shared(), granules);
                let mut after = 0;
                for (number, bucket) in toggle.buckets.iter().enumerate() {
                    let bucket = &bucket.0;
                    assert_eq!(bucket.range.start, after);
                    after = bucket.range.end;
                    assert!(bucket.range.clone().all(|granule| toggle.bucket_of(granule) == number as u32));
                    let mut inside = bucket.range.start;
                    for inner in 0..bucket.inner.len() {
                        let all = bucket.all_of(inner);
                        assert_eq!(bucket.inner_of(&all), Some(inner));
                        let (range, _) = all.iter().next().expect("no inner bucket is empty");
                        assert_eq!(range.start, inside);
                        inside = range.end;
                    }
                    assert_eq!(inside, bucket.range.end);
                }
                assert_eq!(after, granules);
            }
        }
    }

    #[test]
    fn a_task_covers_the_buckets_of_its_ranges() {
        let rt = Runtime::builder().workers(4).build().unwrap();
        let toggle = Toggle::new(None, rt.shared(), 64);
        let covered = |ranges: &[Range<u32>]| toggle.covered(&rights(ranges)).to_vec();
        assert_eq!(covered(&[3..4, 5..9]), [0]);
        assert_eq!(covered(&[3..4, 15..17, 18..20, 63..64]), [0, 1, 3]);
        assert_eq!(covered(&[0..1, 2..64]), [0, 1, 2, 3]);
        let first = toggle.bucket(0);
        assert_eq!(first.inner_of(&rights(&[4..5, 7..8])), Some(1));
        assert_eq!(first.inner_of(&rights(&[3..4, 4..5])), None);
        assert_eq!(first.inner_of(&rights(&[3..4, 16..17])), None);
        assert_eq!(toggle.all_of(&[1, 2]), toggle.all_of(&[2, 1]));
        assert!(toggle.all_of(&[1, 2]).find(47, &core::cell::Cell::new(0)) == Some(true));
    }
}
