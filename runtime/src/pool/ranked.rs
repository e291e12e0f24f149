//! A queue that all workers share, from which the most urgent tasks come first.
//!
//! It has one heap or several, each under a lock of its own. With one the order is exact. With several a task goes into
//! any of them, and who takes one looks at two and takes the better of the first in each: a multi-queue (Rihani, Sanders,
//! Dementiev: "MultiQueues: Simple Relaxed Concurrent Priority Queues", SPAA 2015). What is first in each heap is
//! published beside it, so that looking takes no lock.

use crate::object::prefetch;
use crate::sync::{AtomicU64, Padded, Relaxed, SpinMutex};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use core::cmp::Ordering;
use core::ptr::NonNull;

/// Heaps for each worker, where the order is relaxed: two is what the authors found best.
const HEAPS_PER_WORKER: usize = 2;
/// So many of the tasks that come next are fetched by who takes one. With up to so many workers its own next one is likely
/// to be among them.
const SOON: usize = 3;
/// What is published of a heap in which there is nothing.
const NOTHING: u64 = u64::MAX;
/// A key is the rank, and below it which of the equals came first. (After 2^49 tasks, years of them, that begins again:
/// then younger tasks overtake older ones of the same rank, once.)
const NUMBER_BITS: u32 = 64 - Ranked::RANK_BITS;

/// A task and its place in the order.
struct Entry {
    key: u64,
    task: NonNull<Task>,
}

// SAFETY: all tasks are `Send`, and one in the queue belongs to the queue alone.
unsafe impl Send for Entry {}

impl Ord for Entry {
    /// The other way round, since a heap of the library gives out the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

/// One of the heaps.
struct Heap {
    entries: SpinMutex<BinaryHeap<Entry>>,
    /// The first key in it, or `NOTHING`. Written under the lock.
    first: AtomicU64,
}

impl Heap {
    fn new() -> Padded<Self> {
        let entries = SpinMutex::new(BinaryHeap::new());
        Padded(Self { entries, first: AtomicU64::new(NOTHING) })
    }

    /// Publishes what is first. Relaxed: it is a hint to all but those who fall asleep, and with them it is fences that
    /// see to it (see `Shared::push_ranked`); the tasks themselves are handed on by the lock.
    fn publish(&self, entries: &BinaryHeap<Entry>) {
        self.first.store(entries.peek().map_or(NOTHING, |entry| entry.key), Relaxed);
    }

    fn first(&self) -> u64 {
        self.first.load(Relaxed)
    }

    fn pop(&self) -> Option<NonNull<Task>> {
        let mut entries = self.entries.lock();
        // The line of a task that was spawned long ago is in no cache near by. It comes while the heap is put in order...
        prefetch(entries.peek()?.task.as_ptr() as u64);
        let entry = entries.pop()?;
        self.publish(&entries);
        // ...and those of the next ones, for whoever takes them, while the task runs.
        for next in entries.as_slice().iter().take(SOON) {
            prefetch(next.task.as_ptr() as u64);
        }
        Some(entry.task)
    }
}

/// The queue.
pub(crate) struct Ranked {
    heaps: Box<[Padded<Heap>]>,
    /// How many tasks have come: which of the equals is first.
    came: Padded<AtomicU64>,
}

impl Ranked {
    /// Ranks have so many bits.
    pub const RANK_BITS: u32 = 15;

    /// One from which tasks come exactly in order.
    pub fn exact() -> Self {
        Self::of(1)
    }

    /// One from which they come about in order.
    pub fn relaxed(workers: usize) -> Self {
        Self::of(workers * HEAPS_PER_WORKER)
    }

    fn of(heaps: usize) -> Self {
        Self { heaps: (0..heaps).map(|_| Heap::new()).collect(), came: Padded::default() }
    }

    /// Whether there is anything, as far as one sees who looks once.
    pub fn has_tasks(&self) -> bool {
        self.heaps.iter().any(|heap| heap.0.first() != NOTHING)
    }

    /// How many tasks there are, heap by heap.
    pub fn len(&self) -> usize {
        self.heaps.iter().map(|heap| heap.0.entries.lock().len()).sum()
    }

    /// Puts a task into a heap, and returns the number of that.
    pub fn push(&self, task: NonNull<Task>, rank: u16) -> usize {
        if let [heap] = &*self.heaps {
            let mut entries = heap.0.entries.lock();
            // Under the lock: so they are in the order in which they enter.
            let number = self.came.0.load(Relaxed);
            self.came.0.store(number + 1, Relaxed);
            Self::put(&heap.0, &mut entries, task, rank, number);
            return 0;
        }
        let number = self.came.0.fetch_add(1, Relaxed);
        let mut random = number;
        // Whichever is free; if that many are not, whichever it is.
        for _ in 0..self.heaps.len() {
            let any = below(&mut random, self.heaps.len());
            let heap = &self.heaps[any].0;
            if let Some(mut entries) = heap.entries.try_lock() {
                Self::put(heap, &mut entries, task, rank, number);
                return any;
            }
        }
        let any = below(&mut random, self.heaps.len());
        let heap = &self.heaps[any].0;
        Self::put(heap, &mut heap.entries.lock(), task, rank, number);
        any
    }

