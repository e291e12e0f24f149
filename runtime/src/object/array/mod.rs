//! Arrays: objects side by side, whose links are computed from their index.
//!
//! | file | what is in it |
//! |---|---|
//! | `builder` | the builder of an array |
//! | `fill` | making the elements, in parallel |
//! | `grower` | growing an array while it is used |
//! | `kept` | the segments of arrays that are gone |
//! | `links` | the links of an array in one word |
//! | `owner` | what owns the elements and their memory |
//! | `segments` | where the elements are |

mod builder;
mod fill;
mod grower;
mod kept;
mod links;
mod owner;
mod segments;

pub use builder::ArrayBuilder;
pub use grower::Grower;
pub use links::Links;

use super::class::{Class, Plain, Shared, Snapshot, Version, Versioned};
use super::{Link, Primitive};
use crate::annotation::{CACHE_LINE, Frequency, Part};
use crate::scheduler::Runtime;
use crate::sync::{Acquire, LatchWord};
use crate::task::{Read, Write};
use alloc::sync::Arc;
use core::marker::PhantomData;
use core::ptr::NonNull;
use owner::Owner;
use segments::Segments;

/// Objects side by side, found by their index: the buckets of a hash map, the vertices of a graph,
/// the rows of a table. Clones share the array.
///
/// The elements are [`Versioned`] unless the class `C` says otherwise. A [`Link`] to one is
/// computed in a few instructions, without a look at the element; it serves tasks and walks as a
/// link to a node of an [`Arena`](super::Arena) does. Elements of other classes are accessed by
/// [`read`](Self::read) and [`write`](Self::write), as an [`Object`](super::Object) is.
///
/// ```
/// use xtasking::{Runtime, Version, Word, arena::Array};
///
/// struct Counter(Word);
/// impl Version for Counter {}
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let counters = Array::new(&rt, 1000, |_index| Counter(Word::new(0)));
/// let group = rt.group();
/// for event in 0..5000 {
///     let counter = counters.link(event * event % 1000);
///     rt.task(counter.write()).of(&group).spawn(|counter, _cx| {
///         counter.0.set(counter.0.get() + 1, counter.token());
///     });
/// }
/// group.wait()?;
/// let total: u64 = (0..1000).map(|index| counters.peek(index).0.get()).sum();
/// assert_eq!(total, 5000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Memory
///
/// An element takes [`STRIDE`](Self::STRIDE) bytes: 16 of a header and the value, rounded up to
/// whole cache lines. So a value of 48 bytes fills one line. The memory is on huge pages where the
/// platform has them. It does not count towards
/// [`Builder::memory_limit`](crate::Builder::memory_limit).
///
/// Each worker is the [home](Self::home) of a contiguous block of elements, and makes them, so that
/// their memory is at its NUMA node where pages are placed by the first touch.
///
/// When the last clone of an array is dropped, so are the elements, and their memory goes back to
/// the system: once all operations that began before are over, as for an [`Arena`](super::Arena).
/// Tasks that come later by a link fail with [`JoinError::Freed`](crate::JoinError::Freed). The
/// addresses of versioned elements stay reserved, as those of an arena do, and so do a few hundred
/// bytes that describe the array.
///
/// # Growth
///
/// A [`grower`](Self::grower) appends elements while others are used. They lie in further segments,
/// each twice as large as the one before. Elements that the array was made with are found faster
/// than appended ones.
pub struct Array<T, C = Versioned<T>> {
    /// The owner's segments: one access less for each link.
    segments: NonNull<Segments<C>>,
    owner: Arc<Owner<C>>,
    elements: PhantomData<fn() -> T>,
}

// SAFETY: an array shares its segments and owner, which are `Send` and `Sync` if `C` is.
unsafe impl<T, C: Send + Sync> Send for Array<T, C> {}
// SAFETY: as for `Send`.
unsafe impl<T, C: Send + Sync> Sync for Array<T, C> {}

impl<T: Version> Array<T> {
    /// Makes an array of `len` elements with latched writers; [`builder`](Self::builder) says
    /// otherwise. `value` makes each element from its index.
    ///
    /// `value` runs on the workers, at the same time for different blocks of elements, and this
    /// call waits for them. A small array is made by the calling thread, and so is any array if
    /// that is a worker, which must not wait.
    ///
    /// Without memory for the array, the process ends, as with the global allocator;
    /// [`try_new`](Self::try_new) returns `None` then.
    ///
    /// # Panics
    ///
    /// Panics if `value` does. The elements that were made are dropped first.
    pub fn new(runtime: &Runtime, len: usize, value: impl Fn(usize) -> T + Send + Sync) -> Self {
        Self::builder(runtime).build(len, value)
    }

    /// Makes an array as [`new`](Self::new) does. Returns `None` if there is no memory for it.
    ///
    /// # Panics
    ///
    /// Panics if `value` does.
    pub fn try_new(runtime: &Runtime, len: usize, value: impl Fn(usize) -> T + Send + Sync) -> Option<Self> {
        Self::builder(runtime).try_build(len, value)
    }

