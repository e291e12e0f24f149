//! Handles that own an object.

use super::class::{Class, Versioned};
use super::primitive::Primitive;
use super::reference::{Cell, Reference};
use crate::annotation::Part;
use crate::limit::Limit;
use crate::memory::{Reclaim, Retired};
use crate::scheduler::RuntimeState;
use crate::sync::{AcqRel, AtomicUsize, Relaxed};
use crate::task::{Read, Write};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::marker::PhantomData;
use core::mem::offset_of;
use core::ptr::NonNull;

/// An object and the number of its handles. Tasks are not counted: an epoch keeps the object alive
/// for them.
#[repr(C)]
pub(super) struct Owned<C> {
    pub(super) owners: AtomicUsize,
    shared: Arc<RuntimeState>,
    limit: Option<Limit>,
    pub(super) cell: Cell<C>,
}

impl<C> Owned<C> {
    pub(super) fn new(shared: Arc<RuntimeState>, value: C, limit: Option<Limit>) -> Self {
        let cell = Cell::new(value, shared.free_word);
        Self { owners: AtomicUsize::new(1), shared, limit, cell }
    }

    /// Returns what an object's cell is in.
    ///
    /// # Safety
    ///
    /// The reference names an object that was made by `Object::new` for this class, and is alive.
    unsafe fn of(reference: Reference) -> NonNull<Self> {
        let cell = reference.cell::<C>();
        // SAFETY: the cell of such an object is in an `Owned`, whose address was exposed with the
        // cell's.
        unsafe { NonNull::new_unchecked(cell.byte_sub(offset_of!(Self, cell)).cast()) }
    }
}

impl<C: Class> Owned<C> {
    /// Drops one owner. The last one retires the object, and wakes the worker of that index if no
    /// other is awake.
    ///
    /// # Safety
    ///
    /// The caller is an owner until then.
    pub(super) unsafe fn release(owned: NonNull<Self>, worker: usize) {
        // SAFETY: the caller's part keeps the object alive.
        let this = unsafe { owned.as_ref() };
        // AcqRel: the last handle's drop comes after everything that was done with the others, in
        // particular spawns.
        if this.owners.fetch_sub(1, AcqRel) == 1 {
            let shared = this.shared.clone();
            let epoch = if planted!("object-freed-at-once") { 0 } else { shared.epochs.retirement() };
            let owner: Arc<dyn Reclaim> = Arc::new(Dropper::<C>(PhantomData));
            shared.adopt([Retired { epoch, object: owned.cast(), owner }].into_iter());
            shared.wake_for_garbage(worker);
        }
    }
}

/// A handle of an object. Clones share the object. It is freed when all handles are dropped and all
/// tasks that were spawned before have run.
///
/// Only tasks access the data, by [`read`](Self::read) and [`write`](Self::write).
pub struct Object<C: Class> {
    reference: Reference,
    part: Part,
    is_bounded: bool,
    /// The runtime that it belongs to, identified by address, so that a spawn need not touch the
    /// object.
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
        let is_bounded = owned.limit.is_some();
        let owned = Box::into_raw(owned);
        // SAFETY: the pointer was just made from a box.
        let cell = unsafe { NonNull::new_unchecked(&raw mut (*owned).cell) };
        Self { reference: name(cell), part, is_bounded, runtime, object: PhantomData }
    }

    /// Returns a read access for a task.
    #[inline]
    pub fn read(&self) -> Read<'_, C> {
        Read::of_object(self.reference, self.part, self.runtime, self.is_bounded)
    }

    /// Returns a write access for a task.
    #[inline]
    pub fn write(&self) -> Write<'_, C> {
        Write::of_object(self.reference, self.part, self.runtime, self.is_bounded)
    }

    /// Returns the primitive that keeps the object's isolation.
    pub fn primitive(&self) -> Primitive {
        self.reference.primitive()
    }

    /// Returns the index of the worker that runs the object's sequenced tasks.
    pub fn home(&self) -> usize {
        self.reference.home()
    }

    /// Returns the object's address, which no other living object has. Reports name objects by it.
    pub fn address(&self) -> usize {
        self.reference.address() as usize
    }

    /// Returns true if a task panicked while it wrote the object in place. Later tasks on the
    /// object fail with [`JoinError::Poisoned`](crate::JoinError::Poisoned).
    pub fn is_poisoned(&self) -> bool {
        // SAFETY: this handle keeps the object alive.
        unsafe { self.reference.header() }.latch.is_poisoned()
    }

    /// Clears the poison, so that tasks can use the object again. The caller decides that the data
    /// is consistent enough; a task [mends](crate::task::Write::even_poisoned) it first. A task
    /// that is entering the object at the same time may poison it again.
    pub fn clear_poison(&self) {
        // SAFETY: this handle keeps the object alive.
        unsafe { self.reference.header() }.latch.clear_poison();
    }

    /// Returns the limit of [`ObjectBuilder::most_tasks`](crate::ObjectBuilder::most_tasks). It
    /// says how many tasks with room are queued at the object or in it.
    pub fn task_limit(&self) -> Option<&Limit> {
        // SAFETY: this handle keeps the object alive.
        unsafe { limit_of::<C>(self.reference) }
    }

    fn owned(&self) -> NonNull<Owned<C>> {
        // SAFETY: this handle keeps the object alive.
        unsafe { Owned::of(self.reference) }
    }
}

impl<T> Object<Versioned<T>>
where
    Versioned<T>: Class,
{
    /// Returns the data, from outside the runtime. It may be changing meanwhile, as for an
    /// optimistic reader that never validates.
    pub fn peek(&self) -> &T {
        // SAFETY: this handle keeps the object alive, and versioned data may be read at any time.
        unsafe { &(*self.reference.cell::<Versioned<T>>()).value.0 }
    }
}

impl<C: Class> Clone for Object<C> {
    fn clone(&self) -> Self {
        // SAFETY: this handle keeps the object alive. Relaxed: a new handle is made from an
        // existing one; the count orders nothing.
        unsafe { self.owned().as_ref() }.owners.fetch_add(1, Relaxed);
        Self { ..*self }
    }
}

impl<C: Class> Drop for Object<C> {
    fn drop(&mut self) {
        // SAFETY: this handle is counted as an owner, and is not used again.
        unsafe { Owned::release(self.owned(), self.home()) };
    }
}

impl<C: Class> core::fmt::Debug for Object<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (primitive, home) = (self.primitive(), self.home());
        f.debug_struct("Object").field("primitive", &primitive).field("home", &home).finish_non_exhaustive()
    }
}

/// Returns the limit of an object.
///
/// # Safety
///
/// The reference names an object that was made by `Object::new` for class `C`, and is alive for
/// `'a`.
pub(crate) unsafe fn limit_of<'a, C: Class>(reference: Reference) -> Option<&'a Limit> {
    // SAFETY: this function's contract. The limit never changes.
    unsafe { Owned::<C>::of(reference).as_ref() }.limit.as_ref()
}

/// Frees objects of one type.
struct Dropper<C>(PhantomData<fn(C)>);

impl<C: Class> Reclaim for Dropper<C> {
    unsafe fn reclaim(self: Arc<Self>, object: NonNull<u8>, _: Option<usize>) {
        // SAFETY: made by `Object::new` from a box of this type; retired and unreachable.
        let owned = unsafe { Box::from_raw(object.cast::<Owned<C>>().as_ptr()) };
        owned.shared.names.remove((&raw const owned.cell).addr());
        drop(owned);
    }
}
