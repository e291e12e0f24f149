//! Locks of intervals whose tasks are parked while others hold them.
//!
//! They differ from the queue locks in what is locked, and in nothing else: the claim of a task is
//! deferred until a worker gets to it, as if it were unordered; a task that is not granted its
//! intervals is parked, and retries when it is notified; and readers overtake writers by the same
//! rule. Tasks go to the same workers. (See [`deferred`](crate::claims::deferred) and
//! [`LockTable`].)
//!
//! A task that is bound to an object, or may not be parked for another reason, waits on its worker.

use super::cover::{Cover, Granularity};
use super::lock_table::LockTable;
use super::ticket_lock::TicketLock;
use crate::claims::admission::{Admission, TableAdmission};
use crate::claims::claim_state::{ClaimInner, ClaimState, DeferredClaim, MAX_PLAN_RUNS};
use crate::claims::deferred::MAX_ATTEMPTS;
use crate::claims::grant::Dispatcher;
use crate::claims::granules::READERS_PER_WORKER;
use crate::claims::rights::{Ranges, Rights};
use crate::scheduler::{Context, RuntimeState, Worker};
use crate::sync::{Backoff, Guard, SpinMutex};
use crate::task::pending::PendingTask;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Task, quietly};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::take;
use core::ptr::NonNull;

/// A claim in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ParkedClaim(NonNull<ClaimState>);

// SAFETY: a pointer, which is followed only by the thread that has taken it out of the table to
// notify the claim: that thread owns the state then.
unsafe impl Send for ParkedClaim {}

type Table = LockTable<ParkedClaim>;

pub(in crate::claims) struct ParkedLocks {
    cover: Cover,
    table: SpinMutex<Table>,
    /// Held during each peek of a plan, and to begin an attempt. So nothing is locked during a
    /// peek.
    peeking: TicketLock,
}

/// Any granule: a notification is not for one of them.
const NOTIFIED: Option<u32> = Some(0);

impl ParkedLocks {
    pub fn new(granularity: Granularity, shared: &RuntimeState, granules: u32) -> Self {
        let workers = shared.slots.len();
        let max_overtaking = (READERS_PER_WORKER * workers) as u32;
        let mut cover = Cover::new(granularity, workers, granules);
        if cover.is_measured() {
            let mut table = LockTable::new(max_overtaking);
            cover.calibrate(
                || shared.platform.now(),
                |rights| {
                    let lock = table.try_lock(0, rights, 0).expect("nothing else is locked");
                    _ = table.unlock(lock);
                },
            );
        }
        Self { cover, table: SpinMutex::new(LockTable::new(max_overtaking)), peeking: TicketLock::default() }
    }

    /// Locks the table to lock granules, when no plan peeks.
    fn table_after_peeks(&self) -> Guard<'_, Table> {
        self.peeking.lock(|| ());
        let table = self.table.lock();
        self.peeking.unlock();
        table
    }

    /// Returns true if no task writes the granule. Then none will until
    /// [`end_peek`](Self::end_peek).
    pub fn begin_peek(&self, granule: u32) -> bool {
        let mut one = Ranges::default();
        one.add(granule..granule + 1, false);
        self.peeking.lock(|| ());
        let is_written = self.table.lock().is_held(&one.rights());
        if is_written {
            self.peeking.unlock();
        }
        !is_written
    }

    pub fn end_peek(&self) {
        self.peeking.unlock();
    }

    /// Releases what the task has locked, and notifies others. If it was cancelled before, passes
    /// its notification on.
    pub fn leave(&self, state: &ClaimState, inner: &mut ClaimInner, spawner: &mut impl Origin) {
        let table = state.table();
        if let Some(home) = inner.home {
            table.affinity.task_finished(home as usize);
        }
        let mut dispatcher = Dispatcher::at_end(spawner);
        if let Some(lock) = inner.baseline.locked.take() {
            self.unlock(lock, &table.shared, &mut dispatcher);
        } else if take(&mut inner.deferred).is_some_and(|deferred| deferred.notified.is_some()) {
            quietly(|| inner.plan = None);
            let others = self.table.lock().withdraw(ParkedClaim(NonNull::from(state)));
            notify(others, &mut dispatcher);
        }
        dispatcher.spawner.offer();
    }

    fn unlock(&self, lock: u32, shared: &RuntimeState, dispatcher: &mut Dispatcher<'_, impl Origin>) {
        let (others, since) = self.table.lock().unlock(lock);
        if self.cover.is_measured() {
            self.cover.note_held(shared.platform.now().saturating_sub(since));
        }
        notify(others, dispatcher);
    }

    /// Locks these granules for a task that occupies its worker meanwhile.
    fn lock_blocking(&self, state: &ClaimState, cover: &Rights) -> u32 {
        let (claim, shared) = (ParkedClaim(NonNull::from(state)), &state.table().shared);
        self.table.lock().block(claim, cover);
        let mut backoff = Backoff::new();
        loop {
            let lock = self.table_after_peeks().try_lock(claim, cover, self.now(shared));
            if let Some(lock) = lock {
                return lock;
            }
            backoff.wait();
            shared.yield_to_others(true);
        }
    }

    /// Returns the time, if it is needed.
    fn now(&self, shared: &RuntimeState) -> u64 {
        if self.cover.is_measured() { shared.platform.now() } else { 0 }
    }
}

