//! A worker's inbox: many push, one takes; what one of them pushes is taken in that order, and after whatever it knew
//! to be pushed before.
//!
//! ```text
//!        head (taker's)         tail (pushers', by compare-and-swap)
//!          |                      |
//! … old  | task task task task  |  old …        a ring of pointers
//!          └ prefetched ahead ┘
//! ```
//! A pusher takes a place with one atomic instruction and then fills it. Each pointer carries the parity of its lap
//! around the ring, by which the taker sees that a place is filled: it writes nothing that pushers read, and its lines
//! of eight pointers come to it once each. As it knows the tasks ahead, it fetches them side by side, where a linked
//! list would have it wait for one after the other.
//!
//! When the ring is full, tasks go to the [`Backlog`], an unbounded list. Order is kept by two rules: as long as the
//! backlog has tasks, all go there; and the taker takes from it only when it finds the ring empty *after* it saw the
//! task in the backlog. Nobody waits for anybody.

use super::backlog::Backlog;
use crate::monitor::Observer;
use crate::object::prefetch;
use crate::sync::{Acquire, AtomicPtr, AtomicU64, Padded, Relaxed, Release, SeqCst, under_model};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// Places of the ring.
const PLACES: u64 = under_model(1024, 2);
/// Places of a cache line.
const LINE_PLACES: u64 = under_model(8, 2);
/// The taker fetches the task that many places ahead.
const AHEAD: u64 = under_model(4, 1);
const LAP: usize = 1;

/// Places that come to the taker together.
#[repr(align(64))]
struct Line([AtomicPtr<Task>; LINE_PLACES as usize]);

pub(crate) struct Inbox {
    /// The pushers'.
    entry: Padded<Entry>,
    /// Tasks in the backlog, or on the way there. Seldom written.
    backlogged: Padded<AtomicU64>,
    /// How many tasks the taker, who alone writes it, has taken from the ring. Pushers look only when that seems full.
    head: Padded<AtomicU64>,
    lines: Box<[Line]>,
    backlog: Backlog,
    observer: Option<Arc<Observer>>,
}

struct Entry {
    /// How many places of the ring were ever taken by pushers.
    tail: AtomicU64,
    /// The tail may go up to here, as far as pushers have seen.
    limit: AtomicU64,
}

/// The parity that a filled place has on the lap of this position; places begin empty, as on an even lap.
#[inline(always)]
fn lap(position: u64) -> usize {
    ((position / PLACES + 1) % 2) as usize * LAP
}

impl Inbox {
    /// An empty inbox. With an observer each pusher finds it full at first, and so comes by where that is told.
    pub fn new(observer: Option<Arc<Observer>>) -> Self {
        let limit = if observer.is_some() { 0 } else { PLACES };
        let entry = Entry { tail: AtomicU64::new(0), limit: AtomicU64::new(limit) };
        Self {
            entry: Padded(entry),
            backlogged: Padded(AtomicU64::new(0)),
            head: Padded(AtomicU64::new(0)),
            lines: (0..PLACES / LINE_PLACES).map(|_| Line(Default::default())).collect(),
            backlog: Backlog::new(),
            observer,
        }
    }

    #[inline(always)]
    fn place(&self, position: u64) -> &AtomicPtr<Task> {
        let line = (position % PLACES / LINE_PLACES) as usize;
        // SAFETY: `PLACES` are that many lines.
        unsafe { &self.lines.get_unchecked(line).0[(position % LINE_PLACES) as usize] }
    }

    /// Pushes a task.
    ///
    /// # Safety
    ///
    /// The caller owns the task and gives it up.
    #[inline]
    pub unsafe fn push(&self, task: NonNull<Task>) {
        let Entry { tail, limit } = &self.entry.0;
        // Relaxed: whoever pushed into the backlog before, or told the caller so, has raised it before.
        if self.backlogged.0.load(Relaxed) == 0 || planted!("inbox-ring-overtakes-backlog") {
            let mut position = tail.load(Relaxed);
            // Acquire pairs with the Release of `look_again`, handing on what it saw.
            while position < limit.load(Acquire) {
                match self.fill(position, task) {
                    Ok(()) => return,
                    Err(now) => position = now,
                }
            }
        }
        // SAFETY: by the caller's promise.
        unsafe { self.push_unusually(task) };
    }