    /// Begins an array of versioned elements, with its annotations.
    pub fn builder(runtime: &Runtime) -> ArrayBuilder<'_, T, Versioned<T>> {
        ArrayBuilder::new(runtime)
    }

    /// Returns the link to an element.
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    #[inline(always)]
    #[track_caller]
    pub fn link(&self, index: usize) -> Link<T> {
        Link::from_reference(self.segments().reference(index))
    }

    /// Returns the index of the element that a link leads to, whatever its mark and frequency;
    /// `None` if that is no element of this array.
    #[inline]
    pub fn index_of(&self, link: Link<T>) -> Option<usize> {
        self.segments().index_of(link.reference().address())
    }

    /// Returns the array's links in one word, for walks and tasks.
    pub fn links(&self) -> Links<T> {
        Links::new(self.segments)
    }

    /// Returns an element, outside of any task. It may be changing meanwhile, as for an optimistic
    /// reader that never validates.
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    #[track_caller]
    pub fn peek(&self, index: usize) -> &T {
        // SAFETY: this array keeps its elements alive, and versioned data may be read at any time.
        unsafe { self.link(index).follow() }
    }
}

impl<T: Send + 'static> Array<T, Plain<T>> {
    /// Begins an array of elements that one task at a time accesses.
    pub fn plain(runtime: &Runtime) -> ArrayBuilder<'_, T, Plain<T>> {
        ArrayBuilder::new(runtime)
    }
}

impl<T: Send + Sync + 'static> Array<T, Shared<T>> {
    /// Begins an array of elements that several tasks may read at once.
    pub fn shared_reads(runtime: &Runtime) -> ArrayBuilder<'_, T, Shared<T>> {
        ArrayBuilder::new(runtime)
    }
}

impl<T: bytemuck::Pod + Send> Array<T, Snapshot<T>> {
    /// Begins an array of small plain-old data, each read and written as a whole.
    pub fn snapshot(runtime: &Runtime) -> ArrayBuilder<'_, T, Snapshot<T>> {
        ArrayBuilder::new(runtime)
    }
}

impl<T, C: Class<Target = T>> Array<T, C> {
    /// Bytes from one element to the next, with the header: a multiple of 64.
    pub const STRIDE: usize = Segments::<C>::STRIDE;

    fn new_from(owner: Owner<C>) -> Self {
        Self { segments: owner.segments_address(), owner: Arc::new(owner), elements: PhantomData }
    }

    #[inline(always)]
    fn segments(&self) -> &Segments<C> {
        // SAFETY: the owner, which this array shares, keeps its segments.
        unsafe { self.segments.as_ref() }
    }

    /// Returns a read access to an element for a task.
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    #[track_caller]
    pub fn read(&self, index: usize) -> Read<'_, C> {
        Read::new(self.segments().reference(index), self.whole_element(), self.runtime_address())
    }

    /// Returns a write access to an element for a task.
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    #[track_caller]
    pub fn write(&self, index: usize) -> Write<'_, C> {
        Write::new(self.segments().reference(index), self.whole_element(), self.runtime_address())
    }

    /// Returns the lines of an element that are prefetched by default, as for an object.
    fn whole_element(&self) -> Part {
        if self.segments().frequency() == Frequency::High {
            return Part::NONE;
        }
        let bytes = Self::STRIDE.min(super::builder::MAX_WHOLE_PREFETCH_BYTES);
        Part::lines(0, bytes.div_ceil(CACHE_LINE) as u16)
    }

    /// Returns the address by which accesses name the runtime.
    fn runtime_address(&self) -> usize {
        Arc::as_ptr(&self.owner.shared).addr()
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.segments().len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the primitive of the elements.
    pub fn primitive(&self) -> Primitive {
        self.segments().primitive()
    }

    /// Returns the index of the worker that is an element's home: it runs the element's sequenced
    /// tasks, and is at the NUMA node of its memory.
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    #[track_caller]
    pub fn home(&self, index: usize) -> usize {
        self.segments().reference(index).home()
    }

    /// Returns true if a task panicked while it wrote the element in place. Later tasks on it fail
    /// with [`JoinError::Poisoned`](crate::JoinError::Poisoned).
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    #[track_caller]
    pub fn is_poisoned(&self, index: usize) -> bool {
        self.latch(index).is_poisoned()
    }

    /// Clears the poison of an element, as [`Object::clear_poison`](crate::Object::clear_poison)
    /// does.
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    #[track_caller]
    pub fn clear_poison(&self, index: usize) {
        self.latch(index).clear_poison();
    }

    #[track_caller]
    fn latch(&self, index: usize) -> &LatchWord {
        // SAFETY: this array keeps its elements alive.
        unsafe { &self.segments().reference(index).header().latch }
    }

    /// Returns the bytes of memory reserved for elements.
    pub fn bytes(&self) -> usize {
        self.owner.bytes().0
    }

    /// Returns how many of the [bytes](Self::bytes) are on huge pages, as far as the platform
    /// knows.
    pub fn huge_bytes(&self) -> usize {
        self.owner.bytes().1
    }

    /// Returns the grower of the array; `None` while there is another one.
    pub fn grower(&self) -> Option<Grower<T, C>> {
        // Acquire pairs with the Release of the last grower's drop, whose work is seen.
        let is_free = !self.owner.has_grower.swap(true, Acquire);
        is_free.then(|| Grower::new(self.clone()))
    }

    /// Ends the process: there is no memory for elements that a caller needs.
    fn out_of_memory(&self, elements: usize) -> ! {
        builder::out_of_memory::<C>(elements)
    }
}

impl<T, C> Clone for Array<T, C> {
    fn clone(&self) -> Self {
        Self { owner: self.owner.clone(), ..*self }
    }
}

impl<T, C: Class<Target = T>> core::fmt::Debug for Array<T, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (len, primitive) = (self.len(), self.primitive());
        f.debug_struct("Array").field("len", &len).field("primitive", &primitive).finish_non_exhaustive()
    }
}
