//! A group, as its owner sees it.

use super::state::{Continuation, GroupState};
use crate::limit::Limit;
use crate::scheduler::{Context, Runtime, RuntimeState};
use crate::task::handle::{self, Handle};
use crate::task::{JoinError, Spawner};
use alloc::sync::Arc;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// Tasks that are waited for together; made by [`Runtime::group`] and [`Context::group`].
///
/// A task becomes a member by [`TaskBuilder::of`](crate::TaskBuilder::of), a follow-up of a member
/// by [`as_sibling`](crate::TaskBuilder::as_sibling). The group is over when all its members are,
/// including those that members have spawned. Methods that take the group by value decide what
/// happens then: a continuation ([`then`](Self::then),
/// [`TaskBuilder::after`](crate::TaskBuilder::after)), or the end of a wait ([`wait`](Self::wait),
/// [`handle`](Self::handle), `await`). Afterwards only members can add members. A group that is
/// dropped is not waited for; its members still run.
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
/// A member that panics, is cancelled, meets a poisoned object or finds no memory is over as well.
/// The first failure goes to the waiter or continuation. All later ones, and the first if there is
/// no waiter, go to the runtime's hook ([`Builder::on_failure`](crate::Builder::on_failure)). The
/// failure of a submitted member goes to its own handle only.
///
/// # Delay
///
/// A worker reports finished members at the end of a burst of up to 32 tasks. So the continuation
/// may come a few tasks later than the end of the last member.
#[must_use = "a group that is dropped is not waited for"]
pub struct Group {
    pub(super) state: NonNull<GroupState>,
    shared: Arc<RuntimeState>,
    limit: Option<Limit>,
}

// SAFETY: the state is shared by atomics and a lock. Only the owner of the group stores the
// continuation, and gives the group's ticket up for it.
unsafe impl Send for Group {}
// SAFETY: a shared group only draws tickets, by an atomic addition.
unsafe impl Sync for Group {}

impl Runtime {
    /// Makes a group without members.
    pub fn group(&self) -> Group {
        Group::new(self.shared().clone())
    }
}

impl Group {
    pub(crate) fn new(shared: Arc<RuntimeState>) -> Self {
        Self { state: GroupState::new(), shared, limit: None }
    }

    /// Bounds the members that are [spawned with room](crate::limit) and not over. Default: none.
    /// Members that are spawned otherwise are not counted.
    ///
    /// ```
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let group = rt.group().most_tasks(10);
    /// for part in 0..100 {
    ///     rt.task(()).of(&group).reserve_blocking()?.spawn(move |(), _| _ = part * 2);
    /// }
    /// assert!(group.task_limit().is_some_and(|limit| limit.used() <= 10));
    /// group.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn most_tasks(mut self, tasks: usize) -> Self {
        self.limit = Some(self.shared.open_limit(tasks));
        self
    }

    /// Returns the limit of [`most_tasks`](Self::most_tasks). It says how many members are not
    /// over.
    pub fn task_limit(&self) -> Option<&Limit> {
        self.limit.as_ref()
    }

    /// Spawns a task when the group is over, and passes it the first failure of a member. Nothing
    /// blocks; tasks may call this as well as threads outside.
    ///
    /// The task has the place of any task that `spawner` spawns, and its priority unless an
    /// annotation sets one. It [begins an operation](crate::TaskBuilder::begin_operation) of its
    /// own. Its memory is allocated here: if there is none, the runtime's hook receives the failure
    /// at once. Otherwise the task comes, unless a shutdown [cancels](crate::Shutdown::Cancel) it
    /// as any task that has not begun.
    ///
    /// For annotations or objects see [`TaskBuilder::after`](crate::TaskBuilder::after).
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
        P: Spawner,
        F: FnOnce(Result<(), JoinError>, &mut Context) + Send + 'static,
    {
        spawner.task(()).after(self).then(body);
    }

    /// Returns a handle to the end of the group; its result is the first failure of a member.
    /// [`cancel`](Handle::cancel) does not cancel members.
    pub fn handle(self) -> Handle<()> {
        let (handle, promise) = handle::pair(self.shared.clone());
        let (state, shared) = self.into_parts();
        // SAFETY: the group's own ticket, which is given up here.
        unsafe { GroupState::close(state, Continuation::Promise(promise), &shared) };
        handle
    }

    /// Blocks this thread until the group is over. In a simulation it drives the virtual cores
    /// until then.
    ///
    /// # Errors
    ///
    /// The first failure of a member. [`JoinError::WouldBlock`] on a worker of the same runtime,
    /// where a [continuation](Self::then) serves instead.
    pub fn wait(self) -> Result<(), JoinError> {
        self.handle().join()
    }

    /// Checks that the group belongs to this runtime.
    ///
    /// # Panics
    ///
    /// If it belongs to another one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub(crate) fn check(&self, shared: &Arc<RuntimeState>) {
        assert!(Arc::ptr_eq(&self.shared, shared), "a group is used by a task of another runtime");
    }

    /// Takes the group apart without returning its ticket.
    pub(super) fn into_parts(self) -> (NonNull<GroupState>, Arc<RuntimeState>) {
        let mut group = ManuallyDrop::new(self);
        group.limit = None;
        // SAFETY: read once; the group is not dropped.
        (group.state, unsafe { core::ptr::read(&group.shared) })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: the group's own ticket, which is given up here.
        unsafe { GroupState::close(self.state, Continuation::Nothing, &self.shared) };
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
