//! A worker's inbox: an unbounded FIFO queue with many pushers and one taker.
//!
//! Tasks of one pusher are taken in the order of the pushes, and after every task that the pusher
//! knew to be pushed before.
//!
//! ```text
//!        head (taker's)         tail (pushers', by compare-and-swap)
//!          |                      |
//! … old  | task task task task  |  old …        a ring of pointers
//!          └ prefetched ahead ┘
//! ```
//!
//! A pusher reserves a slot with one compare-and-swap of `tail`, the linearization point, and then
//! fills it. Each pointer carries the parity of its lap around the ring, by which the taker sees
//! that the slot is filled. So the taker writes nothing into the slots, and each cache line of
//! eight pointers moves to it once. As the taker knows the tasks ahead, it can prefetch several at
//! once, where a linked list would stall on one after the other.
//!
//! A full ring overflows into the [`Backlog`], an unbounded list. Two rules keep the order. While
//! the backlog has tasks, all pushes go there. This rules out:
//!
//! ```text
//! pusher: finds the ring full, pushes A into the backlog
//! taker:  takes a task from the ring
//! pusher: finds a free slot, pushes B into the ring    -> B is taken before A
//! ```
//!
//! The taker takes from the backlog only if it finds the ring empty *after* it saw the task in the
//! backlog. This rules out:
//!
//! ```text
//! taker:  finds the ring empty
//! pusher: fills the ring, beginning with A, and pushes B into the backlog
//! taker:  takes B from the backlog                     -> B is taken before A
//! ```
//!
//! No thread waits for another: if the first slot is reserved and not filled, the taker returns
//! `None`. Models: `model/inbox.rs`; for the worker that falls asleep beside a push,
//! `model/sleep.rs`.

use super::backlog::Backlog;
use crate::monitor::Observer;
use crate::object::prefetch;
use crate::sync::{Acquire, AtomicPtr, AtomicU64, Padded, Relaxed, Release, SeqCst, under_model};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// Slots of the ring.
const RING_SLOTS: u64 = under_model(1024, 2);
/// Slots of a cache line.
const SLOTS_PER_LINE: u64 = under_model(8, 2);
/// How many slots ahead the taker prefetches.
const PREFETCH_DISTANCE: u64 = under_model(4, 1);
const LAP_BIT: usize = 1;

/// Slots that move to the taker together, as one cache line.
#[repr(align(64))]
struct SlotLine([AtomicPtr<Task>; SLOTS_PER_LINE as usize]);

pub(crate) struct Inbox {
    /// Written by pushers.
    push_end: Padded<PushEnd>,
    /// The number of tasks in the backlog, or about to be there. Rarely written.
    backlogged: Padded<AtomicU64>,
    /// How many tasks were taken from the ring. Written by the taker only; read by pushers only
    /// when the ring seems full.
    head: Padded<AtomicU64>,
    lines: Box<[SlotLine]>,
    backlog: Backlog,
    observer: Option<Arc<Observer>>,
}

struct PushEnd {
    /// How many slots were ever reserved by pushers.
    tail: AtomicU64,
    /// The lowest position at which the ring may be full, as far as pushers know.
    limit: AtomicU64,
}

/// Returns the parity of a slot that is filled on the lap of `position`. Slots start out null, as
/// on an even lap.
#[inline(always)]
fn lap(position: u64) -> usize {
    ((position / RING_SLOTS + 1) % 2) as usize * LAP_BIT
}

impl Inbox {
    /// Creates an empty inbox. While an observer stamps, the ring always seems full, so that each
    /// push takes the path that reports it.
    pub fn new(observer: Option<Arc<Observer>>) -> Self {
        let is_observed = observer.as_ref().is_some_and(|observer| observer.is_stamping());
        let limit = if is_observed { 0 } else { RING_SLOTS };
        let push_end = PushEnd { tail: AtomicU64::new(0), limit: AtomicU64::new(limit) };
        Self {
            push_end: Padded(push_end),
            backlogged: Padded(AtomicU64::new(0)),
            head: Padded(AtomicU64::new(0)),
            lines: (0..RING_SLOTS / SLOTS_PER_LINE).map(|_| SlotLine(Default::default())).collect(),
            backlog: Backlog::new(),
            observer,
        }
    }

