//! How a task with a claim gets to its [`Stand`], and what it does when it is over.

use super::ask::Claim;
use super::granules::{Granules, Whole};
use super::held::{Held, Poison, mend};
use super::owner::StandOf;
use super::stand::Stand;
use crate::scheduler::Context;
use crate::task::builder::{Options, Order, sealed::Spawn};
use crate::task::group::{Membership, SealedMembership};
use crate::task::handle::Handle;
use crate::task::waiting::{Waiting, leaves_its_task};
use crate::task::{AccessSet, Immediate, JoinError, Meta, Sink, Spawner, Task, TaskBuilder};
use alloc::sync::Arc;
use core::any::Any;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A spawner whose task claims granules.
pub struct Claiming<P: Spawner> {
    spawner: P,
    stand: StandOf,
    has_task: bool,
}

impl<P: Spawner> Claiming<P> {
    /// There is no task without.
    fn has_stand(&self) -> bool {
        self.stand.is_there()
    }

    fn leave(&mut self, task: Waiting) {
        // SAFETY: this is the task's spawner, and there is a stand where there is a task.
        unsafe { self.stand.get().as_ref().leave_here(task) };
        self.has_task = true;
    }
}

impl<P: Spawner> Drop for Claiming<P> {
    fn drop(&mut self) {
        if self.has_task {
            // SAFETY: the task was left above, and keeps the stand from now on.
            unsafe { Stand::enter(self.stand.get(), &mut self.spawner) };
        } else if !planted!("unspawned-stand-kept") {
            // SAFETY: without a task nobody else uses it.
            unsafe { self.stand.free(&mut self.spawner) };
        }
    }
}

impl<P: Spawner> Spawn for Claiming<P> {
    leaves_its_task!(if has_stand);

    fn admit(&mut self, options: &Options) -> Meta {
        // A follow-up may claim what only its parent's epoch keeps alive: it is of the same operation in any case.
        self.spawner.admit(&Options { operation: false, ..*options })
    }

    unsafe fn send_bare(&mut self, task: NonNull<Task>, options: &Options, _: Meta) {
        self.leave(Waiting::Bare(task, *options));
    }
}

/// Where a task with a claim belongs to: to a group or none, and to its stand at these granules.
pub struct Within<'g, M, D: Send + Sync + 'static = ()> {
    membership: M,
    stand: StandOf,
    /// Until the task is spawned, a handle keeps them.
    granules: PhantomData<&'g Granules<D>>,
}

impl<M: Membership, D: Send + Sync + 'static> SealedMembership for Within<'_, M, D> {}

impl<M: Membership, D: Send + Sync + 'static> Membership for Within<'_, M, D> {
    type Sink = Leaving<M::Sink>;

    fn sink(self) -> Self::Sink {
        Leaving { sink: self.membership.sink(), stand: self.stand }
    }
}

/// Gives the granules back when the task is over, and then tells another sink.
pub struct Leaving<K> {
    sink: K,
    stand: StandOf,
}

impl<K: Sink<()>> Sink<()> for Leaving<K> {
    fn enter(&self, spawner: &mut impl Spawner) {
        self.sink.enter(spawner);
    }

    unsafe fn is_ready(this: *const Self, task: NonNull<Task>, cx: &mut Context) -> bool {
        // SAFETY: the sink is there as long as the task is, which keeps the stand. (Nothing is borrowed of either for longer than
        // this: another worker may have both as soon as the task waits.)
        unsafe { Stand::is_ready((*this).stand.get(), task, cx) }
    }

    fn start(&self, cx: &mut Context) -> Result<(), JoinError> {
        let own = self.sink.start(cx);
        // SAFETY: this is the task's.
        JoinError::first_of(own, unsafe { self.stand.get().as_ref().start(cx.worker()) })
    }

    fn complete(self, outcome: Result<(), JoinError>, mut cx: &mut Context) {
        // SAFETY: this is the task's, which is over.
        unsafe {
            self.stand.get().as_ref().leave(&mut cx);
            if !planted!("stand-kept") {
                self.stand.free(&mut cx);
            }
        }
        self.sink.complete(outcome, cx);
    }

    fn refuse(self, spawner: &impl Spawner) {
        self.sink.refuse(spawner);
    }
}

