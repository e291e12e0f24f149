//! A worker, as the tasks that run on it see it.

use super::shared::{Seat, Shared};
use crate::annotation::Priority;
use crate::memory::{CoreHeap, Ledger, Retired, SizeClass, slot};
use crate::monitor::Counters;
use crate::object::{Fetch, Header, Reference};
use crate::pool::{Inbox, Ring};
use crate::sync::Padded;
use crate::task::{BATON, Meta, PROTOCOL, Task, TaskBuilder, builder::Options};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// The worker that a task runs on: spawns follow-ups, and says where the task is.
///
/// Each task gets it as its last argument.
pub struct Context {
    pub(super) index: usize,
    pub(super) shared: Arc<Shared>,
    pub(super) ledger: Arc<Padded<Ledger>>,
    pub(super) counters: Arc<Padded<Counters>>,
    pub(super) rings: [Ring; Priority::COUNT],
    pub(super) heap: CoreHeap,
    pub(super) distance: usize,
    pub(super) counting: bool,
    /// The runtime is being shut down and drops what has not started.
    pub(super) cancelling: bool,
    /// The task that runs: what its follow-ups inherit.
    pub(super) current: Meta,
    /// The task that runs holds objects.
    holding: bool,
    /// How deep follow-ups that were carried on at once are nested.
    depth: u8,
    /// The epoch that was announced last, in which operations begin.
    pub(super) epoch: u64,
    /// Counts tasks, for what happens now and then.
    pub(super) ticks: u64,
    /// Units of cost beyond one a task, of the tasks in the rings.
    pub(super) extra_load: u64,
    pub(super) retired: VecDeque<Retired>,
}

// SAFETY: the tasks in the rings are all `Send`, and descriptors belong to whoever runs them, on any thread.
unsafe impl Send for Context {}

/// Deeper nesting of follow-ups goes through the pool: the stack is bounded, and others get their turn.
const DEEPEST: u8 = 16;

impl Context {
    /// How often an optimistic read is tried before it runs as a writer would.
    pub(crate) const OPTIMISTIC_ATTEMPTS: u8 = 3;

    pub(super) fn new(index: usize, shared: Arc<Shared>) -> Self {
        let seat = &shared.seats[index];
        Self {
            index,
            ledger: seat.ledger.clone(),
            counters: seat.counters.clone(),
            rings: core::array::from_fn(|_| Ring::new()),
            heap: CoreHeap::new(shared.heaps.clone(), seat.node),
            distance: shared.distance,
            counting: shared.counting,
            cancelling: false,
            current: Meta { epoch: 0, priority: Priority::Normal, class: 0, flags: 0, attempts: 0, cost: 0 },
            holding: false,
            depth: 0,
            epoch: 0,
            ticks: 0,
            extra_load: 0,
            retired: VecDeque::new(),
            shared,
        }
    }

    /// A follow-up of the running task, with the objects it touches: `()`, one access, or a tuple of them.
    #[inline(always)]
    pub fn task<A>(&mut self, access: A) -> TaskBuilder<&mut Self, A> {
        TaskBuilder::new(self, access)
    }

    /// Index of the worker.
    #[inline(always)]
    pub fn worker(&self) -> usize {
        self.index
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.shared.seats.len()
    }

    /// Whether the runtime is shutting down: a chain of follow-ups without end should end now.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.phase() != super::shared::phase::OPEN
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn seat(&self) -> &Seat {
        &self.shared.seats[self.index]
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.seat().inbox
    }

    /// Gives back a descriptor whose contents were moved out.
    ///
    /// # Safety
    ///
    /// The block is of that class, and nobody uses it any more.
    #[inline(always)]
    pub(crate) unsafe fn free(&mut self, task: NonNull<Task>, class: u8) {
        // SAFETY: by the caller's promise; every descriptor comes from these heaps.
        unsafe { self.heap.free(size_class(class), task.cast()) };
    }

    /// Says that a task of that epoch has finished.
    #[inline(always)]
    pub(crate) fn finished(&mut self, epoch: u8) {
        self.ledger.0.finish(epoch);
    }

