//! Where a spawned task goes: its object's home if it is sequenced there, else where its annotation says, else here.

use super::{Context, Runtime, Shared};
use crate::annotation::{Place, Priority};
use crate::memory::{SizeClass, slot};
use crate::object::Fetch;
use crate::pool::Pool;
use crate::task::builder::{Options, sealed::Spawn};
use crate::task::{Meta, Tally, Task};
use alloc::sync::Arc;
use core::ptr::NonNull;

impl Shared {
    /// The worker that a place names; `None` stands for "here".
    fn worker_for(&self, options: Options, home: Option<usize>) -> Option<usize> {
        let workers = self.seats.len();
        match (home, options.place) {
            (Some(home), _) => Some(home % workers),
            (None, Place::Here) => None,
            (None, Place::Core(core)) => Some(usize::from(core) % workers),
            (None, Place::Node(node)) => Some(self.least_loaded(node, options.cost)),
        }
    }

    /// Puts tasks into the inboxes of their homes in one step: while they enter, no other set of tasks enters any of
    /// these pools. Homes are locked in ascending order; the locks are held for a few pushes.
    ///
    /// # Safety
    ///
    /// The caller owns the tasks and gives them up.
    unsafe fn enlist(&self, tasks: &mut [(usize, NonNull<Task>)]) {
        for (home, _) in tasks.iter_mut() {
            *home %= self.seats.len();
        }
        // Stable: the tasks for one home stay in the order of their names.
        tasks.sort_by_key(|&(home, _)| home);
        let mut locks = [const { None }; crate::task::MOST_OBJECTS];
        if tasks.len() > 1 && !planted!("grant-without-two-phase") {
            let mut last = usize::MAX;
            for (lock, &(home, _)) in locks.iter_mut().zip(tasks.iter()) {
                if home != last {
                    *lock = Some(self.seats[home].enlisting.lock());
                    last = home;
                }
            }
        }
        for &(home, task) in tasks.iter() {
            // SAFETY: by the caller's promise.
            unsafe { self.push(home, task) };
        }
    }
}

impl Spawn for &mut Context {
    const IN_TASK: bool = true;

    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn on_worker(&self) -> Option<usize> {
        Some(self.index)
    }

    fn operation(&self) -> Option<u8> {
        Some(self.current.epoch())
    }

    fn priority(&self) -> Priority {
        self.current.priority()
    }

    #[inline(always)]
    unsafe fn draw_ticket(&mut self, tally: NonNull<Tally>) {
        // SAFETY: by the caller's promise.
        unsafe { Context::draw_ticket(self, tally) };
    }

    #[inline(always)]
    fn allocate(&mut self, class: SizeClass) -> Option<NonNull<Task>> {
        self.heap.alloc(class).map(NonNull::cast)
    }

    unsafe fn give_back(&mut self, class: SizeClass, task: NonNull<Task>) {
        // SAFETY: by the caller's promise.
        unsafe { self.heap.free(class, task.cast()) };
    }

    #[inline(always)]
    fn admit(&mut self, options: &Options) -> Meta {
        let mut meta = self.current.inherited(options.priority, options.cost);
        if options.operation {
            meta = meta.in_epoch(slot(self.epoch));
        }
        self.ledger.0.start(meta.epoch());
        options.rank_of(meta)
    }

    #[inline(always)]
    fn may_choose(&self, options: &Options) -> bool {
        self.frees && matches!(options.place, Place::Here)
    }

    #[inline]
    fn at_once(&mut self) -> Option<&mut Context> {
        self.has_no_room().then_some(self)
    }

    #[inline(always)]
    unsafe fn send_bare(&mut self, task: NonNull<Task>, options: &Options, meta: Meta) {
        if self.may_choose(options) {
            self.push_free(task, meta);
        } else {
            // SAFETY: by the caller's promise.
            unsafe { self.send(task, options, None, meta, Fetch::NONE) };
        }
    }

    unsafe fn keep_bare(&mut self, task: NonNull<Task>, options: &Options, meta: Meta) {
        if self.may_choose(options) {
            self.keep_free(task, meta);
        } else {
            // SAFETY: by the caller's promise.
            unsafe { self.send(task, options, None, meta, Fetch::NONE) };
        }
    }

    fn offer(&mut self) {
        self.share();
    }

