//! Deferred claims: unordered claims that are made when a worker gets to the task, not at the
//! spawn.
//!
//! A task that needs no order need not queue while it waits for a worker. So it conflicts only with
//! tasks that run or queue, not with all that will run; and the worker that acquires the granules
//! needs their cache lines next anyway. An attempt acquires all granules or none, so a task that
//! waits holds nothing. If a granule is not available, the task registers as a retry waiter there,
//! while the worker goes on with another task. When the granule becomes available, the task is
//! notified and sent to retry: the granule is not reserved for it. (With a reservation the next
//! task would have to wait as well, and the next: soon all would run one after another.)

use super::admission::{Admission, TableAdmission};
use super::claim_state::{ClaimInner, ClaimState, DeferredClaim};
use super::grant::{Dispatcher, LockedQueues};
use super::queue_lock::{Waiter, WakeList};
use super::rights::Rights;
use crate::scheduler::{Context, Worker};
use crate::sync::Relaxed;
use crate::task::pending::PendingTask;
use crate::task::spawner::sealed::Origin;
use crate::task::{Task, quietly};
use core::ptr::NonNull;

/// A claim to more granules is not deferred to the end: it enters their queues.
const MAX_DEFERRED_GRANULES: usize = 4096;
/// How many granules are prefetched at the same time, with their data.
const PREFETCHED_GRANULES: usize = 16;
/// Failed attempts after which a claim enters the queues of its granules. This bounds its wait.
pub(super) const MAX_ATTEMPTS: u32 = 32;

impl ClaimState {
    /// Returns true if the claim of the parked task may be deferred.
    ///
    /// # Safety
    ///
    /// The caller is the spawner, and owns the state.
    pub(super) unsafe fn may_defer(&self) -> bool {
        // SAFETY: the caller owns the state.
        self.options.unordered && matches!(unsafe { self.inner() }.task, Some(PendingTask::Unbound(..)))
    }

    /// Sends the task, to claim its granules when a worker gets to it. The state may be freed
    /// before this returns.
    ///
    /// # Safety
    ///
    /// As for [`enter`](Self::enter); and [`may_defer`](Self::may_defer) has returned true.
    pub(super) unsafe fn enter_deferred(state: NonNull<Self>, dispatcher: &mut Dispatcher<'_, impl Origin>) {
        // SAFETY: the spawner owns the state, as no waiter is enqueued.
        let (this, inner) = unsafe { (state.as_ref(), state.as_ref().inner()) };
        // The preview tells where the granules have their homes.
        let wake_lists = this.preview_plan(inner, TableAdmission::ANYWHERE);
        wake_lists.into_iter().for_each(|wake_list| Self::notify(wake_list, dispatcher));
        // SAFETY: the spawner still owns the state, and gives it up here.
        unsafe { Self::send_deferred(state, None, dispatcher) };
    }

    /// Sends a parked task, to claim its granules when a worker gets to it.
    ///
    /// # Safety
    ///
    /// The caller owns the state, which holds nothing. It gives up its ownership.
    pub(super) unsafe fn send_deferred(
        state: NonNull<Self>,
        notified: Option<u32>,
        dispatcher: &mut Dispatcher<'_, impl Origin>,
    ) {
        // SAFETY: the caller owns the state.
        let inner = unsafe { state.as_ref().inner() };
        let Some(PendingTask::Unbound(_, options)) = inner.task else {
            unreachable!("only claims of unbound tasks are deferred")
        };
        inner.deferred = Some(DeferredClaim { options, notified });
        // SAFETY: the caller owns the state, and gives up its ownership.
        unsafe { Self::send(state, dispatcher) };
    }