    /// Runs application code while its task holds objects.
    #[inline(always)]
    pub(crate) fn holding<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        self.holding = true;
        let result = run(self);
        self.holding = false;
        result
    }

    /// Whether a follow-up may be carried on at once: nothing is held, and it would be next anyway.
    #[inline(always)]
    pub(crate) fn may_run_inline(&self, options: &Options) -> bool {
        !self.holding
            && self.depth < DEEPEST
            && options.priority.is_none_or(|priority| priority == self.current.priority)
    }

    /// Carries on a follow-up within the running task.
    #[inline(always)]
    pub(crate) fn run_within(&mut self, options: &Options, run: impl FnOnce(&mut Self)) {
        let epoch = self.current.epoch;
        if options.operation {
            self.current.epoch = slot(self.epoch);
        }
        self.depth += 1;
        run(self);
        self.depth -= 1;
        self.current.epoch = epoch;
    }

    #[inline(always)]
    pub(crate) fn home_of(&self, target: Reference) -> usize {
        target.home() % self.shared.seats.len()
    }

    /// Puts a task into a ring of this worker.
    #[inline(always)]
    pub(super) fn push_here(&mut self, task: NonNull<Task>, meta: Meta, fetch: Fetch) {
        self.extra_load += u64::from(meta.cost);
        self.rings[meta.priority as usize].push(task, fetch);
    }

    /// Puts a task back, behind all others of its priority.
    pub(crate) fn requeue(&mut self, task: NonNull<Task>) {
        // SAFETY: the task belongs to this worker.
        let (meta, fetch) = unsafe { (task.as_ref().meta, task.as_ref().fetch) };
        self.push_here(task, meta, fetch);
    }

    /// Sends a task to another worker.
    #[inline]
    pub(crate) fn send_to(&mut self, task: NonNull<Task>, worker: usize) {
        self.counters.0.remote_spawns.add(1);
        // SAFETY: the task belongs to this worker, which gives it up.
        unsafe { self.shared.push(worker, task, task) };
    }

    /// Hands a held object to the task that has waited longest for it, or lets it go.
    ///
    /// # Safety
    ///
    /// This is the object's home, and the object is alive and held by the caller.
    pub(crate) unsafe fn hand_on(&mut self, header: &Header) {
        // SAFETY: at home.
        match unsafe { header.take_deferred() } {
            Some(mut task) => {
                // SAFETY: the deferred task belongs to this worker.
                let meta = unsafe {
                    task.as_mut().meta.flags |= BATON;
                    task.as_ref().meta
                };
                // Before all others: it has waited long enough, and whoever else comes for the object has to wait.
                self.extra_load += u64::from(meta.cost);
                self.rings[meta.priority as usize].push_front(task);
            }
            None => header.let_go(),
        }
    }

    /// Moves what others have sent into the rings, up to `until` if given (which is waited for), else what is there.
    pub(super) fn receive(&mut self, until: Option<NonNull<Task>>) {
        use crate::pool::Take;
        let mut backoff = crate::sync::Backoff::new();
        loop {
            // SAFETY: this is the inbox's worker.
            match unsafe { self.inbox().take() } {
                Take::Task(task) => {
                    // SAFETY: a task from the inbox belongs to this worker.
                    let (meta, fetch) = unsafe { (task.as_ref().meta, task.as_ref().fetch) };
                    self.push_here(task, meta, fetch);
                    if until == Some(task) {
                        return;
                    }
                }
                Take::Empty | Take::Gap if until.is_none() => return,
                Take::Empty | Take::Gap => backoff.wait(),
            }
        }
    }

    #[inline(always)]
    pub(crate) fn count_wait(&self, waited: bool) {
        if waited {
            self.counters.0.latch_waits.add(1);
        }
    }

    /// Counters for those who count; each says which.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters.0
    }
}

/// The size class of that index.
#[inline(always)]
pub(super) fn size_class(index: u8) -> SizeClass {
    SizeClass::ALL[usize::from(index) & 3]
}

/// Whether a task belongs to the runtime's own protocol.
pub(super) fn is_protocol(meta: Meta) -> bool {
    meta.flags & PROTOCOL != 0
}
