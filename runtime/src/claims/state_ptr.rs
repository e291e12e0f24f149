//! The pointer to a [`ClaimState`], and its memory.
//!
//! The state lies in a block of the runtime's own heap, like its task: memory that one thread
//! allocates and another one frees, for each task, is the worst case of general-purpose allocators.
//! There is no reference count: the spawner owns the state until there is a task, then the task.

use super::admission::{Admission, TableAdmission};
use super::claim_state::ClaimState;
use super::kind::ClaimHandle;
use crate::memory::SizeClass;
use crate::scheduler::{Context, Worker};
use crate::task::pending::PendingTask;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Task, drop_quietly};
use core::ptr::NonNull;

/// A pointer to the state of a claim; or none if there was no memory left. Then there will be no
/// task either.
#[derive(Clone, Copy)]
pub struct ClaimStatePtr(Option<NonNull<ClaimState>>);

// SAFETY: a pointer without access; access is subject to the rules of `ClaimState`, which is Send
// and Sync.
unsafe impl Send for ClaimStatePtr {}
// SAFETY: as for Send.
unsafe impl Sync for ClaimStatePtr {}

impl ClaimStatePtr {
    const CLASS: SizeClass = match SizeClass::for_size(size_of::<ClaimState>()) {
        Some(class) => class,
        None => panic!("the state of a claim is larger than any block"),
    };

    /// Allocates the state of a claim.
    pub(super) fn new(spawner: &mut impl Origin, state: impl FnOnce() -> ClaimState) -> Self {
        const {
            assert!(align_of::<ClaimState>() <= 64, "blocks begin with a cache line");
            assert!(
                cfg!(any(model = "loom", model = "shuttle")) || size_of::<ClaimState>() <= 256,
                "the state of a claim fits four cache lines"
            );
        }
        let block = spawner.allocate(Self::CLASS).map(NonNull::cast);
        match block {
            // SAFETY: the block is fresh, and its class is for this size.
            Some(block) => unsafe { block.write(state()) },
            // The request holds user values, whose destructors may panic.
            None => drop_quietly(state),
        }
        Self(block)
    }

    /// Returns the pointer to the state of a task, or of a spawner that could allocate it.
    pub(super) fn get(self) -> NonNull<ClaimState> {
        self.0.expect("a task with a claim has a state")
    }
}

impl ClaimHandle for ClaimStatePtr {
    fn is_some(self) -> bool {
        self.0.is_some()
    }

    unsafe fn free(self, spawner: &mut impl Origin) {
        if let Some(state) = self.0 {
            // SAFETY: the caller owns the state, which `new` made in a block of that class.
            unsafe {
                state.drop_in_place();
                spawner.give_back(Self::CLASS, state.cast());
            }
        }
    }

    unsafe fn enter(self, task: PendingTask, spawner: &mut impl Origin) {
        // SAFETY: forwarded: the caller is the spawner, which owns the state.
        unsafe {
            self.get().as_ref().park_task(task);
            ClaimState::enter(self.get(), spawner);
        }
    }

    unsafe fn is_ready(self, task: NonNull<Task>, cx: &mut Worker) -> bool {
        // SAFETY: forwarded: the worker owns the task, which owns the state. (Nothing is borrowed
        // of either: another worker may have both as soon as the task is parked.)
        unsafe { TableAdmission::is_ready(self.get(), task, cx) }
    }

    unsafe fn start(self, cx: &mut Worker) -> Result<(), JoinError> {
        // SAFETY: forwarded: the task owns the state.
        let granted = unsafe { self.get().as_ref().start(cx.index()) };
        // SAFETY: as above.
        cx.record_granules(|| unsafe { self.get().as_ref().held() });
        granted
    }

    unsafe fn leave(self, cx: &mut Context) {
        let mut origin = cx;
        // SAFETY: forwarded: the task is over and owns the state.
        unsafe { self.get().as_ref().leave(&mut origin) };
    }
}
