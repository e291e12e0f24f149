//! How claims are made, granted and released, and how their tasks are sent.
//!
//! A release may make several claims ready, and each may have to register anew or run its plan,
//! which makes others ready. They are taken one after another from one list, not nested: so the
//! depth of the stack does not depend on their number.

use super::counts::Site;
use super::inner::TreeInner;
use super::plan::Request;
use super::poison::OnPoison;
use super::probe::Targets;
use super::queue::{ClaimPtr, OwnedClaim, Ready};
use super::rights::{Changes, Target};
use super::state::{ClaimHead, ClaimState};
use super::table::TreeTable;
use crate::pool::QueuePolicy;
use crate::scheduler::Context;
use crate::sync::Acquire;
use crate::task::pending::PendingTask;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, TaskBuilder};
use alloc::boxed::Box;
use core::mem::take;
use core::ptr::NonNull;

/// Runs of an unordered plan after which its task waits for all that it needs together. Before, it
/// waits for the first node that it does not get, and holds no others, so it blocks no other tasks.
const MOST_RETRIES: u32 = 4;
/// Runs of a plan after which its task claims the whole tree.
const MOST_PLAN_RUNS: u32 = 16;

/// Makes claims, and sends tasks whose claims are granted.
struct Dispatcher<'s, P> {
    spawner: &'s mut P,
    site: Site,
    /// Claims that were granted what they have registered. The dispatcher owns them.
    ready: Ready,
    /// Unbound tasks run next on the worker that has released what they waited for; idle workers
    /// may steal them.
    keeps: bool,
}

/// Makes the claim of a task. If all that the request names is had at once, the task is sent and
/// never parked.
///
/// # Safety
///
/// The caller owns the state, and gives it up to the task: it may be freed before this returns.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) unsafe fn enter<Q: Request>(
    state: NonNull<ClaimState<Q>>,
    task: PendingTask,
    spawner: &mut impl Origin,
) {
    // SAFETY: the caller owns the state.
    let this = unsafe { state.as_ref() };
    let (table, claim) = (this.head.table(), ClaimPtr(state.cast()));
    let site = table.counts.site(spawner);
    let mut ready = Ready::default();
    let mut refused = Targets::default();
    // SAFETY: as above.
    let request = unsafe { this.request() };
    let is_done = request.only().is_some_and(|target| {
        // SAFETY: as above; nothing else borrows the rights.
        let rights = unsafe { this.head.registration.rights() };
        table.add_only(site, OwnedClaim { claim, rights }, target, &mut ready, &mut refused)
    });
    let outcome = if is_done {
        Ok(())
    } else {
        // SAFETY: as above; this is borrowed until the end of the run.
        let mut probe = unsafe { this.head.probe(site, claim, &mut ready, &mut refused) };
        request.run(&mut probe)
    };
    if outcome.is_ok() && refused.is_empty() {
        task.send(spawner);
        if ready.is_empty() {
            return;
        }
        let mut dispatcher = Dispatcher { site, spawner, ready, keeps: false };
        // SAFETY: the dispatcher owns what is ready.
        unsafe { dispatcher.resume_all() };
    } else {
        let mut dispatcher = Dispatcher { site, spawner, ready, keeps: false };
        // SAFETY: as above; the dispatcher gets the state.
        unsafe {
            let owned = this.head.owned();
            owned.whole = Some(state);
            owned.task = Some(task);
            if dispatcher.settle(state.cast(), outcome, &refused) {
                dispatcher.make(state.cast());
            }
            dispatcher.resume_all();
        }
    }
}

/// Admits a task that is about to run its body.
///
/// # Errors
///
/// If its plan has panicked, or a node is poisoned.
///
/// # Safety
///
/// The caller is the task, which owns the state.
#[inline]
pub(super) unsafe fn start(state: &ClaimHead) -> Result<(), JoinError> {
    // SAFETY: the caller owns the state.
    let (owned, rights) = unsafe { (state.owned(), state.registration.rights()) };
    match owned.failure.take() {
        Some(failure) => Err(*failure),
        None if owned.on_poison == OnPoison::Fail && state.table().covers_poisoned(rights) => {
            Err(JoinError::Poisoned)
        }
        None => Ok(()),
    }
}

/// Gives back all that a task holds, and sends those that are granted it.
///
/// # Safety
///
/// The caller is the task, which is over and owns the state.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) unsafe fn leave<D: Send + Sync + 'static>(
    state: NonNull<ClaimHead>,
    tree: &TreeInner<D>,
    cx: &mut Context,
) {
    let site = tree.table.counts.site(&&mut *cx);
    let mut ready = Ready::default();
    // SAFETY: the caller owns the state.
    let rights = unsafe { state.as_ref().registration.rights() };
    tree.table.leave(site, ClaimPtr(state.cast()), rights, &mut ready);
    let changes = take(&mut rights.changes);
    if !ready.is_empty() {
        // SAFETY: these claims were made ready here.
        unsafe { go_on(ready, site, cx) };
    }
    if let Some(changes) = changes {
        rearrange(tree, *changes, cx);
    }
}

/// Goes on with the claims that were granted what a task has given back.
///
/// # Safety
///
/// The caller owns these claims, and gives them up.
#[inline(never)]
unsafe fn go_on(ready: Ready, site: Site, cx: &mut Context) {
    let mut origin = &mut *cx;
    let keeps = origin.shared().policy == QueuePolicy::WorkStealing;
    let mut dispatcher = Dispatcher { spawner: &mut origin, site, ready, keeps };
    // SAFETY: forwarded.
    unsafe { dispatcher.resume_all() };
    origin.offer();
}