    /// Makes the deferred claim of a task that a worker has got to. Returns true if the task holds
    /// all its granules. If not, the task is parked again, and is sent when a retry is worthwhile:
    /// it and the state may be freed before this returns.
    ///
    /// # Safety
    ///
    /// The caller owns the task, which owns the state; if this returns false, no longer.
    pub unsafe fn is_ready(state: NonNull<Self>, task: NonNull<Task>, cx: &mut Worker) -> bool {
        // SAFETY: the task was sent, so it owns the state.
        let (this, inner) = unsafe { (state.as_ref(), state.as_ref().inner()) };
        let Some(DeferredClaim { options, mut notified }) = inner.deferred.take() else { return true };
        let mut origin = Context::of(cx);
        let mut dispatcher = Dispatcher::at_end(&mut origin);
        let is_ready = loop {
            if inner.attempts == MAX_ATTEMPTS || inner.rights.count() > MAX_DEFERRED_GRANULES {
                inner.task = Some(PendingTask::Unbound(task, options));
                // SAFETY: the caller owns the state, which holds nothing. If the claim was
                // notified, it enters the queue of that granule now, so no notification is lost.
                unsafe { Self::enqueue(state, &mut dispatcher) };
                break false;
            }
            if !this.try_acquire_single(&inner.rights) {
                let mut locked = LockedQueues::new();
                if !this.lock_while_available(&inner.rights, &mut locked) {
                    inner.attempts += 1;
                    inner.task = Some(PendingTask::Unbound(task, options));
                    if dispatcher.spawner.shared().is_stamping() && !planted!("retry-wait-unrecorded") {
                        inner.note_wait(dispatcher.spawner);
                    }
                    let others = this.register_retry(inner, notified, &mut locked);
                    // After the unlock the thread that dequeues the waiter owns the state.
                    drop(locked);
                    Self::notify(others, &mut dispatcher);
                    break false;
                }
                locked
                    .iter_mut()
                    .zip(inner.rights.granules())
                    .for_each(|(queue_lock, (_, write))| queue_lock.acquire(write));
            }
            notified = None;
            if planted!("deferred-plan-run-once") || this.confirm_plan(inner, &mut dispatcher) {
                quietly(|| inner.plan = None);
                break true;
            }
        };
        // SAFETY: `count_granted` has added the states, as their owner.
        unsafe { Self::confirm_plans(&mut dispatcher) };
        dispatcher.spawner.offer();
        if !is_ready {
            cx.note_attempt();
        }
        is_ready
    }

    /// Returns true if the claim is to one granule, which was available and is acquired now. This
    /// is the most frequent case.
    fn try_acquire_single(&self, rights: &Rights) -> bool {
        let Some((granule, write)) = rights.single() else { return false };
        let mut queue_lock = self.queue_lock(granule).lock();
        let is_available = queue_lock.is_available(write, self.table().max_overtaking);
        if is_available {
            queue_lock.acquire(write);
        }
        is_available
    }

    /// Locks the queues of the granules, up to the first granule that is not available. Returns
    /// true if all are available.
    fn lock_while_available<'s>(&'s self, rights: &Rights, locked: &mut LockedQueues<'s>) -> bool {
        let max_overtaking = self.table().max_overtaking;
        // The cache misses overlap.
        rights
            .granules()
            .take(PREFETCHED_GRANULES)
            .for_each(|(granule, _)| self.granules().prefetch(granule));
        // All claims lock in ascending order, so the locks cannot deadlock.
        rights.granules().all(|(granule, write)| {
            let queue_lock = self.queue_lock(granule).lock();
            let is_available = queue_lock.is_available(write, max_overtaking);
            locked.push(queue_lock);
            is_available
        })
    }

    /// Registers a retry waiter at the last granule of `locked`, which is not available. If the
    /// claim was notified by another granule, it does not take that one: returns the other retry
    /// waiters there, to be notified instead.
    fn register_retry(
        &self,
        inner: &mut ClaimInner,
        notified: Option<u32>,
        locked: &mut LockedQueues<'_>,
    ) -> WakeList {
        let mut others = WakeList::default();
        if let Some(notified) = notified.filter(|_| !planted!("unused-notification-dropped")) {
            let is_notified = |&(granule, _): &(u32, bool)| granule == notified;
            match inner.rights.granules().zip(locked.iter_mut()).find(|(right, _)| is_notified(right)) {
                Some((_, queue_lock)) => queue_lock.notify_retry_waiters(&mut others),
                // Ascending: it is a granule of the claim, behind all that are locked.
                None => self.queue_lock(notified).lock().notify_retry_waiters(&mut others),
            }
        }
        if let (Some((granule, write)), Some(queue_lock)) =
            (inner.rights.granules().nth(locked.len() - 1), locked.last_mut())
        {
            // Relaxed: the queue lock publishes it with the waiter.
            self.pending.store(1, Relaxed);
            inner.awaits_retry = true;
            inner.waiters.clear();
            inner.waiters.push(Waiter::new(granule, write));
            inner.waiters[0].set_state(self);
            queue_lock.register_retry(&inner.waiters[0]);
        }
        others
    }

    /// Ends the deferred claim of a task that is cancelled before it was granted anything. If the
    /// claim was notified, the notification is passed on.
    pub(super) fn cancel_deferred(
        &self,
        inner: &mut ClaimInner,
        deferred: DeferredClaim,
        dispatcher: &mut Dispatcher<'_, impl Origin>,
    ) {
        quietly(|| inner.plan = None);
        if let Some(notified) = deferred.notified.filter(|_| !planted!("cancelled-notification-dropped")) {
            let mut others = WakeList::default();
            self.queue_lock(notified).lock().notify_retry_waiters(&mut others);
            Self::notify(others, dispatcher);
            // SAFETY: `count_granted` has added the states, as their owner.
            unsafe { Self::confirm_plans(dispatcher) };
        }
    }
}
