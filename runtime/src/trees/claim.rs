//! Claims of nodes, and tasks that have them.

use super::change::Holder;
use super::inner::TreeInner;
use super::node::Node;
use super::nodes::Nodes;
use super::plan::{Named, Request};
use super::poison::OnPoison;
use super::queue::ClaimPtr;
use super::rights::Target;
use super::state::ClaimHead;
use super::state_ptr::StatePtr;
use crate::claims::kind::ClaimKind;
use crate::claims::releasing::ReleasingSink;
use crate::claims::spawner::Claiming;
use crate::limit::{Limit, MayReserve};
use crate::scheduler::Context;
use crate::task::group::{Membership, SealedMembership};
use crate::task::handle::Handle;
use crate::task::name::BodyName;
use crate::task::options::SpawnRequest;
use crate::task::spawner::sealed::Spawn;
use crate::task::{AccessSet, Spawner, TaskBuilder};
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;

/// Nodes that a task reads or writes: a claim for [`TaskBuilder::claim`].
///
/// `Q` names the nodes: at once, or by a [plan](super::Tree::planned).
#[must_use = "a claim has an effect only if it is given to a task"]
pub struct TreeClaim<'t, Q> {
    request: Q,
    /// Slot of the epoch that keeps the tree, for a claim made without a handle.
    operation: Option<u8>,
    on_poison: OnPoison,
    is_unordered: bool,
    tree: PhantomData<&'t ()>,
}

impl<Q> TreeClaim<'_, Q> {
    pub(super) fn new(request: Q, operation: Option<u8>) -> Self {
        Self { request, operation, on_poison: OnPoison::Fail, is_unordered: false, tree: PhantomData }
    }

    /// Lets the task run, and its plan see all data, even where nodes are
    /// [poisoned](super::Tree::is_poisoned): to repair them.
    ///
    /// If the task ends without a panic, the nodes that it has claimed to write are no longer
    /// poisoned. So it should repair all that it [finds poisoned](Nodes::is_poisoned).
    pub fn even_poisoned(self) -> Self {
        Self { on_poison: OnPoison::Repair, ..self }
    }

    /// Gives up the order in which tasks are spawned, so that more of them run side by side where
    /// many claims of several nodes overlap.
    ///
    /// Where the task can have a node at once, it overtakes tasks that wait for it, which each node
    /// allows 64 times until the first of these has it. Where it has to wait, it waits for one node
    /// and holds no others, and is overtaken in its turn. The fifth time it waits for all its nodes
    /// in order.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = rt.tree(1);
    /// let root = tree.root();
    /// let read = rt.task(()).claim(tree.read(root).unordered());
    /// assert_eq!(read.submit_with(move |(), nodes, _| nodes.get(root).copied()).join()??, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unordered(self) -> Self {
        Self { is_unordered: true, ..self }
    }

    /// Lets the task run where nodes are poisoned, which they stay: it looks at no data.
    pub(super) fn beside_poison(self) -> Self {
        let on_poison = if planted!("tree-split-repairs") { OnPoison::Repair } else { OnPoison::Keep };
        Self { on_poison, ..self }
    }
}

impl<D: Send + Sync + 'static> TreeClaim<'_, Named<D>> {
    /// Adds a node to be read, with all nodes below it.
    #[inline(always)]
    pub fn and_read(self, node: Node) -> Self {
        self.and(Target { node, alone: false, write: false })
    }

    /// Adds a node to be written, with all nodes below it.
    #[inline(always)]
    pub fn and_write(self, node: Node) -> Self {
        self.and(Target { node, alone: false, write: true })
    }

    /// Adds a node to be read, without those below.
    #[inline(always)]
    pub fn and_read_alone(self, node: Node) -> Self {
        self.and(Target { node, alone: true, write: false })
    }

    /// Adds a node to be written, without those below.
    #[inline(always)]
    pub fn and_write_alone(self, node: Node) -> Self {
        self.and(Target { node, alone: true, write: true })
    }

    #[inline(always)]
    fn and(mut self, target: Target) -> Self {
        self.request.targets.push(target);
        self
    }
}

impl<Q> fmt::Debug for TreeClaim<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeClaim").finish_non_exhaustive()
    }
}

impl<'t, Q: Request> ClaimKind for TreeClaim<'t, Q> {
    type State = StatePtr<Q>;
    type Membership<M: Membership> = InTree<'t, M, Q>;

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn attach<P: Spawner, A, M: Membership>(
        self,
        builder: TaskBuilder<P, A, M>,
    ) -> TaskBuilder<Claiming<P, StatePtr<Q>>, A, InTree<'t, M, Q>> {
        let (SpawnRequest { mut spawner, options }, access, membership) = builder.into_parts();
        // SAFETY: a handle that is borrowed keeps the tree, or a running task, of whose operation
        // the new one must be.
        let tree = unsafe { self.request.tree().get() };
        assert!(
            Arc::ptr_eq(&tree.shared, spawner.shared()),
            "a tree is claimed by a task of another runtime"
        );
        assert!(
            self.operation.is_none_or(|operation| spawner.operation() == Some(operation)),
            "a claim by what a task holds is for its follow-ups: others need a handle of the tree"
        );
        let Self { request, on_poison, is_unordered, .. } = self;
        let state = StatePtr::new(&mut spawner, &tree.table, request, on_poison, is_unordered);
        let request = SpawnRequest { spawner: Claiming::new(spawner, state), options };
        TaskBuilder::from_parts(request, access, InTree { membership, state, tree: PhantomData })
    }
}

