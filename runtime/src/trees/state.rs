//! The state of a claim, from its spawn to the end of its task.

use super::counts::Site;
use super::poison::OnPoison;
use super::probe::{PlanProbe, RunPlan, Targets};
use super::queue::{ClaimPtr, OwnedClaim, Ready};
use super::rights::Registration;
use super::table::TreeTable;
use crate::sync::UnsafeCell;
use crate::task::JoinError;
use crate::task::pending::PendingTask;
use alloc::boxed::Box;
use core::ptr::NonNull;

/// A claim with the task that is parked until it is granted, and the request that names its nodes.
#[repr(C)]
pub struct ClaimState<Q: ?Sized> {
    pub(super) head: ClaimHead,
    /// Accessed by the owner of the claim.
    request: UnsafeCell<Q>,
}

/// The part of a state that does not depend on the type of the request.
#[repr(C)]
pub(super) struct ClaimHead {
    /// Comes first: queues know the claim by the address of this, which is that of the state.
    pub registration: Registration,
    table: NonNull<TreeTable>,
    owned: UnsafeCell<OwnedState>,
}

/// What only the owner of a claim accesses.
pub(super) struct OwnedState {
    /// The state with the type of its request erased; set when its task is parked.
    pub whole: Option<NonNull<ClaimState<dyn RunPlan>>>,
    pub task: Option<PendingTask>,
    /// How the plan has failed.
    pub failure: Option<Box<JoinError>>,
    pub plan_runs: u32,
    pub on_poison: OnPoison,
}

// SAFETY: a claim and its task move between threads with `pending`: only its spawner has the state
// before it waits, and then only the thread that grants its last entry. The table lives until the
// task's epoch is over.
unsafe impl<Q: Send + ?Sized> Send for ClaimState<Q> {}
// SAFETY: only the owner accesses what is in cells; `pending` is atomic.
unsafe impl<Q: Send + ?Sized> Sync for ClaimState<Q> {}

impl<Q> ClaimState<Q> {
    /// Makes the state of a claim in its place, to save a copy of the whole.
    ///
    /// # Safety
    ///
    /// The place is valid for writes, and aligned. What is there is not dropped.
    #[inline(always)]
    pub(super) unsafe fn init(
        place: NonNull<Self>,
        table: &TreeTable,
        request: Q,
        on_poison: OnPoison,
        is_unordered: bool,
    ) {
        let owned = OwnedState { whole: None, task: None, failure: None, plan_runs: 0, on_poison };
        let place = place.as_ptr();
        // A field that is added has to be set below, too.
        let _ = |Self { head: ClaimHead { registration: _, table: _, owned: _ }, request: _ }: &Self| ();
        // SAFETY: by the contract of this function.
        unsafe {
            let head = &raw mut (*place).head;
            Registration::init(&raw mut (*head).registration, is_unordered);
            (&raw mut (*head).table).write(NonNull::from(table));
            (&raw mut (*head).owned).write(UnsafeCell::new(owned));
            (&raw mut (*place).request).write(UnsafeCell::new(request));
        }
    }
}

impl<Q: RunPlan> ClaimState<Q> {
    /// Returns true if there is anything to free, in the state of a claim whose task is over or was
    /// never spawned. In most there is not, and its drop would look at each part on its own.
    ///
    /// # Safety
    ///
    /// The caller owns the claim, and has borrowed nothing of it.
    #[inline(always)]
    pub(super) unsafe fn has_memory(&self) -> bool {
        // SAFETY: forwarded.
        let (rights, owned) = unsafe { (self.head.registration.rights(), self.head.owned()) };
        // SAFETY: forwarded.
        let request = unsafe { self.request() }.has_memory();
        let OwnedState { whole: _, task, failure, plan_runs: _, on_poison: _ } = owned;
        rights.has_memory() | request | task.is_some() | failure.is_some()
    }
}

impl<Q: ?Sized> ClaimState<Q> {
    /// Returns the request.
    ///
    /// # Safety
    ///
    /// The caller owns the claim, and has borrowed this nowhere else.
    #[expect(clippy::mut_from_ref, reason = "the owner of the claim is the only one to call this")]
    pub(super) unsafe fn request(&self) -> &mut Q {
        // SAFETY: the caller is the only one that accesses it.
        self.request.with_mut(|request| unsafe { &mut *request })
    }
}

impl ClaimHead {
    pub fn table(&self) -> &TreeTable {
        // SAFETY: until the task is admitted, a handle that its spawner borrows keeps the tree;
        // then the task's epoch does.
        unsafe { self.table.as_ref() }
    }

    /// Returns what only the owner of the claim may access.
    ///
    /// # Safety
    ///
    /// The caller owns the claim, and has borrowed this nowhere else.
    #[expect(clippy::mut_from_ref, reason = "the owner of the claim is the only one to call this")]
    pub unsafe fn owned(&self) -> &mut OwnedState {
        // SAFETY: the caller is the only one that accesses it.
        self.owned.with_mut(|owned| unsafe { &mut *owned })
    }

    /// Begins a run of the request.
    ///
    /// # Safety
    ///
    /// The caller owns the claim, and borrows its rights nowhere else while the result is used.
    #[inline(always)]
    pub unsafe fn probe<'s>(
        &'s self,
        site: Site,
        claim: ClaimPtr,
        ready: &'s mut Ready,
        refused: &'s mut Targets,
    ) -> PlanProbe<'s> {
        // SAFETY: forwarded.
        let (owned, rights) = unsafe { (self.owned(), self.registration.rights()) };
        PlanProbe::new(self.table(), site, OwnedClaim { claim, rights }, ready, refused, owned.on_poison)
    }

    /// Runs the request.
    ///
    /// # Errors
    ///
    /// If it panics.
    ///
    /// # Safety
    ///
    /// The caller owns the claim, whose task is parked.
    pub unsafe fn run_plan(&self, probe: &mut PlanProbe<'_>) -> Result<(), JoinError> {
        // SAFETY: the caller owns the claim; the state lives as long as its head.
        unsafe {
            let whole = self.owned().whole.expect("the task is parked");
            whole.as_ref().request().run(probe)
        }
    }
}
