//! A pool with all that is needed to run its tasks, and the worker that does, as these tasks see it.

use super::burst::unusual;
use super::free::Free;
use super::observed::Observing;
use super::shared::{Seat, Shared};
use crate::annotation::Priority;
use crate::fork::Forks;
use crate::memory::{CoreHeap, Ledger, Retired};
use crate::monitor::Counters;
use crate::object::{AtRest, Fetch, Header, Reference};
use crate::pool::{Inbox, Pool, Ring};
use crate::sync::{Padded, Relaxed};
use crate::task::{Aftermath, Groups, Meta, Task, TaskBuilder, class_of};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// The worker that a task runs on: spawns follow-ups, and says where the task is.
///
/// Each task gets it as its last argument.
pub struct Context {
    pub(super) index: usize,
    /// The worker that has it in its hands.
    pub(crate) holder: usize,
    pub(super) shared: Arc<Shared>,
    pub(super) ledger: Arc<Padded<Ledger>>,
    pub(super) counters: Arc<Padded<Counters>>,
    pub(super) rings: [Ring; Priority::COUNT],
    /// A bit for each ring that may have tasks, the highest priority lowest, and one for tasks that are bound to nothing.
    pub(super) ready: u8,
    pub(super) heap: CoreHeap,
    pub(super) distance: u64,
    /// How objects of this runtime rest.
    pub(crate) at_rest: AtRest,
    pub(super) counting: bool,
    /// Why tasks are not just run: see `unusual` in the driver.
    pub(super) unusual: u8,
    /// The task that runs: what its follow-ups inherit.
    pub(crate) current: Meta,
    /// The worker's jobs: second halves of joins.
    pub(crate) forks: Forks,
    /// Tasks that are bound to nothing.
    pub(super) free: Free,
    /// They do not lie among the others.
    pub(super) frees: bool,
    /// So many more of them run within their spawns before it is looked whether there is room for them elsewhere.
    pub(super) crowded: u8,
    /// Others may have left such tasks: in lanes, or in the queue of all.
    pub(super) collects: bool,
    /// How many tasks run within each other; or `IN_JOIN`.
    pub(crate) nested: u8,
    /// The groups of the tasks that it spawns and runs.
    pub(crate) groups: Groups,
    /// What the guard of a body that unwound has left to do.
    pub(crate) aftermath: Option<Aftermath>,
    /// The epoch that was announced last, in which operations begin.
    pub(super) epoch: u64,
    /// Others were told that this worker has nothing to do.
    pub(super) idle: bool,
    /// This worker is counted as a hungry one.
    pub(super) hungry: bool,
    /// How often it looks into its own pool before it looks for work that others have.
    pub(crate) patience: u32,
    /// How often it has found nothing since it last found something.
    pub(crate) idle_looks: u32,
    /// Counts bursts, for what happens now and then.
    pub(super) bursts: u64,
    /// Units of cost beyond one a task, of the tasks in the rings.
    pub(super) extra_load: u64,
    pub(super) retired: VecDeque<Retired>,
    /// In a simulation with clocks: so many of the tasks in the inbox have arrived by the worker's.
    pub(super) arrived: Option<usize>,
    /// Tasks that were refused for lack of memory, as this worker knew when it last gave back what it had.
    pub(super) refused: u64,
    /// If tasks are observed.
    pub(super) observing: Option<Box<Observing>>,
}

impl Drop for Context {
    fn drop(&mut self) {
        self.shared.adopt(self.retired.drain(..));
        self.shared.leave();
    }
}

impl Context {
    /// How often an optimistic read is tried before it runs as a writer would.
    pub(crate) const OPTIMISTIC_ATTEMPTS: u8 = 3;

