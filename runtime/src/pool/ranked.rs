//! A priority queue that all workers share.
//!
//! It has one or several heaps, each with its own lock. With one heap the order is exact. With
//! several it is a multi-queue (Rihani, Sanders, Dementiev: "MultiQueues: Simple Relaxed Concurrent
//! Priority Queues", SPAA 2015): a task goes into a random heap, and a worker takes the better of
//! the first tasks of two random heaps. The first key of each heap is published beside it, so that
//! comparing needs no lock.
//!
//! The published keys are hints. For a worker that falls asleep they must not be too old:
//!
//! ```text
//! worker: sees no task in any heap
//! pusher: puts a task, sees no worker asleep, wakes none
//! worker: falls asleep                               -> the task waits for ever
//! ```
//!
//! Each side writes, fences, and then reads what the other side writes: the pusher in
//! `RuntimeState::push_ranked`, the worker in `Worker::fall_asleep`. At least one of the two sees
//! the other's write. Models: `model/ranked.rs`.

use crate::object::prefetch;
use crate::sync::{AtomicU64, Padded, Relaxed, SpinMutex};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use core::cmp::Ordering;
use core::ptr::NonNull;

/// Heaps for each worker in the relaxed order: two is what the authors found best.
const HEAPS_PER_WORKER: usize = 2;
/// How many of the next tasks a taker prefetches. With up to that many workers, its own next task
/// is probably among them.
const PREFETCHED_TASKS: usize = 3;
/// The published key of an empty heap.
const EMPTY_KEY: u64 = u64::MAX;
/// A key is the rank, and in the bits below it the number of the task. (The number wraps after 2^49
/// tasks, which takes years: then younger tasks overtake older ones of the same rank, once.)
const NUMBER_BITS: u32 = 64 - Ranked::RANK_BITS;

/// A task and its place in the order.
struct RankedTask {
    key: u64,
    task: NonNull<Task>,
}

// SAFETY: all tasks are `Send`, and the queue owns those in it.
unsafe impl Send for RankedTask {}

impl Ord for RankedTask {
    /// Reversed, as the standard library's heap returns the greatest element first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for RankedTask {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RankedTask {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for RankedTask {}

/// One heap and its lock.
struct Heap {
    entries: SpinMutex<BinaryHeap<RankedTask>>,
    /// The first key, or `EMPTY_KEY`. Written under the lock.
    first: AtomicU64,
}

impl Heap {
    fn new() -> Padded<Self> {
        let entries = SpinMutex::new(BinaryHeap::new());
        Padded(Self { entries, first: AtomicU64::new(EMPTY_KEY) })
    }

    /// Publishes the first key. Relaxed: it is a hint, except for workers that fall asleep, for
    /// which fences order it (see `RuntimeState::push_ranked`). The lock hands over the tasks
    /// themselves.
    fn publish(&self, entries: &BinaryHeap<RankedTask>) {
        self.first.store(entries.peek().map_or(EMPTY_KEY, |entry| entry.key), Relaxed);
    }

    fn first(&self) -> u64 {
        self.first.load(Relaxed)
    }

    fn pop(&self) -> Option<NonNull<Task>> {
        let mut entries = self.entries.lock();
        // The descriptor of a task spawned long ago is in no near cache. It arrives while the heap
        // is reordered...
        prefetch(entries.peek()?.task.as_ptr() as u64);
        let entry = entries.pop()?;
        self.publish(&entries);
        // ...and those of the next tasks, for their takers, while this task runs.
        for next in entries.as_slice().iter().take(PREFETCHED_TASKS) {
            prefetch(next.task.as_ptr() as u64);
        }
        Some(entry.task)
    }
}

/// The queue.
pub(crate) struct Ranked {
    heaps: Box<[Padded<Heap>]>,
    /// How many tasks were pushed: it orders tasks of the same rank.
    pushed: Padded<AtomicU64>,
}

impl Ranked {
    /// The number of bits of a rank.
    pub const RANK_BITS: u32 = 15;

    /// Creates a queue with an exact order.
    pub fn exact() -> Self {
        Self::of(1)
    }

    /// Creates a queue with a relaxed order.
    pub fn relaxed(workers: usize) -> Self {
        Self::of(workers * HEAPS_PER_WORKER)
    }

    fn of(heaps: usize) -> Self {
        Self { heaps: (0..heaps).map(|_| Heap::new()).collect(), pushed: Padded::default() }
    }

    /// Returns true if any heap seems to have tasks.
    pub fn has_tasks(&self) -> bool {
        self.heaps.iter().any(|heap| heap.0.first() != EMPTY_KEY)
    }

    /// Returns the number of tasks, counted heap by heap.
    pub fn len(&self) -> usize {
        self.heaps.iter().map(|heap| heap.0.entries.lock().len()).sum()
    }

    /// Pushes a task. Returns the index of its heap.
    pub fn push(&self, task: NonNull<Task>, rank: u16) -> usize {
        if let [heap] = &*self.heaps {
            let mut entries = heap.0.entries.lock();
            // Under the lock, so that numbers are in the order of entry.
            let number = self.pushed.0.load(Relaxed);
            self.pushed.0.store(number + 1, Relaxed);
            Self::put(&heap.0, &mut entries, task, rank, number);
            return 0;
        }
        let number = self.pushed.0.fetch_add(1, Relaxed);
        let mut random = number;
        // The first random heap whose lock is free; after as many attempts as there are heaps, any.
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

    fn put(heap: &Heap, entries: &mut BinaryHeap<RankedTask>, task: NonNull<Task>, rank: u16, number: u64) {
        let key = u64::from(rank) << NUMBER_BITS | number & ((1 << NUMBER_BITS) - 1);
        entries.push(RankedTask { key, task });
        heap.publish(entries);
    }

    /// Takes the first task, or one of the first, and the index of its heap. Returns `None` only if
    /// each heap was seen empty during this call.
    pub fn pop(&self, random: &mut u64) -> Option<(NonNull<Task>, usize)> {
        if self.heaps.len() == 1 {
            return self.pop_from(0);
        }
        // Another worker may be faster each time, but then that one has got a task.
        for _ in 0..self.heaps.len() {
            let one = below(random, self.heaps.len());
            // A different heap: two equal ones would not do with two heaps.
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
        if entries.first() == EMPTY_KEY { None } else { Some((entries.pop()?, heap)) }
    }
}

/// Returns a random number below `end`, by SplitMix64 (Steele, Lea, Flood 2014). It scrambles a
/// sequence, so consecutive task numbers are good seeds.
fn below(random: &mut u64, end: usize) -> usize {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *random;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    // Scaled by multiplication; the bias is negligible for so few heaps.
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
    fn one_heap_is_exact_and_fifo_among_equals() {
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
    fn several_heaps_lose_no_task() {
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

    /// Counts the tasks passed over, which are more urgent, or as urgent and older. With 2, 4, 16
    /// and 64 heaps: 0, 1.4, 10.9 and 49.4 on average, and at most 0, 25, 141 and 491 of 20,000.
    /// This does not grow with the number of tasks.
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
                assert!(there.remove(&found), "each task comes once");
                (sum, worst) = (sum + before, worst.max(before));
                push(2000 + round, &mut there);
            }
            let mean = sum as f64 / rounds as f64;
            assert!(mean < heaps as f64, "{mean} with {heaps} heaps");
            assert!(worst < 20 * heaps, "{worst} with {heaps} heaps");
        }
    }
}
