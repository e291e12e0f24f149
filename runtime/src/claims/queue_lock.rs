//! The queue lock of a granule: its holders, and the waiters in FIFO order.
//!
//! Besides the queue there are *retry waiters*, for claims that hold nothing and do not queue (see
//! [`deferred`](super::deferred)). They are notified when the granule becomes available, but the
//! granule is not reserved for them.

use super::claim_state::ClaimState;
use crate::sync::{AtomicPtr, Relaxed};
use core::ptr::{NonNull, null_mut};

/// A claim's entry in the queue of one granule.
pub(super) struct Waiter {
    pub granule: u32,
    pub write: bool,
    /// The next waiter in the queue.
    next: AtomicPtr<Waiter>,
    /// The claim that waits.
    state: AtomicPtr<ClaimState>,
}

/// The lock of one granule. A spin mutex around it protects all fields.
#[derive(Default)]
pub(super) struct QueueLock {
    /// How many tasks hold the granule: readers, or one writer.
    holders: u32,
    is_written: bool,
    /// How many writers have been granted the granule.
    writes: u64,
    /// How many readers have overtaken writers that wait, in the queue or to retry, since the last
    /// writer.
    overtaken: u32,
    /// The FIFO queue. Its first waiter cannot be granted the granule yet.
    waiting: Queue,
    /// Readers and writers that are notified when a retry is worthwhile.
    retry_waiters: [Queue; 2],
}

/// A singly linked queue of waiters.
#[derive(Default)]
struct Queue {
    ends: Option<(NonNull<Waiter>, NonNull<Waiter>)>,
}

// SAFETY: it points to waiters of parked claims. A claim moves or frees its waiters only when it
// owns its state again, which is after the last of them was dequeued and counted. All fields that
// change meanwhile are atomic.
unsafe impl Send for Queue {}

impl Waiter {
    pub fn new(granule: u32, write: bool) -> Self {
        Self { granule, write, next: AtomicPtr::new(null_mut()), state: AtomicPtr::new(null_mut()) }
    }

    /// Sets the claim that waits. Must be called before the waiter is enqueued.
    pub fn set_state(&self, state: &ClaimState) {
        // Relaxed, like all accesses to a waiter: the mutex of the queue lock publishes it.
        self.state.store(core::ptr::from_ref(state).cast_mut(), Relaxed);
    }

    /// Returns the claim of a waiter that was enqueued.
    fn state(&self) -> NonNull<ClaimState> {
        // SAFETY: `set_state` was called before the waiter was enqueued.
        unsafe { NonNull::new_unchecked(self.state.load(Relaxed)) }
    }
}

impl Queue {
    fn push(&mut self, waiter: &Waiter) {
        // SAFETY: a claim enqueues each waiter once, and keeps it in place until it is dequeued.
        unsafe { self.append(NonNull::from(waiter)) };
    }

    /// # Safety
    ///
    /// The waiter is in no queue, and stays in place until it is dequeued from this one.
    unsafe fn append(&mut self, waiter: NonNull<Waiter>) {
        // SAFETY: the waiter stays in place, as the caller promises.
        unsafe { waiter.as_ref() }.next.store(null_mut(), Relaxed);
        self.ends = match self.ends {
            Some((first, last)) => {
                // SAFETY: the last waiter was appended here, and not dequeued since.
                unsafe { last.as_ref() }.next.store(waiter.as_ptr(), Relaxed);
                Some((first, waiter))
            }
            None => Some((waiter, waiter)),
        };
    }

    fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    fn iter(&self) -> impl Iterator<Item = &Waiter> {
        // SAFETY: a waiter in the queue stays in place, and so does the next one, which its link
        // names.
        let next = |waiter: &&Waiter| unsafe { waiter.next.load(Relaxed).as_ref() };
        core::iter::successors(self.first(), next)
    }

    fn first(&self) -> Option<&Waiter> {
        // SAFETY: a waiter in the queue stays in place.
        self.ends.map(|(first, _)| unsafe { first.as_ref() })
    }

    fn pop(&mut self) -> Option<NonNull<Waiter>> {
        let (first, last) = self.ends?;
        // SAFETY: a waiter in the queue stays in place.
        let next = NonNull::new(unsafe { first.as_ref() }.next.load(Relaxed));
        self.ends = next.map(|next| (next, last));
        Some(first)
    }
}

