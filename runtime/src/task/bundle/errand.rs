//! Errands: one step of a walk as a task of its own.
//!
//! An errand carries a walk to a node that the bundle cannot read or write at once: a writer keeps
//! it, its tasks run at its home, or its primitive has no optimistic readers. It enters the node,
//! makes the step, and carries the walk back to the worker of the bundle. While the next node would
//! need an errand as well, it goes there first.
//!
//! ```text
//!  bundle ── send ──> errand: queued, deferred at a held node, running ──┐
//!    ^                  └── next node needs an errand, too <─────────────┤
//!    └──────────── come back: a message to the bundle's worker <─────────┘
//! ```
//!
//! The descriptor is allocated when the walk leaves, so the way back cannot fail. An errand is part
//! of its bundle: it is not counted as a task, and its links belong to the bundle's epoch, which
//! does not change while walks are away.

use super::lane::Mode;
use super::lanes::{Lanes, node_of};
use super::step::written;
use super::{Bundle, Hop, Walk};
use crate::monitor::Description;
use crate::object::{Fetch, Link, Reference, Turn};
use crate::scheduler::{Context, Worker};
use crate::sync::AtomicPtr;
use crate::task::body::{describe_nothing, locate_nothing};
use crate::task::entry::{ReadEntry, enter, enter_to_read, leave, poison};
use crate::task::spawner::sealed::Origin;
use crate::task::{GroupState, JoinError, Task, VTable, catch, class_of};
use alloc::boxed::Box;
use core::any::type_name;
use core::ptr::{NonNull, null_mut};

/// The outcome of a step.
type Outcome<B> =
    Result<Hop<<<B as Bundle>::Walk as Walk>::Target, <<B as Bundle>::Walk as Walk>::Output>, JoinError>;

struct Errand<B: Bundle> {
    lanes: NonNull<Lanes<B>>,
    /// The worker of the bundle.
    worker: usize,
    /// The group of the bundle, whose ticket is out while the bundle waits for its walk.
    group: Option<NonNull<GroupState>>,
    /// The name of the walk's panics: that of its bundle's task, or of its type.
    name: &'static str,
    at: Reference,
    /// The walk writes the node.
    writes: bool,
    walk: B::Walk,
    outcome: Outcome<B>,
}

/// A walk that an errand has brought back.
pub(super) struct Returned<B: Bundle> {
    walk: B::Walk,
    outcome: Outcome<B>,
}

/// Sends the walk of a lane on an errand. Returns false, and leaves the walk, if there is no memory
/// for it.
#[cold]
pub(super) fn send<B: Bundle>(lanes: &mut Lanes<B>, index: usize, cx: &mut Worker) -> bool {
    let mut origin = Context::of(cx);
    let Some(task) = origin.allocate(const { class_of::<Box<Errand<B>>>() }) else { return false };
    lanes.returned.reserve(lanes.away + 1);
    let (at, writes) = (lanes.lane(index).at, lanes.lane(index).mode() == Mode::Write);
    // SAFETY: the callers pass lanes that are not vacant.
    let walk = unsafe { lanes.lane(index).vacate() };
    lanes.remove(index);
    lanes.away += 1;
    let worker = cx.index();
    let mut meta = cx.current.inherited(None, 0);
    meta.exhaust_attempts();
    let errand = Box::new(Errand {
        lanes: lanes.address,
        worker,
        group: cx.groups.current(),
        name: lanes.name.unwrap_or(type_name::<B::Walk>()),
        at,
        writes,
        walk,
        outcome: Ok(Hop::Again),
    });
    let vtable = const {
        &VTable { run: run::<B>, locate: locate_nothing, cancel: cancel::<B>, describe: describe::<B> }
    };
    // SAFETY: phase built: the block is fresh, and of the class for this body.
    unsafe {
        task.as_ptr().write(Task { vtable, next: AtomicPtr::new(null_mut()), fetch: Fetch::NONE, meta });
        Task::body::<Box<Errand<B>>>(task).write(errand);
    }
    proceed(task, at, cx);
    true
}

/// Sends an errand to where its node is entered.
fn proceed(task: NonNull<Task>, at: Reference, cx: &mut Worker) {
    if at.primitive().is_sequenced() && cx.home_of(at) != cx.index() {
        cx.send_to(task, cx.home_of(at));
    } else {
        cx.requeue(task);
    }
}

/// Returns the errand that a task makes.
///
/// # Safety
///
/// The task has this body.
unsafe fn errand_of<B: Bundle>(task: NonNull<Task>) -> *mut Errand<B> {
    // SAFETY: this function's contract.
    unsafe { &raw mut **Task::body::<Box<Errand<B>>>(task) }
}

unsafe fn describe<B: Bundle>(_: NonNull<Task>) -> Description {
    Description::new(type_name::<B>(), core::iter::empty())
}

/// Makes the step, and carries the walk on or back.
unsafe fn run<B: Bundle>(task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: phase running: only `send` installs this function, for a body of this type. The
    // bundle waits for its walk, so its epoch keeps the node alive.
    unsafe {
        let errand = errand_of::<B>(task);
        let outcome = if (*errand).writes {
            // A sequenced node is not marked as held.
            cx.current.confine();
            cx.groups.set_current((*errand).group);
            let outcome = write::<B>(task, cx);
            cx.groups.set_current(None);
            outcome
        } else {
            read::<B>(task, cx)
        };
        let Some(outcome) = outcome else { return };
        if let Ok(Hop::Go(next, _) | Hop::Write(next, _)) = outcome
            && !next.reference().primitive().is_optimistic()
        {
            ((*errand).at, (*errand).writes) = (next.reference(), matches!(outcome, Ok(Hop::Write(..))));
            return proceed(task, next.reference(), cx);
        }
        (*errand).outcome = outcome;
        go_back::<B>(task, cx);
    }
}

