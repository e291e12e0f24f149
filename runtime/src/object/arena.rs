//! Bulk memory for the nodes of a data structure.

use super::class::{Class, Version, Versioned};
use super::primitive::{LegalFor, Primitive};
use super::reference::{Cell, Reference};
use super::{Link, OptimisticLatched};
use crate::annotation::Frequency;
use crate::memory::{Reclaim, Slots};
use crate::scheduler::{Context, Runtime, Shared};
use crate::sync::{AtomicBool, Relaxed};
use alloc::sync::Arc;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, align_of};
use core::ptr::NonNull;

/// Nodes of one type, by the million: NUMA-aware, on huge pages where the platform has them, allocated without a lock
/// on workers, and freed when no task can reach them any more.
///
/// Nodes do not count towards the limit of [`Builder::memory_limit`](crate::Builder::memory_limit), which is for tasks.
/// Where the platform has no more pages, [`try_reserve`](Self::try_reserve) says so, and everything else that makes a
/// node ends the process, as the global allocator does.
///
/// Clones share the arena. Dropping it drops no nodes and keeps their memory: links may still be followed. A data
/// structure that is done with its nodes says so by [`dispose`](Self::dispose).
pub struct Arena<T> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    slots: ManuallyDrop<Slots>,
    /// No link is followed any more: the memory goes when the last owner does.
    disposed: AtomicBool,
    shared: Arc<Shared>,
    primitive: Primitive,
    nodes: PhantomData<fn() -> T>,
}

/// What an arena has, at one moment; nearly exact while it is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaStats {
    /// Nodes that are allocated, retired ones that are not freed yet included.
    pub live: usize,
    /// Bytes of a node, header included.
    pub node_bytes: usize,
    /// Bytes of memory reserved.
    pub bytes: usize,
    /// Bytes of these that lie on huge pages, as far as the platform knows.
    pub huge_bytes: usize,
}

impl<T: Version> Arena<T> {
    /// An arena for nodes whose writers are latched; see [`with_primitive`](Self::with_primitive).
    pub fn new(runtime: &Runtime) -> Self {
        Self::with_primitive(runtime, OptimisticLatched)
    }

    /// An arena for nodes with that primitive.
    pub fn with_primitive<P: LegalFor<Versioned<T>>>(runtime: &Runtime, _: P) -> Self {
        let shared = runtime.shared().clone();
        let cell = Layout::new::<Cell<Versioned<T>>>();
        // Pairs of lines are fetched together, so nodes had better begin with a pair.
        let layout = cell.align_to(align_of::<crate::sync::Padded<u8>>()).unwrap_or(cell);
        let slots = Slots::new(shared.platform.pages(), layout, shared.seats.len(), None);
        let slots = ManuallyDrop::new(slots);
        let disposed = AtomicBool::new(false);
        Self {
            inner: Arc::new(Inner { slots, disposed, shared, primitive: P::PRIMITIVE, nodes: PhantomData }),
        }
    }

    /// The primitive of the nodes.
    pub fn primitive(&self) -> Primitive {
        self.inner.primitive
    }

    /// A new node, from a task. Its home is this worker.
    ///
    /// # Panics
    ///
    /// If the task belongs to another runtime.
    pub fn alloc(&self, value: T, cx: &mut Context) -> Link<T> {
        self.reserve(cx).fill(value)
    }