    #[inline(always)]
    fn slot(&self, position: u64) -> &AtomicPtr<Task> {
        let line = (position % RING_SLOTS / SLOTS_PER_LINE) as usize;
        // SAFETY: both indices are reduced modulo the numbers of lines and of slots of a line.
        unsafe { &self.lines.get_unchecked(line).0[(position % SLOTS_PER_LINE) as usize] }
    }

    /// Pushes a task.
    ///
    /// # Safety
    ///
    /// The caller owns the task and gives it up.
    #[inline]
    pub unsafe fn push(&self, task: NonNull<Task>) {
        let PushEnd { tail, limit } = &self.push_end.0;
        // Relaxed: every push into the backlog that happens before this one has raised the count
        // before.
        if self.backlogged.0.load(Relaxed) == 0 || planted!("inbox-ring-overtakes-backlog") {
            let mut position = tail.load(Relaxed);
            // Acquire pairs with the Release of `refresh_limit`, which passes on what it acquired
            // from the taker: the slot has been read.
            while position < limit.load(Acquire) {
                match self.reserve_and_fill(position, task) {
                    Ok(()) => return,
                    Err(now) => position = now,
                }
            }
        }
        // SAFETY: this function's contract: the caller gives the task up.
        unsafe { self.push_slow(task) };
    }

    /// Reserves a slot and fills it. If another pusher was faster, returns the tail.
    #[inline(always)]
    fn reserve_and_fill(&self, position: u64, task: NonNull<Task>) -> Result<(), u64> {
        let tail = &self.push_end.0.tail;
        // SeqCst: each push is followed by a load of the worker's sleep state. Either the pusher
        // sees that the worker falls asleep, or the worker sees this task (`RuntimeState::push` and
        // `Driver::sleep`).
        if planted!("inbox-place-taken-twice") {
            tail.store(position + 1, SeqCst);
        } else {
            tail.compare_exchange_weak(position, position + 1, SeqCst, Relaxed)?;
        }
        let filled = task.as_ptr().map_addr(|address| address | lap(position));
        // Release pairs with the Acquire of `take`.
        self.slot(position).store(filled, Release);
        Ok(())
    }

    fn is_observed(&self) -> bool {
        self.observer.as_ref().is_some_and(|observer| observer.is_stamping())
    }

    /// Makes the ring seem full, as the observer stamps from now on. A push that runs meanwhile may
    /// make up to a ring of others go without a stamp.
    pub fn begin_stamping(&self) {
        // Release as in `refresh_limit`, though nothing is passed on: no slot is filled below 0.
        self.push_end.0.limit.store(0, Release);
    }

    /// Reads how far the taker is. Returns true if the slot of `position` is free.
    fn refresh_limit(&self, position: u64) -> bool {
        // Acquire pairs with the Release of `take`: the slot's previous task has been read.
        let limit = self.head.0.load(Acquire) + RING_SLOTS;
        if !self.is_observed() {
            // May overwrite another pusher's later value: a lower limit is still correct.
            self.push_end.0.limit.store(limit, Release);
        }
        position < limit
    }

    /// Pushes a task where the ring seems full, the backlog is in use, or an observer watches.
    ///
    /// # Safety
    ///
    /// As for [`push`](Self::push).
    #[cold]
    #[inline(never)]
    unsafe fn push_slow(&self, task: NonNull<Task>) {
        if let Some(observer) = &self.observer
            && observer.is_stamping()
        {
            // SAFETY: the caller owns the task, by this function's contract.
            unsafe { observer.stamp_on_arrival(task) };
        }
        // Relaxed as in `push`.
        if self.backlogged.0.load(Relaxed) == 0 || planted!("inbox-ring-overtakes-backlog") {
            let mut position = self.push_end.0.tail.load(Relaxed);
            while self.refresh_limit(position) {
                match self.reserve_and_fill(position, task) {
                    Ok(()) => return,
                    Err(now) => position = now,
                }
            }
        }
        // Raised before the task is in the list, so that zero means that none is left. SeqCst as in
        // `reserve_and_fill`.
        self.backlogged.0.fetch_add(1, SeqCst);
        // SAFETY: this function's contract: the caller gives the task up.
        unsafe { self.backlog.push(task) };
    }

