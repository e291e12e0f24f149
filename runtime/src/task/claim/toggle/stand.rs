//! A task that is let in by buckets.

use super::super::ask::From;
use super::super::rights::Rights;
use super::super::stand::{MOST_ROUNDS, Own, Stand};
use super::Toggle;
use crate::task::JoinError;
use crate::task::builder::sealed::Spawn;
use crate::task::quietly;
use crate::task::waiting::Waiting;
use alloc::boxed::Box;
use core::mem::take;
use core::ptr::NonNull;

impl Stand {
    /// Has the task wait in the bucket that it claims something of; or sends it, if it is bound to anything.
    ///
    /// # Safety
    ///
    /// As for [`enter`](Self::enter).
    pub(in super::super) unsafe fn enter_bucket(
        stand: NonNull<Self>,
        toggle: &Toggle,
        spawner: &mut impl Spawn,
    ) {
        // SAFETY: by the caller's promise.
        let (this, own) = unsafe { (stand.as_ref(), stand.as_ref().own()) };
        let waits = own.task.as_ref().is_some_and(Waiting::may_go_anywhere);
        if waits {
            this.foresee(own, From::Buckets);
        }
        if waits && own.failure.is_none() && !own.rights.is_empty() {
            // SAFETY: by the caller's promise.
            unsafe {
                own.task.as_ref().expect("it is there").note(spawner);
                toggle.put(stand, spawner);
            }
        } else if let Some(task) = own.task.take() {
            task.send(spawner);
        }
    }

    /// Whether these granules will do, all of which the task has now, to write them. If not, it wants others from now on. If its
    /// plan has failed, it needs none.
    pub(super) fn settles(&self, own: &mut Own, has: impl FnOnce() -> Rights) -> bool {
        let Some(plan) = &mut own.plan else { return true };
        // Then it has everything.
        let mut settled = own.rounds >= MOST_ROUNDS || planted!("toggle-plan-asked-once");
        if !settled {
            own.rounds += 1;
            let has = has();
            match self.ask(plan, &has, From::Buckets).0 {
                Ok(asked) => {
                    settled = asked.are_within(&has);
                    let is_patient = settled || own.rounds < MOST_ROUNDS;
                    own.rights = if is_patient { asked } else { self.everything() }.rights();
                }
                Err(failure) => {
                    own.failure = Some(Box::new(failure));
                    settled = true;
                }
            }
        }
        if settled {
            quietly(|| own.plan = None);
        }
        settled
    }

    /// Waits on this worker until a task that was bound to something has what it claims.
    pub(in super::super) fn obtain_buckets(&self, own: &mut Own, toggle: &Toggle) -> Result<(), JoinError> {
        self.foresee(own, From::Buckets);
        while own.failure.is_none() && own.buckets.is_none() {
            let mut covered = toggle.covered(&own.rights);
            if planted!("toggle-locked-crosswise") {
                covered.reverse();
            }
            toggle.lock(&covered, &self.lines().shared);
            if self.settles(own, || toggle.all_of(&covered)) {
                own.buckets = Some(covered.into_boxed_slice());
            } else {
                toggle.unlock(&covered);
            }
        }
        take(&mut own.failure).map_or(Ok(()), |failure| Err(*failure))
    }
}