    /// A place for a new node, whose link is known before its value.
    ///
    /// # Panics
    ///
    /// If the task belongs to another runtime.
    pub fn reserve(&self, cx: &mut Context) -> Reserved<'_, T> {
        self.try_reserve(cx).unwrap_or_else(|| self.give_up())
    }

    /// As [`reserve`](Self::reserve); `None` if there is no memory left.
    ///
    /// # Panics
    ///
    /// If the task belongs to another runtime.
    pub fn try_reserve(&self, cx: &mut Context) -> Option<Reserved<'_, T>> {
        self.check(cx);
        let home = cx.worker();
        // SAFETY: a shard belongs to the worker of its index, which is this thread.
        let slot = unsafe { self.inner.slots.alloc_on(home) }?;
        Some(self.reserved(slot, home as u16))
    }

    /// A new node, from a thread outside the runtime. Homes are dealt in turn.
    pub fn alloc_outside(&self, value: T) -> Link<T> {
        self.reserve_outside().fill(value)
    }

    /// As [`reserve`](Self::reserve), from a thread outside the runtime.
    pub fn reserve_outside(&self) -> Reserved<'_, T> {
        self.try_reserve_outside().unwrap_or_else(|| self.give_up())
    }

    /// As [`reserve_outside`](Self::reserve_outside); `None` if there is no memory left.
    pub fn try_reserve_outside(&self) -> Option<Reserved<'_, T>> {
        let slot = self.inner.slots.alloc_shared()?;
        Some(self.reserved(slot, self.inner.shared.next_home(None)))
    }

    /// There is no memory for a node, and the caller cannot do without.
    #[cold]
    fn give_up(&self) -> ! {
        alloc::alloc::handle_alloc_error(self.inner.slots.layout())
    }

    fn reserved(&self, slot: NonNull<u8>, home: u16) -> Reserved<'_, T> {
        let cell = slot.cast::<Cell<Versioned<T>>>();
        let link = Link::from_reference(Reference::new(cell, self.inner.primitive, Frequency::Normal, home));
        Reserved { cell, link, arena: self }
    }

    /// Frees a node when no task can reach it any more: when all tasks that were spawned before have run, follow-ups
    /// of their operations included.
    ///
    /// # Safety
    ///
    /// The node came from this arena and was unlinked: no operation that begins from now on (a task spawned from outside,
    /// or with `begin_operation`) uses a link to it, whether it finds one or was handed one, and neither does anybody
    /// outside the runtime or a task of another runtime. It is retired once.
    ///
    /// # Panics
    ///
    /// If the task belongs to another runtime.
    pub unsafe fn retire(&self, link: Link<T>, cx: &mut Context) {
        self.check(cx);
        // SAFETY: the address of a cell is not null.
        let slot = unsafe { NonNull::new_unchecked(link.reference().cell::<Versioned<T>>().cast()) };
        // SAFETY: unlinked, by the caller's promise; from this arena.
        unsafe { cx.retire(slot, self.inner.clone()) };
    }

    /// Frees all memory of the arena at once, when the last clone (and the last retired node) is gone. Nodes are not
    /// dropped one by one.
    ///
    /// # Safety
    ///
    /// No link to a node of this arena is followed any more. That a task's handle is resolved does not say so: a task with
    /// several objects gives them back afterwards. That its runtime has ended does.
    pub unsafe fn dispose(self) {
        // Ordered by the count of owners.
        self.inner.disposed.store(true, Relaxed);
    }

    /// How much there is.
    pub fn stats(&self) -> ArenaStats {
        let stats = self.inner.slots.stats();
        let node_bytes = self.inner.slots.slot_bytes();
        ArenaStats { live: stats.live, node_bytes, bytes: stats.bytes, huge_bytes: stats.huge_bytes }
    }

    fn check(&self, cx: &Context) {
        assert!(
            Arc::ptr_eq(&self.inner.shared, cx.shared()),
            "an arena is used by a task of another runtime"
        );
    }
}

/// A place for a node; see [`Arena::reserve`].
pub struct Reserved<'a, T: Version> {
    cell: NonNull<Cell<Versioned<T>>>,
    link: Link<T>,
    arena: &'a Arena<T>,
}

impl<T: Version> Reserved<'_, T> {
    /// The link that the node will have.
    ///
    /// # Safety
    ///
    /// It is not followed, and no task with it is spawned, before [`fill`](Self::fill).
    pub unsafe fn link(&self) -> Link<T> {
        self.link
    }

    /// Makes the node.
    pub fn fill(self, value: T) -> Link<T> {
        // SAFETY: the slot is fresh and was laid out for this type.
        unsafe { self.cell.write(Cell::new(Versioned::new(value), self.arena.inner.shared.at_rest)) };
        let link = self.link;
        core::mem::forget(self);
        link
    }
}

impl<T: Version> Drop for Reserved<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the slot was never filled.
        unsafe { self.arena.inner.slots.free_shared(self.cell.cast()) };
    }
}

impl<T> Clone for Arena<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<T> Drop for Inner<T> {
    fn drop(&mut self) {
        if self.disposed.load(Relaxed) {
            // SAFETY: dropped once, here; no link is followed any more, as `dispose` was promised.
            unsafe { ManuallyDrop::drop(&mut self.slots) };
        }
    }
}

impl<T: Version> Reclaim for Inner<T> {
    unsafe fn reclaim(&self, object: NonNull<u8>, worker: Option<usize>) {
        // SAFETY: a cell of this type that nobody uses any more; the shard is this worker's.
        unsafe {
            object.cast::<Cell<Versioned<T>>>().drop_in_place();
            match worker {
                Some(worker) => self.slots.free_on(worker, object),
                None => self.slots.free_shared(object),
            }
        }
    }
}