/// Sends claims that were notified, to try again.
fn notify(claims: Vec<ParkedClaim>, dispatcher: &mut Dispatcher<'_, impl Origin>) {
    for ParkedClaim(state) in claims {
        // SAFETY: the claim was taken out of the table, or is marked there as notified: each is
        // notified once, and its state is owned by this thread then.
        unsafe { ClaimState::send_deferred(state, NOTIFIED, dispatcher) };
    }
}

impl ClaimState {
    /// Defers the claim; or sends the task, if it cannot be parked later.
    ///
    /// # Safety
    ///
    /// As for [`enter`](Self::enter).
    pub(super) unsafe fn enter_parked(state: NonNull<Self>, spawner: &mut impl Origin) {
        // SAFETY: the spawner owns the state until it gives the task away below.
        let inner = unsafe { state.as_ref().inner() };
        if matches!(inner.task, Some(PendingTask::Unbound(..))) {
            // SAFETY: the spawner owns the state, and the task can be parked.
            unsafe { Self::enter_deferred(state, &mut Dispatcher::new(spawner)) };
        } else if let Some(task) = inner.task.take() {
            task.send(spawner);
        }
    }

    /// Makes the deferred claim of a task that a worker has got to, like
    /// [`is_ready`](Self::is_ready) at queue locks.
    ///
    /// # Safety
    ///
    /// As for [`is_ready`](Self::is_ready); the locks are those of the claim's granules.
    pub(super) unsafe fn is_ready_parked(
        state: NonNull<Self>,
        locks: NonNull<ParkedLocks>,
        task: NonNull<Task>,
        cx: &mut Worker,
    ) -> bool {
        // SAFETY: the task was sent, so it owns the state.
        let (this, inner) = unsafe { (state.as_ref(), state.as_ref().inner()) };
        let Some(DeferredClaim { options, notified }) = inner.deferred.take() else { return true };
        // SAFETY: the granules live until the task is over, and hold the locks. After the task is
        // parked below nothing is accessed through this.
        let locks = unsafe { locks.as_ref() };
        let mut origin = Context::of(cx);
        let mut dispatcher = Dispatcher::at_end(&mut origin);
        let mut is_notified = notified.is_some();
        let is_ready = loop {
            let cover = locks.cover.of(&inner.rights);
            let now = locks.now(&this.table().shared);
            let mut table = locks.table_after_peeks();
            let Some(lock) = table.try_lock(ParkedClaim(state), &cover, now) else {
                inner.attempts += 1;
                inner.task = Some(PendingTask::Unbound(task, options));
                if dispatcher.spawner.shared().is_stamping() {
                    inner.note_wait(dispatcher.spawner);
                }
                let others = if is_notified { table.notify(false) } else { Vec::new() };
                table.wait(ParkedClaim(state), &cover, inner.attempts >= MAX_ATTEMPTS);
                // After the unlock the thread that notifies the claim owns the state.
                drop(table);
                notify(others, &mut dispatcher);
                break false;
            };
            drop(table);
            is_notified = false;
            inner.baseline.locked = Some(lock);
            if this.confirm_cover(inner, &cover) {
                break true;
            }
            inner.baseline.locked = None;
            locks.unlock(lock, &this.table().shared, &mut dispatcher);
        };
        dispatcher.spawner.offer();
        if !is_ready {
            cx.note_attempt();
        }
        is_ready
    }

    /// Waits on this worker until the task has locked all that it claims. Nothing can be unlocked
    /// here to let others come first, so a task with a plan locks all granules.
    ///
    /// # Errors
    ///
    /// If the task's plan has panicked.
    pub(super) fn lock_on_worker(
        &self,
        inner: &mut ClaimInner,
        locks: &ParkedLocks,
    ) -> Result<(), JoinError> {
        if inner.baseline.locked.is_none() {
            let has_plan = inner.plan.is_some();
            let cover = if has_plan { self.all_granules().rights() } else { locks.cover.of(&inner.rights) };
            inner.baseline.locked = Some(locks.lock_blocking(self, &cover));
            self.confirm_cover(inner, &cover);
        }
        take(&mut inner.failure).map_or(Ok(()), |failure| Err(*failure))
    }

    /// Runs the plan of a task that has locked `cover`. Returns true if that is enough, or the plan
    /// has failed. If not, the claim is for other granules from now on.
    fn confirm_cover(&self, inner: &mut ClaimInner, cover: &Rights) -> bool {
        let Some(plan) = &mut inner.plan else { return true };
        let (outcome, _) = self.run_plan(plan, cover, TableAdmission::ANYWHERE);
        inner.plan_runs += 1;
        let is_confirmed = match outcome {
            Ok(ranges) => {
                let is_confirmed = ranges.are_covered_by(cover) || planted!("parked-plan-run-once");
                let goes_on = is_confirmed || inner.plan_runs < MAX_PLAN_RUNS;
                inner.rights = if goes_on { ranges } else { self.all_granules() }.rights();
                is_confirmed
            }
            Err(failure) => {
                inner.failure = Some(Box::new(failure));
                true
            }
        };
        if is_confirmed {
            quietly(|| inner.plan = None);
        }
        is_confirmed
    }
}
