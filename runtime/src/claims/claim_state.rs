//! The state of one claim, from its spawn to the end of its task.
//!
//! The task is built first, by a spawner that does not send it but parks it here. The module's
//! documentation lists the states of a claim and the steps between them.

use super::admission::Admission;
use super::granules::{ErasedGranules, GranuleTable};
use super::plan::{PeekSite, Plan, PlanProbe};
use super::queue_lock::{QueueLock, Waiter, WakeList};
use super::rights::{Ranges, Rights};
use crate::monitor::HeldGranules;
use crate::sync::{AtomicU32, Relaxed, SpinMutex, UnsafeCell};
use crate::task::options::Options;
use crate::task::pending::PendingTask;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Task, catch, drop_quietly, quietly};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::take;
use core::ptr::{NonNull, from_ref};
use smallvec::SmallVec;

/// Runs of a plan without a confirmation after which its task is granted all granules.
pub(super) const MAX_PLAN_RUNS: u32 = 16;

/// What a claim demands besides its granules.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClaimOptions {
    /// The task may be granted its granules before tasks that were spawned earlier.
    pub unordered: bool,
    /// The task runs even if some of its granules are poisoned.
    pub even_poisoned: bool,
}

/// What a claim asks for.
pub(super) enum Request {
    Ranges(Ranges),
    Plan(Plan),
}

/// A claim that holds nothing, and whose task was sent.
#[derive(Clone, Copy)]
pub(super) struct DeferredClaim {
    /// The options with which the task was sent.
    pub options: Options,
    /// The granule whose release has notified the claim since its last attempt.
    pub notified: Option<u32>,
}

/// A claim, with the task that is parked until the claim is granted.
pub(crate) struct ClaimState {
    granules: NonNull<dyn ErasedGranules>,
    /// How many waiters were not granted yet, and one more until all were enqueued.
    pub pending: AtomicU32,
    pub options: ClaimOptions,
    /// Accessed by one thread at a time: by the spawner, then by the thread that decrements
    /// `pending` to zero, and then by the task. While the task is parked, the waiters inside are
    /// shared with the queue locks, by atomics.
    inner: UnsafeCell<ClaimInner>,
}

/// A claim's waiters, ascending by granule. Most claims have one at most: a deferred claim that is
/// granted at once has none.
pub(super) type Waiters = SmallVec<[Waiter; 1]>;

/// What only the owner of a claim's state accesses.
#[derive(Default)]
pub(super) struct ClaimInner {
    /// What the task was granted, or waits for.
    pub rights: Rights,
    pub waiters: Waiters,
    pub task: Option<PendingTask>,
    pub plan: Option<Plan>,
    pub plan_runs: u32,
    /// How often a deferred claim has tried to acquire all its granules.
    pub attempts: u32,
    /// The claim holds nothing. Its only waiter is a retry waiter.
    pub awaits_retry: bool,
    /// The claim is deferred, and no worker has got to its task yet.
    pub deferred: Option<DeferredClaim>,
    /// How the plan has failed.
    pub failure: Option<Box<JoinError>>,
    /// The worker that the task was sent to because one of its granules has its home there.
    pub home: Option<u32>,
    /// What a baseline has granted.
    #[cfg(feature = "baselines")]
    pub baseline: super::baselines::BaselineGrant,
    /// The task has been admitted, and the conflict check counts it.
    #[cfg(debug_assertions)]
    is_counted: bool,
}

impl Drop for ClaimInner {
    /// A plan holds user values whose destructors may panic; a panic is swallowed, so that the last
    /// owner can finish its cleanup.
    fn drop(&mut self) {
        drop_quietly(self.plan.take());
    }
}

impl ClaimInner {
    /// Records since when the task waits, if that is recorded. Its waiter is in no queue yet.
    #[cold]
    pub(super) fn note_wait(&self, spawner: &mut impl Origin) {
        if let Some(task) = self.task.as_ref().and_then(PendingTask::task) {
            // SAFETY: the task is parked here, and this is borrowed.
            unsafe { spawner.note(task) };
        }
    }
}

