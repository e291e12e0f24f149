//! Toggle, for comparison: tasks wait in buckets of granules, which workers host.
//!
//! The granules are cut into as many equal *outer buckets* as there are workers, each hosted by one, and each of these into
//! equal *inner buckets*. A task goes to the lowest outer bucket of those that it covers. Its host takes tasks in order, in
//! two modes that toggle:
//!
//! - *Outer mode:* a task that fits one of its inner buckets is moved there. Any other one the host runs itself, with the
//!   locks of all outer buckets that the task covers.
//! - *Inner mode:* the host has its own bucket's lock, and as nobody else is there then, inner buckets can be run side by
//!   side: it claims one after the other, and so do others who have nothing to do, the *thieves*. When all are done, it goes
//!   back to outer mode.
//!
//! (Toggle: Contention-Aware Task Scheduler for Concurrent Hierarchical Operations. Kalikar, Nasre, Euro-Par 2019.)
//!
//! # What was repaired
//!
//! - As published, hosts take no lock in their own buckets, so that tasks of other hosts that reach in there meet theirs. Here
//!   they take it like all others, for each task that they run themselves and for each inner phase.
//! - What hosts and thieves tell each other had fences on the wrong sides, and no way to wait for thieves: see `phase`.
//!
//! # What the publication leaves open
//!
//! - *The thresholds.* It goes to inner mode when [`THRESHOLD`] tasks wait in its inner buckets, in all of them together;
//!   or when it has run [`DELAY_THRESHOLD`] tasks itself since the last inner phase; or if there is nothing more in its outer
//!   bucket.
//! - *How many inner buckets* there are: as many as workers, so that all of them find one to claim, but
//!   [`LEAST_INNER`] at least.
//! - *Readers.* What a task does to its granules plays no part: readers do not run beside each other unless they are in
//!   different buckets.
//! - *Order* is kept between tasks that wait in the same bucket and are run in the same mode; no other one is.
//! - *The end.* A host is a message to its worker that is sent when something comes into an empty bucket; after each inner phase,
//!   or when it goes over to inner mode and there is nothing to be done, it goes behind all else that its worker has to do.
//!   So there is always a host where a task waits, and none else.
//! - *Thieves* are called: who runs tasks of an inner bucket while others are left to be claimed tells a worker that has nothing
//!   to do, as soon as there is one. That one claims buckets of this host until none is left.
//! - *Tasks with objects, or bound to a place,* go where they have to, and take the locks of the outer buckets that they cover
//!   there.
//! - *What is not known in advance.* A task whose claim is planned waits where its plan says, as far as that can look: it looks
//!   at no granule in a bucket that is locked. When the task has the locks, or its inner bucket, the plan is asked again; if it
//!   wants something else, the task goes to the bucket of that. One that does so again and again gets everything.

mod host;
mod lock;
mod phase;
mod stand;

use self::host::Message;
use self::lock::Lock;
use super::rights::{Ranges, Rights};
use super::stand::Stand;
use crate::scheduler::Shared;
use crate::sync::{Padded, SpinMutex, UnsafeCell, under_model};
use crate::task::builder::sealed::Spawn;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::mem::replace;
use core::ops::Range;
use core::ptr::NonNull;
use smallvec::SmallVec;

#[cfg(all(test, model = "loom"))]
pub(crate) use self::lock::Lock as BucketLock;
pub(crate) use self::phase::Phase;

/// A host with so many tasks in its inner buckets goes to inner mode.
const THRESHOLD: usize = under_model(64, 2) as usize;
/// So does one that has run so many tasks itself meanwhile.
const DELAY_THRESHOLD: usize = under_model(32, 2) as usize;
/// So many inner buckets a host has at least, if it has granules enough.
const LEAST_INNER: usize = under_model(4, 2) as usize;

/// See the module's documentation.
pub(super) struct Toggle {
    granules: u32,
    buckets: Box<[Padded<Bucket>]>,
}

/// An outer bucket, with the inner ones.
struct Bucket {
    /// Its granules.
    range: Range<u32>,
    outer: SpinMutex<Outer>,
    lock: Lock,
    /// Each is its host's in outer mode, and in inner mode who has claimed it.
    inner: Box<[UnsafeCell<Tasks>]>,
    phase: Phase,
    host: Message,
}

/// Tasks that wait, in order.
type Tasks = VecDeque<NonNull<Stand>>;

