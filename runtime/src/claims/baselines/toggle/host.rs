//! Hosts and thieves.
//!
//! A host is a message of the runtime's own to its worker, and each bucket has one that is
//! allocated in advance: so it never lacks memory. It runs tasks within itself, and goes on until
//! its round is over. A thief is such a message, too. So the holder of a lock is at work, or waits
//! for the locks of higher buckets or for thieves at work, which wait for nothing: there is no
//! deadlock.

use super::{DELAY_THRESHOLD, THRESHOLD, Toggle};
use crate::annotation::{Place, Priority};
use crate::claims::claim_state::ClaimState;
use crate::object::Fetch;
use crate::scheduler::{Context, Worker, WorkerSlot};
use crate::sync::{AtomicPtr, Backoff, Relaxed};
use crate::task::options::Options;
use crate::task::pending::PendingTask;
use crate::task::spawner::{CompleteTask, sealed::Origin};
use crate::task::{Meta, Task, VTable, class_of, describe_nothing, locate_nothing};
use alloc::boxed::Box;
use core::mem::replace;
use core::ptr::{NonNull, null_mut};

/// The message that is the host of a bucket. The thread that sets `has_host` owns it and sends it;
/// then the host's worker owns it until it clears `has_host`.
pub(super) struct HostMessage(NonNull<Host>);

#[repr(C)]
struct Host {
    task: Task,
    target: Target,
}

/// The bucket that a host or thief works on.
#[derive(Clone, Copy)]
struct Target {
    toggle: NonNull<Toggle>,
    bucket: u32,
}

/// Like all messages of the runtime's own, they run also when tasks are cancelled.
static HOST: VTable = VTable { run: host, locate: locate_nothing, cancel: host, describe: describe_nothing };
static THIEF: VTable =
    VTable { run: thief, locate: locate_nothing, cancel: thief, describe: describe_nothing };

fn message(vtable: &'static VTable, meta: Meta) -> Task {
    Task { vtable, next: AtomicPtr::new(null_mut()), fetch: Fetch::NONE, meta }
}

impl HostMessage {
    pub fn new() -> Self {
        let task = message(&HOST, Meta::new(0, Priority::Normal, 0));
        let target = Target { toggle: NonNull::dangling(), bucket: 0 };
        Self(NonNull::from(Box::leak(Box::new(Host { task, target }))))
    }
}

impl Drop for HostMessage {
    fn drop(&mut self) {
        // SAFETY: `new` made it from a box. No host is under way, as its epoch would keep the
        // granules and with them this.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Returns the options of a message to a worker. Its priority is that of most tasks.
fn options(worker: usize) -> Options {
    Options { priority: Some(Priority::Normal), place: Place::Core(worker as u16), ..Options::PLAIN }
}

/// The run of one message on a worker.
struct MessageRun<'c> {
    cx: &'c mut Worker,
    /// The cost of the last task, in multiples of a small task; 0 if there was none.
    last_cost: u64,
}

impl MessageRun<'_> {
    /// Reports the cost of the last task, before another one runs. (The cost of the last task of a
    /// message is that of the message.)
    fn report_last(&mut self) {
        if self.last_cost > 0 {
            let cost = replace(&mut self.last_cost, 0);
            if let Some(time) = self.cx.shared().virtual_time() {
                time.record_task(cost);
            }
        }
    }

    fn run(&mut self, task: PendingTask) {
        self.last_cost = task.cost();
        task.run_within(self.cx);
    }
}

impl Toggle {
    /// Sends the host of a bucket to its worker.
    ///
    /// # Safety
    ///
    /// The caller has set `has_host`, so it owns the message. The spawner has a handle to the
    /// granules, or is of an epoch that keeps them.
    pub(super) unsafe fn call_host(&self, bucket: u32, spawner: &mut impl Origin) {
        let options = options(bucket as usize);
        let meta = spawner.admit(&options).protocol();
        let HostMessage(host) = self.bucket(bucket).host;
        // SAFETY: the caller owns the message, and gives it up by `send`.
        unsafe {
            (*host.as_ptr()).task.meta = meta;
            (*host.as_ptr()).target = Target { toggle: NonNull::from(self), bucket };
            let complete = CompleteTask { task: host.cast(), meta, fetch: Fetch::NONE };
            spawner.send(complete, &options, None);
        }
    }