    /// Takes the oldest task. Returns `None` if there is none, or its pusher has not filled the
    /// slot yet.
    ///
    /// # Safety
    ///
    /// Only one thread takes at a time: the inbox's worker.
    #[inline]
    pub unsafe fn take(&self) -> Option<NonNull<Task>> {
        loop {
            let head = self.head.0.load(Relaxed);
            // Acquire pairs with the Release of `reserve_and_fill`.
            let order = if planted!("inbox-taken-without-acquire") { Relaxed } else { Acquire };
            let filled = self.slot(head).load(order);
            if filled.addr() & LAP_BIT == lap(head) {
                // Prefetches only within this line of slots, which is in the cache already. The
                // pointer may be old or null, which is harmless.
                if head % SLOTS_PER_LINE < SLOTS_PER_LINE - PREFETCH_DISTANCE {
                    prefetch(self.slot(head + PREFETCH_DISTANCE).load(Relaxed).addr() as u64);
                }
                // Release pairs with the Acquire of `refresh_limit`: the slot has been read.
                self.head.0.store(head + 1, Release);
                return NonNull::new(filled.map_addr(|address| address & !LAP_BIT));
            }
            if self.backlogged.0.load(Relaxed) == 0 {
                return None;
            }
            // SAFETY: the caller is the one taker.
            if !unsafe { self.backlog.has_first() } {
                return None;
            }
            // Acquire, besides what `has_first` has acquired: the slots that the task's pusher
            // reserved before are seen.
            if self.push_end.0.tail.load(Acquire) == head || planted!("inbox-backlog-overtakes-ring") {
                // SAFETY: the caller is the one taker.
                return unsafe { self.take_backlogged() };
            }
            if self.slot(head).load(Relaxed).addr() & LAP_BIT != lap(head) {
                return None;
            }
        }
    }

    /// # Safety
    ///
    /// As for [`take`](Self::take).
    #[cold]
    unsafe fn take_backlogged(&self) -> Option<NonNull<Task>> {
        // SAFETY: the caller is the one taker.
        let task = unsafe { self.backlog.take() }?;
        // Release: a pusher that reads zero pushes into the ring after this take.
        self.backlogged.0.fetch_sub(1, Release);
        Some(task)
    }

    /// Returns true if there seem to be tasks in the ring. A hint, for other workers.
    pub fn seems_to_have_tasks(&self) -> bool {
        self.push_end.0.tail.load(Relaxed) != self.head.0.load(Relaxed)
    }

    /// Returns how many tasks were pushed and not taken; exact only if no thread pushes or takes
    /// meanwhile.
    pub fn len(&self) -> usize {
        let in_ring = self.push_end.0.tail.load(Relaxed).saturating_sub(self.head.0.load(Relaxed));
        (in_ring + self.backlogged.0.load(Relaxed)) as usize
    }

