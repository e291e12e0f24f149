//! Arenas: bulk memory for the nodes of a data structure.

use super::class::{Class, Version, Versioned};
use super::primitive::{LegalFor, Primitive};
use super::reference::{Cell, Reference};
use super::remains::{Estate, Remains};
use super::{Link, OptimisticLatched};
use crate::annotation::Frequency;
use crate::memory::{Kind, PageSource, Reclaim, Slots, TypedPages};
use crate::scheduler::{Context, Runtime, RuntimeState};
use alloc::sync::Arc;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::align_of;
use core::ptr::NonNull;

/// Memory for many nodes of one type. NUMA-aware, on huge pages where the platform has them, and
/// allocated without a lock on workers. A retired node is freed once no task can reach it. Memory
/// in which no node is left goes back to the system, but for some that is kept for the next nodes.
///
/// Nodes do not count towards [`Builder::memory_limit`](crate::Builder::memory_limit), which is for
/// tasks. Where the platform has no more pages, [`try_reserve`](Self::try_reserve) returns `None`.
/// All other methods that make a node then end the process, as the global allocator does.
///
/// Clones share the arena. When the last one is dropped, so are the nodes, and their memory goes
/// back to the system: once all operations that began before are over, as for
/// [`retire`](Self::retire). A task that comes later by a link fails with
/// [`JoinError::Freed`](crate::JoinError::Freed).
///
/// The addresses of nodes stay reserved for nodes of the same type, so that an old link never leads
/// to anything else. It may lead to a node of a later arena. Addresses of [sequenced](Primitive)
/// nodes are not used again. Without virtual memory, as with
/// [`GlobalPages`](crate::platform::GlobalPages), that is also true of the memory itself.
pub struct Arena<T> {
    inner: Arc<ArenaInner<T>>,
}

struct ArenaInner<T> {
    slots: Slots,
    /// Where the memory comes from.
    source: Arc<dyn PageSource>,
    /// Drops a node, and clears its header.
    unmake: unsafe fn(NonNull<u8>),
    shared: Arc<RuntimeState>,
    primitive: Primitive,
    nodes: PhantomData<fn() -> T>,
}

/// The nodes and memory of an arena at one moment; approximate while it is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaStats {
    /// Nodes that are allocated, including retired ones that are not freed yet.
    pub live: usize,
    /// Bytes of a node, including its header.
    pub node_bytes: usize,
    /// Bytes of memory reserved.
    pub bytes: usize,
    /// Those of them on huge pages, as far as the platform knows.
    pub huge_bytes: usize,
    /// Those of them that take memory: nodes were there, and it was not given back to the system
    /// since. On a huge page one node is enough.
    pub resident_bytes: usize,
}

impl<T: Version> Arena<T> {
    /// Creates an arena for nodes with latched writers; see
    /// [`with_primitive`](Self::with_primitive).
    pub fn new(runtime: &Runtime) -> Self {
        Self::with_primitive(runtime, OptimisticLatched)
    }

    /// Creates an arena for nodes with the given primitive.
    pub fn with_primitive<P: LegalFor<Versioned<T>>>(runtime: &Runtime, _: P) -> Self {
        let shared = runtime.shared().clone();
        let cell = Layout::new::<Cell<Versioned<T>>>();
        // Cache lines are prefetched in pairs, so a node should begin with a pair.
        let layout = cell.align_to(align_of::<crate::sync::Padded<u8>>()).unwrap_or(cell).pad_to_align();
        let primitive = P::PRIMITIVE;
        let source = typed_pages::<Versioned<T>>(&shared, layout.size(), primitive);
        let slots = Slots::new(source.clone(), layout, shared.slots.len(), None);
        debug_assert_eq!(slots.slot_bytes(), layout.size());
        let unmake = unmake::<Versioned<T>>;
        Self { inner: Arc::new(ArenaInner { slots, source, unmake, shared, primitive, nodes: PhantomData }) }
    }

    /// Returns the primitive of the nodes.
    pub fn primitive(&self) -> Primitive {
        self.inner.primitive
    }

    /// Makes a new node, from a task. Its home is this worker.
    ///
    /// # Panics
    ///
    /// Panics if the task belongs to another runtime.
    pub fn alloc(&self, value: T, cx: &mut Context) -> Link<T> {
        self.reserve(cx).fill(value)
    }