impl<P: Immediate, A, M: Membership> TaskBuilder<P, A, M> {
    /// Has the task wait, unspawned, until it has these granules: those that it writes alone, those that it only reads with
    /// other readers. It gives them back when it is over, whatever has become of it.
    ///
    /// Tasks that claim the same granule, at least one to write it, run in the order in which they were spawned by the same
    /// spawner, whatever their priorities, unless they say that they need [no order](Claim::unordered); and any two that meet at
    /// several granules have the same order at all of them. (One whose claim is [planned](Granules::planned) may come later: it
    /// stands in line when it knows for what.) A task with objects stands in line for these when it has the granules. A shutdown
    /// waits for those who stand in line, or cancels them when they have what they claim.
    ///
    /// Without objects, place and rank, the task goes to a worker where one of its granules is at home, the least loaded
    /// one: each worker is the home of a stretch of granules that was as often visited as those of the others lately. In a pool
    /// of [`Pool::WorkStealing`](crate::Pool::WorkStealing) others who have nothing to do may take it, and who gives granules
    /// back runs one of those next who have waited for them.
    ///
    /// # Panics
    ///
    /// If the granules belong to another runtime; or if the claim was made by a [`Held`], and the task is not a follow-up of the
    /// one that holds these.
    pub fn claim<'g, D>(self, claim: impl Into<Claim<'g, D>>) -> TaskBuilder<Claiming<P>, A, Within<'g, M, D>>
    where
        D: Send + Sync + 'static,
    {
        let claim = claim.into();
        let (Order { mut spawner, options }, access, membership) = self.into_parts();
        let whole = claim.whole;
        let shared = &whole.lines.shared;
        assert!(Arc::ptr_eq(shared, spawner.shared()), "granules are claimed by a task of another runtime");
        // Such a task is of the same epoch as the one that keeps the granules now.
        assert!(
            claim.operation.is_none_or(|operation| spawner.operation() == Some(operation))
                || planted!("held-claimed-by-strangers"),
            "a claim by what a task holds is for its follow-ups: others need a handle of the granules"
        );
        let stand = StandOf::new(&mut spawner, || Stand::new(whole, claim.asked, claim.terms));
        let spawner = Claiming { spawner, stand, has_task: false };
        TaskBuilder::of_parts(
            Order { spawner, options },
            access,
            Within { membership, stand, granules: PhantomData },
        )
    }
}

impl<P: Spawner, A, M: Membership, D: Send + Sync + 'static> TaskBuilder<P, A, Within<'_, M, D>> {
    /// As [`spawn`](Self::spawn), for a task that sees the data of its granules. If it panics, those that it has claimed to
    /// write are [poisoned](Granules::is_poisoned), until a task has [mended](Claim::even_poisoned) them.
    ///
    /// # Panics
    ///
    /// If the same object is named twice, once for writing.
    pub fn spawn_with<F>(self, body: F)
    where
        A: AccessSet,
        F: for<'v, 'h> FnOnce(A::View<'v>, Held<'h, D>, &mut Context) + Send + 'static,
    {
        let stand = self.membership().stand;
        self.spawn(move |view, cx| run_with(stand, cx, |held, cx| body(view, held, cx)));
    }

    /// As [`submit`](Self::submit), for a task that sees the data of its granules: see [`spawn_with`](Self::spawn_with).
    ///
    /// # Panics
    ///
    /// If the same object is named twice, once for writing.
    pub fn submit_with<F, R>(self, body: F) -> Handle<R>
    where
        A: AccessSet,
        F: for<'v, 'h> FnOnce(A::View<'v>, Held<'h, D>, &mut Context) -> R + Send + 'static,
        R: Send + 'static,
    {
        let stand = self.membership().stand;
        self.submit(move |view, cx| run_with(stand, cx, |held, cx| body(view, held, cx)))
    }
}

/// Runs the body of the task whose stand this is.
fn run_with<D: Send + Sync + 'static, R>(
    stand: StandOf,
    cx: &mut Context,
    body: impl FnOnce(Held<'_, D>, &mut Context) -> R,
) -> R {
    // SAFETY: the task runs, and keeps it.
    let stand = unsafe { stand.get().as_ref() };
    let whole: &dyn Any = stand.whole();
    let whole: &Whole<D> = whole.downcast_ref().expect("the claim was for granules of this type");
    // SAFETY: this is in the task.
    let rights = unsafe { stand.rights() };
    let poison = Poison(stand.lines(), rights);
    // SAFETY: as above, and it runs once.
    let held = unsafe { Held::new(whole, rights, cx.current.epoch()) };
    let result = body(held, cx);
    core::mem::forget(poison);
    if stand.even_poisoned() {
        mend(stand.lines(), rights);
    }
    result
}