    fn put(heap: &Heap, entries: &mut BinaryHeap<Entry>, task: NonNull<Task>, rank: u16, number: u64) {
        let key = u64::from(rank) << NUMBER_BITS | number & ((1 << NUMBER_BITS) - 1);
        entries.push(Entry { key, task });
        heap.publish(entries);
    }

    /// Takes the first task, or one of the first, with the number of its heap. `None`: there was a time, during this call,
    /// when each heap had been seen to be empty.
    pub fn pop(&self, random: &mut u64) -> Option<(NonNull<Task>, usize)> {
        if self.heaps.len() == 1 {
            return self.pop_from(0);
        }
        // Another one may be faster than this one. So may it be each time, but it gets a task then.
        for _ in 0..self.heaps.len() {
            let one = below(random, self.heaps.len());
            // Another one, or two heaps would not be enough for some order.
            let other = (one + 1 + below(random, self.heaps.len() - 1)) % self.heaps.len();
            let better = if self.heaps[one].0.first() <= self.heaps[other].0.first() { one } else { other };
            if let Some(found) = self.pop_from(better) {
                return Some(found);
            }
        }
        (0..self.heaps.len()).find_map(|heap| self.pop_from(heap))
    }

    /// Takes the first task of a heap.
    fn pop_from(&self, heap: usize) -> Option<(NonNull<Task>, usize)> {
        let entries = &self.heaps[heap].0;
        if entries.first() == NOTHING { None } else { Some((entries.pop()?, heap)) }
    }
}

/// Any number below `end`, by SplitMix64 (Steele, Lea, Flood 2014): each number of a sequence is scrambled, so that
/// numbers that are as near to each other as those of tasks will do to begin with.
fn below(random: &mut u64, end: usize) -> usize {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *random;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    // Scaled down; heaps are few, so none is preferred to speak of.
    ((u128::from(mixed) * end as u128) >> 64) as usize
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A task that is nothing but an address.
    fn task(number: usize) -> NonNull<Task> {
        NonNull::without_provenance(core::num::NonZero::new((number + 1) * 64).unwrap())
    }

    fn number((task, _): (NonNull<Task>, usize)) -> usize {
        task.addr().get() / 64 - 1
    }

    #[test]
    fn one_heap_is_in_order_and_equals_come_first_in_first_out() {
        let queue = Ranked::exact();
        let rank = |number: usize| (number * 7 % 5) as u16;
        for number in 0..100 {
            queue.push(task(number), rank(number));
        }
        let mut expected: Vec<_> = (0..100).collect();
        expected.sort_by_key(|&number| rank(number));
        let mut random = 0;
        let found: Vec<_> = core::iter::from_fn(|| queue.pop(&mut random)).map(number).collect();
        assert_eq!(found, expected);
        assert!(!queue.has_tasks());
    }

    #[test]
    fn several_heaps_lose_nothing_and_give_all_of_it() {
        let queue = Ranked::relaxed(8);
        let mut random = 1;
        for round in 1..50 {
            for number in 0..round {
                queue.push(task(number), 0);
            }
            assert_eq!(queue.len(), round);
            let mut found: Vec<_> = core::iter::from_fn(|| queue.pop(&mut random)).map(number).collect();
            found.sort_unstable();
            assert_eq!(found, (0..round).collect::<Vec<_>>());
        }
    }

    /// How many tasks that are more urgent, or as urgent and older, are passed over: 0, 1.4, 10.9 and 49.4 in the mean and
    /// 0, 25, 141 and 491 at most of 20,000, with 2, 4, 16 and 64 heaps. It stays so however many tasks pass through.
    #[test]
    fn the_order_is_relaxed_by_about_the_number_of_heaps() {
        for workers in [1, 2, 8, 32] {
            let queue = Ranked::relaxed(workers);
            let heaps = queue.heaps.len();
            let mut random = workers as u64;
            let mut there = std::collections::BTreeSet::new();
            let push = |number: usize, there: &mut std::collections::BTreeSet<_>| {
                let rank = (number * 7919 % 1009) as u16;
                queue.push(task(number), rank);
                there.insert((rank, number));
            };
            (0..2000).for_each(|number| push(number, &mut there));
            let (mut sum, mut worst, rounds) = (0, 0, 20_000);
            for round in 0..rounds {
                let found = number(queue.pop(&mut random).unwrap());
                let found = ((found * 7919 % 1009) as u16, found);
                let before = there.range(..found).count();
                assert!(there.remove(&found), "each comes once");
                (sum, worst) = (sum + before, worst.max(before));
                push(2000 + round, &mut there);
            }
            let mean = sum as f64 / rounds as f64;
            assert!(mean < heaps as f64, "{mean} with {heaps} heaps");
            assert!(worst < 20 * heaps, "{worst} with {heaps} heaps");
        }
    }
}