    /// Reserves memory for a new node, so that its link is known before its value.
    ///
    /// # Panics
    ///
    /// Panics if the task belongs to another runtime.
    pub fn reserve(&self, cx: &mut Context) -> Reserved<'_, T> {
        self.try_reserve(cx).unwrap_or_else(|| self.out_of_memory())
    }

    /// Reserves a node as [`reserve`](Self::reserve) does. Returns `None` if there is no memory
    /// left.
    ///
    /// # Panics
    ///
    /// Panics if the task belongs to another runtime.
    pub fn try_reserve(&self, cx: &mut Context) -> Option<Reserved<'_, T>> {
        self.try_reserve_for(cx.worker() as u16, cx)
    }

    /// Reserves a node with the given home.
    pub(super) fn try_reserve_for(&self, home: u16, cx: &mut Context) -> Option<Reserved<'_, T>> {
        self.assert_same_runtime(cx);
        // SAFETY: a shard belongs to the worker of its index, which runs this thread.
        let slot = unsafe { self.inner.slots.alloc_on(cx.worker()) }?;
        Some(self.reserved(slot, home))
    }

    /// Makes a new node, from a thread outside the runtime. Homes are assigned round-robin.
    pub fn alloc_outside(&self, value: T) -> Link<T> {
        self.reserve_outside().fill(value)
    }

    /// Reserves a node as [`reserve`](Self::reserve) does, from a thread outside the runtime.
    pub fn reserve_outside(&self) -> Reserved<'_, T> {
        self.try_reserve_outside().unwrap_or_else(|| self.out_of_memory())
    }

    /// Reserves a node as [`reserve_outside`](Self::reserve_outside) does. Returns `None` if there
    /// is no memory left.
    pub fn try_reserve_outside(&self) -> Option<Reserved<'_, T>> {
        let slot = self.inner.slots.alloc_shared()?;
        Some(self.reserved(slot, self.inner.shared.next_home(None)))
    }

    /// Ends the process: there is no memory for a node that the caller needs.
    #[cold]
    fn out_of_memory(&self) -> ! {
        alloc::alloc::handle_alloc_error(self.inner.slots.layout())
    }

    fn reserved(&self, slot: NonNull<u8>, home: u16) -> Reserved<'_, T> {
        let cell = slot.cast::<Cell<Versioned<T>>>();
        let link = Link::from_reference(Reference::new(cell, self.inner.primitive, Frequency::Normal, home));
        Reserved { cell, link, arena: self }
    }

    /// Retires a node: frees it when no task can reach it any more. That is when all tasks spawned
    /// before have run, including the follow-ups of their operations, and all
    /// [readers](crate::arena::Reader) made before are dropped.
    ///
    /// # Safety
    ///
    /// The node came from this arena and was unlinked. No operation that begins from now on uses a
    /// link to it, whether found or passed on. An operation is a task spawned from outside or with
    /// `begin_operation`, a walk that a [bundle](crate::bundle::Bundle) spawned so takes up (its
    /// bundle is none), or a [reader](crate::arena::Reader). A walk may use the link at which it
    /// begins under the exception that [`begin_operation`] names. A thread outside the runtime that
    /// has no reader of it, or a task of another runtime, uses no link to it either. The node is
    /// retired once.
    ///
    /// [`begin_operation`]: crate::TaskBuilder::begin_operation
    ///
    /// # Panics
    ///
    /// Panics if the task belongs to another runtime.
    pub unsafe fn retire(&self, link: Link<T>, cx: &mut Context) {
        self.assert_same_runtime(cx);
        // SAFETY: the address of a cell is not null.
        let slot = unsafe { NonNull::new_unchecked(link.reference().cell::<Versioned<T>>().cast()) };
        // SAFETY: this function's contract: the node came from this arena, and was unlinked.
        unsafe { cx.worker.retire(slot, self.inner.clone()) };
    }

    /// Returns the arena's nodes and memory.
    pub fn stats(&self) -> ArenaStats {
        let stats = self.inner.slots.stats();
        let node_bytes = self.inner.slots.slot_bytes();
        ArenaStats {
            live: stats.live,
            node_bytes,
            bytes: stats.bytes,
            huge_bytes: stats.huge_bytes,
            resident_bytes: stats.resident_bytes,
        }
    }

    pub(super) fn slots(&self) -> &Slots {
        &self.inner.slots
    }

    pub(super) fn assert_same_runtime(&self, cx: &Context) {
        assert!(
            Arc::ptr_eq(&self.inner.shared, cx.worker.shared()),
            "an arena is used by a task of another runtime"
        );
    }
}

