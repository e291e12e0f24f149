//! A worker: its run queue, its memory, and its parts in the epochs, in searching and in tracing.

use super::reclaim::EpochState;
use super::run_queue::RunQueue;
use super::runtime_state::{RuntimeState, WorkerSlot};
use super::search::Search;
use super::trace::Trace;
use super::unbound::Unbound;
use super::worker_heap::WorkerHeap;
use crate::annotation::Priority;
use crate::fork::Forks;
use crate::memory::Reclaim;
use crate::monitor::WorkerCounters;
use crate::object::{Fetch, FreeWord, Header, Reference};
use crate::pool::Inbox;
use crate::sync::{Backoff, Relaxed};
use crate::task::{Aftermath, Groups, Meta, Task, class_of};
use alloc::sync::Arc;
use core::ptr::NonNull;

/// A worker's run queue with all that is needed to run its tasks. The thread that holds it runs
/// them. Tasks see it as their [`Context`](super::Context).
///
/// With as many workers as run queues each thread holds its own from beginning to end; otherwise
/// see [`Driver`](super::Driver).
pub struct Worker {
    pub(super) index: usize,
    /// Index of the worker whose thread holds this run queue.
    pub(crate) holder: usize,
    pub(super) shared: Arc<RuntimeState>,
    pub(super) queue: RunQueue,
    pub(super) unbound: Unbound,
    pub(super) search: Search,
    pub(super) epoch: EpochState,
    pub(super) heap: WorkerHeap,
    pub(super) trace: Trace,
    /// Stack of the jobs that this worker's joins have made.
    pub(crate) forks: Forks,
    /// Probes in a row that saw jobs of other workers, and none that was public.
    pub(crate) unanswered: u32,
    /// Tickets of the groups of the tasks that this worker spawns and runs.
    pub(crate) groups: Groups,
    /// Tasks between the one that runs and the one whose object is prefetched.
    pub(super) distance: u64,
    /// The word of a free object of this runtime.
    pub(crate) free_word: FreeWord,
    /// Annotations of the task that runs, which its follow-ups inherit.
    pub(crate) current: Meta,
    /// The sequenced object that the current task is inside, if `current` says that it is in one.
    pub(super) entered: Option<Reference>,
    /// The sequenced object that the current task is inside, and that is marked as held since the
    /// task has blocked in place.
    pub(super) marked: Option<Reference>,
    /// Number of tasks that run inside each other, or [`Worker::IN_JOIN`].
    pub(crate) nested: u8,
    /// Cleanup that the guard of a panicked task has left to the worker.
    pub(crate) aftermath: Option<Aftermath>,
    /// No thread drives it, and `RuntimeState::awake` does not count it.
    pub(super) is_aside: bool,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.epoch.abandon_garbage(&self.shared, self.trace.counters());
        self.shared.leave();
    }
}

impl Worker {
    /// Disturbed attempts of a read that requeue it. After one more it enters the object, as a
    /// writer does.
    pub(crate) const OPTIMISTIC_ATTEMPTS: u8 = 3;

    pub(super) fn new(index: usize, shared: Arc<RuntimeState>) -> Self {
        let slot = &shared.slots[index];
        let trace = Trace::new(&shared, index);
        Self {
            index,
            holder: index,
            queue: RunQueue::new(trace.is_observed()),
            unbound: Unbound::new(&shared, index),
            search: Search::new(shared.platform.spin_limit()),
            epoch: EpochState::new(slot.ledger.clone()),
            heap: WorkerHeap::new(&shared.heaps, slot.node),
            trace,
            forks: slot.forks.own(),
            unanswered: 0,
            groups: Groups::default(),
            distance: shared.distance as u64,
            free_word: shared.free_word,
            current: Meta::new(0, Priority::Normal, 0),
            entered: None,
            marked: None,
            nested: 0,
            aftermath: None,
            is_aside: false,
            shared,
        }
    }

    #[inline(always)]
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn shared(&self) -> &Arc<RuntimeState> {
        &self.shared
    }

