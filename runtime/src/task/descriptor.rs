//! The task descriptor: one cache line for a task with a small body.
//!
//! ```text
//!  0  vtable   what to do with the body
//!  8  next     link of whatever list the task is in: inbox, deferred tasks, free blocks
//! 16  fetch    the lines its annotation names
//! 24  meta     epoch, priority, size class, flags, attempts, cost
//! 32  body     closure, object references, completion
//! ```
//! A descriptor belongs to one party at a time: the spawner, then the pool it was pushed to, then the worker that
//! runs it, which gives the block back to its heap.

use crate::annotation::Priority;
use crate::memory::SizeClass;
use crate::object::Fetch;
use crate::scheduler::Context;
use crate::sync::AtomicPtr;
use core::mem::{align_of, size_of};
use core::ptr::NonNull;

#[repr(C)]
pub struct Task {
    pub(crate) vtable: &'static VTable,
    pub(crate) next: AtomicPtr<Task>,
    pub(crate) fetch: Fetch,
    pub(crate) meta: Meta,
}

/// What a task's body can do. Each function owns the task, but for `locate`.
pub struct VTable {
    /// Runs the body, gives back the descriptor and says that the task has finished; or puts the task back to be
    /// run again.
    pub(crate) run: unsafe fn(NonNull<Task>, &mut Context),
    /// What the task will touch beyond the lines of its annotation, which have arrived.
    pub(crate) locate: unsafe fn(NonNull<Task>) -> Fetch,
    /// Drops the body unrun, tells who waits, gives back the descriptor and says that the task has finished.
    pub(crate) cancel: unsafe fn(NonNull<Task>, &mut Context),
}

/// Small facts about a task.
///
/// All eight bytes are fields, so that it is copied as one word.
#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
pub struct Meta {
    /// Slot of the epoch that the task belongs to.
    pub(crate) epoch: u8,
    pub(crate) priority: Priority,
    /// Size class of the descriptor.
    pub(crate) class: SizeClass,
    pub(crate) flags: u8,
    /// Failed optimistic attempts.
    pub(crate) attempts: u8,
    pub(crate) unused: u8,
    /// Units of cost beyond one.
    pub(crate) cost: u16,
}

impl Meta {
    /// A copy, made as one word: field by field it takes five loads and five stores.
    #[inline(always)]
    pub(crate) fn copied(&self) -> Self {
        // SAFETY: `Self` is a word, all of whose bytes are fields; the word that is read is a valid `Self`.
        unsafe { core::mem::transmute(core::ptr::from_ref(self).cast::<u64>().read()) }
    }
}

/// The task was deferred at a held object, which is now handed to it; it hands the object on when it is done.
pub(crate) const BATON: u8 = 1;
/// The task belongs to the runtime's own protocol: it runs even while others are cancelled.
pub(crate) const PROTOCOL: u8 = 2;

/// Where a task's body begins.
pub(crate) const BODY: usize = 32;
const _: () = assert!(size_of::<Task>() == BODY);

/// Whether a body of type `B` has to be boxed.
pub(crate) const fn is_too_large<B>() -> bool {
    SizeClass::for_size(BODY + size_of::<B>()).is_none() || align_of::<B>() > BODY
}

/// Size class of the descriptor for a body of type `B`, which is not too large.
pub(crate) const fn class_of<B>() -> SizeClass {
    match SizeClass::for_size(BODY + size_of::<B>()) {
        Some(class) => class,
        None => SizeClass::B512,
    }
}

impl Task {
    /// Where the body is.
    #[inline(always)]
    pub(crate) fn body<B>(task: NonNull<Self>) -> *mut B {
        task.as_ptr().cast::<u8>().wrapping_add(BODY).cast()
    }
}