/// Waiters that were dequeued, and whose claims have to be notified.
#[derive(Default)]
#[must_use = "claims that are not notified wait forever"]
pub(super) struct WakeList(Queue);

impl WakeList {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Moves the first waiter of a queue to this list.
    fn move_first(&mut self, queue: &mut Queue) {
        if let Some(waiter) = queue.pop() {
            // SAFETY: it has left its queue, and stays in place until its claim is notified.
            unsafe { self.0.append(waiter) };
        }
    }

    fn move_all(&mut self, queue: &mut Queue) {
        while !queue.is_empty() {
            self.move_first(queue);
        }
    }

    /// Calls `each` with the claim of each waiter. The claim may be freed as soon as it is
    /// notified.
    pub fn for_each(mut self, mut each: impl FnMut(NonNull<ClaimState>)) {
        while let Some(waiter) = self.0.pop() {
            // SAFETY: the claim has not been notified of this waiter yet, so it is parked.
            each(unsafe { waiter.as_ref() }.state());
        }
    }
}

impl QueueLock {
    /// Returns true if the waiter is granted the granule now. If not, it is enqueued.
    pub fn enter(&mut self, waiter: &Waiter) -> bool {
        if (self.waiting.is_empty() || planted!("claim-overtakes")) && self.admits(waiter.write) {
            self.acquire(waiter.write);
            return true;
        }
        self.waiting.push(waiter);
        false
    }

    /// Counts a plan as a reader, until it calls [`release`](Self::release). Returns false if a
    /// writer holds the granule, or tasks wait for it.
    pub fn peek(&mut self) -> bool {
        let is_available = (self.waiting.is_empty() || planted!("peek-overtakes")) && self.admits(false);
        if is_available && !planted!("peek-uncounted") {
            self.add_holder(false);
        }
        is_available
    }

    /// Returns true if a claim that does not queue may acquire the granule. Up to `max_overtaking`
    /// readers may do so before the writers that wait.
    pub fn is_available(&self, write: bool, max_overtaking: u32) -> bool {
        let overtakes = !self.waiting.is_empty() || !write && !self.retry_waiters[1].is_empty();
        let may_overtake =
            !write && self.overtaken < max_overtaking || planted!("writers-overtaken-for-ever");
        self.admits(write) && (!overtakes || may_overtake)
    }

    /// Acquires the granule, whether others wait for it or not.
    pub fn acquire(&mut self, write: bool) {
        self.add_holder(write);
        if !write && (!self.waiting.is_empty() || !self.retry_waiters[1].is_empty()) {
            self.overtaken += 1;
        }
    }

    /// Adds a waiter that is notified when a retry is worthwhile.
    pub fn register_retry(&mut self, waiter: &Waiter) {
        self.retry_waiters[usize::from(waiter.write)].push(waiter);
    }

    /// Moves retry waiters that can acquire the granule to the list, if no holder's release will
    /// notify them: the first writer; without writers, all readers. A notified waiter holds
    /// nothing; if it does not acquire the granule, it must call this again for the others.
    pub fn notify_retry_waiters(&mut self, wake_list: &mut WakeList) {
        if !self.waiting.is_empty() || planted!("retry-waiters-not-notified") {
            return;
        }
        let admits_readers = self.admits(false);
        let [readers, writers] = &mut self.retry_waiters;
        if !writers.is_empty() {
            if self.holders == 0 {
                wake_list.move_first(writers);
            }
        } else if admits_readers {
            wake_list.move_all(readers);
        }
    }

    /// Returns how many tasks have written the granule; `None` while one does.
    pub fn version(&self) -> Option<u64> {
        (!self.is_written).then_some(self.writes)
    }

    /// Releases the granule and grants it to the head of the queue. If the queue is empty, notifies
    /// the retry waiters.
    pub fn release(&mut self) -> WakeList {
        let mut wake_list = WakeList::default();
        self.grant_next(&mut wake_list);
        self.notify_retry_waiters(&mut wake_list);
        wake_list
    }

