//! Arenas: bulk memory for the nodes of a data structure.

use super::class::{Class, Version, Versioned};
use super::primitive::{LegalFor, Primitive};
use super::reference::{Cell, Reference};
use super::{Link, OptimisticLatched};
use crate::annotation::Frequency;
use crate::memory::{Reclaim, Slots};
use crate::scheduler::{Context, Runtime, RuntimeState};
use crate::sync::{AtomicBool, Relaxed};
use alloc::sync::Arc;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, align_of};
use core::ptr::NonNull;

/// Memory for many nodes of one type. NUMA-aware, on huge pages where the platform has them, and
/// allocated without a lock on workers. A retired node is freed once no task can reach it.
///
/// Nodes do not count towards [`Builder::memory_limit`](crate::Builder::memory_limit), which is for
/// tasks. Where the platform has no more pages, [`try_reserve`](Self::try_reserve) returns `None`.
/// All other methods that make a node then end the process, as the global allocator does.
///
/// Clones share the arena. Dropping it drops no nodes and keeps their memory, as links may still be
/// followed. A data structure that has no more use for its nodes calls [`dispose`](Self::dispose).
pub struct Arena<T> {
    inner: Arc<ArenaInner<T>>,
}

struct ArenaInner<T> {
    slots: ManuallyDrop<Slots>,
    /// Whether `dispose` was called: the memory is freed with the last owner.
    disposed: AtomicBool,
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
        let layout = cell.align_to(align_of::<crate::sync::Padded<u8>>()).unwrap_or(cell);
        let slots = Slots::new(shared.platform.pages(), layout, shared.slots.len(), None);
        let slots = ManuallyDrop::new(slots);
        let disposed = AtomicBool::new(false);
        Self {
            inner: Arc::new(ArenaInner {
                slots,
                disposed,
                shared,
                primitive: P::PRIMITIVE,
                nodes: PhantomData,
            }),
        }
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
        self.assert_same_runtime(cx);
        let home = cx.worker();
        // SAFETY: a shard belongs to the worker of its index, which runs this thread.
        let slot = unsafe { self.inner.slots.alloc_on(home) }?;
        Some(self.reserved(slot, home as u16))
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
    /// before have run, including the follow-ups of their operations.
    ///
    /// # Safety
    ///
    /// The node came from this arena and was unlinked. No operation that begins from now on (a task
    /// spawned from outside, or with `begin_operation`) uses a link to it, whether found or passed
    /// on. Neither does a thread outside the runtime, or a task of another runtime. The node is
    /// retired once.
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

    /// Marks all memory of the arena to be freed at once, with the last clone and the last retired
    /// node. Nodes are not dropped one by one.
    ///
    /// # Safety
    ///
    /// No link to a node of this arena is followed any more. A resolved handle of a task does not
    /// imply that: a task with several objects releases them afterwards. The end of its runtime
    /// does.
    pub unsafe fn dispose(self) {
        // Relaxed: ordered by the reference count of the owners.
        self.inner.disposed.store(true, Relaxed);
    }

    /// Returns the arena's nodes and memory.
    pub fn stats(&self) -> ArenaStats {
        let stats = self.inner.slots.stats();
        let node_bytes = self.inner.slots.slot_bytes();
        ArenaStats { live: stats.live, node_bytes, bytes: stats.bytes, huge_bytes: stats.huge_bytes }
    }

    fn assert_same_runtime(&self, cx: &Context) {
        assert!(
            Arc::ptr_eq(&self.inner.shared, cx.worker.shared()),
            "an arena is used by a task of another runtime"
        );
    }
}

/// Memory for a node; see [`Arena::reserve`].
pub struct Reserved<'a, T: Version> {
    cell: NonNull<Cell<Versioned<T>>>,
    link: Link<T>,
    arena: &'a Arena<T>,
}

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
        // SAFETY: the slot is fresh and was laid out for this type.
        unsafe { self.cell.write(Cell::new(Versioned::new(value), self.arena.inner.shared.free_word)) };
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
        if self.disposed.load(Relaxed) {
            // SAFETY: dropped once, here. `dispose`'s caller has promised that no link is followed
            // any more.
            unsafe { ManuallyDrop::drop(&mut self.slots) };
        }
    }
}

impl<T: Version> Reclaim for ArenaInner<T> {
    unsafe fn reclaim(&self, object: NonNull<u8>, worker: Option<usize>) {
        // SAFETY: a cell of this type that is retired and unreachable; the shard is this worker's.
        unsafe {
            object.cast::<Cell<Versioned<T>>>().drop_in_place();
            match worker {
                Some(worker) => self.slots.free_on(worker, object),
                None => self.slots.free_shared(object),
            }
        }
    }
}
