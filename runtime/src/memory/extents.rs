//! Regions of slots, and the free slots in them, sorted by where they are.
//!
//! A region is divided into *extents*: runs of slots that are given back to the system as a whole.
//! On small pages an extent is 64 slots, which always are whole pages; on huge pages it is at least
//! one of these. The slots of an extent are cut one after the other; those that were never cut are
//! its rest. A set of bits has the free ones among those cut.
//!
//! Free slots are taken from the fullest extent, so that others become empty. An extent whose cut
//! slots are all free is *whole*. If enough other slots are free, it is taken out, its memory is
//! discarded, and it is fresh again. A *closed* extent, which a compaction empties, gives no slots
//! away, and is discarded as soon as it is whole.
//!
//! All of this is for one thread at a time. Discarding enters the kernel, so callers do that
//! without their lock, between [`take_surplus`](Extents::take_surplus) and
//! [`renew`](Extents::renew).

use super::pages::{HUGE_PAGE, Pages};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Slots of a word of bits, and the least slots of an extent.
pub(super) const WORD_SLOTS: usize = u64::BITS as usize;

/// An extent: the indices of its region, and of the extent in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ExtentId {
    region: u32,
    extent: u32,
}

struct Extent {
    /// Slots from its start on that were cut.
    cut: u32,
    /// Those of them that are free.
    free: u32,
    /// Slots whose memory may be in use, as they were cut since the extent was discarded.
    touched: u32,
    closed: bool,
}

impl Extent {
    fn is_whole(&self) -> bool {
        self.free == self.cut && self.cut != 0
    }

    /// Returns how empty the extent is, in eighths; more than that if it is whole. 0 if it has no
    /// free slots.
    fn emptiness(&self) -> u8 {
        if self.is_whole() { 9 } else { (self.free * 8).div_ceil(self.cut.max(1)) as u8 }
    }
}

struct Region {
    pages: Pages,
    slots: usize,
    /// Words of bits of an extent.
    extent_words: usize,
    /// A bit for each slot: whether it is free.
    bits: Box<[u64]>,
    extents: Box<[Extent]>,
}

impl Region {
    fn extent_slots(&self) -> usize {
        self.extent_words * WORD_SLOTS
    }

    /// Returns a slot of the region.
    fn slot(&self, number: usize, stride: usize) -> NonNull<u8> {
        debug_assert!(number < self.slots);
        // SAFETY: callers count from bits or extents, of which the region has one for each slot.
        unsafe { self.pages.ptr.byte_add(number * stride) }
    }

    /// Returns the number of slots of an extent: the last one may have fewer.
    fn len_of(&self, extent: u32) -> usize {
        let before = extent as usize * self.extent_slots();
        (self.slots - before).min(self.extent_slots())
    }
}

/// A whole extent that was taken out, until its memory is discarded.
pub(super) struct Surplus {
    id: ExtentId,
    pub start: NonNull<u8>,
    pub bytes: usize,
}

/// Free slots with a common word of bits.
#[derive(Clone, Copy)]
pub(super) struct Handful {
    pub start: NonNull<u8>,
    /// The bits of the slots, counted from `start`.
    pub mask: u64,
}

impl Handful {
    /// Returns the slots, given their size.
    pub fn slots(self, stride: usize) -> impl DoubleEndedIterator<Item = NonNull<u8>> {
        (0..WORD_SLOTS).filter(move |number| self.mask >> number & 1 != 0).map(move |number| {
            // SAFETY: the bits of a word stand for slots of its region, from `start` on.
            unsafe { self.start.byte_add(number * stride) }
        })
    }
}

/// The regions of an allocator, and the free slots that it has sorted.
pub(super) struct Extents {
    stride: usize,
    regions: Vec<Region>,
    /// The address of each region and its index, ascending.
    by_address: Vec<(usize, u32)>,
    /// Extents with slots that were not cut yet. The last one is used first.
    fresh: Vec<ExtentId>,
    /// Extents with free slots that may be taken: how empty each is, and which.
    open: BTreeSet<(u8, ExtentId)>,
    closed: usize,
    cut: usize,
    free: usize,
    touched: usize,
}

impl Extents {
    pub const fn new(stride: usize) -> Self {
        Self {
            stride,
            regions: Vec::new(),
            by_address: Vec::new(),
            fresh: Vec::new(),
            open: BTreeSet::new(),
            closed: 0,
            cut: 0,
            free: 0,
            touched: 0,
        }
    }

    /// Returns the number of slots that were cut: those in use, and the free ones.
    pub fn cut_slots(&self) -> usize {
        self.cut
    }

    /// Returns the number of free slots that were sorted.
    pub fn free_slots(&self) -> usize {
        self.free
    }

