//! Where a spawned task goes: to the home of its object if it is sequenced there, else where its
//! annotation says, else to the spawning worker.

use super::{Context, OpenGuard, Runtime, RuntimeState, Worker};
use crate::annotation::{Place, Priority};
use crate::memory::SizeClass;
use crate::object::Fetch;
use crate::pool::QueuePolicy;
use crate::task::options::Options;
use crate::task::spawner::{CompleteTask, sealed::Origin};
use crate::task::{GroupState, JoinError, MOST_OBJECTS, Meta, Task};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

impl RuntimeState {
    /// Returns the worker that the options name. `None` stands for the spawning worker.
    fn worker_for(&self, options: Options, home: Option<usize>) -> Option<usize> {
        let workers = self.slots.len();
        match (home, options.place) {
            (Some(home), _) => Some(home % workers),
            (None, Place::Here) => None,
            (None, Place::Core(core)) => Some(usize::from(core) % workers),
            (None, Place::Node(node)) => Some(self.least_loaded(node, options.cost)),
        }
    }

    /// Pushes tasks to the inboxes of their homes in one step: meanwhile no other set of tasks
    /// enters any of these inboxes. Locking the homes in ascending order rules out deadlock. The
    /// locks are held for a few pushes.
    ///
    /// # Safety
    ///
    /// The caller owns the tasks and gives them up.
    unsafe fn enlist(&self, tasks: &mut [(usize, NonNull<Task>)]) {
        for (home, _) in tasks.iter_mut() {
            *home %= self.slots.len();
        }
        // Stable: tasks for one home stay in the order in which their objects were named.
        tasks.sort_by_key(|&(home, _)| home);
        // Before the pushes, and released after all of them.
        let (mut few, mut many);
        let locks = if tasks.len() <= MOST_OBJECTS {
            few = [const { None }; MOST_OBJECTS];
            &mut few[..]
        } else {
            many = (0..self.slots.len().min(tasks.len())).map(|_| None).collect::<Vec<_>>();
            &mut many[..]
        };
        if tasks.len() > 1 && !planted!("grant-without-two-phase") {
            let homes = tasks.chunk_by(|one, other| one.0 == other.0).map(|same| same[0].0);
            for (lock, home) in locks.iter_mut().zip(homes) {
                *lock = Some(self.slots[home].enlisting.lock());
            }
        }
        for &(home, task) in tasks.iter() {
            // SAFETY: the caller gives the task up, by the contract of this function.
            unsafe { self.push(home, task) };
        }
    }
}

impl Origin for &mut Context {
    const IN_TASK: bool = true;
    type Open = ();

    #[inline(always)]
    fn keep_open(&self) -> Result<(), JoinError> {
        Ok(())
    }

    fn shared(&self) -> &Arc<RuntimeState> {
        &self.worker.shared
    }

    fn on_worker(&self) -> Option<usize> {
        Some(self.worker.index)
    }

    fn operation(&self) -> Option<u8> {
        Some(self.worker.current.epoch())
    }