/// The membership of a task that claims nodes: in a group or none, and its claim.
pub struct InTree<'t, M, Q> {
    membership: M,
    state: StatePtr<Q>,
    /// Until the task is spawned, this borrow of a handle keeps the tree.
    tree: PhantomData<&'t ()>,
}

impl<M: Membership, Q: Request> SealedMembership for InTree<'_, M, Q> {}

impl<M: Membership, Q: Request> Membership for InTree<'_, M, Q> {
    type Sink = ReleasingSink<M::Sink, StatePtr<Q>>;

    #[inline(always)]
    fn sink(self) -> Self::Sink {
        ReleasingSink::new(self.membership.sink(), self.state)
    }
}

impl<M: MayReserve, Q: Request> MayReserve for InTree<'_, M, Q> {
    fn limit(&self) -> Option<&Limit> {
        self.membership.limit()
    }
}

impl<P: Spawn, A, M: Membership, Q: Request> TaskBuilder<P, A, InTree<'_, M, Q>> {
    /// Spawns the task like [`spawn`](Self::spawn), and passes its body the nodes that it has
    /// claimed: [`Nodes`]. With a plan, it passes a pair of what the plan has found, and the nodes.
    /// If the task panics, the nodes that it has written are
    /// [poisoned](crate::trees::Tree::is_poisoned).
    ///
    /// # Panics
    ///
    /// If the same object is accessed twice, once for writing.
    pub fn spawn_with<F>(self, body: F)
    where
        A: AccessSet,
        F: for<'v, 'h> FnOnce(A::View<'v>, Q::Held<'h>, &mut Context) + Send + 'static,
    {
        let state = self.membership().state;
        self.annotate(BodyName::<F>::default())
            .spawn(move |view, cx| run_with(state, cx, |held, cx| body(view, held, cx)));
    }

    /// Submits the task like [`submit`](Self::submit), and passes its body the nodes that it has
    /// claimed: see [`spawn_with`](Self::spawn_with).
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
        F: for<'v, 'h> FnOnce(A::View<'v>, Q::Held<'h>, &mut Context) -> R + Send + 'static,
        R: Send + 'static,
    {
        let state = self.membership().state;
        self.annotate(BodyName::<F>::default())
            .submit(move |view, cx| run_with(state, cx, |held, cx| body(view, held, cx)))
    }
}

/// Runs the body of the task that owns this state.
#[cfg_attr(not(debug_assertions), inline(always))]
fn run_with<Q: Request, R>(
    state: StatePtr<Q>,
    cx: &mut Context,
    body: impl FnOnce(Q::Held<'_>, &mut Context) -> R,
) -> R {
    // SAFETY: the task runs, and owns the state until it leaves.
    let whole = unsafe { state.get().as_ref() };
    // SAFETY: as above; the tree is of the task's epoch.
    let tree = unsafe { whole.request().tree().get() };
    // SAFETY: as above, and the borrow of the line before is over.
    let request = unsafe { whole.request() };
    let stamp = tree.table.new_stamp(cx.worker());
    let poison = PoisonGuard { head: &whole.head, tree, stamp };
    let claim = ClaimPtr(state.get().cast());
    // SAFETY: as above; the guard borrows the rights only after the body has ended.
    let rights = unsafe { whole.head.registration.rights() };
    let holder = Holder::new(&tree.table, claim, rights, stamp);
    let nodes = Nodes::new(tree, holder, cx.worker.current.epoch());
    let result = body(request.held(nodes), cx);
    core::mem::forget(poison);
    // SAFETY: as above: the nodes were dropped by the body.
    if unsafe { whole.head.owned() }.on_poison == OnPoison::Repair {
        // SAFETY: as above.
        tree.table.clear_written_poison(unsafe { whole.head.registration.rights() });
    }
    result
}

/// Poisons the nodes that a task has written when it is dropped, which happens only if the task
/// unwinds: otherwise it is forgotten.
struct PoisonGuard<'h, D> {
    head: &'h ClaimHead,
    tree: &'h TreeInner<D>,
    stamp: u64,
}

impl<D> Drop for PoisonGuard<'_, D> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: the body has ended, and so the borrow of the rights. The task owns the state, and
        // holds its claim until it leaves.
        unsafe { self.tree.table.poison_written(self.head.registration.rights(), self.stamp) };
    }
}