    /// Returns the number of slots whose memory may be in use.
    pub fn touched_slots(&self) -> usize {
        self.touched
    }

    /// Returns true if there are closed extents.
    pub fn has_closed(&self) -> bool {
        self.closed != 0
    }

    /// Adds a region.
    pub fn add(&mut self, pages: Pages) {
        let slots = pages.bytes / self.stride;
        let word_bytes = self.stride * WORD_SLOTS;
        let extent_words = if pages.huge { HUGE_PAGE.div_ceil(word_bytes) } else { 1 };
        let count = slots.div_ceil(extent_words * WORD_SLOTS);
        let new = || Extent { cut: 0, free: 0, touched: 0, closed: false };
        let index = self.regions.len() as u32;
        let address = pages.ptr.addr().get();
        let place = self.by_address.partition_point(|region| region.0 < address);
        self.by_address.insert(place, (address, index));
        let bits = (0..slots.div_ceil(WORD_SLOTS)).map(|_| 0).collect();
        let extents = (0..count).map(|_| new()).collect();
        self.regions.push(Region { pages, slots, extent_words, bits, extents });
        self.fresh.extend((0..count as u32).rev().map(|extent| ExtentId { region: index, extent }));
    }

    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Takes all regions out, each with the number of slots from its start on that may be in use.
    pub fn take_regions(&mut self) -> impl Iterator<Item = (Pages, usize)> {
        core::mem::replace(self, Self::new(self.stride)).regions.into_iter().map(|region| {
            let cut = region
                .extents
                .iter()
                .rposition(|extent| extent.cut != 0)
                .map_or(0, |last| last * region.extent_slots() + region.extents[last].cut as usize);
            (region.pages, cut)
        })
    }

    /// Cuts up to `count` slots that follow each other and have not been cut since their memory was
    /// fresh. Returns the first and their number.
    pub fn cut(&mut self, count: usize) -> Option<(NonNull<u8>, usize)> {
        let id = *self.fresh.last()?;
        let region = &mut self.regions[id.region as usize];
        let (len, first) = (region.len_of(id.extent), id.extent as usize * region.extent_slots());
        let huge = region.pages.huge;
        let extent = &mut region.extents[id.extent as usize];
        let was = (extent.emptiness(), extent.cut as usize);
        let count = count.min(len - was.1);
        extent.cut += count as u32;
        // One slot brings all of a huge page into use.
        let touched = if huge { len as u32 } else { extent.cut };
        self.touched += touched.saturating_sub(extent.touched) as usize;
        extent.touched = extent.touched.max(touched);
        let is = extent.emptiness();
        if extent.cut as usize == len {
            self.fresh.pop();
        }
        self.cut += count;
        let start = region.slot(first + was.1, self.stride);
        self.reclassify(id, was.0, is);
        Some((start, count))
    }

    /// Moves an open extent to where it belongs now.
    fn reclassify(&mut self, id: ExtentId, was: u8, is: u8) {
        if was != is {
            if was != 0 {
                self.open.remove(&(was, id));
            }
            if is != 0 {
                self.open.insert((is, id));
            }
        }
    }

    /// Returns the region of a slot, and its number there; `None` if no region has the address.
    fn place(&self, address: usize) -> Option<(u32, usize)> {
        let after = self.by_address.partition_point(|region| region.0 <= address);
        let (start, index) = self.by_address[after.checked_sub(1)?];
        let number = (address - start) / self.stride;
        (number < self.regions[index as usize].slots).then_some((index, number))
    }

    /// Adds a free slot.
    pub fn put(&mut self, slot: NonNull<u8>) {
        let (index, number) = self.place(slot.addr().get()).expect("a slot is in a region");
        let region = &mut self.regions[index as usize];
        let (word, bit) = (number / WORD_SLOTS, 1 << (number % WORD_SLOTS));
        debug_assert!(region.bits[word] & bit == 0, "a slot is freed twice");
        region.bits[word] |= bit;
        let id = ExtentId { region: index, extent: (number / region.extent_slots()) as u32 };
        let extent = &mut region.extents[id.extent as usize];
        let was = extent.emptiness();
        extent.free += 1;
        self.free += 1;
        let (is, closed) = (extent.emptiness(), extent.closed);
        if !closed {
            self.reclassify(id, was, is);
        } else if is == WHOLE {
            self.reopen(id);
        }
    }

