//! A buddy allocator: the page frames of one run of memory.
//!
//! Free frames are in blocks of 2^n frames at multiples of their size. A block that is needed
//! smaller is halved; two halves that are free become one again. The lists of free blocks go
//! through the blocks themselves. A byte for each frame says whether a free block begins there;
//! these bytes are at the beginning of the run.

use super::{PAGE, Span};

/// Blocks have 2^0 to 2^18 frames: up to 1 GiB.
pub(crate) const ORDERS: usize = 19;

/// The state of a frame at which no free block begins.
const NOT_FREE: u8 = u8::MAX;
/// The end of a list.
const NONE: usize = usize::MAX;

/// The links of a free block, at its beginning: frame numbers.
#[derive(Clone, Copy)]
struct Links {
    next: usize,
    before: usize,
}

/// The frames of a run of memory.
pub(crate) struct Zone {
    /// The first frame's number: its address divided by the size of a page.
    first: usize,
    /// The number of frames.
    frames: usize,
    /// The state of each frame: [`NOT_FREE`], or the order of the free block that begins there.
    states: *mut u8,
    /// The first free block of each order.
    lists: [usize; ORDERS],
    /// The number of free frames.
    free: usize,
}

// SAFETY: the zone owns its run of memory, which any core may access.
unsafe impl Send for Zone {}

impl Zone {
    /// Makes a zone of a run of whole pages. Returns `None` if the run is too short for that.
    ///
    /// # Safety
    ///
    /// The run is mapped, aligned to pages, and nothing else uses it from now on.
    pub unsafe fn new(span: Span) -> Option<Self> {
        let frames = span.bytes() / PAGE;
        let state_pages = frames.div_ceil(PAGE);
        if frames <= state_pages {
            return None;
        }
        let states = core::ptr::with_exposed_provenance_mut::<u8>(span.start);
        // SAFETY: the run is this zone's, and has a byte for each of its frames.
        unsafe { states.write_bytes(NOT_FREE, frames) };
        let first = span.start / PAGE;
        let mut zone = Self { first, frames, states, lists: [NONE; ORDERS], free: 0 };
        for (frame, order) in blocks(first + state_pages, first + frames) {
            zone.push(frame, order);
            zone.free += 1 << order;
        }
        Some(zone)
    }

    /// Returns the number of free frames.
    pub fn free(&self) -> usize {
        self.free
    }

    /// Takes a block of 2^`order` frames. Returns its address, or `None` if there is none.
    pub fn take(&mut self, order: usize) -> Option<usize> {
        let found = (order..ORDERS).find(|&order| self.lists[order] != NONE)?;
        let frame = self.lists[found];
        self.unlink(frame, found);
        for half in (order..found).rev() {
            self.push(frame + (1 << half), half);
        }
        self.free -= 1 << order;
        Some(frame * PAGE)
    }

    /// Puts a block back.
    ///
    /// # Safety
    ///
    /// The block came from [`take`](Self::take) of this zone with this order, or is an aligned part
    /// of such a block, and is not used any longer.
    unsafe fn put_back(&mut self, address: usize, mut order: usize) {
        let mut frame = address / PAGE;
        self.free += 1 << order;
        while order + 1 < ORDERS {
            let other = frame ^ 1 << order;
            let is_inside = other >= self.first && other + (1 << order) <= self.first + self.frames;
            if !is_inside || self.state(other) != order as u8 {
                break;
            }
            self.unlink(other, order);
            frame = frame.min(other);
            order += 1;
        }
        self.push(frame, order);
    }

    /// Puts frames back that are part of a block.
    ///
    /// # Safety
    ///
    /// The frames are in a block that came from [`take`](Self::take) of this zone, and are not used
    /// any longer.
    pub unsafe fn put_back_part(&mut self, address: usize, frames: usize) {
        let first = address / PAGE;
        for (frame, order) in blocks(first, first + frames) {
            // SAFETY: an aligned part, by the contract of this function.
            unsafe { self.put_back(frame * PAGE, order) };
        }
    }

    fn state(&self, frame: usize) -> u8 {
        // SAFETY: callers pass frames of this zone, and each has a byte.
        unsafe { self.states.add(frame - self.first).read() }
    }

    fn set_state(&mut self, frame: usize, state: u8) {
        // SAFETY: callers pass frames of this zone, and each has a byte.
        unsafe { self.states.add(frame - self.first).write(state) };
    }

    fn links(&self, frame: usize) -> *mut Links {
        self.states.with_addr(frame * PAGE).cast()
    }