/// What waits in an outer bucket.
#[derive(Default)]
struct Outer {
    tasks: Tasks,
    /// The host is on its way, or at work.
    has_host: bool,
}

// SAFETY: it points to tasks that wait, which belong to whoever takes them out.
unsafe impl Send for Outer {}

/// Outer buckets, ascending. Most tasks cover few.
type Covered = SmallVec<[u32; 4]>;

impl Toggle {
    pub fn new(shared: &Shared, granules: u32) -> Self {
        let workers = shared.seats.len();
        let start = |bucket: usize| (bucket as u64 * u64::from(granules)).div_ceil(workers as u64) as u32;
        let buckets = (0..workers).map(|bucket| {
            let range = start(bucket)..start(bucket + 1);
            let inner = workers.max(LEAST_INNER).min(range.len());
            Padded(Bucket {
                range,
                outer: SpinMutex::default(),
                lock: Lock::default(),
                inner: (0..inner).map(|_| UnsafeCell::new(Tasks::new())).collect(),
                phase: Phase::new(inner),
                host: Message::new(),
            })
        });
        Self { granules, buckets: buckets.collect() }
    }

    /// The outer bucket that a granule is in.
    pub fn bucket_of(&self, granule: u32) -> u32 {
        (u64::from(granule) * self.buckets.len() as u64 / u64::from(self.granules)) as u32
    }

    fn bucket(&self, bucket: u32) -> &Bucket {
        &self.buckets[bucket as usize].0
    }

    /// All outer buckets that these are in.
    fn covered(&self, rights: &Rights) -> Covered {
        let mut covered = Covered::new();
        for (range, _) in rights.iter() {
            let (first, last) = (self.bucket_of(range.start), self.bucket_of(range.end - 1));
            let from = covered.last().map_or(first, |&before: &u32| first.max(before + 1));
            covered.extend(from..=last);
        }
        covered
    }

    /// All granules of these buckets, to write them.
    fn all_of(&self, buckets: &[u32]) -> Rights {
        let mut all = Ranges::default();
        buckets.iter().for_each(|&bucket| all.add(self.bucket(bucket).range.clone(), true));
        all.rights()
    }

    /// Locks outer buckets, which are named in ascending order, so that nobody waits in a circle.
    fn lock(&self, buckets: &[u32], shared: &Shared) {
        for &bucket in buckets {
            self.bucket(bucket).lock.lock(|| _ = shared.platform.interleave(true));
        }
    }

    /// Locks the outer bucket of a granule for a moment, if nobody has.
    pub fn try_lock(&self, granule: u32) -> bool {
        self.bucket(self.bucket_of(granule)).lock.try_lock()
    }

    /// The end of that moment.
    pub fn unlock_one(&self, granule: u32) {
        self.unlock(&[self.bucket_of(granule)]);
    }

    /// Lets go of outer buckets.
    pub fn unlock(&self, buckets: &[u32]) {
        buckets.iter().for_each(|&bucket| self.bucket(bucket).lock.unlock());
    }

    /// Puts a task into the lowest outer bucket that it covers, and calls its host if that is not there.
    ///
    /// # Safety
    ///
    /// The task waits, has a claim to something, and is the caller's; no more afterwards. The spawner keeps the granules.
    unsafe fn put(&self, stand: NonNull<Stand>, spawner: &mut impl Spawn) {
        // SAFETY: by the caller's promise.
        let rights = unsafe { &stand.as_ref().own().rights };
        let (range, _) = rights.iter().next().expect("it has a claim to something");
        let number = self.bucket_of(range.start);
        let bucket = self.bucket(number);
        let calls = {
            let mut outer = bucket.outer.lock();
            outer.tasks.push_back(stand);
            !replace(&mut outer.has_host, true)
        };
        if calls {
            // SAFETY: there was no host, so its message is here.
            unsafe { self.call_host(number, spawner) };
        }
    }
}

impl Bucket {
    /// The inner bucket that has all of these, which the outer one has.
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

    /// All granules of an inner bucket, to write them.
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

    /// Each granule is in the buckets that say so, whatever the numbers.
    #[test]
    fn buckets_divide_the_granules() {
        for workers in [1, 2, 3, 7] {
            let rt = Runtime::builder().workers(workers).build().unwrap();
            for granules in [1, 2, 5, 6, 16, 100, 101] {
                let toggle = Toggle::new(rt.shared(), granules);
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
                        let (range, _) = all.iter().next().expect("none is empty");
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
        let toggle = Toggle::new(rt.shared(), 64);
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
