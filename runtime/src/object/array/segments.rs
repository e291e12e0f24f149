//! Where the elements of an array are: its segments, and the word of an element by its index.
//!
//! The first segment has the elements that the array was made with. Later segments are twice as
//! large each: with a *unit* of `1 << unit_shift` elements, segment `s` behind the first one has
//! `unit << s`. No segment ever moves.
//!
//! ```text
//! index   0 .. first_len | + unit | + 2 unit | + 4 unit …
//!         first          | 0      | 1        | 2
//! ```
//!
//! An element's word ([`Reference`]) is that of its segment plus `offset * STRIDE` for the address,
//! plus `offset * homes` for the home, of which the lower bits are masked out. `homes` is the
//! number of workers per element, with 48 fractional bits. So each worker is the home of a
//! contiguous block of the first segment. A later segment is filled bit by bit, so the workers take
//! turns there: its blocks have about [`HUGE_PAGE`] bytes if it is large. A *cycle* has one block
//! of each worker.
//!
//! Readers need no lock: `len` is stored (Release) after the elements below it were made and after
//! the words of their segments. A reader that finds an index below `len` (Acquire) sees both.

use crate::annotation::Frequency;
use crate::memory::pages::HUGE_PAGE;
use crate::object::reference::HOME_SHIFT;
use crate::object::{Cell, FreeWord, MAX_HOMES, Primitive, Reference};
use crate::sync::{Acquire, AtomicU64, AtomicUsize, Relaxed, Release};
use core::marker::PhantomData;
use core::mem::size_of;
use core::ptr::NonNull;

/// The bits of a word that have the home.
const HOME_MASK: u64 = (MAX_HOMES as u64 - 1) << HOME_SHIFT;
/// Segments behind the first. Another one would have more bytes than 48-bit addresses reach.
const LATER_SEGMENTS: usize = (HOME_SHIFT - MIN_SEGMENT_BYTES.ilog2()) as usize;
/// The least bytes of a segment behind the first.
const MIN_SEGMENT_BYTES: usize = 64 << 10;

#[derive(Clone, Copy)]
struct Segment {
    /// The word of element 0.
    base: u64,
    /// Workers per element of a cycle.
    homes: u64,
    /// Number of elements.
    len: usize,
    /// Number of elements of a cycle: a power of two, or `len` for the first segment.
    cycle: usize,
}

/// The segments of an array of objects of class `C`. What a link
/// is computed from lies in one cache line, which changes only when the array grows.
#[repr(C, align(64))]
pub(super) struct Segments<C> {
    first: Segment,
    len: AtomicUsize,
    workers: usize,
    unit_shift: u32,
    /// The largest cycle, as a power of two.
    cycle_shift: u32,
    primitive: Primitive,
    frequency: Frequency,
    is_kept_on_panic: bool,
    pub free_word: FreeWord,
    /// The words of the segments behind the first; 0 where there is none yet. Written by the one
    /// grower.
    later: [AtomicU64; LATER_SEGMENTS],
    elements: PhantomData<fn() -> C>,
}

/// All that segments say which have not grown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Geometry {
    /// The address, and what all elements have in common.
    base: u64,
    len: usize,
    workers: usize,
    free_word: FreeWord,
}

/// What an array is made with, besides its elements.
pub(super) struct Parameters {
    pub first_len: usize,
    pub workers: usize,
    pub primitive: Primitive,
    pub frequency: Frequency,
    pub is_kept_on_panic: bool,
    pub free_word: FreeWord,
}

impl<C> Segments<C> {
    /// Bytes from one element to the next.
    pub const STRIDE: usize = size_of::<Cell<C>>();