    /// Puts a block at the front of its list.
    fn push(&mut self, frame: usize, order: usize) {
        let next = self.lists[order];
        // SAFETY: the blocks are free, so their memory is this zone's.
        unsafe {
            self.links(frame).write(Links { next, before: NONE });
            if next != NONE {
                (*self.links(next)).before = frame;
            }
        }
        self.lists[order] = frame;
        self.set_state(frame, order as u8);
    }

    /// Takes a block out of its list.
    fn unlink(&mut self, frame: usize, order: usize) {
        // SAFETY: the blocks are free, so their memory is this zone's.
        unsafe {
            let Links { next, before } = self.links(frame).read();
            match before {
                NONE => self.lists[order] = next,
                before => (*self.links(before)).next = next,
            }
            if next != NONE {
                (*self.links(next)).before = before;
            }
        }
        self.set_state(frame, NOT_FREE);
    }
}

/// Divides a run of frames into the largest aligned blocks: their first frames and orders.
fn blocks(mut frame: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    core::iter::from_fn(move || {
        let aligned = frame.trailing_zeros() as usize;
        let order = aligned.min((end - frame).checked_ilog2()? as usize).min(ORDERS - 1);
        frame += 1 << order;
        Some((frame - (1 << order), order))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::{Layout, alloc, dealloc};

    /// A zone of `pages` pages, beginning at `skipped` pages behind a multiple of 1 MiB.
    fn with_zone(skipped: usize, pages: usize, test: impl FnOnce(&mut Zone)) {
        let layout = Layout::from_size_align((skipped + pages) * PAGE, 1 << 20).unwrap();
        // SAFETY: the layout has a size, and the memory outlives the zone.
        unsafe {
            let memory = alloc(layout);
            let start = memory.expose_provenance() + skipped * PAGE;
            test(&mut Zone::new(Span { start, end: start + pages * PAGE }).unwrap());
            dealloc(memory, layout);
        }
    }

    #[test]
    fn blocks_are_aligned_and_disjoint() {
        with_zone(3, 500, |zone| {
            let free = zone.free();
            let mut taken: Vec<(usize, usize)> = Vec::new();
            for turn in 0.. {
                let order = [0, 3, 1, 5, 2][turn % 5];
                let Some(address) = zone.take(order) else { break };
                let bytes = PAGE << order;
                assert!(address.is_multiple_of(bytes), "{address:x} of order {order}");
                let is_apart = |&(other, order): &(usize, usize)| {
                    address >= other + (PAGE << order) || other >= address + bytes
                };
                assert!(taken.iter().all(is_apart));
                taken.push((address, order));
            }
            assert!(taken.len() > 30);
            for (address, order) in taken.into_iter().rev() {
                // SAFETY: it was taken with this order.
                unsafe { zone.put_back(address, order) };
            }
            assert_eq!(zone.free(), free);
        });
    }

    #[test]
    fn halves_that_are_free_become_one_again() {
        with_zone(0, 256, |zone| {
            let free = zone.free();
            let large =
                |zone: &mut Zone| (0..ORDERS).rev().find_map(|order| zone.take(order).map(|at| (at, order)));
            let (before, order) = large(zone).unwrap();
            // SAFETY: it was taken with this order.
            unsafe { zone.put_back(before, order) };
            let pages: Vec<_> = std::iter::from_fn(|| zone.take(0)).collect();
            assert_eq!((pages.len(), zone.free()), (free, 0));
            // Every other page first, so that nothing can be joined until the rest comes.
            for odd in [1, 0] {
                for &page in pages.iter().skip(odd).step_by(2) {
                    // SAFETY: it was taken with this order.
                    unsafe { zone.put_back(page, 0) };
                }
            }
            assert_eq!(large(zone), Some((before, order)));
        });
    }

    #[test]
    fn a_block_is_put_back_in_parts() {
        with_zone(0, 256, |zone| {
            let free = zone.free();
            let block = zone.take(5).unwrap();
            for (first, frames) in [(13, 19), (0, 13)] {
                // SAFETY: both are parts of the block.
                unsafe { zone.put_back_part(block + first * PAGE, frames) };
            }
            assert_eq!((zone.free(), zone.take(5)), (free, Some(block)));
        });
    }

    #[test]
    fn an_empty_zone_gives_nothing() {
        with_zone(0, 2, |zone| {
            assert!(zone.take(1).is_none());
            assert!(zone.take(0).is_some() && zone.take(0).is_none());
        });
        // SAFETY: a run without pages is never accessed.
        assert!(unsafe { Zone::new(Span { start: PAGE, end: PAGE }) }.is_none());
    }
}
