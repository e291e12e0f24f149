//! How claims are enqueued, granted and released, and how their tasks are sent.
//!
//! A release may grant several claims, and a plan may name something else when its task was granted
//! all that the plan had named. Such plans run one after another in a loop of the releasing thread,
//! not nested, so the depth of its stack does not depend on their number.

use super::admission::{Admission, TableAdmission};
use super::claim_state::{ClaimInner, ClaimState, MAX_PLAN_RUNS};
use super::queue_lock::{QueueLock, Waiter, WakeList};
use super::rights::Rights;
use crate::pool::QueuePolicy;
use crate::sync::{AcqRel, Acquire, Guard, Relaxed, Release};
use crate::task::quietly;
use crate::task::spawner::sealed::Origin;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::mem::{replace, take};
use core::ptr::NonNull;
use smallvec::SmallVec;

/// Queue locks of several granules, locked at the same time.
pub(super) type LockedQueues<'s> = SmallVec<[Guard<'s, QueueLock>; 8]>;

/// Sends tasks whose claims were granted, and collects those whose plans have to run first.
pub(super) struct Dispatcher<'s, P> {
    pub spawner: &'s mut P,
    planned: VecDeque<NonNull<ClaimState>>,
    destination: Destination,
}

/// Where tasks go that are bound to no worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// To a worker where one of their granules has its home.
    Home,
    /// They stay with the worker that has released their granules, and has some of them in its
    /// caches. It runs one of them next; idle workers may steal the others.
    Here,
}

impl<'s, P: Origin> Dispatcher<'s, P> {
    /// Creates the dispatcher of a spawn.
    pub fn new(spawner: &'s mut P) -> Self {
        Self { spawner, planned: VecDeque::new(), destination: Destination::Home }
    }

    /// Creates the dispatcher of a task that is over. Tasks stay with its worker only if others may
    /// steal them.
    pub fn at_end(spawner: &'s mut P) -> Self {
        let stays = spawner.shared().policy == QueuePolicy::WorkStealing;
        Self { destination: if stays { Destination::Here } else { Destination::Home }, ..Self::new(spawner) }
    }

    /// Adds a claim whose plan has to run. The caller gives up its ownership of the state.
    pub fn push_planned(&mut self, state: NonNull<ClaimState>) {
        self.planned.push_back(state);
    }
}

impl ClaimState {
    /// Enqueues a waiter for each granule of the claim, in two phases: locks all the queues in
    /// ascending order, then enqueues everywhere, then unlocks.
    ///
    /// # Safety
    ///
    /// The caller owns the state, which holds nothing and has no waiter enqueued. It gives up its
    /// ownership.
    pub(super) unsafe fn enqueue(state: NonNull<Self>, dispatcher: &mut Dispatcher<'_, impl Origin>) {
        // SAFETY: the state lives until its task has run, which it cannot before `count_granted`
        // below: `pending` has one more until then.
        let this = unsafe { state.as_ref() };
        // SAFETY: the caller owns the state.
        let inner = unsafe { this.inner() };
        if dispatcher.spawner.shared().is_stamping() {
            inner.note_wait(dispatcher.spawner);
        }
        let ClaimInner { rights, waiters, .. } = inner;
        waiters.clear();
        waiters.reserve_exact(rights.count());
        waiters.extend(rights.granules().map(|(granule, write)| Waiter::new(granule, write)));
        waiters.iter().for_each(|waiter| waiter.set_state(this));
        let waiters = &waiters[..];
        // Relaxed: the queue locks publish it with the waiters.
        this.pending.store(waiters.len() as u32 + 1, Relaxed);
        let enter = |queue_lock: &mut QueueLock, waiter| u32::from(queue_lock.enter(waiter));
        let granted: u32 = if planted!("claim-without-two-phase") {
            waiters.iter().map(|waiter| enter(&mut this.queue_lock(waiter.granule).lock(), waiter)).sum()
        } else if let [waiter] = waiters {
            enter(&mut this.queue_lock(waiter.granule).lock(), waiter)
        } else {
            // All claims lock in ascending order, so the locks cannot deadlock.
            let mut locked: LockedQueues =
                waiters.iter().map(|waiter| this.queue_lock(waiter.granule).lock()).collect();
            locked.iter_mut().zip(waiters).map(|(queue_lock, waiter)| enter(queue_lock, waiter)).sum()
        };
        let one_more = u32::from(!planted!("claim-sent-twice"));
        // SAFETY: the waiters granted here are counted here, once. The one more is counted in the
        // same step: others may have granted all the rest, and the state could be freed after it.
        unsafe { Self::count_granted(state, granted + one_more, dispatcher) };
    }

    /// Counts granted waiters. The caller that counts the last one becomes the owner of the state,
    /// and sends the task or has its plan run. Any other caller must not touch the state again.
    ///
    /// # Safety
    ///
    /// Each waiter is counted once.
    unsafe fn count_granted(
        state: NonNull<Self>,
        waiters: u32,
        dispatcher: &mut Dispatcher<'_, impl Origin>,
    ) {
        // SAFETY: the task, which owns the state, cannot run until all waiters are counted.
        let pending = unsafe { &(*state.as_ptr()).pending };
        // AcqRel pairs with itself: the last one sees what all threads did before that granted one
        // of the waiters, and so does the task.
        let before = if planted!("claim-counted-twice") {
            let before = pending.load(Acquire);
            pending.store(before - waiters, Release);
            before
        } else {
            pending.fetch_sub(waiters, if planted!("claim-granted-unordered") { Relaxed } else { AcqRel })
        };
        if before == waiters {
            // SAFETY: this thread has decremented `pending` to zero, so it owns the state.
            unsafe {
                let inner = state.as_ref().inner();
                if take(&mut inner.awaits_retry) {
                    let notified = inner.waiters[0].granule;
                    Self::send_deferred(state, Some(notified), dispatcher);
                } else if inner.plan.is_some() && !planted!("plan-run-once") {
                    dispatcher.push_planned(state);
                } else {
                    Self::send(state, dispatcher);
                }
            }
        }
    }