// SAFETY: `inner` and the task in it move between threads with `pending`: only its spawner has the
// state before it is enqueued, and then only the thread that decrements `pending` to zero. The
// granules live until the task's epoch is over.
unsafe impl Send for ClaimState {}
// SAFETY: all but `inner` is shared by locks and atomics; for `inner` see above.
unsafe impl Sync for ClaimState {}

impl ClaimState {
    /// Creates the state of a claim whose task will be admitted to an epoch before the granules'
    /// owner drops them.
    pub fn new(granules: &(dyn ErasedGranules + 'static), request: Request, options: ClaimOptions) -> Self {
        let mut inner = ClaimInner::default();
        match request {
            Request::Ranges(ranges) => inner.rights = ranges.rights(),
            Request::Plan(plan) => inner.plan = Some(plan),
        }
        let (granules, inner) = (NonNull::from(granules), UnsafeCell::new(inner));
        Self { granules, pending: AtomicU32::new(0), options, inner }
    }

    pub fn granules(&self) -> &(dyn ErasedGranules + 'static) {
        // SAFETY: until the task is admitted, a handle that its spawner borrows keeps the granules;
        // then the task's epoch does.
        unsafe { self.granules.as_ref() }
    }

    pub fn table(&self) -> &GranuleTable {
        self.granules().table()
    }

    pub(super) fn queue_lock(&self, granule: u32) -> &SpinMutex<QueueLock> {
        self.table().queue_lock(granule)
    }

    /// Returns what the task was granted.
    ///
    /// # Safety
    ///
    /// The caller is the task, which runs.
    pub unsafe fn rights(&self) -> &Rights {
        // SAFETY: the running task owns `inner`, and changes nothing there until it leaves.
        self.inner.with(|inner| unsafe { &(*inner).rights })
    }

    /// Returns what only the owner of the state may access.
    ///
    /// # Safety
    ///
    /// The caller owns the state: it is the spawner before it has enqueued the claim, the thread
    /// that decremented `pending` to zero, or the task; and it has not borrowed this elsewhere.
    #[expect(clippy::mut_from_ref, reason = "the owner of the state is the only one to call this")]
    pub(super) unsafe fn inner(&self) -> &mut ClaimInner {
        // SAFETY: the caller is the only one that accesses it.
        self.inner.with_mut(|inner| unsafe { &mut *inner })
    }

    /// Returns the task that is parked here, unless it is known by its placeholders only.
    ///
    /// # Safety
    ///
    /// A waiter of this claim is in a queue whose lock the caller holds: until it is dequeued under
    /// that lock, no thread changes `inner`.
    pub(super) unsafe fn parked_task(&self) -> Option<NonNull<Task>> {
        // SAFETY: no thread changes it meanwhile, by the contract of this function.
        self.inner.with(|inner| unsafe { (*inner).task.as_ref() }?.task())
    }

    /// Returns what the running task holds, for its worker's record.
    ///
    /// # Safety
    ///
    /// The caller is the task, which runs.
    #[cold]
    #[inline(never)]
    pub unsafe fn held(&self) -> HeldGranules {
        // SAFETY: forwarded.
        let rights = unsafe { self.rights() };
        let table = from_ref(self.table()).addr();
        HeldGranules { table, ranges: rights.iter().map(|(range, _)| range.clone()).collect() }
    }

    /// Parks the task here until its claim is granted.
    ///
    /// # Safety
    ///
    /// The caller is its spawner, and has not called [`enter`](Self::enter).
    pub unsafe fn park_task(&self, task: PendingTask) {
        // SAFETY: no waiter is enqueued yet, so the spawner owns the state.
        unsafe { self.inner() }.task = Some(task);
    }

    /// Hands the claim to the admission of its granules.
    ///
    /// # Safety
    ///
    /// The caller has parked the task here, which owns the state from now on: the state may be
    /// freed before this returns.
    pub unsafe fn enter(state: NonNull<Self>, spawner: &mut impl Origin) {
        // SAFETY: the spawner owns the state until the admission takes it over. The granules, which
        // hold the admission, outlive the call: the spawner borrows a handle or is of their epoch.
        unsafe { state.as_ref().table().admission.enter(state, spawner) };
    }

    /// Runs the plan, if there is one, before anything is held, to learn what the task will
    /// probably claim. Returns the waiters that were granted a granule at the end of a peek.
    pub(super) fn preview_plan(&self, inner: &mut ClaimInner, site: PeekSite) -> Vec<WakeList> {
        let Some(plan) = &mut inner.plan else { return Vec::new() };
        inner.plan_runs += 1;
        let (outcome, wake_lists) = self.run_plan(plan, &Rights::default(), site);
        match outcome {
            Ok(ranges) => inner.rights = ranges.rights(),
            Err(failure) => {
                inner.failure = Some(Box::new(failure));
                quietly(|| inner.plan = None);
            }
        }
        wake_lists
    }

    /// Runs a plan whose task holds `held`. Returns what it names, and the waiters that were
    /// granted a granule at the end of a peek.
    pub(super) fn run_plan(
        &self,
        plan: &mut Plan,
        held: &Rights,
        site: PeekSite,
    ) -> (Result<Ranges, JoinError>, Vec<WakeList>) {
        let (granules, even_poisoned) = (self.granules(), self.options.even_poisoned);
        let ranges = Ranges::default();
        let mut probe = PlanProbe { granules, held, ranges, wake_lists: Vec::new(), site, even_poisoned };
        let outcome = catch(|| plan(&mut probe));
        let PlanProbe { ranges, wake_lists, .. } = probe;
        (outcome.map(|()| ranges).map_err(JoinError::panicked), wake_lists)
    }

    pub(super) fn all_granules(&self) -> Ranges {
        Ranges::all(self.table().count())
    }

    /// Admits the task, which is about to run its body.
    ///
    /// # Errors
    ///
    /// If its plan has panicked, or a granule is poisoned.
    ///
    /// # Safety
    ///
    /// The caller is the task.
    pub unsafe fn start(&self, worker: usize) -> Result<(), JoinError> {
        // SAFETY: the task owns the state since it was sent.
        let inner = unsafe { self.inner() };
        if let Some(failure) = take(&mut inner.failure) {
            return Err(*failure);
        }
        let table = self.table();
        table.admission.start(self, inner, worker)?;
        // Relaxed: a task that poisoned one of these was ordered before this one by the admission;
        // it is counted until the granule is repaired.
        if !self.options.even_poisoned
            && table.poisoned.load(Relaxed) > 0
            && inner.rights.granules().any(|(granule, _)| table.is_poisoned(granule))
        {
            return Err(JoinError::Poisoned);
        }
        #[cfg(debug_assertions)]
        {
            let check = |granule: u32| &table.slot(granule).conflict_check;
            inner.rights.granules().for_each(|(granule, write)| check(granule).enter(write));
            inner.is_counted = true;
        }
        Ok(())
    }

    /// Releases all granules at the end of the task.
    ///
    /// # Safety
    ///
    /// The caller is the task, which is over.
    pub unsafe fn leave(&self, spawner: &mut impl Origin) {
        // SAFETY: the task owns the state since it was sent.
        let inner = unsafe { self.inner() };
        #[cfg(debug_assertions)]
        if take(&mut inner.is_counted) {
            let table = self.table();
            let check = |granule: u32| &table.slot(granule).conflict_check;
            inner.rights.granules().for_each(|(granule, write)| check(granule).leave(write));
        }
        self.table().admission.leave(self, inner, spawner);
    }
}
