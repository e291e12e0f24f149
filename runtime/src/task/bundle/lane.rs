//! One lane of a bundle: a walk, and where it goes.

use crate::annotation::Part;
use crate::object::Reference;
use crate::sync::Stamp;
use core::mem::MaybeUninit;

/// A walk, and the node that it comes to next.
pub(super) struct Lane<W> {
    pub at: Reference,
    /// What it will touch there.
    part: Part,
    /// The version at which `locate` saw the node; [`Stamp::NONE`] if it did not.
    pub stamp: Stamp,
    pub mode: Mode,
    /// Steps at this node that met a writer.
    pub disturbed: u8,
    /// Initialised unless the lane is vacant.
    walk: MaybeUninit<W>,
}

/// How a lane enters its next node.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mode {
    /// Optimistically, to read it.
    Read,
    /// To write it.
    Write,
    /// To read it as its primitive requires, by an errand.
    Enter,
    /// The lane has no walk.
    Vacant,
}

impl<W> Lane<W> {
    pub const VACANT: Self = Self {
        at: Reference(0),
        part: Part::NONE,
        stamp: Stamp::NONE,
        mode: Mode::Vacant,
        disturbed: 0,
        walk: MaybeUninit::uninit(),
    };

    /// Fills the vacant lane, which has yet to go to a node.
    #[inline(always)]
    pub fn put(&mut self, walk: W) {
        debug_assert!(self.mode == Mode::Vacant);
        self.walk.write(walk);
    }

    /// Returns the walk.
    ///
    /// # Safety
    ///
    /// The lane is not vacant.
    #[inline(always)]
    pub unsafe fn walk(&mut self) -> &mut W {
        // SAFETY: walks are initialised in lanes that are not vacant.
        unsafe { self.walk.assume_init_mut() }
    }

    /// Takes the walk out of a lane that is not vacant.
    ///
    /// # Safety
    ///
    /// The lane is not vacant.
    #[inline(always)]
    pub unsafe fn vacate(&mut self) -> W {
        self.mode = Mode::Vacant;
        // SAFETY: the lane was not vacant, and is now.
        unsafe { self.walk.assume_init_read() }
    }

    /// Returns true if the lane writes a node that has optimistic readers.
    #[inline(always)]
    pub fn writes_optimistic(&self) -> bool {
        self.mode == Mode::Write && self.at.primitive().is_optimistic()
    }

    /// Directs the lane to a node, which has yet to be [prefetched](Self::prefetch). Returns true
    /// if the node is expected in the cache, and read.
    #[inline(always)]
    pub fn go_to(&mut self, at: Reference, part: Part, writes: bool) -> bool {
        (self.at, self.part) = (at, part);
        self.stamp = Stamp::NONE;
        self.disturbed = 0;
        self.mode = if writes { Mode::Write } else { Mode::Read };
        if !writes && !at.primitive().is_optimistic() {
            return self.enter();
        }
        at.is_frequent() && !writes
    }

    /// Prefetches what the lane will touch at its node. (For a vacant lane, that is any line.)
    #[inline(always)]
    pub fn prefetch(&self) {
        self.at.prefetch(self.part);
    }

    /// The next node has no optimistic readers.
    #[cold]
    #[inline(never)]
    fn enter(&mut self) -> bool {
        self.mode = Mode::Enter;
        false
    }
}