    /// Notifies the claims of all waiters in a list.
    pub(super) fn notify(wake_list: WakeList, dispatcher: &mut Dispatcher<'_, impl Origin>) {
        // SAFETY: a waiter is in one list only, and is taken out of it here: it is counted once.
        wake_list.for_each(|state| unsafe { Self::count_granted(state, 1, dispatcher) });
    }

    /// Runs the plans of all claims that have been granted what their plans had named, and of those
    /// that are granted meanwhile.
    ///
    /// # Safety
    ///
    /// The states in the dispatcher are owned by it: each was added by an owner that gave it up.
    pub(super) unsafe fn confirm_plans(dispatcher: &mut Dispatcher<'_, impl Origin>) {
        while let Some(state) = dispatcher.planned.pop_front() {
            // SAFETY: the dispatcher owned the state, and this thread has the dispatcher.
            unsafe { Self::confirm_next(state, dispatcher) };
        }
    }

    /// # Safety
    ///
    /// The caller owns the state, and gives up its ownership.
    unsafe fn confirm_next(state: NonNull<Self>, dispatcher: &mut Dispatcher<'_, impl Origin>) {
        // SAFETY: the task is parked, so the state lives.
        let this = unsafe { state.as_ref() };
        // SAFETY: the caller owns the state.
        let inner = unsafe { this.inner() };
        // SAFETY: the caller owns the state. Either the claim is granted, or it has released all.
        unsafe {
            if this.confirm_plan(inner, dispatcher) {
                Self::send(state, dispatcher);
            } else {
                Self::enqueue(state, dispatcher);
            }
        }
    }

    /// Runs the plan of a task that was granted all that the plan had named. Returns true if the
    /// plan names nothing else, or has failed. If it does, all is released, and the claim is for
    /// what the plan has named now.
    pub(super) fn confirm_plan(
        &self,
        inner: &mut ClaimInner,
        dispatcher: &mut Dispatcher<'_, impl Origin>,
    ) -> bool {
        let Some(plan) = &mut inner.plan else { return true };
        let (outcome, wake_lists) = self.run_plan(plan, &inner.rights, TableAdmission::ANYWHERE);
        wake_lists.into_iter().for_each(|wake_list| Self::notify(wake_list, dispatcher));
        inner.plan_runs += 1;
        let ranges = match outcome {
            Ok(ranges) if ranges.are_covered_by(&inner.rights) => return true,
            Ok(ranges) => ranges,
            Err(failure) => {
                inner.failure = Some(Box::new(failure));
                return true;
            }
        };
        let next = if inner.plan_runs < MAX_PLAN_RUNS { ranges } else { self.all_granules() };
        let previous = replace(&mut inner.rights, next.rights());
        self.release(&previous, dispatcher);
        false
    }

    /// Sends the task, whose claim is granted or deferred. The state may be freed before this
    /// returns.
    ///
    /// # Safety
    ///
    /// The caller owns the state, and gives up its ownership.
    pub(super) unsafe fn send(state: NonNull<Self>, dispatcher: &mut Dispatcher<'_, impl Origin>) {
        // SAFETY: the task is parked, so the state lives until it is sent below.
        let this = unsafe { state.as_ref() };
        // SAFETY: the caller owns the state.
        let inner = unsafe { this.inner() };
        let task = inner.task.take().expect("a claim has a parked task until it is sent");
        let affinity = &this.table().affinity;
        let Dispatcher { spawner, destination, .. } = dispatcher;
        if inner.deferred.is_none() {
            // The plan holds user values, whose destructors may panic.
            quietly(|| inner.plan = None);
        }
        if !task.is_unbound() || inner.rights.is_empty() {
            return task.send(*spawner);
        }
        let known = inner.home.map(|home| home as usize);
        let home = known.unwrap_or_else(|| affinity.visit(&inner.rights));
        match destination {
            Destination::Home => {
                if known.is_none() {
                    affinity.task_sent(home);
                    inner.home = Some(home as u32);
                }
                task.send_to(home, true, *spawner);
            }
            Destination::Here => task.keep(*spawner),
        }
    }

    /// Releases granules of a claim whose plan has named others.
    fn release(&self, rights: &Rights, dispatcher: &mut Dispatcher<'_, impl Origin>) {
        for (granule, _) in rights.granules() {
            let wake_list = self.queue_lock(granule).lock().release();
            Self::notify(wake_list, dispatcher);
        }
    }

    /// Releases all granules at the end of the task.
    pub(super) fn release_at_end(&self, rights: &Rights, dispatcher: &mut Dispatcher<'_, impl Origin>) {
        let max_overtaking = self.table().max_overtaking;
        for (granule, _) in rights.granules() {
            let wake_list = self.queue_lock(granule).lock().release_at_end(max_overtaking);
            Self::notify(wake_list, dispatcher);
        }
        // SAFETY: `count_granted` has added the states, as their owner.
        unsafe { Self::confirm_plans(dispatcher) };
    }
}