/// Memory for a node; see [`Arena::reserve`].
#[must_use = "memory that is not filled is given back"]
pub struct Reserved<'a, T: Version> {
    cell: NonNull<Cell<Versioned<T>>>,
    link: Link<T>,
    arena: &'a Arena<T>,
}

// SAFETY: it owns the slot, which any thread may fill or free, with a value that may be sent: data
// of a `Version` is `Send`.
unsafe impl<T: Version> Send for Reserved<'_, T> {}

impl<T: Version> Reserved<'_, T> {
    /// Returns the link that the node will have.
    ///
    /// # Safety
    ///
    /// The link is not followed, and no task with it is spawned, before [`fill`](Self::fill).
    pub unsafe fn link(&self) -> Link<T> {
        self.link
    }

    /// Makes the node.
    pub fn fill(self, value: T) -> Link<T> {
        // SAFETY: the slot was allocated for this node alone, and is laid out for its type. It was
        // zeroed, or its last node was unmade.
        unsafe { Cell::make(self.cell, Versioned::new(value), self.arena.inner.shared.free_word) };
        let link = self.link;
        core::mem::forget(self);
        link
    }
}

impl<T: Version> Drop for Reserved<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the slot was never filled, and `self` is its only user.
        unsafe { self.arena.inner.slots.free_shared(self.cell.cast()) };
    }
}

impl<T> Clone for Arena<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<T> Drop for ArenaInner<T> {
    fn drop(&mut self) {
        if cfg!(model = "loom") {
            // Loom's atomics are no plain words, so headers cannot be told from free memory. Its
            // models follow no link of an arena that is gone.
            return;
        }
        let estate = Estate {
            shared: self.shared.clone(),
            source: self.source.clone(),
            runs: self.slots.take_regions(),
            stride: self.slots.slot_bytes(),
            unmake: self.unmake,
            has_links: true,
        };
        // SAFETY: this is the last owner, and retired nodes count as owners. Slots without a node
        // were zeroed, or their last node was unmade. Nodes are `Send`.
        unsafe { Remains::leave(estate) };
    }
}

/// Returns a source for the cells of an arena or array: one that keeps the addresses, if links may
/// lead there.
pub(super) fn typed_pages<C: Class>(
    shared: &RuntimeState,
    stride: usize,
    primitive: Primitive,
) -> Arc<dyn PageSource> {
    let source = shared.platform.pages();
    if !C::HAS_LINKS || cfg!(model = "loom") {
        return source;
    }
    let kind = if primitive.is_sequenced() { Kind::Sequenced } else { Kind::Latched(primitive as u8) };
    Arc::new(TypedPages::new::<Cell<C>>(source, stride, kind))
}

/// Drops the object in a cell, and clears its header.
///
/// # Safety
///
/// As for [`Cell::unmake`]; the cell has an object of class `C`.
pub(super) unsafe fn unmake<C>(cell: NonNull<u8>) {
    // SAFETY: this function's contract.
    unsafe { Cell::<C>::unmake(cell.cast()) };
}

impl<T: Version> Reclaim for ArenaInner<T> {
    unsafe fn reclaim(self: Arc<Self>, object: NonNull<u8>, worker: Option<usize>) {
        // SAFETY: a cell of this type that is retired and unreachable; the shard is this worker's.
        unsafe {
            (self.unmake)(object);
            match worker {
                Some(worker) => self.slots.free_on(worker, object),
                None => self.slots.free_shared(object),
            }
        }
    }

    unsafe fn after_reclaim(&self, worker: usize) {
        // SAFETY: the shard is this worker's.
        unsafe { self.slots.flush_if_sorting(worker) };
    }
}