    /// Takes up to `count` free slots out of the fullest extent that has some.
    pub fn take(&mut self, count: usize) -> Option<Handful> {
        let &(was, id) = self.open.first()?;
        let region = &mut self.regions[id.region as usize];
        let first = id.extent as usize * region.extent_words;
        let words = region.bits[first..].iter_mut().take(region.extent_words);
        let (word, bits) = words.enumerate().find(|(_, bits)| **bits != 0)?;
        let mut mask = *bits;
        while mask.count_ones() as usize > count {
            mask &= !(1 << mask.ilog2());
        }
        *bits &= !mask;
        let extent = &mut region.extents[id.extent as usize];
        extent.free -= mask.count_ones();
        self.free -= mask.count_ones() as usize;
        let is = extent.emptiness();
        let start = region.slot((first + word) * WORD_SLOTS, self.stride);
        self.reclassify(id, was, is);
        Some(Handful { start, mask })
    }

    /// Takes out a whole extent if more slots than `keep` would stay free.
    pub fn take_surplus(&mut self, keep: usize) -> Option<Surplus> {
        let &(WHOLE, id) = self.open.last()? else { return None };
        let region = &mut self.regions[id.region as usize];
        let (len, words) = (region.len_of(id.extent), region.extent_words);
        let extent = &mut region.extents[id.extent as usize];
        let free = extent.free as usize;
        if self.free - free < keep {
            return None;
        }
        let first = id.extent as usize * words;
        region.bits[first..].iter_mut().take(words).for_each(|bits| *bits = 0);
        // Until it is renewed, the extent is neither open nor fresh.
        if (extent.cut as usize) < len {
            self.fresh.retain(|fresh| *fresh != id);
        }
        (extent.free, extent.cut) = (0, 0);
        (self.free, self.cut) = (self.free - free, self.cut - free);
        self.open.remove(&(WHOLE, id));
        let start = region.slot(first * WORD_SLOTS, self.stride);
        Some(Surplus { id, start, bytes: len * self.stride })
    }

    /// Takes back an extent that was taken out; `discarded` says whether its memory was.
    pub fn renew(&mut self, surplus: Surplus, discarded: bool) {
        if discarded {
            let extent = &mut self.regions[surplus.id.region as usize].extents[surplus.id.extent as usize];
            self.touched -= core::mem::take(&mut extent.touched) as usize;
        }
        self.fresh.push(surplus.id);
    }

    /// Returns the extents that are in use: how many slots of each are, and which.
    pub fn usage(&self) -> Vec<Usage> {
        let all = self.regions.iter().zip(0..).flat_map(|(region, index)| {
            region.extents.iter().zip(0..).map(move |(extent, number)| {
                let id = ExtentId { region: index, extent: number };
                (extent, region.len_of(number) as u32, id)
            })
        });
        all.filter(|(extent, ..)| extent.cut != 0)
            .map(|(extent, len, id)| Usage { used: extent.cut - extent.free, len, id })
            .collect()
    }

    /// Closes extents that were found in use.
    pub fn close(&mut self, sparse: impl Iterator<Item = Usage>) {
        for Usage { id, .. } in sparse {
            let region = &mut self.regions[id.region as usize];
            let len = region.len_of(id.extent);
            let extent = &mut region.extents[id.extent as usize];
            let emptiness = extent.emptiness();
            // It may have changed meanwhile. A whole extent needs no compaction.
            if extent.cut != 0 && emptiness != WHOLE && !extent.closed {
                extent.closed = true;
                let has_rest = (extent.cut as usize) < len;
                self.closed += 1;
                self.reclassify(id, emptiness, 0);
                if has_rest {
                    self.fresh.retain(|fresh| *fresh != id);
                }
            }
        }
    }

    fn reopen(&mut self, id: ExtentId) {
        let region = &mut self.regions[id.region as usize];
        let len = region.len_of(id.extent);
        let extent = &mut region.extents[id.extent as usize];
        if core::mem::take(&mut extent.closed) {
            self.closed -= 1;
            let (is, has_rest) = (extent.emptiness(), (extent.cut as usize) < len);
            if has_rest {
                self.fresh.push(id);
            }
            self.reclassify(id, 0, is);
        }
    }

    /// Opens all closed extents.
    pub fn reopen_all(&mut self) {
        if self.closed != 0 {
            let usage = self.usage();
            usage.into_iter().for_each(|usage| self.reopen(usage.id));
        }
    }

    /// Returns true if the slot at this address is in a closed extent.
    pub fn is_closed(&self, address: usize) -> bool {
        self.place(address).is_some_and(|(region, number)| {
            let region = &self.regions[region as usize];
            region.extents[number / region.extent_slots()].closed
        })
    }
}

/// The emptiness of an extent that is whole.
const WHOLE: u8 = 9;

/// How much of an extent is in use.
pub(super) struct Usage {
    /// Slots in use, or set aside by a shard.
    pub used: u32,
    /// All slots of the extent.
    pub len: u32,
    id: ExtentId,
}