    #[inline(always)]
    unsafe fn send(
        &mut self,
        task: NonNull<Task>,
        options: &Options,
        home: Option<usize>,
        meta: Meta,
        fetch: Fetch,
    ) {
        let worker = match (home, options.place) {
            (None, Place::Here) => self.index,
            _ => self.shared.worker_for(*options, home).unwrap_or(self.index),
        };
        if worker == self.index { self.push_here(task, meta, fetch) } else { self.send_to(task, worker) }
    }

    unsafe fn enlist(&mut self, tasks: &mut [(usize, NonNull<Task>)]) {
        // SAFETY: by the caller's promise.
        unsafe { self.shared.enlist(tasks) };
        let remote = tasks.iter().filter(|&&(home, _)| home != self.index).count();
        self.counters.0.remote_spawns.add(remote as u64);
        // What this worker spawns for itself later must come later: its own ring must not overtake its inbox.
        let own = tasks.iter().rev().find(|&&(home, _)| home == self.index);
        if let Some(&(_, task)) = own
            && !planted!("own-ring-overtakes-inbox")
        {
            self.receive(Some(task));
        }
    }

    unsafe fn note(&mut self, task: NonNull<Task>) {
        if let Some(observing) = &self.observing {
            // SAFETY: by the caller's promise.
            unsafe { observing.put(task) };
        }
    }
}

impl Context {
    /// Sends a task on its way that was granted all its objects.
    pub(crate) fn send_granted(&mut self, task: NonNull<Task>, options: &Options) {
        match self.shared.worker_for(*options, None) {
            Some(worker) if worker != self.index => self.send_to(task, worker),
            // SAFETY: the task belongs to this worker.
            _ => self.push_urgent(task, unsafe { task.as_ref().meta }),
        }
    }
}

impl Spawn for &Runtime {
    const IN_TASK: bool = false;

    fn shared(&self) -> &Arc<Shared> {
        Runtime::shared(self)
    }

    fn on_worker(&self) -> Option<usize> {
        None
    }

    fn operation(&self) -> Option<u8> {
        None
    }

    fn priority(&self) -> Priority {
        Priority::default()
    }

    unsafe fn draw_ticket(&mut self, tally: NonNull<Tally>) {
        // SAFETY: by the caller's promise.
        unsafe { tally.as_ref() }.draw(1);
    }

    fn allocate(&mut self, class: SizeClass) -> Option<NonNull<Task>> {
        Runtime::shared(self).heaps.alloc_one(0, class).map(NonNull::cast)
    }

    unsafe fn give_back(&mut self, class: SizeClass, task: NonNull<Task>) {
        // SAFETY: by the caller's promise.
        unsafe { Runtime::shared(self).heaps.free_one(class, task.cast()) };
    }

    fn admit(&mut self, options: &Options) -> Meta {
        let epoch = Runtime::shared(self).epochs.start_external();
        options.rank_of(Meta::new(epoch, options.priority.unwrap_or_default(), options.cost))
    }

    unsafe fn send_bare(&mut self, mut task: NonNull<Task>, options: &Options, meta: Meta) {
        let shared = Runtime::shared(self);
        if matches!(options.place, Place::Here) {
            if let Some(queue) = shared.ranked.as_ref().filter(|_| meta.goes_by_rank()) {
                // SAFETY: by the caller's promise.
                unsafe {
                    self.note(task);
                    shared.push_ranked(queue, task, meta.rank(), 0);
                }
                return;
            }
            // What is dealt out to a worker is not dealt out again.
            if shared.pool == Pool::WorkStealing {
                // SAFETY: by the caller's promise the task is its own.
                unsafe { task.as_mut().meta = meta.free() };
            }
        }
        // SAFETY: by the caller's promise.
        unsafe { self.send(task, options, None, meta, Fetch::NONE) };
    }

    unsafe fn send(
        &mut self,
        task: NonNull<Task>,
        options: &Options,
        home: Option<usize>,
        _: Meta,
        _: Fetch,
    ) {
        let shared = Runtime::shared(self);
        let worker = shared.worker_for(*options, home).unwrap_or_else(|| shared.next_for_task());
        // SAFETY: by the caller's promise.
        unsafe { shared.push(worker, task) };
    }

    unsafe fn enlist(&mut self, tasks: &mut [(usize, NonNull<Task>)]) {
        // SAFETY: by the caller's promise.
        unsafe { Runtime::shared(self).enlist(tasks) };
    }

    unsafe fn note(&mut self, task: NonNull<Task>) {
        if let Some(observer) = &Runtime::shared(self).observer {
            // SAFETY: by the caller's promise.
            unsafe { observer.stamp_outside(task) };
        }
    }
}