    /// Releases the granule at the end of a task. After a writer, up to `max_overtaking` retry
    /// waiters that read are notified; then a writer has its turn. (As in phase-fair locks:
    /// Brandenburg, Anderson, "Spin-Based Reader-Writer Synchronization for Multiprocessor
    /// Real-Time Systems", Real-Time Systems 46, 2010, section 3.)
    ///
    /// Retry waiters are notified even where others queue, or where readers follow one another
    /// without a gap, although their attempts may fail: after a bounded number of them they enter
    /// the queue, so that they do not starve.
    pub fn release_at_end(&mut self, max_overtaking: u32) -> WakeList {
        let mut wake_list = WakeList::default();
        let was_written = self.is_written;
        self.grant_next(&mut wake_list);
        // Unordered readers stop at `max_overtaking`; twice as many shows that ordered ones come.
        let are_many = self.holders > 0 && self.waiting.is_empty() && self.overtaken >= 2 * max_overtaking;
        let [readers, writers] = &mut self.retry_waiters;
        if (!wake_list.is_empty() || are_many) && !planted!("retry-waiters-starved") {
            wake_list.move_first(writers);
        }
        if was_written && (!self.is_written || !planted!("retry-waiters-starved")) {
            (0..max_overtaking).for_each(|_| wake_list.move_first(readers));
        }
        if wake_list.is_empty() {
            self.notify_retry_waiters(&mut wake_list);
        }
        wake_list
    }

    /// Calls `each` with the claim of each waiter, whether it writes, and how many wait before it.
    /// Retry waiters come last. Only the first `most` waiters of each queue are visited.
    pub fn for_each_waiter(&self, most: usize, mut each: impl FnMut(NonNull<ClaimState>, bool, u64)) {
        let queues = [&self.waiting].into_iter().chain(&self.retry_waiters);
        for (waiter, ahead) in queues.flat_map(|queue| queue.iter().take(most)).zip(0..) {
            each(waiter.state(), waiter.write, ahead);
        }
    }

    /// Removes one holder, and grants the granule to the head of the queue: to a writer alone, or
    /// to all readers up to the next writer.
    fn grant_next(&mut self, wake_list: &mut WakeList) {
        self.holders -= 1;
        self.is_written &= self.holders > 0;
        while let Some(&Waiter { write, .. }) = self.waiting.first()
            && self.admits(write)
        {
            self.add_holder(write);
            wake_list.move_first(&mut self.waiting);
        }
    }

    /// Returns true if the holders do not conflict with a reader or writer.
    fn admits(&self, write: bool) -> bool {
        if write && !planted!("claim-writer-beside-readers") { self.holders == 0 } else { !self.is_written }
    }

