//! The spawner of a task with a claim, and its membership.

use super::claim::Claim;
use super::claim_state::ClaimState;
use super::granules::{Granules, GranulesInner};
use super::held::{Held, PoisonGuard, clear_written_poison};
use super::kind::{ClaimHandle, ClaimKind, IntoClaim};
use super::releasing::ReleasingSink;
use super::state_ptr::ClaimStatePtr;
use crate::limit::{Limit, MayReserve};
use crate::memory::SizeClass;
use crate::scheduler::Context;
use crate::task::group::{Membership, SealedMembership};
use crate::task::handle::Handle;
use crate::task::name::BodyName;
use crate::task::options::{Options, SpawnRequest};
use crate::task::pending::PendingTask;
use crate::task::spawner::{CompleteTask, Route, sealed::Spawn};
use crate::task::{AccessSet, Meta, Spawner, Task, TaskBuilder};
use alloc::sync::Arc;
use core::any::Any;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A spawner whose task has a claim, to granules or nodes.
pub struct Claiming<P: Spawner, S: ClaimHandle = ClaimStatePtr> {
    spawner: P,
    /// Owned by the task once it is delivered.
    state: Option<S>,
}

impl<P: Spawner, S: ClaimHandle> Claiming<P, S> {
    /// Makes the spawner of a task that will own this state.
    #[inline(always)]
    pub(crate) fn new(spawner: P, state: S) -> Self {
        Self { spawner, state: Some(state) }
    }
}

impl<P: Spawner, S: ClaimHandle> Drop for Claiming<P, S> {
    /// A builder that is dropped unspawned frees the state of its claim.
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(state) = self.state.take()
            && !planted!("unspawned-claim-state-leaked")
        {
            // SAFETY: no task was delivered, so nothing else uses it.
            unsafe { state.free(&mut self.spawner) };
        }
    }
}

impl<P: Spawner, S: ClaimHandle> Spawn for Claiming<P, S> {
    type Origin = P;

    fn origin_mut(&mut self) -> &mut P {
        &mut self.spawner
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn allocate_descriptor(&mut self, class: SizeClass) -> Option<NonNull<Task>> {
        // Without memory for the state of the claim there is no task either.
        if !self.state.is_some_and(ClaimHandle::is_some) {
            return None;
        }
        self.spawner.allocate(class)
    }

    #[inline(always)]
    fn admit_task(&mut self, options: &Options) -> Meta {
        // A follow-up may claim what only its parent's epoch keeps alive: it is of the same
        // operation in any case.
        self.spawner.admit(&Options { begins_operation: false, ..*options })
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn deliver(&mut self, complete: CompleteTask, options: &Options, route: Route<'_>) {
        let state = self.state.take().expect("a claim has one task");
        let task = PendingTask::new(complete.task, options, route);
        // SAFETY: this is the task's spawner, which has owned the state until here.
        unsafe { state.enter(task, &mut self.spawner) };
    }
}

/// The membership of a task with a claim: in a group or none, and its claim.
pub struct Within<'g, M, D: Send + Sync + 'static = ()> {
    membership: M,
    state: ClaimStatePtr,
    /// Until the task is spawned, this borrow of a handle keeps the granules.
    granules: PhantomData<&'g Granules<D>>,
}

impl<M: Membership, D: Send + Sync + 'static> SealedMembership for Within<'_, M, D> {}

impl<M: Membership, D: Send + Sync + 'static> Membership for Within<'_, M, D> {
    type Sink = ReleasingSink<M::Sink, ClaimStatePtr>;

    fn sink(self) -> Self::Sink {
        ReleasingSink::new(self.membership.sink(), self.state)
    }
}

impl<M: MayReserve, D: Send + Sync + 'static> MayReserve for Within<'_, M, D> {
    fn limit(&self) -> Option<&Limit> {
        self.membership.limit()
    }
}

impl<'g, D: Send + Sync + 'static> ClaimKind for Claim<'g, D> {
    type State = ClaimStatePtr;
    type Membership<M: Membership> = Within<'g, M, D>;

    #[track_caller]
    fn attach<P: Spawner, A, M: Membership>(
        self,
        builder: TaskBuilder<P, A, M>,
    ) -> TaskBuilder<Claiming<P>, A, Within<'g, M, D>> {
        let (SpawnRequest { mut spawner, options }, access, membership) = builder.into_parts();
        let inner = self.inner;
        let shared = &inner.table.shared;
        assert!(Arc::ptr_eq(shared, spawner.shared()), "granules are claimed by a task of another runtime");
        // A follow-up is of the epoch that keeps the granules now.
        assert!(
            self.operation.is_none_or(|operation| spawner.operation() == Some(operation))
                || planted!("held-claimed-by-others"),
            "a claim by what a task holds is for its follow-ups: others need a handle of the granules"
        );
        let state = ClaimStatePtr::new(&mut spawner, || ClaimState::new(inner, self.request, self.options));
        TaskBuilder::from_parts(
            SpawnRequest { spawner: Claiming::new(spawner, state), options },
            access,
            Within { membership, state, granules: PhantomData },
        )
    }
}