    /// Takes a place and fills it, or says where the tail is now.
    #[inline(always)]
    fn fill(&self, position: u64, task: NonNull<Task>) -> Result<(), u64> {
        let tail = &self.entry.0.tail;
        // SeqCst: with the load of the sleep state that follows every push, either the pusher sees that the worker goes
        // to sleep, or the worker sees this task (`Shared::push` and `Driver::sleep`).
        if planted!("inbox-place-taken-twice") {
            tail.store(position + 1, SeqCst);
        } else {
            tail.compare_exchange_weak(position, position + 1, SeqCst, Relaxed)?;
        }
        let filled = task.as_ptr().map_addr(|address| address | lap(position));
        // Release pairs with the Acquire of `take`.
        self.place(position).store(filled, Release);
        Ok(())
    }

    /// Looks how far the taker is. Whether there is a place for `position`.
    fn look_again(&self, position: u64) -> bool {
        // Acquire pairs with the Release of `take`: the place's old task has been read.
        let limit = self.head.0.load(Acquire) + PLACES;
        if self.observer.is_none() {
            // Somebody else may know better; less is right, too.
            self.entry.0.limit.store(limit, Release);
        }
        position < limit
    }

    /// Pushes a task where the ring seems full, or the backlog is in use, or all tasks are looked at.
    ///
    /// # Safety
    ///
    /// As for [`push`](Self::push).
    #[cold]
    #[inline(never)]
    unsafe fn push_unusually(&self, task: NonNull<Task>) {
        if let Some(observer) = &self.observer {
            // SAFETY: by the caller's promise.
            unsafe { observer.stamp_on_arrival(task) };
        }
        // As in `push`.
        if self.backlogged.0.load(Relaxed) == 0 || planted!("inbox-ring-overtakes-backlog") {
            let mut position = self.entry.0.tail.load(Relaxed);
            while self.look_again(position) {
                match self.fill(position, task) {
                    Ok(()) => return,
                    Err(now) => position = now,
                }
            }
        }
        // Before the task is there: it is zero only when nobody's task is left. SeqCst as in `fill`.
        self.backlogged.0.fetch_add(1, SeqCst);
        // SAFETY: by the caller's promise.
        unsafe { self.backlog.push(task) };
    }

    /// Takes the oldest task. `None` if there is none, or the pusher of the oldest is still at it.
    ///
    /// # Safety
    ///
    /// Only one thread takes at a time: the inbox's worker.
    #[inline]
    pub unsafe fn take(&self) -> Option<NonNull<Task>> {
        loop {
            let head = self.head.0.load(Relaxed);
            // Acquire pairs with the Release of `push`.
            let order = if planted!("inbox-taken-without-acquire") { Relaxed } else { Acquire };
            let filled = self.place(head).load(order);
            if filled.addr() & LAP == lap(head) {
                // Only as far as this line of places goes, which is here. Perhaps an old task, or none: nothing depends
                // on it.
                if head % LINE_PLACES < LINE_PLACES - AHEAD {
                    prefetch(self.place(head + AHEAD).load(Relaxed).addr() as u64);
                }
                // Release pairs with the Acquire of `look_again`: the place has been read.
                self.head.0.store(head + 1, Release);
                return NonNull::new(filled.map_addr(|address| address & !LAP));
            }
            if self.backlogged.0.load(Relaxed) == 0 {
                return None;
            }
            // SAFETY: one thread takes.
            if !unsafe { self.backlog.has_first() } {
                return None;
            }
            // Acquire, and what `has_first` has acquired: what the task's pusher had put into the ring before is seen.
            if self.entry.0.tail.load(Acquire) == head || planted!("inbox-backlog-overtakes-ring") {
                // SAFETY: one thread takes.
                return unsafe { self.take_back() };
            }
            if self.place(head).load(Relaxed).addr() & LAP != lap(head) {
                return None;
            }
        }
    }