    /// Creates the segments of an array without elements so far. `first` is the memory of the first
    /// segment, which has `parameters.first_len` cells.
    pub fn new(first: NonNull<Cell<C>>, parameters: Parameters) -> Self {
        let Parameters { first_len, workers, primitive, frequency, is_kept_on_panic, free_word } = parameters;
        let unit = first_len.max(MIN_SEGMENT_BYTES.div_ceil(Self::STRIDE)).next_power_of_two();
        // Rounded down: multiplied with an offset, it is less than `workers`.
        let homes = ((workers as u64) << HOME_SHIFT) / (first_len as u64).max(1);
        let mut segments = Self {
            first: Segment { base: 0, homes, len: first_len, cycle: first_len },
            len: AtomicUsize::new(0),
            later: core::array::from_fn(|_| AtomicU64::new(0)),
            unit_shift: unit.ilog2(),
            cycle_shift: (workers * (HUGE_PAGE / Self::STRIDE).max(1)).next_power_of_two().ilog2(),
            workers,
            primitive,
            frequency,
            is_kept_on_panic,
            free_word,
            elements: PhantomData,
        };
        segments.first.base = segments.base_of(first, first_len);
        segments
    }

    /// Returns the word of element 0 of a segment.
    fn base_of(&self, cells: NonNull<Cell<C>>, len: usize) -> u64 {
        let base = Reference::new(cells, self.primitive, self.frequency, 0)
            .with_kept_on_panic(self.is_kept_on_panic);
        let end = base.address() + (len * Self::STRIDE) as u64;
        assert!(end <= 1 << HOME_SHIFT, "an array's end does not fit into 48 bits");
        base.0
    }

    /// Returns what these segments say, as long as they have not grown.
    pub fn geometry(&self) -> Geometry {
        let Self { first, workers, free_word, .. } = *self;
        Geometry { base: first.base, len: first.len, workers, free_word }
    }

    /// Returns true if there are segments behind the first.
    pub fn has_grown(&self) -> bool {
        self.later[0].load(Relaxed) != 0
    }

    /// Returns the number of elements in each segment that has memory, for the last owner.
    pub fn made(&self) -> impl Iterator<Item = usize> {
        let mut left = self.len();
        let later = (0..LATER_SEGMENTS).map(|number| self.unit().saturating_mul(1 << number));
        let lens = Some(self.first.len).filter(|len| *len != 0).into_iter().chain(later);
        lens.map(move |len| {
            let made = len.min(left);
            left -= made;
            made
        })
    }

    pub fn primitive(&self) -> Primitive {
        self.primitive
    }

    pub fn frequency(&self) -> Frequency {
        self.frequency
    }