    pub(crate) fn slot(&self) -> &WorkerSlot {
        &self.shared.slots[self.index]
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.slot().inbox
    }

    #[inline(always)]
    pub(crate) fn counters(&self) -> &WorkerCounters {
        self.trace.counters()
    }

    #[inline(always)]
    pub(crate) fn count_wait(&mut self, waited: bool) {
        if waited {
            self.counters().latch_waits.add(1);
            self.trace.end_latch_wait();
        }
    }

    /// Publishes whether this worker is idle.
    pub(super) fn set_idle(&mut self, is_idle: bool) {
        self.search.set_idle(is_idle, &self.shared.slots[self.index]);
    }

    /// Counts this worker as searching, or no longer.
    pub(super) fn set_searching(&mut self, is_searching: bool) {
        self.search.set_searching(is_searching, &self.shared);
    }

    /// Returns true if another worker searches, asleep or not.
    pub(crate) fn is_another_searching(&self) -> bool {
        self.shared.searching.0.load(Relaxed) > usize::from(self.search.is_searching())
    }

    /// Makes the next failed probe go on to other workers at once: where there was work there may
    /// be more.
    pub(crate) fn probe_others_next(&mut self) {
        self.search.probe_others_next();
    }

    /// Returns true if this worker knows of tasks to run.
    pub(super) fn has_tasks(&self) -> bool {
        self.queue.has_tasks()
    }

    /// Frees a descriptor whose contents were moved out.
    ///
    /// # Safety
    ///
    /// It was allocated for a body of type `B`, and nothing uses it any more.
    #[inline(always)]
    pub(crate) unsafe fn free<B>(&mut self, task: NonNull<Task>) {
        // SAFETY: this function's contract; every descriptor comes from a heap of the runtime.
        unsafe { self.heap.free(const { class_of::<B>() }, task) };
    }

    /// Frees an object once no task can reach it any more.
    ///
    /// # Safety
    ///
    /// The object is unlinked: no operation that begins from now on finds it. `owner` can free it.
    pub(crate) unsafe fn retire(&mut self, object: NonNull<u8>, owner: Arc<dyn Reclaim>) {
        // SAFETY: forwarded.
        unsafe { self.epoch.retire(object, owner, &self.shared.epochs) };
        self.counters().retired.add(1);
    }

    /// Returns true if there are objects to free.
    #[inline(always)]
    pub(super) fn has_garbage(&self) -> bool {
        self.epoch.has_garbage(&self.shared)
    }

    /// Advances the epoch if possible, and frees some of what is settled then. Only between tasks.
    pub(super) fn reclaim(&mut self) {
        self.epoch.reclaim(&self.shared, self.index, self.trace.counters());
    }

    /// Returns the slot of the newest epoch that this worker knows.
    #[inline(always)]
    pub(crate) fn newest_epoch(&self) -> u8 {
        self.epoch.slot()
    }

    /// Counts one more task of an epoch slot as started.
    #[inline(always)]
    pub(crate) fn started(&mut self, slot: u8) {
        self.epoch.ledger().start(slot);
    }

