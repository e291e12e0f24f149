//! Claims that wait for buckets.

use super::Toggle;
use crate::claims::admission::{Admission, TableAdmission};
use crate::claims::claim_state::{ClaimInner, ClaimState, MAX_PLAN_RUNS};
use crate::claims::rights::Rights;
use crate::task::JoinError;
use crate::task::pending::PendingTask;
use crate::task::quietly;
use crate::task::spawner::sealed::Origin;
use alloc::boxed::Box;
use core::mem::take;
use core::ptr::NonNull;

impl ClaimState {
    /// Puts the task into the lowest bucket that it covers; or sends it, if it is bound to a worker
    /// or an object.
    ///
    /// # Safety
    ///
    /// As for [`enter`](Self::enter).
    pub(in crate::claims::baselines) unsafe fn enter_bucket(
        state: NonNull<Self>,
        toggle: &Toggle,
        spawner: &mut impl Origin,
    ) {
        // SAFETY: the spawner owns the state until it gives the task away below.
        let (this, inner) = unsafe { (state.as_ref(), state.as_ref().inner()) };
        let waits = inner.task.as_ref().is_some_and(PendingTask::is_unbound);
        if waits {
            // Peeks at buckets grant no waiters.
            this.preview_plan(inner, TableAdmission::ANYWHERE);
        }
        if waits && inner.failure.is_none() && !inner.rights.is_empty() {
            // SAFETY: the spawner owns the state, and gives it up with `enqueue`.
            unsafe {
                inner.task.as_ref().expect("`waits` has found it").note(spawner);
                toggle.enqueue(state, spawner);
            }
        } else if let Some(task) = inner.task.take() {
            task.send(spawner);
        }
    }

    /// Runs the plan of a task that has the granules which `held` returns, to write them. Returns
    /// true if they are enough, or the plan has failed. If not, the claim is for other granules
    /// from now on.
    pub(super) fn confirm_buckets(&self, inner: &mut ClaimInner, held: impl FnOnce() -> Rights) -> bool {
        let Some(plan) = &mut inner.plan else { return true };
        // At the maximum the task has all granules.
        let mut is_confirmed = inner.plan_runs >= MAX_PLAN_RUNS || planted!("toggle-plan-run-once");
        if !is_confirmed {
            inner.plan_runs += 1;
            let held = held();
            match self.run_plan(plan, &held, TableAdmission::ANYWHERE).0 {
                Ok(ranges) => {
                    is_confirmed = ranges.are_covered_by(&held);
                    let is_below_max = is_confirmed || inner.plan_runs < MAX_PLAN_RUNS;
                    inner.rights = if is_below_max { ranges } else { self.all_granules() }.rights();
                }
                Err(failure) => {
                    inner.failure = Some(Box::new(failure));
                    is_confirmed = true;
                }
            }
        }
        if is_confirmed {
            quietly(|| inner.plan = None);
        }
        is_confirmed
    }

    /// Waits on this worker until a task that did not wait in a bucket has locked all buckets that
    /// it covers.
    ///
    /// # Errors
    ///
    /// If the task's plan has panicked.
    pub(in crate::claims::baselines) fn acquire_buckets(
        &self,
        inner: &mut ClaimInner,
        toggle: &Toggle,
        worker: usize,
    ) -> Result<(), JoinError> {
        let shared = &self.table().shared;
        self.preview_plan(inner, TableAdmission::ANYWHERE);
        while inner.failure.is_none() && inner.baseline.buckets.is_none() {
            let mut covered = toggle.covered(&inner.rights);
            if planted!("toggle-locked-descending") {
                covered.reverse();
            }
            let cover = toggle.lock_task(worker, &covered, &inner.rights, shared);
            if self.confirm_buckets(inner, || cover.unwrap_or_else(|| toggle.all_of(&covered))) {
                toggle.grant(inner, worker, covered.into_boxed_slice());
            } else {
                toggle.unlock_task(worker, &covered, shared);
            }
        }
        take(&mut inner.failure).map_or(Ok(()), |failure| Err(*failure))
    }
}