    /// Returns the number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        // Acquire pairs with the Release of `set_len`.
        self.len.load(Acquire)
    }

    /// Publishes the elements below `len`. Only the array's maker and its one grower call this.
    pub fn set_len(&self, len: usize) {
        // Release pairs with the Acquire of `len`: the elements are made, and their segments set.
        let order = if planted!("array-published-early") { Relaxed } else { Release };
        self.len.store(len, order);
    }

    /// Returns an element's reference.
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    #[inline(always)]
    #[track_caller]
    pub fn reference(&self, index: usize) -> Reference {
        if index < self.first.len {
            self.first.element::<C>(index, index)
        } else {
            self.later_reference(index)
        }
    }

    #[inline(always)]
    #[track_caller]
    fn later_reference(&self, index: usize) -> Reference {
        let len = self.len();
        if index >= len {
            out_of_bounds(index, len);
        }
        self.later_reserved(index)
    }

    /// Returns the reference that an element has or will have. Its segment must have memory.
    #[inline(always)]
    pub fn reserved(&self, index: usize) -> Reference {
        if index < self.first.len {
            self.first.element::<C>(index, index)
        } else {
            self.later_reserved(index)
        }
    }

    /// Returns the reference of an element behind the first segment.
    #[inline(always)]
    fn later_reserved(&self, index: usize) -> Reference {
        // With another `unit` before it, segment `s` begins at `unit << s`: a power of two, of
        // which the segment's cycle is a divisor.
        let from_unit = index - self.first.len + self.unit();
        let segment = self.later_segment(from_unit.ilog2() - self.unit_shift);
        segment.element::<C>(from_unit - segment.len, from_unit & (segment.cycle - 1))
    }

    /// Returns the segment of an element, and its offset there.
    fn locate(&self, index: usize) -> (Segment, usize) {
        let Some(beyond) = index.checked_sub(self.first.len) else { return (self.first, index) };
        let number = ((beyond >> self.unit_shift) + 1).ilog2();
        let segment = self.later_segment(number);
        (segment, beyond - (segment.len - self.unit()))
    }

    /// Returns a segment behind the first, which must have memory.
    #[inline(always)]
    fn later_segment(&self, number: u32) -> Segment {
        // Relaxed: a reader has read `len` with Acquire; the grower has written this itself.
        let base = self.later[number as usize].load(Relaxed);
        let len = self.unit() << number;
        let cycle_shift = self.cycle_shift.min(self.unit_shift + number);
        let homes = ((self.workers as u64) << HOME_SHIFT) >> cycle_shift;
        Segment { base, homes, len, cycle: 1 << cycle_shift }
    }

    #[inline(always)]
    fn unit(&self) -> usize {
        1 << self.unit_shift
    }

    /// Returns the number of elements that fit into the memory of all segments. Only the one grower
    /// calls this.
    pub fn capacity(&self) -> usize {
        // Relaxed: only the one grower writes these. A segment gets memory after those before it.
        let has_memory = |base: &&AtomicU64| base.load(Relaxed) != 0;
        let segments = self.later.iter().take_while(has_memory).count();
        self.first.len + (self.unit() << segments) - self.unit()
    }

    /// Returns the number and the elements of the first segment that must get memory, so that the
    /// array can have `len` elements.
    pub fn next_missing(&self, len: usize) -> Option<(usize, usize)> {
        let beyond = len.checked_sub(self.first.len + 1)?;
        let last = ((beyond >> self.unit_shift) + 1).ilog2() as usize;
        // Relaxed: only the one grower writes these.
        let is_missing = |number: &usize| self.later.get(*number).is_none_or(|base| base.load(Relaxed) == 0);
        let missing = (0..=last).find(is_missing)?;
        Some((missing, 1usize.checked_shl(self.unit_shift + missing as u32).unwrap_or(usize::MAX)))
    }

    /// Gives memory to a segment that was missing.
    pub fn add(&self, number: usize, cells: NonNull<Cell<C>>) {
        let base = self.base_of(cells, self.unit() << number);
        // Relaxed: published by `set_len`.
        self.later[number].store(base, Relaxed);
    }

    /// Returns the end of the block of elements from `index` on that have the same home and lie in
    /// the same segment.
    pub fn block_end(&self, index: usize) -> usize {
        let (segment, offset) = self.locate(index);
        let in_cycle = segment.in_cycle(offset);
        let home = segment.element::<C>(offset, in_cycle).home() as u64;
        // The first offset with `offset * homes >= (home + 1) << HOME_SHIFT`.
        let end = ((home + 1) << HOME_SHIFT).div_ceil(segment.homes) as usize;
        index - in_cycle + end.min(segment.cycle)
    }

    /// Returns the index of the element at an address.
    #[inline]
    pub fn index_of(&self, address: u64) -> Option<usize> {
        let bytes = address.wrapping_sub(Reference(self.first.base).address()) as usize;
        if bytes < self.first.len * Self::STRIDE {
            return Some(bytes / Self::STRIDE);
        }
        self.later_index_of(address)
    }

    #[inline(never)]
    fn later_index_of(&self, address: u64) -> Option<usize> {
        let len = self.len();
        let mut begin = self.first.len;
        while begin < len {
            let (segment, _) = self.locate(begin);
            let bytes = address.wrapping_sub(Reference(segment.base).address()) as usize;
            if bytes < segment.len * Self::STRIDE {
                return Some(begin + bytes / Self::STRIDE).filter(|&index| index < len);
            }
            begin += segment.len;
        }
        None
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn out_of_bounds(index: usize, len: usize) -> ! {
    panic!("index {index} is out of bounds of an array of {len} elements")
}

impl Segment {
    /// Returns the reference of an element by its offset in the segment and in the cycle.
    #[inline(always)]
    fn element<C>(self, offset: usize, in_cycle: usize) -> Reference {
        let home = (in_cycle as u64 * self.homes) & HOME_MASK;
        Reference(self.base + (offset * Segments::<C>::STRIDE) as u64 + home)
    }

    fn in_cycle(self, offset: usize) -> usize {
        // The first segment is one cycle of any length.
        if self.cycle == self.len { offset } else { offset & (self.cycle - 1) }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests;
