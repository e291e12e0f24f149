//! Tasks that block in place: another thread drives their worker meanwhile.
//!
//! # The steps of the blocking thread
//!
//! 1. Suspend the task: save what the worker knows of it. A sequenced object that it is inside is
//!    marked as held, so that other tasks of that object are deferred.
//! 2. Park the run queue, and give up the right to drive the worker
//!    ([`Relay`](super::relay::Relay)). If no thread waits for that, start a stand-in: a [`Driver`]
//!    of the same worker, on a spare thread.
//! 3. Run the function.
//! 4. Claim the run queue: no thread takes it from its slot any more. Queue up in the relay, count
//!    the generation up, and wake the worker. At its next step the driving thread parks what it
//!    holds, and gives up.
//! 5. Take the run queue, resume the task, and return.
//!
//! A stand-in looks at the generation between any two tasks. The worker's first thread does so
//! after each burst; while it waits for its turn it is in the same line.
//!
//! # Other workers
//!
//! While the task blocks, another worker may become the owner of the run queue, and hold it. The
//! blocking thread has its turn then, but finds no run queue. It counts the generation up again;
//! the holder sees the claim between two bursts, parks the run queue, and wakes all.
//!
//! ```text
//! blocking thread: counts itself in `claimants`, fence, finds the slot empty, parks
//! holder:          parks the run queue, fence, reads `claimants`, wakes all
//! ```
//!
//! Both fences are sequentially consistent: either the blocking thread finds the run queue, or the
//! holder sees the claimant.
//!
//! # A latch that the blocked task holds
//!
//! ```text
//! blocked task: holds a latch, its function has returned, waits for its turn
//! stand-in:     spins for that latch, in the midst of a task        -> both wait for ever
//! ```
//!
//! So a task that spins for a latch gives way as soon as a thread waits for its worker, or for its
//! run queue.

use super::observing::Outer;
use super::{Context, Driver, RuntimeState, Worker};
use crate::monitor::Running;
use crate::object::Reference;
use crate::sync::{Relaxed, SeqCst, fence, yield_now};
use crate::task::{GroupState, Meta, Payload, catch};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::NonNull;

impl Context {
    /// Runs a function that may block the thread: it waits for a file, a lock, or another task.
    /// Meanwhile a spare thread drives this worker, so that the tasks behind this one run.
    ///
    /// When the function returns, this task goes on as soon as the worker is between two tasks; at
    /// most a burst of 32 of them runs first for each task that waits in the same way. All that the
    /// task holds it still holds: its objects, latches and granules. Other tasks on them wait.
    /// Those at the same home wait only if they need the object that this task is inside; tasks on
    /// other objects run.
    ///
    /// Inside the function the thread counts as none of the runtime's: it may [wait for a
    /// handle](crate::Handle::join), even of this runtime. It must not wait for a task that needs
    /// what this task holds, or that comes behind one that spins for its latch.
    /// [`Runtime::shutdown`](crate::Runtime::shutdown) does not wait there, as the shutdown waits
    /// for this task.
    ///
    /// # When it runs the function only
    ///
    /// In these cases nothing else runs on the worker meanwhile, and the thread still counts as a
    /// worker's:
    ///
    /// - the platform has no [spare threads](crate::platform::Platform::stand_in): a
    ///   [`Simulation`](crate::platform::Simulation), or [`Threads`](crate::platform::Threads)
    ///   where 256 of them already stand in for this worker, or the system refuses one;
    /// - the task runs inside the spawn of another one, as tasks do under
    ///   [`QueuePolicy::XQueue`](crate::QueuePolicy::XQueue) where every queue is full;
    /// - the context is that of a [bundle](crate::bundle::Bundle), whose other walks wait for it.
    ///
    /// # Panics
    ///
    /// A panic of the function is continued in the task, which has its worker back by then.
    ///
    /// # Examples
    ///
    /// A task waits for one that was spawned on the same worker:
    ///
    /// ```
    /// let rt = xtasking::Runtime::builder().workers(1).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let waits = rt.task(()).submit(move |(), cx| {
    ///     cx.task(()).spawn(move |(), _| sender.send(7).unwrap());
    ///     cx.block_in_place(|| receiver.recv())
    /// });
    /// assert_eq!(waits.join()?, Ok(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn block_in_place<R>(&mut self, function: impl FnOnce() -> R) -> R {
        self.worker.prepare_to_wait();
        if self.worker.may_be_lent() { self.worker.lend_during(function) } else { function() }
    }
}

/// What a worker knows of a task that is suspended.
struct SuspendedTask {
    current: Meta,
    nested: u8,
    group: Option<NonNull<GroupState>>,
    observed: Option<Outer>,
    arrived: Option<usize>,
    /// The sequenced object that the task is inside, and that is marked as held because it blocks.
    marked: Option<Reference>,
    /// What the watchdog knows of it.
    post: Option<Running>,
}