    /// # Safety
    ///
    /// As for [`take`](Self::take).
    #[cold]
    unsafe fn take_back(&self) -> Option<NonNull<Task>> {
        // SAFETY: by the caller's promise.
        let task = unsafe { self.backlog.take() }?;
        // Release: who sees that nothing is left pushes after this.
        self.backlogged.0.fetch_sub(1, Release);
        Some(task)
    }

    /// Whether somebody else, who looks in passing, sees any tasks here.
    pub fn seems_to_have_tasks(&self) -> bool {
        self.entry.0.tail.load(Relaxed) != self.head.0.load(Relaxed)
    }

    /// How many tasks were pushed and not taken; exact if nobody does either meanwhile.
    pub fn len(&self) -> usize {
        let in_ring = self.entry.0.tail.load(Relaxed).saturating_sub(self.head.0.load(Relaxed));
        (in_ring + self.backlogged.0.load(Relaxed)) as usize
    }

    /// Whether anything was pushed that the taker has not taken; exact in the total order of `SeqCst` operations.
    ///
    /// # Safety
    ///
    /// As for [`take`](Self::take).
    pub unsafe fn may_have_tasks(&self) -> bool {
        self.entry.0.tail.load(SeqCst) != self.head.0.load(Relaxed) || self.backlogged.0.load(SeqCst) != 0
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use crate::object::Fetch;
    use crate::scheduler::Context;
    use crate::task::{Meta, VTable, describe_nothing, locate_nothing};
    use alloc::vec::Vec;
    use core::ptr::null_mut;

    unsafe fn never(_: NonNull<Task>, _: &mut Context) {}

    /// A task with a number that `take` gives back.
    fn node(number: u16) -> NonNull<Task> {
        let meta = Meta::new(0, crate::Priority::Normal, number);
        let vtable =
            &VTable { run: never, locate: locate_nothing, cancel: never, describe: describe_nothing };
        let task = Task { vtable, next: AtomicPtr::new(null_mut()), fetch: Fetch::NONE, meta };
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
    fn first_in_first_out_and_empty_in_between() {
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
    fn what_the_ring_cannot_hold_comes_after_what_it_holds() {
        const MANY: u16 = 3 * PLACES as u16;
        let inbox = Inbox::new(None);
        (0..MANY).for_each(|number| push(&inbox, number));
        assert_eq!(inbox.backlogged.0.load(Relaxed), u64::from(MANY) - PLACES);
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
        // And the ring again.
        push(&inbox, 1);
        assert_eq!(inbox.backlogged.0.load(Relaxed), 0);
        assert_eq!(take(&inbox), Some(1));
    }

    #[cfg(feature = "std")]
    #[test]
    fn pushers_in_parallel_lose_nothing_and_keep_their_order() {
        const EACH: u16 = if cfg!(miri) { 300 } else { 20_000 };
        let inbox = Inbox::new(None);
        let mut backlogged = 0;
        for pause in [0, 1, 5000] {
            std::thread::scope(|scope| {
                for half in 0..2 {
                    let inbox = &inbox;
                    scope.spawn(move || (0..EACH).for_each(|number| push(inbox, number * 2 + half)));
                }
                let mut next = [0; 2];
                while next != [EACH; 2] {
                    if let Some(number) = take(&inbox) {
                        let half = usize::from(number % 2);
                        assert_eq!(number / 2, next[half]);
                        next[half] += 1;
                    }
                    backlogged = backlogged.max(inbox.backlogged.0.load(Relaxed));
                    // Slow only now and then, so that the backlog is used and left again.
                    let pause = if next[0] % 1000 < 100 { pause } else { 0 };
                    (0..pause).for_each(|_| core::hint::spin_loop());
                }
            });
            assert!(!may_have_tasks(&inbox));
        }
        assert!(backlogged > 0 || cfg!(miri));
    }
}
