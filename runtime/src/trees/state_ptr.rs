//! The pointer to the state of a claim, and its memory.

use super::dispatch;
use super::plan::Request;
use super::poison::OnPoison;
use super::state::{ClaimHead, ClaimState};
use super::table::TreeTable;
use crate::claims::kind::ClaimHandle;
use crate::memory::SizeClass;
use crate::scheduler::{Context, Worker};
use crate::task::pending::PendingTask;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, drop_quietly, quietly};
use alloc::boxed::Box;
use core::ptr::NonNull;

/// A pointer to the state of a claim; or none if there was no memory left.
///
/// The state lies in a block of the runtime's own heap, unless its request is large.
pub struct StatePtr<Q>(Option<NonNull<ClaimState<Q>>>);

impl<Q> Clone for StatePtr<Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q> Copy for StatePtr<Q> {}

// SAFETY: a pointer without access; access is subject to the rules of `ClaimState`, which is Send
// and Sync.
unsafe impl<Q: Send> Send for StatePtr<Q> {}

impl<Q: Request> StatePtr<Q> {
    const CLASS: Option<SizeClass> = SizeClass::for_size(size_of::<ClaimState<Q>>());

    /// Allocates the state of a claim.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(
        spawner: &mut impl Origin,
        table: &TreeTable,
        request: Q,
        on_poison: OnPoison,
        is_unordered: bool,
    ) -> Self {
        const { assert!(align_of::<ClaimState<Q>>() <= 64, "blocks begin with a cache line") };
        let block = match Self::CLASS {
            Some(class) => spawner.allocate(class).map(NonNull::cast),
            None => Some(NonNull::from(Box::leak(Box::<ClaimState<Q>>::new_uninit())).cast()),
        };
        match block {
            // SAFETY: the block is fresh, and its class, or the box, is for this size.
            Some(block) => unsafe { ClaimState::init(block, table, request, on_poison, is_unordered) },
            // The request holds user values, whose destructors may panic.
            None => drop_quietly(request),
        }
        Self(block)
    }

    /// Returns the pointer to the state of a task, or of a spawner that could allocate it.
    #[inline(always)]
    pub(super) fn get(self) -> NonNull<ClaimState<Q>> {
        self.0.expect("a task with a claim has a state")
    }

    /// Returns the pointer to the part that does not depend on the request.
    #[inline(always)]
    fn head(self) -> NonNull<ClaimHead> {
        // The head comes first in the state.
        self.get().cast()
    }
}

impl<Q: Request> ClaimHandle for StatePtr<Q> {
    fn is_some(self) -> bool {
        self.0.is_some()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn free(self, origin: &mut impl Origin) {
        let Some(state) = self.0 else { return };
        // SAFETY: the caller owns the state, which `new` made in a block of that class or in a box.
        unsafe {
            match Self::CLASS {
                None => drop_quietly(Box::from_raw(state.as_ptr())),
                Some(class) => {
                    if Q::HAS_USER_VALUES {
                        quietly(|| state.drop_in_place());
                    } else if state.as_ref().has_memory() {
                        state.drop_in_place();
                    }
                    origin.give_back(class, state.cast());
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn enter(self, task: PendingTask, origin: &mut impl Origin) {
        // SAFETY: the spawner owns the state, and gives it up to the task.
        unsafe { dispatch::enter(self.get(), task, origin) };
    }

    #[inline(always)]
    unsafe fn start(self, _: &mut Worker) -> Result<(), JoinError> {
        // SAFETY: the task owns the state since it was sent.
        unsafe { dispatch::start(self.head().as_ref()) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn leave(self, cx: &mut Context) {
        // SAFETY: the task, which is over, owns the state; the tree is of its epoch.
        unsafe {
            let state = self.get();
            let tree = state.as_ref().request().tree();
            dispatch::leave(self.head(), tree.get(), cx);
        }
    }
}
