//! One lane of a bundle: a walk, and where it goes.

use crate::annotation::Part;
use crate::object::{Cell, Header, Reference, Versioned, prefetch_part};
use crate::sync::Stamp;
use core::mem::MaybeUninit;
use core::ptr::with_exposed_provenance;

/// A walk, and the node that it comes to next.
pub(super) struct Lane<W> {
    /// The address of the node, which is a multiple of 64, and below it how the lane enters the
    /// node. If the lane reads, the word is the address itself, so that the inner loop has only one
    /// word to look at.
    entrance: u64,
    pub at: Reference,
    /// The version at which `locate` saw the node; [`Stamp::NONE`] if it did not.
    pub stamp: Stamp,
    /// What the walk will touch at the node.
    part: Part,
    /// Steps at this node that met a writer. (With the part, a word.)
    pub disturbed: u32,
    /// Initialised unless the lane is vacant.
    walk: MaybeUninit<W>,
}

/// How a lane enters its next node.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mode {
    /// Optimistically, to read it.
    Read = 0,
    /// To write it.
    Write = 1,
    /// To read it as its primitive requires, by an errand.
    Enter = 2,
    /// The lane has no walk.
    Vacant = 3,
}

/// The bits of [`Mode`] below an address.
const MODE_MASK: u64 = 63;

impl<W> Lane<W> {
    pub const VACANT: Self = Self {
        entrance: Mode::Vacant as u64,
        at: Reference(0),
        stamp: Stamp::NONE,
        part: Part::NONE,
        disturbed: 0,
        walk: MaybeUninit::uninit(),
    };

    /// Returns true if the lane reads its next node optimistically.
    #[inline(always)]
    pub fn reads(&self) -> bool {
        self.entrance & MODE_MASK == Mode::Read as u64
    }

    #[inline(always)]
    pub fn mode(&self) -> Mode {
        match self.entrance & MODE_MASK {
            0 => Mode::Read,
            1 => Mode::Write,
            2 => Mode::Enter,
            _ => Mode::Vacant,
        }
    }

    /// Changes how the lane enters its node.
    pub fn set_mode(&mut self, mode: Mode) {
        self.entrance = self.entrance & !MODE_MASK | mode as u64;
    }

    /// Returns the node that the lane reads.
    ///
    /// # Safety
    ///
    /// The lane [reads](Self::reads), and its node is alive for `'a` and of this type.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub unsafe fn node_to_read<'a, T>(&self) -> (&'a Header, &'a T) {
        debug_assert!(self.reads());
        // SAFETY: if the lane reads, the word is the address of its node's cell; this function's
        // contract.
        let cell = unsafe { &*with_exposed_provenance::<Cell<Versioned<T>>>(self.entrance as usize) };
        (&cell.header, &cell.value.0)
    }

    /// Fills the vacant lane, which has yet to go to a node.
    #[inline(always)]
    pub fn put(&mut self, walk: W) {
        debug_assert!(self.mode() == Mode::Vacant);
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
        // The address stays, for `prefetch`: this mode has the bits of all others.
        self.entrance |= Mode::Vacant as u64;
        // SAFETY: the lane was not vacant, and is now.
        unsafe { self.walk.assume_init_read() }
    }

    /// Returns true if the lane writes a node that has optimistic readers.
    #[inline(always)]
    pub fn writes_optimistic(&self) -> bool {
        self.mode() == Mode::Write && self.at.primitive().is_optimistic()
    }

    /// Directs the lane to a node, which has yet to be [prefetched](Self::prefetch). The caller
    /// clears the stamp if the walk locates. Returns true if the node is expected in the cache, and
    /// read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn go_to(&mut self, at: Reference, part: Part, writes: bool) -> bool {
        let mode = if writes { Mode::Write } else { Mode::Read };
        self.entrance = at.address() | mode as u64;
        self.at = at;
        (self.part, self.disturbed) = (part, 0);
        if !writes && !at.primitive().is_optimistic() {
            return self.enter();
        }
        at.is_frequent() && !writes
    }

    /// Prefetches what the lane will touch at its node. (For a vacant lane, that is where it
    /// was last.)
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch_part(self.entrance & !MODE_MASK, self.part);
    }

    /// The next node has no optimistic readers.
    #[cold]
    #[inline(never)]
    fn enter(&mut self) -> bool {
        self.set_mode(Mode::Enter);
        false
    }
}