    /// Runs one round: outer mode, then inner mode. If tasks wait in the bucket afterwards, returns
    /// the slot of an epoch of one of them; else the bucket has no host any more.
    ///
    /// # Safety
    ///
    /// The caller is the host.
    unsafe fn run_round(&self, number: u32, cx: &mut Worker) -> Option<u8> {
        let bucket = self.bucket(number);
        let epoch = cx.current.epoch();
        let mut run = MessageRun { cx, last_cost: 0 };
        let (mut moved, mut filled, mut spanning) = (0, 0, 0);
        while moved < THRESHOLD && spanning < DELAY_THRESHOLD {
            let next = bucket.outer.lock().tasks.pop_front();
            let Some(state) = next else { break };
            // SAFETY: the host owns the states of dequeued claims, and in outer mode the inner
            // buckets.
            unsafe {
                if let Some(inner) = bucket.inner_of(&state.as_ref().inner().rights) {
                    moved += 1;
                    filled += bucket.inner[inner].with_mut(|tasks| {
                        let tasks = &mut *tasks;
                        tasks.push_back(state);
                        usize::from(tasks.len() == 1)
                    });
                } else {
                    spanning += 1;
                    self.run_outer(number, state, &mut run);
                }
            }
        }
        if moved > 0 {
            run.report_last();
            let shared = run.cx.shared().clone();
            self.counters.count_phase(moved, filled);
            let is_locked = !planted!("toggle-phase-unlocked");
            if is_locked {
                self.lock_bucket(number, &shared);
            }
            bucket.phase.open();
            // SAFETY: the epoch of the host's message keeps the granules.
            unsafe { self.claim_all(number, filled > 1, &mut run) };
            self.counters.timed(&self.counters.thief_wait_ns, &shared, || {
                let mut backoff = Backoff::new();
                while !bucket.phase.is_over() {
                    backoff.wait();
                    shared.yield_to_others(true);
                }
            });
            if is_locked {
                self.unlock_bucket(number, &shared);
            }
        }
        let mut outer = bucket.outer.lock();
        // SAFETY: the queue owns the states in it, and is locked.
        let next = outer.tasks.front().map(|next| unsafe { next.as_ref().inner() });
        if planted!("toggle-host-checks-early") {
            drop(outer);
            outer = bucket.outer.lock();
        }
        outer.has_host = next.is_some();
        next.map(|next| next.task.as_ref().and_then(PendingTask::epoch).unwrap_or(epoch))
    }

    /// Runs a task with the locks of all outer buckets that it covers. If its plan names other
    /// granules, enqueues it again.
    ///
    /// # Safety
    ///
    /// The caller is the host of the bucket, and owns the state, which it has dequeued.
    unsafe fn run_outer(&self, number: u32, state: NonNull<ClaimState>, run: &mut MessageRun<'_>) {
        run.report_last();
        let task = {
            // SAFETY: the caller owns the state.
            let (this, inner) = unsafe { (state.as_ref(), state.as_ref().inner()) };
            let mut covered = self.covered(&inner.rights);
            covered.retain(|bucket| *bucket != number || !planted!("toggle-host-unlocked"));
            let shared = run.cx.shared();
            let cover = self.lock_task(number as usize, &covered, &inner.rights, shared);
            if this.confirm_buckets(inner, || cover.unwrap_or_else(|| self.all_of(&covered))) {
                self.count_outer_task(number);
                self.grant(inner, number as usize, covered.into_boxed_slice());
                inner.task.take()
            } else {
                self.unlock_task(number as usize, &covered, shared);
                None
            }
        };
        match task {
            Some(task) => run.run(task),
            // SAFETY: the caller owns the state; the plan has named a granule that is not held.
            None => unsafe { self.enqueue(state, &mut Context::of(run.cx)) },
        }
    }

    fn count_outer_task(&self, number: u32) {
        self.counters.outer_tasks.fetch_add(1, Relaxed);
        self.counters.first_host_tasks.fetch_add(u64::from(number == 0), Relaxed);
    }