/// Spawns the tasks that split clusters and merge gates after a change.
#[cold]
fn rearrange<D: Send + Sync + 'static>(tree: &TreeInner<D>, changes: Changes, cx: &mut Context) {
    let Changes { splits, merges, freed_gates } = changes;
    tree.table.free_gates(freed_gates.into_iter());
    let operation = cx.worker.current.epoch();
    for node in splits {
        let claim = tree.within(operation).write(node).beside_poison();
        TaskBuilder::new(&mut *cx, ()).claim(claim).spawn_with(move |(), mut nodes, _| nodes.split(node));
    }
    for node in merges {
        let claim = tree.within(operation).write(node).beside_poison();
        TaskBuilder::new(&mut *cx, ()).claim(claim).spawn_with(move |(), mut nodes, _| nodes.merge(node));
    }
}

impl<P: Origin> Dispatcher<'_, P> {
    /// Runs the plan of a claim, which registers what it names. Sends the task if all is granted;
    /// else the claim gives back what it holds and registers all at once, to wait.
    ///
    /// # Safety
    ///
    /// The caller owns the state, and gives it up.
    unsafe fn make(&mut self, state: NonNull<ClaimHead>) {
        loop {
            let mut refused = Targets::default();
            // SAFETY: the task is parked, so the state lives; the caller owns it. What the probe
            // borrows of the state is not what the plan accesses there.
            let outcome = unsafe {
                let this = state.as_ref();
                let claim = ClaimPtr(state.cast());
                this.run_plan(&mut this.probe(self.site, claim, &mut self.ready, &mut refused))
            };
            // SAFETY: as above; the state is given up unless this returns true.
            if !unsafe { self.settle(state, outcome, &refused) } {
                return;
            }
        }
    }

    /// Goes on after a run of the plan. Returns true if it must run again.
    ///
    /// # Safety
    ///
    /// The task is parked. The caller owns the state, and gives it up unless this returns true.
    #[inline(never)]
    unsafe fn settle(
        &mut self,
        state: NonNull<ClaimHead>,
        outcome: Result<(), JoinError>,
        refused: &[Target],
    ) -> bool {
        // SAFETY: the task is parked, so the state lives; the caller owns it.
        unsafe {
            let this = state.as_ref();
            let (owned, rights) = (this.owned(), this.registration.rights());
            owned.plan_runs += 1;
            owned.failure = outcome.err().map(Box::new);
            if owned.failure.is_some() || refused.is_empty() {
                self.send(state);
                return false;
            }
            this.table().leave(self.site, ClaimPtr(state.cast()), rights, &mut self.ready);
            let holds_none = rights.is_unordered && owned.plan_runs <= MOST_RETRIES;
            if holds_none && !planted!("tree-unordered-holds-while-it-waits") {
                rights.targets.clear();
                rights.targets.push(refused[0]);
            } else {
                rights.targets.extend_from_slice(refused);
            }
            if owned.plan_runs >= MOST_PLAN_RUNS {
                rights.targets.clear();
                rights.targets.push(Target { node: TreeTable::ROOT, alone: false, write: true });
            }
            self.wait(state)
        }
    }

    /// Registers a claim that holds nothing. Returns true if it was granted all at once.
    ///
    /// # Safety
    ///
    /// The caller owns the state, and gives it up unless this returns true.
    unsafe fn wait(&mut self, state: NonNull<ClaimHead>) -> bool {
        // SAFETY: the caller owns the state.
        unsafe {
            let this = state.as_ref();
            if self.spawner.shared().is_stamping()
                && let Some(task) = this.owned().task.as_ref().and_then(|task| task.task())
            {
                self.spawner.note(task);
            }
            this.table().enqueue(self.site, ClaimPtr(state.cast()), &mut self.ready)
        }
    }

    /// Goes on with all claims that are ready.
    ///
    /// # Safety
    ///
    /// The dispatcher owns them.
    #[inline(never)]
    unsafe fn resume_all(&mut self) {
        while let Some(claim) = self.ready.pop() {
            // SAFETY: the dispatcher owns the claim; a registration is the begin of a head.
            unsafe { self.resume(claim.0.cast()) };
        }
    }

    /// Goes on with a claim that was granted all that it has registered. If the tree has changed
    /// meanwhile, it registers anew.
    ///
    /// # Safety
    ///
    /// The caller owns the state, and gives it up.
    unsafe fn resume(&mut self, state: NonNull<ClaimHead>) {
        // SAFETY: the caller owns the state, and the task in it is parked.
        unsafe {
            let this = state.as_ref();
            let rights = this.registration.rights();
            // Acquire pairs with the Release of `enter_cluster`.
            let is_current = this.table().is_current(rights) && !this.registration.is_displaced.load(Acquire);
            if !is_current && !planted!("tree-grant-unvalidated") {
                this.table().leave(self.site, ClaimPtr(state.cast()), rights, &mut self.ready);
                if !self.wait(state) {
                    return;
                }
            }
            self.make(state);
        }
    }

    /// Sends the task. The state may be freed before this returns.
    ///
    /// # Safety
    ///
    /// The caller owns the state, and gives it up.
    unsafe fn send(&mut self, state: NonNull<ClaimHead>) {
        // SAFETY: the caller owns the state.
        let task = unsafe { state.as_ref().owned() }.task.take();
        let task = task.expect("a claim has a parked task until it is sent");
        if self.keeps && task.is_unbound() {
            task.keep(self.spawner);
        } else {
            task.send(self.spawner);
        }
    }
}