/// The builder of a task that claims something.
pub type ClaimedTask<P, A, M, C> =
    TaskBuilder<Claiming<P, <C as ClaimKind>::State>, A, <C as ClaimKind>::Membership<M>>;

impl<P: Spawner, A, M: Membership> TaskBuilder<P, A, M> {
    /// Parks the task until it has been granted these granules: those that it writes exclusively,
    /// those that it reads together with other readers. It releases them when it is over, also by a
    /// panic or a cancellation.
    ///
    /// Two tasks conflict if they claim the same granule and one of them writes it. Conflicting
    /// tasks of one spawner run in the order of their spawns, whatever their priorities, unless
    /// their claims are [unordered](Claim::unordered). Two tasks that conflict at several granules
    /// have the same order at all of them. (A task whose claim is [planned](Granules::planned) may
    /// run later: it enters the queues when its plan has named the granules.) A task with objects
    /// is granted its granules first, and then waits for its objects. A shutdown waits for parked
    /// tasks, or cancels each when it is granted its granules.
    ///
    /// A task without objects, place and rank goes to the least loaded worker where one of its
    /// granules has its home. Each worker is the home of one stretch of granules, and all stretches
    /// had about as many recent visits. With
    /// [`QueuePolicy::WorkStealing`](crate::QueuePolicy::WorkStealing), idle workers may steal the
    /// task, and a worker that releases granules next runs one of the tasks that waited for them.
    ///
    /// [Trees](crate::trees) are claimed in the same way, node by node.
    ///
    /// # Panics
    ///
    /// If the granules or nodes belong to another runtime; or if the claim was made by what a task
    /// [holds](Held), and the new task is not a follow-up of that task.
    #[inline(always)]
    #[track_caller]
    pub fn claim<C: IntoClaim>(self, claim: C) -> ClaimedTask<P, A, M, C::Claim> {
        claim.into_claim().attach(self)
    }
}

impl<P: Spawn, A, M: Membership, D: Send + Sync + 'static> TaskBuilder<P, A, Within<'_, M, D>> {
    /// Spawns the task like [`spawn`](Self::spawn), and passes its body the data of its granules.
    /// If the task panics, the granules that it has claimed to write are
    /// [poisoned](Granules::is_poisoned), until a task has [repaired](Claim::even_poisoned) them.
    ///
    /// # Panics
    ///
    /// If the same object is accessed twice, once for writing.
    pub fn spawn_with<F>(self, body: F)
    where
        A: AccessSet,
        F: for<'v, 'h> FnOnce(A::View<'v>, Held<'h, D>, &mut Context) + Send + 'static,
    {
        let state = self.membership().state;
        self.annotate(BodyName::<F>::default())
            .spawn(move |view, cx| run_with(state, cx, |held, cx| body(view, held, cx)));
    }

    /// Submits the task like [`submit`](Self::submit), and passes its body the data of its
    /// granules: see [`spawn_with`](Self::spawn_with).
    ///
    /// The handle has the result as soon as the body returns; only then the task leaves its claim.
    /// So a task that is spawned after the join may still wait for it. A
    /// [group](crate::Runtime::group) waits until its tasks have left their claims.
    ///
    /// # Panics
    ///
    /// If the same object is accessed twice, once for writing.
    pub fn submit_with<F, R>(self, body: F) -> Handle<R>
    where
        A: AccessSet,
        F: for<'v, 'h> FnOnce(A::View<'v>, Held<'h, D>, &mut Context) -> R + Send + 'static,
        R: Send + 'static,
    {
        let state = self.membership().state;
        self.annotate(BodyName::<F>::default())
            .submit(move |view, cx| run_with(state, cx, |held, cx| body(view, held, cx)))
    }
}

/// Runs the body of the task that owns this state.
fn run_with<D: Send + Sync + 'static, R>(
    state: ClaimStatePtr,
    cx: &mut Context,
    body: impl FnOnce(Held<'_, D>, &mut Context) -> R,
) -> R {
    // SAFETY: the task runs, and owns the state until it leaves.
    let state = unsafe { state.get().as_ref() };
    let granules: &dyn Any = state.granules();
    let inner: &GranulesInner<D> = granules.downcast_ref().expect("the claim was for granules of this type");
    // SAFETY: the caller is the body of the task.
    let rights = unsafe { state.rights() };
    let poison = PoisonGuard(state.table(), rights);
    // SAFETY: the task was granted these rights by `start`; its body, which runs once, gets the
    // only `Held` and cannot keep it.
    let held = unsafe { Held::new(inner, rights, cx.worker.current.epoch()) };
    let result = body(held, cx);
    core::mem::forget(poison);
    if state.options.even_poisoned {
        clear_written_poison(state.table(), rights);
    }
    result
}