    /// Claims inner buckets until none is left, and runs the tasks in them. If `shares`, calls idle
    /// workers to do the same.
    ///
    /// # Safety
    ///
    /// The caller's epoch keeps the granules.
    unsafe fn claim_all(&self, number: u32, shares: bool, run: &mut MessageRun<'_>) {
        let bucket = self.bucket(number);
        while let Some(claimed) = bucket.phase.claim() {
            let tasks = &bucket.inner[claimed.bucket];
            // SAFETY: this worker has claimed the inner bucket, so it owns it until `claimed` is
            // dropped.
            while let Some(state) = tasks.with_mut(|tasks| unsafe { (*tasks).pop_front() }) {
                run.report_last();
                if shares && bucket.phase.has_more() && run.cx.shared().is_any_searching() {
                    self.call_thief(number, run.cx);
                }
                let task = {
                    // SAFETY: this worker owns the state, which it has dequeued.
                    let (this, inner) = unsafe { (state.as_ref(), state.as_ref().inner()) };
                    let is_confirmed = this.confirm_buckets(inner, || bucket.all_of(claimed.bucket));
                    // The host has the lock.
                    inner.baseline.buckets = is_confirmed.then(Box::default);
                    inner.task.take_if(|_| is_confirmed)
                };
                match task {
                    Some(task) => run.run(task),
                    // SAFETY: this worker owns the state; the plan has named a granule that is not
                    // in the inner bucket.
                    None => unsafe { self.enqueue(state, &mut Context::of(run.cx)) },
                }
            }
        }
    }

    /// Calls an idle worker to claim inner buckets, if there is one, and memory for a message.
    fn call_thief(&self, bucket: u32, cx: &mut Worker) {
        let (own, slots) = (cx.index(), &cx.shared().slots);
        let others = (1..slots.len()).map(|distance| (own + distance) % slots.len());
        // After the swap the next call finds another worker.
        let is_idle = |slot: &WorkerSlot| slot.idle.load(Relaxed) && slot.idle.swap(false, Relaxed);
        let sleeps = |slot: &WorkerSlot| slot.asleep.0.load(Relaxed) && slot.parked.is_empty();
        let Some(worker) = others.into_iter().find(|&other| is_idle(&slots[other]) || sleeps(&slots[other]))
        else {
            return;
        };
        let mut origin = Context::of(cx);
        let Some(task) = origin.allocate(const { class_of::<Target>() }) else { return };
        let meta = origin.admit(&options(worker)).protocol();
        // SAFETY: the block is fresh, and its class holds this body.
        unsafe {
            task.as_ptr().write(message(&THIEF, meta));
            Task::body::<Target>(task).write(Target { toggle: NonNull::from(self), bucket });
        }
        self.counters.thieves.fetch_add(1, Relaxed);
        origin.worker.send_to(task, worker);
    }
}

/// Runs the message that is a host.
unsafe fn host(mut task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: the vtable is only that of hosts. The worker owns the message until its bucket has no
    // host, and its epoch keeps the granules.
    unsafe {
        let &Target { toggle, bucket } = &*Task::body::<Target>(task);
        let meta = task.as_ref().meta;
        if let Some(epoch) = toggle.as_ref().run_round(bucket, cx) {
            // The message joins the epoch of a task that waits, which keeps the granules as well:
            // in an epoch of its own, a host that never ends would block all reclamation.
            cx.started(epoch);
            let next = meta.in_epoch(epoch);
            task.as_mut().meta = next;
            cx.push_here(task, next, Fetch::NONE);
        }
        cx.finished(meta.epoch());
    }
}

/// Runs the message that makes a worker a thief.
unsafe fn thief(task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: the vtable is only that of thieves. The worker owns the message, and its epoch keeps
    // the granules.
    unsafe {
        let Target { toggle, bucket } = Task::body::<Target>(task).read();
        let meta = task.as_ref().meta;
        cx.free::<Target>(task);
        toggle.as_ref().claim_all(bucket, true, &mut MessageRun { cx, last_cost: 0 });
        cx.finished(meta.epoch());
    }
}
