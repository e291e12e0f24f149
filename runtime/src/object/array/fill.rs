//! Making the elements of an array, in parallel: each block by the worker that is its home, so that
//! its memory is placed at that worker's node.

use super::segments::Segments;
use crate::memory::TypedPages;
use crate::object::{Cell, Class};
use crate::scheduler::Runtime;
use crate::sync::{AtomicUsize, Relaxed};
use crate::task::quietly;
use alloc::vec::Vec;
use core::mem::take;
use core::ops::Range;
use core::ptr::NonNull;

/// Below this number of bytes, the calling thread makes all elements.
const MIN_PARALLEL_BYTES: usize = 128 << 10;
/// About how many bytes one task makes: a huge page.
const PIECE_BYTES: usize = crate::memory::pages::HUGE_PAGE;

/// Elements that one task makes.
struct Piece {
    range: Range<usize>,
    home: u16,
    /// How many of them are made. Written by the task when it ends.
    made: AtomicUsize,
}

/// Elements that are being made. Dropping this drops those that are made already.
struct Unfinished<'a, C: Class> {
    segments: &'a Segments<C>,
    pieces: Vec<Piece>,
}

/// Makes the elements in `range`. In memory to which old links may lead, none is an object before
/// all are made: after a panic they are dropped, and no task must be inside one then.
///
/// # Safety
///
/// The elements have memory, are not made yet, and no other thread makes them.
///
/// # Panics
///
/// Panics if `value` does, after the elements that it made were dropped.
pub(super) unsafe fn fill<C: Class>(
    segments: &Segments<C>,
    runtime: &Runtime,
    range: Range<usize>,
    value: impl Fn(usize) -> C::Target + Sync,
) {
    let bytes = range.len() * Segments::<C>::STRIDE;
    let mut unfinished = Unfinished { segments, pieces: cut(segments, range) };
    let pieces = &unfinished.pieces;
    // The memory was taken before this look.
    let has_old_links =
        TypedPages::may_have_old_links::<Cell<C>>() && !planted!("elements-live-while-others-are-made");
    // SAFETY: this function's contract; the pieces are disjoint, and each is made once.
    let make = |number: usize| unsafe {
        match has_old_links {
            true => make::<C, false>(segments, &pieces[number], &value),
            false => make::<C, true>(segments, &pieces[number], &value),
        }
    };
    if bytes < MIN_PARALLEL_BYTES {
        (0..pieces.len()).for_each(make);
    } else {
        runtime.run_pieces(pieces.len(), |number| pieces[number].home, &make);
    }
    let pieces = take(&mut unfinished.pieces);
    if has_old_links {
        let indices = pieces.into_iter().flat_map(|piece| piece.range);
        // SAFETY: all elements are placed. Nothing panics here.
        indices.for_each(|index| unsafe { revive_one(segments, index) });
    }
}

/// Cuts a range into pieces, each with one home.
fn cut<C>(segments: &Segments<C>, range: Range<usize>) -> Vec<Piece> {
    let most = (PIECE_BYTES / Segments::<C>::STRIDE).max(1);
    let mut pieces = Vec::new();
    let mut begin = range.start;
    while begin < range.end {
        let end = segments.block_end(begin).min(begin + most).min(range.end);
        let home = segments.reserved(begin).home() as u16;
        pieces.push(Piece { range: begin..end, home, made: AtomicUsize::new(0) });
        begin = end;
    }
    pieces
}

/// Makes the elements of a piece: objects, or all but that.
///
/// # Safety
///
/// As for [`fill`].
unsafe fn make<C: Class, const OBJECTS: bool>(
    segments: &Segments<C>,
    piece: &Piece,
    value: impl Fn(usize) -> C::Target,
) {
    let mut tally = Tally { count: 0, total: &piece.made };
    for index in piece.range.clone() {
        // SAFETY: forwarded.
        unsafe {
            match OBJECTS {
                true => make_one(segments, index, value(index)),
                false => place_one(segments, index, value(index)),
            }
        }
        tally.count += 1;
    }
}

/// Makes one element.
///
/// # Safety
///
/// As for [`fill`].
#[inline(always)]
pub(super) unsafe fn make_one<C: Class>(segments: &Segments<C>, index: usize, value: C::Target) {
    // SAFETY: the cell is within its segment, and this thread alone makes an object there. Its
    // memory was zeroed, or the last object unmade.
    unsafe {
        let cell = NonNull::new_unchecked(segments.reserved(index).cell::<C>());
        Cell::make(cell, C::new(value), segments.free_word);
    }
}

/// Makes one element, but for its header.
///
/// # Safety
///
/// As for [`fill`].
unsafe fn place_one<C: Class>(segments: &Segments<C>, index: usize, value: C::Target) {
    // SAFETY: as in `make_one`.
    unsafe {
        let cell = NonNull::new_unchecked(segments.reserved(index).cell::<C>());
        Cell::place(cell, C::new(value));
    }
}

/// Makes an element that was placed an object.
///
/// # Safety
///
/// Only this thread makes an object there.
unsafe fn revive_one<C: Class>(segments: &Segments<C>, index: usize) {
    // SAFETY: the cell is within its segment, and its value was placed.
    unsafe { (*segments.reserved(index).cell::<C>()).header.revive(segments.free_word) };
}

/// Counts elements, and stores the number also if the closure that makes them panics.
struct Tally<'a> {
    count: usize,
    total: &'a AtomicUsize,
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        // Relaxed: the thread that reads this has waited for the task.
        self.total.store(self.count, Relaxed);
    }
}

impl<C: Class> Drop for Unfinished<'_, C> {
    fn drop(&mut self) {
        for piece in &self.pieces {
            for index in piece.range.clone().take(piece.made.load(Relaxed)) {
                let cell = self.segments.reserved(index).cell::<C>();
                // SAFETY: the element was made, and no link leads to it, or it was only placed: so
                // nothing else uses it.
                quietly(|| unsafe { Cell::unmake(NonNull::new_unchecked(cell)) });
            }
        }
    }
}