    fn add_holder(&mut self, write: bool) {
        self.holders += 1;
        self.is_written = write;
        if write {
            self.overtaken = 0;
            self.writes += u64::from(!planted!("writes-uncounted"));
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Creates waiters of different claims: readers and writers.
    fn waiters(writes: &[bool]) -> Vec<Waiter> {
        let waiters: Vec<Waiter> = writes.iter().map(|&write| Waiter::new(0, write)).collect();
        for waiter in &waiters {
            // Only the address of the state is used.
            waiter.state.store(core::ptr::from_ref(waiter).cast_mut().cast(), Relaxed);
        }
        waiters
    }

    fn notified(wake_list: WakeList) -> Vec<NonNull<ClaimState>> {
        let mut states = Vec::new();
        wake_list.for_each(|state| states.push(state));
        states
    }

    /// Readers share the granule, a writer has it alone, and no waiter overtakes another.
    #[test]
    fn a_queue_is_served_in_fifo_order() {
        let waiters = waiters(&[false, false, true, false, false, true, true, false]);
        let state = |at: usize| waiters[at].state();
        let mut queue_lock = QueueLock::default();
        let entered: Vec<bool> = waiters.iter().map(|waiter| queue_lock.enter(waiter)).collect();
        assert_eq!(entered, [true, true, false, false, false, false, false, false]);
        let groups = [&[0, 1][..], &[2], &[3, 4], &[5], &[6], &[7]];
        for (group, next) in groups.iter().zip(&groups[1..]) {
            for _ in 1..group.len() {
                assert!(queue_lock.release().is_empty(), "other readers still hold the granule");
            }
            assert_eq!(notified(queue_lock.release()), next.iter().map(|&at| state(at)).collect::<Vec<_>>());
        }
        assert!(queue_lock.release().is_empty());
        assert!(queue_lock.enter(&waiters[2]) && !queue_lock.enter(&waiters[3]));
    }

    /// Between two writers a bounded number of readers overtakes the second; the others are
    /// notified when no other writer waits.
    #[test]
    fn a_bounded_number_of_readers_overtakes_writers() {
        let waiters = waiters(&[true, true, true, false, false, false]);
        let state = |at: usize| waiters[at].state();
        let mut queue_lock = QueueLock::default();
        queue_lock.acquire(true);
        assert!(!queue_lock.is_available(false, 2));
        waiters[1..].iter().for_each(|waiter| queue_lock.register_retry(waiter));
        assert_eq!(notified(queue_lock.release_at_end(2)), [state(3), state(4)]);
        for _ in 0..2 {
            assert!(queue_lock.is_available(false, 2));
            queue_lock.acquire(false);
        }
        assert!(!queue_lock.is_available(false, 2), "the next writer must have its turn");
        assert!(queue_lock.release_at_end(2).is_empty());
        assert_eq!(notified(queue_lock.release_at_end(2)), [state(1)]);
        assert!(queue_lock.is_available(true, 2) && !queue_lock.is_available(false, 2));
        queue_lock.acquire(true);
        assert_eq!(notified(queue_lock.release_at_end(2)), [state(5)]);
        // The notified reader does not acquire the granule.
        let mut others = WakeList::default();
        queue_lock.notify_retry_waiters(&mut others);
        assert_eq!(notified(others), [state(2)]);
        queue_lock.acquire(true);
        queue_lock.register_retry(&waiters[3]);
        queue_lock.register_retry(&waiters[4]);
        assert_eq!(notified(queue_lock.release()), [state(3), state(4)], "all readers, as no writer waits");
        assert!(
            queue_lock.enter(&waiters[0]) && queue_lock.release_at_end(2).is_empty(),
            "no retry waiter is left"
        );
    }

    /// Their attempts fail, and after a bounded number of these they enter the queue.
    #[test]
    fn retry_waiters_are_notified_beside_a_queue() {
        let waiters = waiters(&[true, true, false, true, false, false]);
        let state = |at: usize| waiters[at].state();
        let mut queue_lock = QueueLock::default();
        assert!(queue_lock.enter(&waiters[0]));
        assert!(!queue_lock.enter(&waiters[1]) && !queue_lock.enter(&waiters[2]));
        waiters[3..].iter().for_each(|waiter| queue_lock.register_retry(waiter));
        assert_eq!(notified(queue_lock.release_at_end(1)), [state(1), state(3), state(4)]);
        assert_eq!(notified(queue_lock.release_at_end(1)), [state(2), state(5)]);
        assert!(queue_lock.is_available(false, 1) && !queue_lock.is_available(true, 1));
        assert!(queue_lock.release_at_end(1).is_empty());
    }

    #[test]
    fn a_writer_that_waits_to_retry_is_notified_beside_a_stream_of_readers() {
        let waiters = waiters(&[false, true, false]);
        let mut queue_lock = QueueLock::default();
        assert!(queue_lock.enter(&waiters[0]));
        queue_lock.register_retry(&waiters[1]);
        assert!(queue_lock.enter(&waiters[2]) && queue_lock.release_at_end(1).is_empty());
        assert!(queue_lock.enter(&waiters[0]));
        assert_eq!(notified(queue_lock.release_at_end(1)), [waiters[1].state()]);
    }

    /// More readers wait than are notified at once, and other readers hold the granule.
    #[test]
    fn readers_are_notified_beside_other_readers() {
        let waiters = waiters(&[false, false, false]);
        let mut queue_lock = QueueLock::default();
        queue_lock.acquire(true);
        waiters.iter().for_each(|waiter| queue_lock.register_retry(waiter));
        assert_eq!(notified(queue_lock.release_at_end(1)), [waiters[0].state()]);
        queue_lock.acquire(false);
        queue_lock.acquire(false);
        assert_eq!(notified(queue_lock.release_at_end(1)), [waiters[1].state(), waiters[2].state()]);
    }
}
