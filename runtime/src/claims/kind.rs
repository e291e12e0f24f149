//! Kinds of claims: what a task may claim, and how its spawner and its sink handle that.

use super::spawner::Claiming;
use crate::scheduler::{Context, Worker};
use crate::task::pending::PendingTask;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Membership, Spawner, Task, TaskBuilder};
use core::ptr::NonNull;

/// Converts to a claim, which a task [makes](TaskBuilder::claim).
///
/// Data structures on top of granules or trees implement this for what their tasks name.
pub trait IntoClaim {
    /// The claim: a [`Claim`](crate::Claim) to granules, or a
    /// [`TreeClaim`](crate::trees::TreeClaim).
    type Claim: ClaimKind;

    /// Converts to a claim.
    fn into_claim(self) -> Self::Claim;
}

impl<C: ClaimKind> IntoClaim for C {
    type Claim = C;

    fn into_claim(self) -> C {
        self
    }
}

/// A kind of claims. Only this crate implements it.
pub trait ClaimKind: Sized {
    /// The state of a claim of this kind.
    #[doc(hidden)]
    type State: ClaimHandle;
    /// The membership of a task with such a claim.
    type Membership<M: Membership>: Membership;

    /// Adds the claim to a task.
    #[doc(hidden)]
    #[track_caller]
    fn attach<P: Spawner, A, M: Membership>(
        self,
        builder: TaskBuilder<P, A, M>,
    ) -> TaskBuilder<Claiming<P, Self::State>, A, Self::Membership<M>>;
}

/// A pointer to the state of a claim, or to none if there was no memory left for it.
///
/// The spawner owns the state until it makes the claim, and then the task does: while it waits, by
/// what it waits for.
pub trait ClaimHandle: Copy + Send + 'static {
    /// Returns true if the state was allocated.
    fn is_some(self) -> bool;

    /// Drops the state, if there is one, and frees its memory.
    ///
    /// # Safety
    ///
    /// The caller owns the state, and does not use it again; the origin is of its runtime.
    unsafe fn free(self, origin: &mut impl Origin);

    /// Makes the claim of a task, and sends the task when it is granted.
    ///
    /// # Safety
    ///
    /// The caller owns the state, and gives it up to the task: it may be freed before this returns.
    unsafe fn enter(self, task: PendingTask, origin: &mut impl Origin);

    /// Returns true if the task may run now, and false if it was parked again.
    ///
    /// # Safety
    ///
    /// The worker owns the task, which owns the state; if this returns false, no longer.
    unsafe fn is_ready(self, task: NonNull<Task>, cx: &mut Worker) -> bool {
        let _ = (task, cx);
        true
    }

    /// Admits the task, which is about to run its body.
    ///
    /// # Errors
    ///
    /// If the body must not run.
    ///
    /// # Safety
    ///
    /// The caller is the task.
    unsafe fn start(self, cx: &mut Worker) -> Result<(), JoinError>;

    /// Gives back all that the task holds.
    ///
    /// # Safety
    ///
    /// The caller is the task, which is over.
    unsafe fn leave(self, cx: &mut Context);
}