    pub(super) fn new(index: usize, shared: Arc<Shared>) -> Self {
        let seat = &shared.seats[index];
        let observing = shared.observer.as_ref().map(|observer| Box::new(Observing::new(observer, index)));
        let watched = if shared.watchdog.is_some() { unusual::WATCHED } else { 0 };
        let observed = if observing.is_some() { unusual::OBSERVED } else { 0 };
        #[cfg(feature = "tracing")]
        let traced = if shared.spans { unusual::TRACED } else { 0 };
        #[cfg(not(feature = "tracing"))]
        let traced = 0;
        Self {
            index,
            holder: index,
            ledger: seat.ledger.clone(),
            counters: seat.counters.clone(),
            rings: core::array::from_fn(|_| Ring::new(observing.is_some())),
            ready: 0,
            heap: CoreHeap::new(shared.heaps.clone(), seat.node),
            distance: shared.distance as u64,
            at_rest: shared.at_rest,
            counting: shared.counting,
            unusual: watched | observed | traced,
            current: Meta::new(0, Priority::Normal, 0),
            forks: seat.forks.own(),
            free: Free::of(&shared, index),
            frees: shared.pool != Pool::Local,
            crowded: 0,
            collects: matches!(shared.pool, Pool::XQueue(_) | Pool::Ranked(_)),
            nested: 0,
            groups: Groups::default(),
            aftermath: None,
            epoch: 0,
            idle: false,
            hungry: false,
            patience: shared.platform.patience(),
            idle_looks: 0,
            bursts: 0,
            extra_load: 0,
            retired: VecDeque::new(),
            arrived: None,
            refused: 0,
            observing,
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

    /// Number of workers, or rather pools: as many as there can be workers.
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

    pub(crate) fn seat(&self) -> &Seat {
        &self.shared.seats[self.index]
    }

    /// Tells others whether this worker has nothing to do.
    pub(super) fn say_idle(&mut self, idle: bool) {
        self.idle = idle;
        self.seat().idle.store(idle, Relaxed);
    }

    /// Counts this worker among the hungry, or not any more.
    pub(super) fn say_hungry(&mut self, hungry: bool) {
        if self.hungry != hungry {
            self.hungry = hungry;
            if hungry {
                self.shared.hungry.0.fetch_add(1, Relaxed);
                self.ask_all();
            } else {
                self.shared.hungry.0.fetch_sub(1, Relaxed);
            }
        }
    }

    /// Whether it has tasks to run that it knows of.
    pub(super) fn has_tasks(&self) -> bool {
        self.ready != 0
    }

    /// The worker goes on with another pool, which takes over what was told to others about the worker.
    pub(super) fn pass_on_hunger(&mut self, next: &mut Self) {
        next.hungry = core::mem::take(&mut self.hungry);
        next.idle_looks = core::mem::take(&mut self.idle_looks);
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.seat().inbox
    }

    /// Gives back a descriptor whose contents were moved out.
    ///
    /// # Safety
    ///
    /// It was made for a body of type `B`, and nobody uses it any more.
    #[inline(always)]
    pub(crate) unsafe fn free<B>(&mut self, task: NonNull<Task>) {
        // SAFETY: by the caller's promise; every descriptor comes from these heaps.
        unsafe { self.heap.free(const { class_of::<B>() }, task.cast()) };
    }

    /// Counts one more task of an epoch in which another one waits meanwhile.
    pub(crate) fn started(&mut self, epoch: u8) {
        self.ledger.0.start(epoch);
    }

    /// Says that a task of that epoch has finished.
    #[inline(always)]
    pub(crate) fn finished(&mut self, epoch: u8) {
        self.ledger.0.finish(epoch);
    }

    #[inline(always)]
    pub(crate) fn home_of(&self, target: Reference) -> usize {
        target.home() % self.shared.seats.len()
    }

    /// Puts a task into this worker's pool.
    #[inline(always)]
    pub(crate) fn push_here(&mut self, task: NonNull<Task>, meta: Meta, fetch: Fetch) {
        if meta.is_particular() {
            if meta.is_free() {
                return self.push_free(task, meta);
            }
            self.extra_load += meta.cost();
        }
        let level = meta.level();
        debug_assert!(level < Priority::COUNT);
        // SAFETY: the level is that of a priority, of which each has a ring.
        if !unsafe { self.rings.get_unchecked_mut(level) }.has_room() {
            self.make_room(task, level);
        }
        // SAFETY: as above.
        unsafe { self.rings.get_unchecked_mut(level) }.push(task, fetch);
        self.ready |= 1 << level;
    }

    /// Prepares a ring for a task that comes into it, and notes that it does.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, task: NonNull<Task>, level: usize) {
        match &self.observing {
            None => self.rings[level].make_room(),
            // SAFETY: the task belongs to this worker.
            Some(observing) => unsafe { observing.queue(task, &mut self.rings[level]) },
        }
    }

    /// Puts a task that holds an object before all others, whatever its priority: others wait for the object.
    pub(super) fn push_urgent(&mut self, task: NonNull<Task>, meta: Meta) {
        self.extra_load += meta.cost();
        self.make_room(task, Priority::High as usize);
        self.rings[Priority::High as usize].push_front(task);
        self.ready |= 1 << Priority::High as u8;
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
        unsafe {
            if let Some(observing) = &self.observing {
                observing.put_elsewhere(task);
            }
            self.shared.push(worker, task);
        }
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
                    if !planted!("baton-forgotten") {
                        task.as_mut().meta.take_baton();
                    }
                    task.as_ref().meta
                };
                self.push_urgent(task, meta);
            }
            None => header.let_go(),
        }
    }

    /// Moves what others have sent into the rings, up to `until` if given (which is waited for), else what is there.
    pub(super) fn receive(&mut self, until: Option<NonNull<Task>>) {
        if self.arrived.is_some() && until.is_none() {
            return self.receive_arrived();
        }
        let mut backoff = crate::sync::Backoff::new();
        loop {
            match self.receive_one() {
                Some(task) if until == Some(task) => return,
                Some(_) => {}
                None if until.is_none() => return,
                None => backoff.wait(),
            }
        }
    }

    #[cold]
    fn receive_arrived(&mut self) {
        while let Some(left) = self.arrived.filter(|&left| left > 0) {
            self.arrived = self.receive_one().map(|_| left - 1).or(Some(0));
        }
    }

    /// Moves one task from the inbox into its ring.
    #[inline(always)]
    fn receive_one(&mut self) -> Option<NonNull<Task>> {
        // SAFETY: this is the inbox's worker.
        let task = unsafe { self.inbox().take() }?;
        // SAFETY: a task from the inbox belongs to this worker.
        let (meta, fetch) = unsafe { (task.as_ref().meta, task.as_ref().fetch) };
        self.push_here(task, meta, fetch);
        Some(task)
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