    /// Counts one more task of an epoch slot as finished.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn finished(&mut self, slot: u8) {
        self.epoch.ledger().finish(slot);
    }

    #[inline(always)]
    pub(crate) fn home_of(&self, target: Reference) -> usize {
        target.home() % self.shared.slots.len()
    }

    /// Pushes a task to this worker's run queue.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn push_here(&mut self, task: NonNull<Task>, meta: Meta, fetch: Fetch) {
        if meta.is_heavy_or_unbound() {
            if meta.is_unbound() {
                return self.push_unbound(task, meta);
            }
            self.queue.extra_load += meta.cost();
        }
        let level = meta.level();
        // SAFETY: the level of a task is that of its priority.
        unsafe {
            if !self.queue.has_room(level) {
                self.make_room(task, level);
            }
            self.queue.push(task, level, fetch);
        }
    }

    /// Makes room in the ring that a task is about to enter, and records that it does.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, task: NonNull<Task>, level: usize) {
        // SAFETY: the task belongs to this worker.
        unsafe { self.trace.make_room(task, self.queue.ring(level)) };
    }

    /// Pushes a task that holds an object before all others, whatever its priority: other tasks
    /// wait for the object.
    pub(super) fn push_urgent(&mut self, task: NonNull<Task>, meta: Meta) {
        self.queue.extra_load += meta.cost();
        self.make_room(task, Priority::High as usize);
        self.queue.push_first(task);
    }

    /// Pushes a task again, behind all others of its priority.
    pub(crate) fn requeue(&mut self, task: NonNull<Task>) {
        // SAFETY: the task belongs to this worker.
        let (meta, fetch) = unsafe { (task.as_ref().meta, task.as_ref().fetch) };
        self.push_here(task, meta, fetch);
    }

    /// Sends a task to another worker.
    #[inline]
    pub(crate) fn send_to(&mut self, task: NonNull<Task>, worker: usize) {
        self.counters().remote_spawns.add(1);
        // SAFETY: the task belongs to this worker, which gives it up.
        unsafe {
            self.trace.put(task);
            self.shared.push(worker, task);
        }
    }

    /// Records that the current task is inside a sequenced object, which is not marked as held.
    #[inline(always)]
    pub(crate) fn enter_sequenced(&mut self, object: Reference) {
        self.current.enter_sequenced();
        self.entered = Some(object);
    }

    /// Hands a held object to the task that has waited longest for it, or frees the object's word.
    ///
    /// # Safety
    ///
    /// This worker is the object's home. The caller holds the object, which is alive.
    pub(crate) unsafe fn hand_on(&mut self, header: &Header) {
        // SAFETY: this worker is the object's home, by the contract of this function.
        match unsafe { header.take_deferred() } {
            Some(mut task) => {
                // SAFETY: the deferred task belongs to the home of its object.
                let meta = unsafe {
                    if !planted!("grant-token-forgotten") {
                        task.as_mut().meta.take_grant_token();
                    }
                    task.as_ref().meta
                };
                self.push_urgent(task, meta);
            }
            None => header.let_go(),
        }
    }

    /// Defers the current task, whose object is held.
    ///
    /// # Safety
    ///
    /// This worker is the object's home. The task is running here, has not entered the object, and
    /// is given up. The object is alive.
    pub(crate) unsafe fn defer(&mut self, header: &Header, task: NonNull<Task>) {
        // SAFETY: the task is this worker's, and in no list; the worker is the object's home.
        unsafe {
            if !planted!("deferral-unrecorded") {
                self.trace.put_back(task);
            }
            header.defer(task);
        }
    }

    /// Moves the tasks in the inbox to the rings. Given `until`, it waits for that task, and stops
    /// after it.
    pub(super) fn receive(&mut self, until: Option<NonNull<Task>>) {
        if self.queue.arrived.is_some() && until.is_none() {
            return self.receive_arrived();
        }
        let mut backoff = Backoff::new();
        loop {
            match self.receive_one() {
                Some(task) if until == Some(task) => return,
                Some(_) => {}
                None if until.is_none() => return,
                None => backoff.wait(),
            }
        }
    }

    /// Moves what is in the inbox to the rings, for a task that runs in turns.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn receive_arrivals(&mut self) {
        self.receive(None);
    }

    #[cold]
    fn receive_arrived(&mut self) {
        while let Some(left) = self.queue.arrived.filter(|&left| left > 0) {
            self.queue.arrived = self.receive_one().map(|_| left - 1).or(Some(0));
        }
    }

    /// Moves one task from the inbox to its ring.
    #[inline(always)]
    fn receive_one(&mut self) -> Option<NonNull<Task>> {
        // SAFETY: only the holder of a run queue takes from its inbox.
        let task = unsafe { self.inbox().take() }?;
        // SAFETY: a task that was taken from the inbox belongs to this worker.
        let (meta, fetch) = unsafe { (task.as_ref().meta, task.as_ref().fetch) };
        self.push_here(task, meta, fetch);
        Some(task)
    }
}
