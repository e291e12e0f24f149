//! A word that names an object and says what a spawner must know without touching it.
//!
//! ```text
//! bits 48..64  home (12 bits: the pool of its sequenced tasks) and mark (4 bits: the owner's own)
//! bits  6..48  address of the cell (aligned to a cache line)
//! bits  0..6   primitive (3 bits), frequency (1 bit)
//! ```
//! A spawner decides from this word alone where a task goes, how it will synchronise and which lines to fetch:
//! the object itself may still be in memory far away.

use super::header::{AtRest, Header};
use super::primitive::Primitive;
use crate::annotation::{Frequency, LINE, Part};
use crate::monitor::Touched;
use core::ptr::NonNull;

const ADDRESS: u64 = 0x0000_ffff_ffff_ffc0;
const FREQUENT: u64 = 8;
const PRIMITIVE: u64 = 7;
const MARK_SHIFT: u32 = 60;
const HOME_SHIFT: u32 = 48;

/// Most workers that can be told apart as homes.
pub(crate) const MAX_HOMES: usize = 1 << (MARK_SHIFT - HOME_SHIFT);
/// Marks are below this.
pub(crate) const MARKS: u8 = 1 << (64 - MARK_SHIFT);

/// An object's header and value, as they lie in memory.
#[repr(C, align(64))]
pub(crate) struct Cell<S> {
    pub header: Header,
    pub value: S,
}

impl<S> Cell<S> {
    pub fn new(value: S, at_rest: AtRest) -> Self {
        Self { header: Header::new(at_rest), value }
    }
}

/// See the module's documentation. Whether the object is still alive is its user's business.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Reference(pub u64);

impl Reference {
    pub fn new<S>(cell: NonNull<Cell<S>>, primitive: Primitive, frequency: Frequency, home: u16) -> Self {
        let address = cell.as_ptr().expose_provenance() as u64;
        assert_eq!(address & !ADDRESS, 0, "an object's address does not fit into 48 bits");
        let frequent = if frequency == Frequency::High { FREQUENT } else { 0 };
        let home = u64::from(home) & (MAX_HOMES as u64 - 1);
        Self(address | primitive as u64 | frequent | home << HOME_SHIFT)
    }

    pub fn with_mark(self, mark: u8) -> Self {
        assert!(mark < MARKS, "a mark has 4 bits");
        Self(self.0 & !(0xf << MARK_SHIFT) | u64::from(mark) << MARK_SHIFT)
    }

    pub fn with_frequency(self, frequency: Frequency) -> Self {
        Self(if frequency == Frequency::High { self.0 | FREQUENT } else { self.0 & !FREQUENT })
    }

    #[inline(always)]
    pub fn mark(self) -> u8 {
        (self.0 >> MARK_SHIFT) as u8
    }

    #[inline(always)]
    pub fn home(self) -> usize {
        (self.0 >> HOME_SHIFT) as usize & (MAX_HOMES - 1)
    }

    #[inline(always)]
    pub fn primitive(self) -> Primitive {
        Primitive::from_bits(self.0 & PRIMITIVE)
    }

    #[inline(always)]
    pub fn is_frequent(self) -> bool {
        self.0 & FREQUENT != 0
    }

    #[inline(always)]
    pub fn address(self) -> u64 {
        self.0 & ADDRESS
    }

    /// The cell; it may be followed only while the object is alive and of this class.
    #[inline(always)]
    pub fn cell<S>(self) -> *mut Cell<S> {
        core::ptr::with_exposed_provenance_mut(self.address() as usize)
    }

    /// # Safety
    ///
    /// The object is alive for `'a`.
    #[inline(always)]
    pub unsafe fn header<'a>(self) -> &'a Header {
        // SAFETY: a cell begins with its header (repr(C)), whatever its value; alive by the caller's promise.
        unsafe { &*core::ptr::with_exposed_provenance::<Header>(self.address() as usize) }
    }

    /// As the watchdog tells of it.
    pub fn touched(self, data: &'static str, write: bool) -> Touched {
        Touched { data, address: self.address() as usize, primitive: self.primitive(), write }
    }

    /// The lines of `part` as a fetch order.
    #[inline(always)]
    pub fn fetch(self, part: Part) -> Fetch {
        Fetch((self.address() + (part.first() * LINE) as u64) | (part.count() as u64) << HOME_SHIFT)
    }
}

/// Cache lines to fetch: the address of the first, how many in the top 16 bits, and whether the task itself is to
/// be asked for more once they are there.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Fetch(u64);

const LOCATES: u64 = 1;

impl Fetch {
    pub(crate) const NONE: Self = Self(0);

    #[inline(always)]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub(crate) fn then_locate(self) -> Self {
        Self(self.0 | LOCATES)
    }

    #[inline(always)]
    pub(crate) fn locates(self) -> bool {
        self.0 & LOCATES != 0
    }

    #[inline(always)]
    pub(crate) fn issue(self) {
        let (first, lines) = (self.0 & ADDRESS, self.0 >> HOME_SHIFT);
        for line in 0..lines {
            prefetch(first + line * LINE as u64);
        }
    }

    #[inline(always)]
    pub(crate) fn lines(self) -> u64 {
        self.0 >> HOME_SHIFT
    }
}

/// Asks for a cache line; any address will do.
#[inline(always)]
pub(crate) fn prefetch(address: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address; SSE is part of x86-64.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::without_provenance(address as usize));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch never faults and changes no register or memory.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