/// Reads the node with writers excluded. Returns `None` if the task is not this worker's any more.
///
/// # Safety
///
/// The task is running on this worker, and has this body; the node is alive.
unsafe fn read<B: Bundle>(mut task: NonNull<Task>, cx: &mut Worker) -> Option<Outcome<B>> {
    // SAFETY: this function's contract.
    unsafe {
        let errand = errand_of::<B>(task);
        let at = (*errand).at;
        let header = at.header();
        let grant_token = task.as_ref().meta.has_grant_token();
        if let Some(error) = header.failure(cx.free_word).filter(|_| !grant_token) {
            return Some(Err(error));
        }
        let entered = match enter_to_read(task, at, cx, |counters| &counters.versioned_retries) {
            ReadEntry::Entered(entered) => entered,
            ReadEntry::Gone => return None,
            ReadEntry::Refused(error) => return Some(Err(error)),
        };
        let (link, node) = (Link::from_reference(at), node_of::<B>(at));
        let walk = &mut (*errand).walk;
        let read = || {
            if B::Walk::LOCATES {
                walk.locate(link, node);
            }
            walk.read(link, node)
        };
        let outcome = catch(read).map_err(|payload| JoinError::panicked_in((*errand).name, payload));
        entered.leave(at, task.as_ref().meta, cx);
        task.as_mut().meta.drop_grant_token();
        Some(outcome)
    }
}

/// Writes the node. Returns `None` if the task is not this worker's any more.
///
/// # Safety
///
/// As for [`read`].
unsafe fn write<B: Bundle>(mut task: NonNull<Task>, cx: &mut Worker) -> Option<Outcome<B>> {
    // SAFETY: this function's contract; `turn` and `defer` are called at the node's home only.
    unsafe {
        let errand = errand_of::<B>(task);
        let at = (*errand).at;
        let primitive = at.primitive();
        let header = at.header();
        if primitive.is_sequenced() && !task.as_ref().meta.has_grant_token() {
            match header.turn(cx.free_word) {
                Turn::Now => {}
                Turn::Later => {
                    cx.defer(header, task);
                    return None;
                }
                Turn::Never => return Some(Err(header.refusal())),
            }
        }
        let outcome = enter(header, at, true, cx).and_then(|()| {
            let (link, walk) = (Link::from_reference(at), &mut (*errand).walk);
            let outcome = catch(|| walk.write(link, written::<B>(at), Context::of(cx)));
            if outcome.is_err() {
                poison(at);
            }
            leave(header, primitive, true);
            outcome.map_err(|payload| JoinError::panicked_in((*errand).name, payload))
        });
        if task.as_ref().meta.has_grant_token() {
            cx.hand_on(header);
            task.as_mut().meta.drop_grant_token();
        }
        Some(outcome)
    }
}

/// Carries the walk back without a step, because the runtime cancels its tasks.
unsafe fn cancel<B: Bundle>(mut task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: phase cancelled, as in `run`. A task with the grant token is at the node's home and
    // holds the node.
    unsafe {
        let errand = errand_of::<B>(task);
        (*errand).outcome = Err(JoinError::Cancelled);
        if task.as_ref().meta.has_grant_token() {
            cx.hand_on((*errand).at.header());
            task.as_mut().meta.drop_grant_token();
        }
        go_back::<B>(task, cx);
    }
}

/// Makes the errand a message to the bundle's worker.
///
/// # Safety
///
/// The task is this worker's, and has this body.
unsafe fn go_back<B: Bundle>(mut task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: this function's contract.
    unsafe {
        let worker = (*errand_of::<B>(task)).worker;
        let Task { vtable, meta, .. } = task.as_mut();
        *meta = meta.protocol();
        *vtable = const {
            &VTable {
                run: come_back::<B>,
                locate: locate_nothing,
                cancel: come_back::<B>,
                describe: describe_nothing,
            }
        };
        if worker == cx.index() { cx.requeue(task) } else { cx.send_to(task, worker) }
    }
}

/// Gives the walk back to its bundle, and wakes the bundle if it waits for its errands.
unsafe fn come_back<B: Bundle>(task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: phase running, on the worker of the bundle. The bundle is between two turns, so that
    // nothing else accesses its lanes, and it does not end while walks are away.
    unsafe {
        let Errand { mut lanes, walk, outcome, .. } = *Task::body::<Box<Errand<B>>>(task).read();
        cx.free::<Box<Errand<B>>>(task);
        let lanes = lanes.as_mut();
        lanes.away -= 1;
        lanes.returned.push(Returned { walk, outcome });
        if core::mem::take(&mut lanes.parked)
            && !planted!("errand-wakes-none")
            && let Some(task) = lanes.task
        {
            cx.requeue(task);
        }
    }
}

impl<B: Bundle> Lanes<B> {
    /// Puts a walk that has returned into a lane.
    pub(super) fn take_back(&mut self, returned: Returned<B>, cx: &mut Worker) {
        let Returned { walk, outcome } = returned;
        let index = self.put_anywhere(walk);
        self.current = index;
        let error = match outcome {
            Ok(Hop::Again) => JoinError::Abandoned,
            Ok(hop) => {
                self.follow(index, hop, cx);
                self.lane(index).prefetch();
                return;
            }
            Err(error) => error,
        };
        self.end(index, Err(error), cx);
    }
}