/// A run queue that was moved out of its place, for other threads to hold. It comes back, and its
/// task goes on, when this is dropped.
struct Loan {
    place: NonNull<Worker>,
    /// Until the loan ends.
    task: Option<SuspendedTask>,
    shared: Arc<RuntimeState>,
    queue: usize,
    /// The worker whose threads drive each other's tasks.
    worker: usize,
}

impl Worker {
    /// Returns true if other tasks may run here while the current one is suspended.
    fn may_be_lent(&self) -> bool {
        let is_inside_another = self.nested & !Self::IN_JOIN != 0;
        !is_inside_another && !self.current.is_confined() && !self.shared.is_simulated
    }

    /// Lets a thread that waits for this worker, or for this run queue, go on. For a task that
    /// spins for a latch, which the task of that thread may hold.
    #[cold]
    pub(crate) fn give_way(&mut self) {
        self.trace.begin_latch_wait();
        let workers = &self.shared.worker_set;
        let is_claimed = workers.claimants.load(Relaxed) != 0 && self.slot().is_claimed();
        if !is_claimed && !workers.relay(self.holder).has_waiting() || planted!("latch-waiter-keeps-worker") {
            return;
        }
        let (shared, queue) = (self.shared.clone(), self.index);
        self.lend_during(|| {
            // A thread that has claimed the run queue comes for it. It may have parked it again
            // before this thread looks, so the claim is read each time.
            let slot = &shared.slots[queue];
            while slot.is_claimed() && !slot.parked.is_empty() {
                yield_now();
            }
        });
    }

    /// Runs a function while another thread drives this worker. If none can, only runs it.
    #[cold]
    fn lend_during<R>(&mut self, function: impl FnOnce() -> R) -> R {
        let task = self.suspend_task();
        let loan = Loan::begin(self, task);
        if !loan.find_driver() {
            drop(loan);
            return function();
        }
        let outcome = loan.run_outside(function);
        drop(loan);
        outcome.unwrap_or_else(|payload| crate::task::throw(payload))
    }

    /// Prepares this worker for other tasks, in the midst of the current one.
    fn suspend_task(&mut self) -> SuspendedTask {
        // The worker goes on with others.
        let post = self.shared.posts.as_ref().and_then(|posts| posts.take(self.index));
        // Tasks that this one has dealt: the stand-in knows nothing of them.
        self.check_sleepers();
        let marked = self.mark_entered();
        SuspendedTask {
            current: self.current,
            nested: core::mem::take(&mut self.nested),
            group: self.groups.set_current(None),
            observed: self.trace.suspend(self.epoch.ledger(), self.queue.bursts, true),
            arrived: self.queue.arrived,
            marked,
            post,
        }
    }

    /// Goes on with a task. This worker is the one that it was suspended on.
    fn resume_task(&mut self, task: SuspendedTask) {
        let SuspendedTask { current, nested, group, observed, arrived, marked, post } = task;
        if let Some(posts) = &self.shared.posts {
            posts.put_back(self.index, post);
        }
        // Other holders may have slept, and new operations must not begin in a settled epoch.
        self.epoch.announce(&self.shared.epochs);
        self.trace.resume(observed, self.epoch.ledger());
        self.groups.set_current(group);
        (self.current, self.nested) = (current, nested);
        (self.entered, self.marked) = (marked, marked);
        // The burst that runs the task knows of fewer tasks now than it had counted.
        self.queue.arrived = arrived;
        self.queue.disturb();
    }

    /// Marks the sequenced object that the current task is inside as held, if it is not. Other
    /// tasks of that object are deferred from now on, until [`calm`](Self::calm).
    fn mark_entered(&mut self) -> Option<Reference> {
        let marked = self.marked.take();
        if marked.is_some() || !self.current.is_in_sequenced() || planted!("blocked-object-unmarked") {
            return marked;
        }
        let object = self.entered?;
        // The mark outlasts the task, and so must the object.
        self.started(self.current.epoch());
        // SAFETY: the current task is inside the object, so that it is alive, and this worker is
        // its home. No task holds it: the current one would be marked as granted.
        unsafe { object.header() }.hold();
        Some(object)
    }

    /// Ends the disturbance of a burst by a task that has blocked in place. The task is over, and
    /// `current` is still its word. An object that it was inside goes to the next task.
    #[cold]
    pub(super) fn calm(&mut self) {
        self.queue.end_disturbance();
        self.hand_on_marked();
    }

