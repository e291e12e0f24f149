//! Groups: tasks that are waited for together.
//!
//! A group counts *tickets*. Each member that is not over has one, and so has the [`Group`] itself until it says what
//! comes then. Tickets are drawn only by those who have one, so when the last is given back the group is over for good,
//! and whoever gave it back does what comes then. The tickets are also what keeps the group's memory.
//!
//! The word that counts them is shared by all workers, so no task touches it. A worker has a *stock* of the tickets of one
//! group: a spawn takes one out of it, and a member that is over puts its own into it. An empty stock is filled with
//! many tickets at once, and at the end of a burst the worker gives all of them back. So a burst costs two atomic
//! additions, however many members it spawned or ran. (Weighted reference counts are Bevan's and Watson's, 1987.)
//!
//! ```text
//! spawn ── takes one ──▶ stock of the worker ◀── puts one ── member is over
//!                          ▲  │
//!              many, when  │  │ all, when the burst is
//!             it is empty  │  ▼ over or another group comes
//!                         tally: tickets that are out
//! ```

mod after;
mod member;
mod stock;
mod tally;

pub use after::After;
pub use member::{Alone, Membership, Of};

pub(crate) use member::Beside;
pub(super) use member::sealed::Sealed as SealedMembership;
pub(crate) use stock::Groups;
pub(crate) use tally::Tally;

use super::handle::{self, Handle};
use super::{JoinError, Spawner};
use crate::scheduler::{Context, Runtime, Shared};
use alloc::sync::Arc;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// Tasks that are waited for together; made by [`Runtime::group`] and [`Context::group`].
///
/// A task becomes a member by [`TaskBuilder::of`](crate::TaskBuilder::of), and a member's follow-up by
/// [`as_sibling`](crate::TaskBuilder::as_sibling). The group is over when all members are, those included that were
/// spawned by members meanwhile. Then comes what was asked for by one of the methods that take the group, after which no
/// more members can be added but by members: a continuation ([`then`](Self::then),
/// [`TaskBuilder::after`](crate::TaskBuilder::after)), or the end of a wait ([`wait`](Self::wait),
/// [`handle`](Self::handle), `await`). A group that is dropped is not waited for; its members run all the same.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use xtasking::Runtime;
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let sum = Arc::new(AtomicU64::new(0));
/// let group = rt.group();
/// for number in 0..100 {
///     let sum = sum.clone();
///     rt.task(()).of(&group).spawn(move |(), _| _ = sum.fetch_add(number, Relaxed));
/// }
/// group.wait()?;
/// assert_eq!(sum.load(Relaxed), 4950);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Failures
///
/// A member is over as well when it panicked, was cancelled, met a poisoned object, or found no memory. The first such
/// failure is told to who waits for the group; the others, and all if nobody waits, are told to the runtime's hook
/// ([`Builder::on_failure`](crate::Builder::on_failure)). A member that was submitted tells its own handle, and nobody
/// else.
///
/// # When it is noticed
///
/// A worker says that members are over when it is through with a burst of up to 32 tasks. So what comes then may come a
/// few tasks later than the last member.
#[must_use = "a group that is dropped is not waited for"]
pub struct Group {
    tally: NonNull<Tally>,
    shared: Arc<Shared>,
}

// SAFETY: the tally is shared by atomics; what comes then is stored by the owner alone, which gives its ticket up for it.
unsafe impl Send for Group {}
// SAFETY: a shared group draws tickets, by an atomic addition.
unsafe impl Sync for Group {}

impl Runtime {
    /// Tasks that are waited for together; so far it has no members.
    pub fn group(&self) -> Group {
        Group::new(self.shared().clone())
    }
}

impl Context {
    /// Tasks that are waited for together; so far it has no members.
    pub fn group(&self) -> Group {
        Group::new(self.shared().clone())
    }
}

impl Group {
    fn new(shared: Arc<Shared>) -> Self {
        Self { tally: Tally::new(), shared }
    }

    /// Spawns a task when the group is over, and tells it the first failure of a member. Nothing waits meanwhile, and a
    /// task may ask for this as well as a thread outside.
    ///
    /// It takes the place, and unless told otherwise the priority, that any task has that is spawned by `spawner`, and
    /// [begins an operation](crate::TaskBuilder::begin_operation) of its own. All that it needs is there when this returns, so it comes whatever happens until
    /// then: unless there is no memory for it right now, of which the runtime's hook is told. If the runtime is
    /// [cancelled](crate::Shutdown::Cancel) it is dropped, as all tasks are that have not begun.
    ///
    /// With annotations, or objects, it is [`TaskBuilder::after`](crate::TaskBuilder::after).
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let (promise, total) = rt.promise();
    /// let number = rt.plain(0u64).build();
    /// rt.task(()).spawn(move |(), cx| {
    ///     let group = cx.group();
    ///     for _ in 0..10 {
    ///         cx.task(number.write()).of(&group).spawn(|number, _| *number += 1);
    ///     }
    ///     group.then(cx, move |outcome, cx| {
    ///         assert!(outcome.is_ok());
    ///         cx.task(number.read()).spawn(|number, _| promise.fulfil(*number));
    ///     });
    /// });
    /// assert_eq!(total.join()?, 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the group belongs to another runtime than the spawner.
    pub fn then<P, F>(self, spawner: P, body: F)
    where
        P: Immediate,
        F: FnOnce(Result<(), JoinError>, &mut Context) + Send + 'static,
    {
        spawner.task(()).after(self).then(body);
    }

    /// A handle that is finished when the group is over, and then says the first failure of a member. Its
    /// [`cancel`](Handle::cancel) cancels no member.
    pub fn handle(self) -> Handle<()> {
        let (handle, promise) = handle::pair(self.shared.clone());
        let (tally, shared) = self.into_parts();
        // SAFETY: the group's own ticket, which is given up here.
        unsafe { Tally::close(tally, tally::End::Promise(promise), &shared) };
        handle
    }

    /// Blocks this thread until the group is over. In a simulation it drives the virtual cores meanwhile.
    ///
    /// # Errors
    ///
    /// The first failure of a member; [`JoinError::WouldBlock`] on a worker of the same runtime, where a
    /// [continuation](Self::then) does it.
    pub fn wait(self) -> Result<(), JoinError> {
        self.handle().join()
    }

    /// # Panics
    ///
    /// If the group belongs to another runtime.
    #[inline(always)]
    pub(crate) fn check(&self, shared: &Arc<Shared>) {
        assert!(Arc::ptr_eq(&self.shared, shared), "a group is used by a task of another runtime");
    }

    /// Gives up the group, but not its ticket.
    fn into_parts(self) -> (NonNull<Tally>, Arc<Shared>) {
        let group = ManuallyDrop::new(self);
        // SAFETY: read once; the group is not dropped.
        (group.tally, unsafe { core::ptr::read(&group.shared) })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: the group's own ticket, which is given up here.
        unsafe { Tally::close(self.tally, tally::End::Nothing, &self.shared) };
    }
}

/// Awaits the end of the group, as [`wait`](Group::wait) does.
impl IntoFuture for Group {
    type Output = Result<(), JoinError>;
    type IntoFuture = Handle<()>;

    fn into_future(self) -> Handle<()> {
        self.handle()
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").finish_non_exhaustive()
    }
}

/// A spawner whose tasks are not themselves to wait for a group: a runtime or a context.
pub trait Immediate: Spawner {}
impl Immediate for &Runtime {}
impl Immediate for &mut Context {}
