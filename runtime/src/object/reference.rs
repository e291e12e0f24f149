//! A word that names an object, with what a spawner must know without touching the object.
//!
//! ```text
//! bits 48..64  home (12 bits: the worker of its sequenced tasks) and mark (4 bits: the user's own)
//! bits  6..48  address of the cell (aligned to a cache line)
//! bits  0..6   primitive (3 bits), frequency (1 bit)
//! ```
//!
//! From this word alone a spawner decides where a task runs, how it synchronizes and which lines to
//! prefetch. The object itself may still be in remote memory.

use super::header::{FreeWord, Header};
use super::primitive::Primitive;
use crate::annotation::{CACHE_LINE, Frequency, Part};
use crate::monitor::Touched;
use core::ptr::NonNull;

const ADDRESS_MASK: u64 = 0x0000_ffff_ffff_ffc0;
const FREQUENT_BIT: u64 = 8;
const PRIMITIVE_MASK: u64 = 7;
const MARK_SHIFT: u32 = 60;
const HOME_SHIFT: u32 = 48;

/// The largest number of workers that can be homes.
pub(crate) const MAX_HOMES: usize = 1 << (MARK_SHIFT - HOME_SHIFT);
/// Marks are below this.
pub(crate) const MARK_END: u8 = 1 << (64 - MARK_SHIFT);

/// An object's header and value, as they are in memory.
#[repr(C, align(64))]
pub(crate) struct Cell<S> {
    pub header: Header,
    pub value: S,
}

impl<S> Cell<S> {
    pub fn new(value: S, free_word: FreeWord) -> Self {
        Self { header: Header::new(free_word), value }
    }
}

/// A word that names an object; see the module's documentation. It does not keep the object alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Reference(pub u64);

impl Reference {
    pub fn new<S>(cell: NonNull<Cell<S>>, primitive: Primitive, frequency: Frequency, home: u16) -> Self {
        let address = cell.as_ptr().expose_provenance() as u64;
        assert_eq!(address & !ADDRESS_MASK, 0, "an object's address does not fit into 48 bits");
        let frequent = if frequency == Frequency::High { FREQUENT_BIT } else { 0 };
        let home = u64::from(home) & (MAX_HOMES as u64 - 1);
        Self(address | primitive as u64 | frequent | home << HOME_SHIFT)
    }

    pub fn with_mark(self, mark: u8) -> Self {
        assert!(mark < MARK_END, "a mark has 4 bits");
        Self(self.0 & !(0xf << MARK_SHIFT) | u64::from(mark) << MARK_SHIFT)
    }

    pub fn with_frequency(self, frequency: Frequency) -> Self {
        Self(if frequency == Frequency::High { self.0 | FREQUENT_BIT } else { self.0 & !FREQUENT_BIT })
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
        Primitive::from_bits(self.0 & PRIMITIVE_MASK)
    }

    #[inline(always)]
    pub fn is_frequent(self) -> bool {
        self.0 & FREQUENT_BIT != 0
    }

    #[inline(always)]
    pub fn address(self) -> u64 {
        self.0 & ADDRESS_MASK
    }

    /// Returns the cell. It may be dereferenced only while the object is alive, and of this class.
    #[inline(always)]
    pub fn cell<S>(self) -> *mut Cell<S> {
        core::ptr::with_exposed_provenance_mut(self.address() as usize)
    }

    /// # Safety
    ///
    /// The object is alive for `'a`.
    #[inline(always)]
    pub unsafe fn header<'a>(self) -> &'a Header {
        // SAFETY: a cell begins with its header (repr(C)), whatever its value. By the contract it
        // is alive.
        unsafe { &*core::ptr::with_exposed_provenance::<Header>(self.address() as usize) }
    }

    /// Returns the watchdog's description of the object.
    pub fn touched(self, data: &'static str, write: bool) -> Touched {
        Touched { data, address: self.address() as usize, primitive: self.primitive(), write }
    }

    /// Returns a prefetch order for the lines of `part`.
    #[inline(always)]
    pub fn fetch(self, part: Part) -> Fetch {
        Fetch((self.address() + (part.first() * CACHE_LINE) as u64) | (part.count() as u64) << HOME_SHIFT)
    }
}

/// Cache lines to prefetch: the address of the first, and in the top 16 bits their number. Bit 0
/// says whether the task itself is to be asked for more once they have arrived.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Fetch(u64);

const LOCATES_BIT: u64 = 1;

impl Fetch {
    pub(crate) const NONE: Self = Self(0);

    #[inline(always)]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns these lines, and whether the task is to be asked for more.
    #[inline(always)]
    pub(crate) fn then_locate(self, locates: bool) -> Self {
        if locates { Self(self.0 | LOCATES_BIT) } else { self }
    }

    #[inline(always)]
    pub(crate) fn locates(self) -> bool {
        self.0 & LOCATES_BIT != 0
    }

    #[inline(always)]
    pub(crate) fn issue(self) {
        let (first, lines) = (self.0 & ADDRESS_MASK, self.0 >> HOME_SHIFT);
        for line in 0..lines {
            prefetch(first + line * CACHE_LINE as u64);
        }
    }

    #[inline(always)]
    pub(crate) fn lines(self) -> u64 {
        self.0 >> HOME_SHIFT
    }
}

/// Prefetches a cache line. Any address is allowed.
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
        core::arch::asm!(
            "prfm pldl1keep, [{0}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