    /// Notes that the current task is not inside its object any more, although it is not over.
    #[inline]
    pub(crate) fn leave_sequenced(&mut self) {
        if self.current.is_in_sequenced() && !planted!("then-keeps-sequenced-object") {
            self.current.leave_sequenced();
            self.hand_on_marked();
        }
    }

    /// Hands on the object that was marked as held when a task blocked inside it, if there is one.
    fn hand_on_marked(&mut self) {
        if let Some(object) = self.marked.take() {
            // SAFETY: this worker is the object's home, and has marked it as held in
            // `mark_entered`. The epoch that was counted there keeps it alive.
            unsafe { self.hand_on(object.header()) };
            self.finished(self.current.epoch());
        }
    }
}

impl Loan {
    /// Moves a run queue out of its place, and parks it. Its place must not be used until the loan
    /// is dropped, on the same thread.
    fn begin(worker: &mut Worker, task: SuspendedTask) -> Self {
        let (shared, queue, holder) = (worker.shared.clone(), worker.index, worker.holder);
        shared.worker_set.relay(holder).begin_block();
        let place = NonNull::from(worker);
        // SAFETY: the end of the loan moves a run queue back before the place is used again; until
        // then nothing reads or drops what is left there.
        let moved = Box::new(unsafe { place.read() });
        shared.release(moved, holder);
        Self { place, task: Some(task), shared, queue, worker: holder }
    }

    /// Gives up the right to drive the worker, and finds a thread that drives it. Returns false if
    /// there is none.
    fn find_driver(&self) -> bool {
        if self.shared.worker_set.relay(self.worker).give_up() {
            return true;
        }
        let (shared, worker) = (self.shared.clone(), self.worker);
        self.shared.platform.stand_in(worker, Box::new(move || shared.stand_in(worker))).is_ok()
    }

    /// Runs the function of the task, and catches its panic.
    fn run_outside<R>(&self, function: impl FnOnce() -> R) -> Result<R, Payload> {
        self.shared.platform.suspend();
        #[cfg(feature = "std")]
        let function = || super::worker_thread::run_blocked_in(&self.shared, function);
        catch(function)
    }
}

impl Drop for Loan {
    /// Waits until the calling thread drives the worker again, moves the run queue back, and goes
    /// on with the task. Also while a panic of its function unwinds, which is caught with `unwind`
    /// only.
    fn drop(&mut self) {
        let &mut Self { mut place, ref mut task, ref shared, queue, worker } = self;
        shared.slots[queue].claims.fetch_add(1, SeqCst);
        shared.drive_again(worker);
        let mut taken = shared.take_claimed(queue, worker);
        shared.slots[queue].claims.fetch_sub(1, SeqCst);
        shared.worker_set.relay(worker).end_block();
        taken.holder = worker;
        // SAFETY: `begin` has moved the contents of the place out, so that nothing is overwritten.
        unsafe { place.write(*taken) };
        if let Some(task) = task.take() {
            // SAFETY: the place has its run queue again, and the frame that borrows it waits.
            unsafe { place.as_mut() }.resume_task(task);
        }
    }
}

impl RuntimeState {
    /// Drives a worker whose thread is inside a task that blocks.
    fn stand_in(self: Arc<Self>, worker: usize) {
        let relay = self.worker_set.relay(worker);
        if !relay.take_free() {
            // The task goes on already, or another thread drives.
            return;
        }
        self.platform.resume(worker, &mut |_| true);
        Driver::stand_in(worker, self.clone()).run();
        relay.give_up();
    }

    /// Waits until the calling thread drives the worker, which other threads drive meanwhile.
    pub(super) fn drive_again(&self, worker: usize) {
        let relay = self.worker_set.relay(worker);
        let ticket = relay.queue_up();
        if ticket.is_some() {
            // The driving thread compares the generation before each step, and before it sleeps.
            self.worker_set.count_up();
            self.platform.wake(worker);
        }
        self.platform.resume(worker, &mut |waker| ticket.is_none_or(|ticket| relay.is_chosen(ticket, waker)));
    }

    /// Takes a run queue that this thread has claimed, and waits until its holder parks it. The
    /// calling thread drives the worker.
    fn take_claimed(&self, queue: usize, worker: usize) -> Box<Worker> {
        if let Some(taken) = self.take_parked(queue) {
            return taken;
        }
        let claimants = &self.worker_set.claimants;
        claimants.fetch_add(1, SeqCst);
        // Its holder compares the generation before each step, and before it sleeps.
        self.worker_set.count_up();
        self.wake_all();
        let taken = loop {
            // Pairs with the fence in `park_queue`: either this thread finds the run queue, or its
            // holder sees the claimant.
            fence(SeqCst);
            if let Some(taken) = self.take_parked(queue) {
                break taken;
            }
            self.platform.park(worker);
        };
        claimants.fetch_sub(1, SeqCst);
        taken
    }
}