    /// Returns true if any task was pushed and not taken; exact in the total order of `SeqCst`
    /// operations.
    ///
    /// # Safety
    ///
    /// As for [`take`](Self::take).
    pub unsafe fn may_have_tasks(&self) -> bool {
        self.push_end.0.tail.load(SeqCst) != self.head.0.load(Relaxed) || self.backlogged.0.load(SeqCst) != 0
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use crate::object::Fetch;
    use crate::task::{Meta, VTable, describe_nothing, locate_nothing};
    use alloc::vec::Vec;
    use core::ptr::null_mut;

    static NOTHING: VTable =
        VTable { run: |_, _| (), locate: locate_nothing, cancel: |_, _| (), describe: describe_nothing };

    /// A task with a number that `take` returns.
    fn node(number: u16) -> NonNull<Task> {
        let meta = Meta::new(0, crate::Priority::Normal, number);
        let task = Task { vtable: &NOTHING, next: AtomicPtr::new(null_mut()), fetch: Fetch::NONE, meta };
        NonNull::from(Box::leak(Box::new(task)))
    }

    fn push(inbox: &Inbox, number: u16) {
        // SAFETY: a fresh node.
        unsafe { inbox.push(node(number)) };
    }

    /// Takes one task and frees it.
    fn take(inbox: &Inbox) -> Option<u16> {
        // SAFETY: one thread takes; nodes come from `Box::leak`.
        unsafe { inbox.take().map(|task| Box::from_raw(task.as_ptr()).meta.cost() as u16) }
    }

    fn may_have_tasks(inbox: &Inbox) -> bool {
        // SAFETY: one thread takes.
        unsafe { inbox.may_have_tasks() }
    }

    #[test]
    fn an_inbox_is_fifo_and_empty_when_drained() {
        let inbox = Inbox::new(None);
        assert!(!may_have_tasks(&inbox));
        for round in 0..100 {
            (0..round).for_each(|number| push(&inbox, number));
            assert_eq!(may_have_tasks(&inbox), round > 0);
            let taken: Vec<_> = core::iter::from_fn(|| take(&inbox)).collect();
            assert_eq!(taken, (0..round).collect::<Vec<_>>());
            assert!(!may_have_tasks(&inbox));
        }
    }

    #[test]
    fn tasks_in_the_backlog_come_after_those_in_the_ring() {
        const MANY: u16 = 3 * RING_SLOTS as u16;
        let inbox = Inbox::new(None);
        (0..MANY).for_each(|number| push(&inbox, number));
        assert_eq!(inbox.backlogged.0.load(Relaxed), u64::from(MANY) - RING_SLOTS);
        // With room in the ring again, but older tasks in the backlog.
        for number in 0..MANY {
            assert_eq!(take(&inbox), Some(number));
            push(&inbox, number + MANY);
        }
        for number in 0..MANY {
            assert_eq!(take(&inbox), Some(number + MANY));
        }
        assert_eq!(take(&inbox), None);
        assert!(!may_have_tasks(&inbox));
        // Now the ring is used again.
        push(&inbox, 1);
        assert_eq!(inbox.backlogged.0.load(Relaxed), 0);
        assert_eq!(take(&inbox), Some(1));
    }

    #[cfg(feature = "std")]
    #[test]
    fn parallel_pushers_lose_nothing_and_keep_their_order() {
        const EACH: u16 = if cfg!(miri) { 300 } else { 20_000 };
        let inbox = Inbox::new(None);
        let mut backlogged = 0;
        for pause in [0, 1, 5000] {
            std::thread::scope(|scope| {
                let pushers = [0, 1].map(|half| {
                    let inbox = &inbox;
                    scope.spawn(move || (0..EACH).for_each(|number| push(inbox, number * 2 + half)))
                });
                let mut next = [0; 2];
                while next != [EACH; 2] {
                    if let Some(number) = take(&inbox) {
                        let half = usize::from(number % 2);
                        assert_eq!(number / 2, next[half]);
                        next[half] += 1;
                    }
                    backlogged = backlogged.max(inbox.backlogged.0.load(Relaxed));
                    // Pauses only now and then, so that the backlog is used and left again.
                    let pause = if next[0] % 1000 < 100 { pause } else { 0 };
                    (0..pause).for_each(|_| core::hint::spin_loop());
                }
                // ThreadSanitizer does not see that a scope waits.
                pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
            });
            assert!(!may_have_tasks(&inbox));
        }
        assert!(backlogged > 0 || cfg!(miri));
    }
}