    fn priority(&self) -> Priority {
        self.worker.current.priority()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn draw_ticket(&mut self, tally: NonNull<GroupState>) {
        // SAFETY: forwarded.
        unsafe { self.worker.draw_ticket(tally) };
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn allocate(&mut self, class: SizeClass) -> Option<NonNull<Task>> {
        self.worker.heap.alloc(class)
    }

    #[inline]
    unsafe fn give_back(&mut self, class: SizeClass, task: NonNull<Task>) {
        // SAFETY: forwarded.
        unsafe { self.worker.heap.free(class, task) };
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn admit(&mut self, options: &Options) -> Meta {
        let mut meta = self.worker.current.inherited(options.priority, options.cost);
        if options.begins_operation {
            meta = meta.in_epoch(self.worker.epoch.slot());
        }
        self.worker.started(meta.epoch());
        options.rank_of(meta)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_unbound_queue(&self, options: &Options) -> bool {
        self.worker.unbound.is_separate && matches!(options.place, Place::Here)
    }

    #[inline]
    fn inline_context(&mut self, _: &Options) -> Option<&mut Context> {
        self.worker.has_no_room().then_some(self)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn send_unbound(&mut self, task: NonNull<Task>, options: &Options, meta: Meta) {
        if self.has_unbound_queue(options) {
            self.worker.push_unbound(task, meta);
        } else {
            // SAFETY: forwarded.
            unsafe { self.send(CompleteTask { task, meta, fetch: Fetch::NONE }, options, None) };
        }
    }

    unsafe fn keep_unbound(&mut self, task: NonNull<Task>, options: &Options, meta: Meta) {
        if self.has_unbound_queue(options) {
            self.worker.keep_unbound_task(task, meta);
        } else {
            // SAFETY: forwarded.
            unsafe { self.send(CompleteTask { task, meta, fetch: Fetch::NONE }, options, None) };
        }
    }

    fn offer(&mut self) {
        self.worker.share();
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn send(&mut self, complete: CompleteTask, options: &Options, home: Option<usize>) {
        let CompleteTask { task, meta, fetch } = complete;
        let worker = match (home, options.place) {
            (None, Place::Here) => self.worker.index,
            _ => self.worker.shared.worker_for(*options, home).unwrap_or(self.worker.index),
        };
        if worker == self.worker.index {
            self.worker.push_here(task, meta, fetch)
        } else {
            self.worker.send_to(task, worker)
        }
    }

    unsafe fn enlist(&mut self, tasks: &mut [(usize, NonNull<Task>)]) {
        // SAFETY: forwarded.
        unsafe { self.worker.shared.enlist(tasks) };
        let remote = tasks.iter().filter(|&&(home, _)| home != self.worker.index).count();
        self.worker.counters().remote_spawns.add(remote as u64);
        // What this worker spawns for itself later must come later: its rings must not overtake its
        // inbox.
        let own = tasks.iter().rev().find(|&&(home, _)| home == self.worker.index);
        if let Some(&(_, task)) = own
            && !planted!("own-ring-overtakes-inbox")
        {
            self.worker.receive(Some(task));
        }
    }

    unsafe fn note(&mut self, task: NonNull<Task>) {
        // SAFETY: forwarded.
        unsafe { self.worker.trace.put_waiting(task) };
    }
}

impl Worker {
    /// Sends a task that was granted all its objects to the worker that its options name.
    pub(crate) fn send_granted(&mut self, task: NonNull<Task>, options: &Options) {
        match self.shared.worker_for(*options, None) {
            Some(worker) if worker != self.index => self.send_to(task, worker),
            // SAFETY: the task belongs to this worker.
            _ => self.push_urgent(task, unsafe { task.as_ref().meta }),
        }
    }
}

impl<'r> Origin for &'r Runtime {
    const IN_TASK: bool = false;
    type Open = Option<OpenGuard<'r>>;

    #[inline]
    fn keep_open(&self) -> Result<Self::Open, JoinError> {
        Runtime::keep_open(self)
    }

    fn shared(&self) -> &Arc<RuntimeState> {
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

    unsafe fn draw_ticket(&mut self, tally: NonNull<GroupState>) {
        // SAFETY: another ticket keeps the group alive, by the contract of this function.
        unsafe { tally.as_ref() }.draw(1);
    }

    fn allocate(&mut self, class: SizeClass) -> Option<NonNull<Task>> {
        Runtime::shared(self).heaps.alloc_one(0, class).map(NonNull::cast)
    }

    unsafe fn give_back(&mut self, class: SizeClass, task: NonNull<Task>) {
        // SAFETY: forwarded.
        unsafe { Runtime::shared(self).heaps.free_one(class, task.cast()) };
    }

    fn admit(&mut self, options: &Options) -> Meta {
        let epoch = Runtime::shared(self).epochs.start_external();
        options.rank_of(Meta::new(epoch, options.priority.unwrap_or_default(), options.cost))
    }

    unsafe fn send_unbound(&mut self, mut task: NonNull<Task>, options: &Options, meta: Meta) {
        let shared = Runtime::shared(self);
        if matches!(options.place, Place::Here) {
            if let Some(queue) = shared.ranked.as_ref().filter(|_| meta.is_ordered_by_rank()) {
                // SAFETY: the caller gives the task up, by the contract of this function.
                unsafe {
                    self.note(task);
                    shared.push_ranked(queue, task, meta.rank(), 0);
                }
                return;
            }
            if let Some(injector) =
                shared.injector.as_ref().filter(|_| meta.level() == Priority::Normal as usize)
            {
                // SAFETY: the caller gives the task up, by the contract of this function.
                unsafe {
                    self.note(task);
                    shared.inject(injector, task);
                }
                return;
            }
            // Only under this policy: a task that was dealt to a worker is not dealt again. A
            // single worker runs tasks from outside in their order, as no other can take them.
            if shared.policy == QueuePolicy::WorkStealing && shared.slots.len() > 1 {
                // SAFETY: the caller owns the task, by the contract of this function.
                unsafe { task.as_mut().meta = meta.unbound() };
            }
        }
        // SAFETY: forwarded.
        unsafe { self.send(CompleteTask { task, meta, fetch: Fetch::NONE }, options, None) };
    }

    #[inline]
    unsafe fn send(&mut self, complete: CompleteTask, options: &Options, home: Option<usize>) {
        let shared = Runtime::shared(self);
        let worker = shared.worker_for(*options, home).unwrap_or_else(|| shared.next_for_task());
        // SAFETY: the caller gives the task up, by the contract of this function.
        unsafe { shared.push(worker, complete.task) };
    }

    unsafe fn enlist(&mut self, tasks: &mut [(usize, NonNull<Task>)]) {
        // SAFETY: forwarded.
        unsafe { Runtime::shared(self).enlist(tasks) };
    }

    unsafe fn note(&mut self, task: NonNull<Task>) {
        if let Some(observer) = &Runtime::shared(self).observer
            && observer.is_stamping()
        {
            // SAFETY: forwarded.
            unsafe { observer.stamp_outside(task) };
        }
    }
}
