//! An object that is owned by its handles.

use super::class::{Class, Versioned};
use super::primitive::Primitive;
use super::reference::{Cell, Reference};
use crate::annotation::Part;
use crate::memory::{Reclaim, Retired};
use crate::scheduler::Shared;
use crate::sync::{AcqRel, AtomicUsize, Relaxed};
use crate::task::{Read, Write};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::marker::PhantomData;
use core::mem::offset_of;
use core::ptr::NonNull;

/// An object and who owns it. Tasks do not count as owners: an epoch keeps the object alive for them.
#[repr(C)]
pub(super) struct Owned<C> {
    owners: AtomicUsize,
    shared: Arc<Shared>,
    pub(super) cell: Cell<C>,
}

impl<C> Owned<C> {
    pub(super) fn new(shared: Arc<Shared>, value: C) -> Self {
        let cell = Cell::new(value, shared.at_rest);
        Self { owners: AtomicUsize::new(1), shared, cell }
    }
}

/// A handle of an object: clones share it. The object is freed when all handles are gone and all tasks that were
/// spawned before have run.
///
/// Tasks reach the data by [`read`](Self::read) and [`write`](Self::write); nobody else does.
pub struct Object<C: Class> {
    reference: Reference,
    part: Part,
    /// The runtime that it belongs to, told by its address, so that a spawn need not touch the object.
    runtime: usize,
    object: PhantomData<Arc<C>>,
}

impl<C: Class> Object<C> {
    pub(super) fn new(
        owned: Box<Owned<C>>,
        name: impl FnOnce(NonNull<Cell<C>>) -> Reference,
        part: Part,
    ) -> Self {
        let runtime = Arc::as_ptr(&owned.shared).addr();
        let owned = Box::into_raw(owned);
        // SAFETY: just made from a box.
        let cell = unsafe { NonNull::new_unchecked(&raw mut (*owned).cell) };
        Self { reference: name(cell), part, runtime, object: PhantomData }
    }

    /// Read access for a task.
    #[inline]
    pub fn read(&self) -> Read<'_, C> {
        Read::new(self.reference, self.part, self.runtime)
    }

    /// Write access for a task.
    #[inline]
    pub fn write(&self) -> Write<'_, C> {
        Write::new(self.reference, self.part, self.runtime)
    }

    /// The primitive that keeps the object's isolation.
    pub fn primitive(&self) -> Primitive {
        self.reference.primitive()
    }

    /// Index of the worker that runs the object's sequenced tasks.
    pub fn home(&self) -> usize {
        self.reference.home()
    }

    /// Where the object lies, which tells it apart from all others that live: reports name objects by it.
    pub fn address(&self) -> usize {
        self.reference.address() as usize
    }

    /// Whether a task panicked while it wrote the object in place. Later tasks on it fail with
    /// [`JoinError::Poisoned`](crate::JoinError::Poisoned).
    pub fn is_poisoned(&self) -> bool {
        // SAFETY: this handle keeps the object alive.
        unsafe { self.reference.header() }.latch.is_poisoned()
    }

    /// Lets tasks at the object again; the caller has made sure (or does not care) that its data makes sense. No task
    /// should be on its way to the object meanwhile: one that is just entering may poison it again.
    pub fn clear_poison(&self) {
        // SAFETY: this handle keeps the object alive.
        unsafe { self.reference.header() }.latch.clear_poison();
    }

    fn owned(&self) -> NonNull<Owned<C>> {
        let cell = self.reference.cell::<C>();
        // SAFETY: the cell of a handle's object lies in an `Owned`, whose address was exposed with the cell's.
        unsafe { NonNull::new_unchecked(cell.byte_sub(offset_of!(Owned<C>, cell)).cast()) }
    }
}

impl<T> Object<Versioned<T>>
where
    Versioned<T>: Class,
{
    /// Looks at the data from outside the runtime; it may be changing meanwhile, as for an optimistic reader whose
    /// reading is never validated.
    pub fn peek(&self) -> &T {
        // SAFETY: this handle keeps the object alive, and versioned data may be looked at any time.
        unsafe { &(*self.reference.cell::<Versioned<T>>()).value.0 }
    }
}

impl<C: Class> Clone for Object<C> {
    fn clone(&self) -> Self {
        // SAFETY: this handle keeps the object alive.
        // Relaxed: whoever has a handle can make another; nothing is ordered by it.
        unsafe { self.owned().as_ref() }.owners.fetch_add(1, Relaxed);
        Self { ..*self }
    }
}

impl<C: Class> Drop for Object<C> {
    fn drop(&mut self) {
        // SAFETY: this handle keeps the object alive.
        let owned = unsafe { self.owned().as_ref() };
        // AcqRel: the last owner comes after all that the others did with their handles, spawns above all.
        if owned.owners.fetch_sub(1, AcqRel) == 1 {
            let shared = owned.shared.clone();
            let epoch = if planted!("object-freed-at-once") { 0 } else { shared.epochs.retirement() };
            let owner: Arc<dyn Reclaim> = Arc::new(Dropper::<C>(PhantomData));
            let home = self.home();
            shared.adopt([Retired { epoch, object: self.owned().cast(), owner }].into_iter());
            shared.wake_for_garbage(home);
        }
    }
}

impl<C: Class> core::fmt::Debug for Object<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (primitive, home) = (self.primitive(), self.home());
        f.debug_struct("Object").field("primitive", &primitive).field("home", &home).finish_non_exhaustive()
    }
}

/// Frees objects of one type.
struct Dropper<C>(PhantomData<fn(C)>);

impl<C: Class> Reclaim for Dropper<C> {
    unsafe fn reclaim(&self, object: NonNull<u8>, _: Option<usize>) {
        // SAFETY: made by `Object::new` from a box of this type, and not used any more.
        drop(unsafe { Box::from_raw(object.cast::<Owned<C>>().as_ptr()) });
    }
}
