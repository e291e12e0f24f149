//! The spawner of a task with a claim, and the sink that releases its granules.

use super::admission::{Admission, TableAdmission};
use super::claim::Claim;
use super::claim_state::ClaimState;
use super::granules::{Granules, GranulesInner};
use super::held::{Held, PoisonGuard, clear_written_poison};
use super::state_ptr::ClaimStatePtr;
use crate::limit::{Limit, MayReserve};
use crate::memory::SizeClass;
use crate::scheduler::{Context, Worker};
use crate::task::group::{Membership, SealedMembership};
use crate::task::handle::Handle;
use crate::task::name::BodyName;
use crate::task::options::{Options, SpawnRequest};
use crate::task::pending::PendingTask;
use crate::task::spawner::{CompleteTask, Route, sealed::Origin, sealed::Spawn};
use crate::task::{AccessSet, JoinError, Meta, Sink, Spawner, Task, TaskBuilder};
use alloc::sync::Arc;
use core::any::Any;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A spawner whose task claims granules.
pub struct Claiming<P: Spawner> {
    spawner: P,
    /// Owned by the task once it is delivered.
    state: Option<ClaimStatePtr>,
    has_task: bool,
}

impl<P: Spawner> Drop for Claiming<P> {
    /// A builder that is dropped unspawned frees the state of its claim.
    fn drop(&mut self) {
        if let Some(state) = self.state.take()
            && !planted!("unspawned-claim-state-leaked")
        {
            // SAFETY: no task was delivered, so nothing else uses it.
            unsafe { state.free(&mut self.spawner) };
        }
    }
}

impl<P: Spawner> Spawn for Claiming<P> {
    type Origin = P;

    fn origin_mut(&mut self) -> &mut P {
        &mut self.spawner
    }

    fn allocate_descriptor(&mut self, class: SizeClass) -> Option<NonNull<Task>> {
        // Without memory for the state of the claim there is no task either.
        if !self.state.is_some_and(ClaimStatePtr::is_some) {
            return None;
        }
        self.spawner.allocate(class)
    }

    fn admit_task(&mut self, options: &Options) -> Meta {
        // A follow-up may claim what only its parent's epoch keeps alive: it is of the same
        // operation in any case.
        self.spawner.admit(&Options { begins_operation: false, ..*options })
    }

    unsafe fn deliver(&mut self, complete: CompleteTask, options: &Options, route: Route<'_>) {
        let state = self.state.expect("the claim is there until the spawn is finished").get();
        // SAFETY: this is the task's spawner, which owns the state until `finish`.
        unsafe { state.as_ref().park_task(PendingTask::new(complete.task, options, route)) };
        self.has_task = true;
    }

    /// Claims the granules for the task, which owns the state of the claim from here on.
    fn finish(mut self) {
        if self.has_task
            && let Some(state) = self.state.take()
        {
            // SAFETY: `deliver` has parked the task there, and it now owns the state.
            unsafe { ClaimState::enter(state.get(), &mut self.spawner) };
        }
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
    type Sink = ReleasingSink<M::Sink>;

    fn sink(self) -> Self::Sink {
        ReleasingSink { sink: self.membership.sink(), state: self.state }
    }
}

impl<M: MayReserve, D: Send + Sync + 'static> MayReserve for Within<'_, M, D> {
    fn limit(&self) -> Option<&Limit> {
        self.membership.limit()
    }
}

/// Releases the granules when the task is over, then completes another sink.
pub struct ReleasingSink<K> {
    sink: K,
    state: ClaimStatePtr,
}

impl<K: Sink<()>> Sink<()> for ReleasingSink<K> {
    fn enter(&self, origin: &mut impl Origin) {
        self.sink.enter(origin);
    }

    unsafe fn is_ready(this: *const Self, task: NonNull<Task>, cx: &mut Worker) -> bool {
        // SAFETY: the worker owns the task, which contains the sink and owns the state. (Nothing is
        // borrowed of either: another worker may have both as soon as the task is parked.)
        unsafe { TableAdmission::is_ready((*this).state.get(), task, cx) }
    }

    fn start(&self, cx: &mut Worker) -> Result<(), JoinError> {
        let outcome = self.sink.start(cx);
        // SAFETY: this is part of the task, which owns the state.
        let granted = unsafe { self.state.get().as_ref().start(cx.index()) };
        // SAFETY: as above.
        cx.record_granules(|| unsafe { self.state.get().as_ref().held() });
        outcome.and(granted)
    }

    fn pause(&self, cx: &mut Worker) {
        self.sink.pause(cx);
    }

    fn resume(&self, cx: &mut Worker) {
        self.sink.resume(cx);
    }

    fn make_room(&mut self) {
        self.sink.make_room();
    }

    fn name(&self) -> Option<&'static str> {
        self.sink.name()
    }

    fn complete(self, outcome: Result<(), JoinError>, cx: &mut Worker) {
        let mut origin = Context::of(cx);
        // SAFETY: this is part of the task, which is over and owns the state.
        unsafe {
            self.state.get().as_ref().leave(&mut origin);
            if !planted!("claim-state-leaked") {
                self.state.free(&mut origin);
            }
        }
        self.sink.complete(outcome, cx);
    }

    fn refuse(self, origin: &impl Origin, why: JoinError) {
        self.sink.refuse(origin, why);
    }
}

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
    /// # Panics
    ///
    /// If the granules belong to another runtime; or if the claim was made by a [`Held`], and the
    /// task is not a follow-up of the task that has it.
    #[track_caller]
    pub fn claim<'g, D>(self, claim: impl Into<Claim<'g, D>>) -> TaskBuilder<Claiming<P>, A, Within<'g, M, D>>
    where
        D: Send + Sync + 'static,
    {
        let claim = claim.into();
        let (SpawnRequest { mut spawner, options }, access, membership) = self.into_parts();
        let inner = claim.inner;
        let shared = &inner.table.shared;
        assert!(Arc::ptr_eq(shared, spawner.shared()), "granules are claimed by a task of another runtime");
        // A follow-up is of the epoch that keeps the granules now.
        assert!(
            claim.operation.is_none_or(|operation| spawner.operation() == Some(operation))
                || planted!("held-claimed-by-others"),
            "a claim by what a task holds is for its follow-ups: others need a handle of the granules"
        );
        let state = ClaimStatePtr::new(&mut spawner, || ClaimState::new(inner, claim.request, claim.options));
        let spawner = Claiming { spawner, state: Some(state), has_task: false };
        TaskBuilder::from_parts(
            SpawnRequest { spawner, options },
            access,
            Within { membership, state, granules: PhantomData },
        )
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
