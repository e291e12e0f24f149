//! A word that names an object, with what a spawner must know without touching the object.
//!
//! ```text
//! bits 48..64  home (12 bits: the worker of its sequenced tasks) and mark (4 bits: the user's own)
//! bits  6..48  address of the cell (aligned to a cache line)
//! bits  0..6   primitive (3 bits), frequency, kept on panic, even poisoned (1 bit each)
//! ```
//!
//! From this word alone a spawner decides where a task runs, how it synchronizes and which lines to
//! prefetch. The object itself may still be in remote memory.

use super::header::{FreeWord, Header};
use super::primitive::Primitive;
use crate::annotation::{CACHE_LINE, Frequency, Part};
use crate::monitor::Touched;
use core::hint::select_unpredictable;
use core::ptr::{NonNull, from_ref};

const ADDRESS_MASK: u64 = 0x0000_ffff_ffff_ffc0;
const FREQUENT_BIT: u64 = 8;
const KEPT_ON_PANIC_BIT: u64 = 16;
const EVEN_POISONED_BIT: u64 = 32;
const PRIMITIVE_MASK: u64 = 7;
const MARK_SHIFT: u32 = 60;
pub(super) const HOME_SHIFT: u32 = 48;

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

    /// Makes an object in memory where others may have been, and to which old links may lead.
    ///
    /// # Safety
    ///
    /// The cell is in writable memory, and its header was zeroed or [cleared](Header::clear). Only
    /// this thread makes an object there.
    #[inline(always)]
    pub unsafe fn make(cell: NonNull<Self>, value: S, free_word: FreeWord) {
        // SAFETY: by this function's contract. Tasks that come by old links read the header only,
        // atomically, until `revive` has published the value. (Loom's atomics are no plain words.
        // In its models no link is old.)
        unsafe {
            if cfg!(model = "loom") {
                cell.write(Self::new(value, free_word));
            } else {
                Self::place(cell, value);
                (*cell.as_ptr()).header.revive(free_word);
            }
        }
    }

    /// Writes the value of an object that [`Header::revive`] makes one later. Until then tasks that
    /// come by old links find no object.
    ///
    /// # Safety
    ///
    /// As for [`make`](Self::make).
    #[inline(always)]
    pub unsafe fn place(cell: NonNull<Self>, value: S) {
        // SAFETY: by this function's contract. The header is not touched.
        unsafe { (&raw mut (*cell.as_ptr()).value).write(value) };
    }

    /// Drops the value of an object, and makes its memory that of no object.
    ///
    /// # Safety
    ///
    /// The object was made, and no task uses it any more. Tasks that come by old links do not get
    /// into it.
    pub unsafe fn unmake(cell: NonNull<Self>) {
        let empty = ClearHeader(cell);
        // SAFETY: by this function's contract; dropped once, as the header is empty afterwards.
        unsafe { (&raw mut (*empty.0.as_ptr()).value).drop_in_place() };
    }
}

/// Clears the header of a cell whose value is being dropped, also if that panics.
struct ClearHeader<S>(NonNull<Cell<S>>);

impl<S> Drop for ClearHeader<S> {
    fn drop(&mut self) {
        // SAFETY: the cell is in memory that its arena or array keeps, by the contract of `unmake`.
        unsafe { (*self.0.as_ptr()).header.clear() };
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

    #[track_caller]
    pub fn with_mark(self, mark: u8) -> Self {
        assert!(mark < MARK_END, "a mark has 4 bits");
        Self(self.0 & !(0xf << MARK_SHIFT) | u64::from(mark) << MARK_SHIFT)
    }

    pub fn with_frequency(self, frequency: Frequency) -> Self {
        Self(if frequency == Frequency::High { self.0 | FREQUENT_BIT } else { self.0 & !FREQUENT_BIT })
    }

    /// Names the object as one that a panic poisons, or does not.
    pub fn with_kept_on_panic(self, is_kept: bool) -> Self {
        Self(if is_kept { self.0 | KEPT_ON_PANIC_BIT } else { self.0 & !KEPT_ON_PANIC_BIT })
    }

    /// Returns true if a panic poisons the object.
    pub fn is_poisoned_by_panic(self) -> bool {
        self.0 & KEPT_ON_PANIC_BIT == 0
    }

    /// Names the object for a task that enters it even if it is poisoned.
    pub fn even_poisoned(self) -> Self {
        Self(self.0 | EVEN_POISONED_BIT)
    }

    #[inline(always)]
    pub fn is_even_poisoned(self) -> bool {
        self.0 & EVEN_POISONED_BIT != 0
    }

    #[inline(always)]
    pub fn mark(self) -> u8 {
        (self.0 >> MARK_SHIFT) as u8
    }

    #[inline(always)]
    pub fn home(self) -> usize {
        (self.0 >> HOME_SHIFT) as usize & (MAX_HOMES - 1)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
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
        Touched { name: None, data, address: self.address() as usize, primitive: self.primitive(), write }
    }

    /// Returns a prefetch order for the lines of `part`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn fetch(self, part: Part) -> Fetch {
        Fetch((self.address() + (part.first() * CACHE_LINE) as u64) | (part.count() as u64) << HOME_SHIFT)
    }

    /// Prefetches the lines of `part` now; see [`prefetch_part`].
    #[inline(always)]
    pub fn prefetch(self, part: Part) {
        prefetch_part(self.address(), part);
    }
}

/// Prefetches the lines of a part of the object at an address. For callers of which most name the
/// head always or never, so that the branch is predicted.
#[inline(always)]
pub(crate) fn prefetch_part(address: u64, part: Part) {
    if part == Part::HEAD {
        prefetch(address);
    } else {
        for_each_line(address + (part.first() * CACHE_LINE) as u64, part.count() as u64, prefetch);
    }
}

/// Cache lines to prefetch: the address of the first, and in the top 16 bits their number. Bit 0
/// says whether the task itself is to be asked for more once they have arrived.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Fetch(u64);

const LOCATES_BIT: u64 = 1;

/// Prefetched where a task has no lines to fetch.
static CACHED: u64 = 0;

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

    /// Prefetches the lines.
    #[inline(always)]
    pub(crate) fn issue(self) {
        for_each_line(self.0 & ADDRESS_MASK, self.lines(), prefetch);
    }

    #[inline(always)]
    pub(crate) fn lines(self) -> u64 {
        self.0 >> HOME_SHIFT
    }
}

/// Calls `visit` with the address of each line, three times or more.
///
/// No branch depends on the number of lines up to three: it differs from task to task, so the
/// processor would often mispredict it, which costs more than to prefetch a line again. If there is
/// no line, the address is of a line in the cache. Address 0 would not do: it is not mapped, so the
/// processor would search the page tables for it.
#[inline(always)]
fn for_each_line(first: u64, lines: u64, mut visit: impl FnMut(u64)) {
    let at = |line: u64| first + line * CACHE_LINE as u64;
    if lines > 3 {
        (0..lines).for_each(|line| visit(at(line)));
        return;
    }
    let base = select_unpredictable(lines == 0, from_ref(&CACHED).addr() as u64, first);
    let offset = |line: u64| line * CACHE_LINE as u64;
    visit(base);
    visit(base + offset(lines / 2));
    visit(base + offset(lines.saturating_sub(1)));
}

/// Prefetches a cache line. Any address is allowed.
#[inline(always)]
pub(crate) fn prefetch(address: u64) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse"))]
    // SAFETY: a prefetch never faults, whatever the address; SSE is part of this target.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::without_provenance(address as usize));
    }
    // Without an operating system code is often built without SSE, and the function is no
    // instruction there.
    #[cfg(all(target_arch = "x86_64", not(target_feature = "sse")))]
    // SAFETY: a prefetch never faults and changes no register or memory.
    unsafe {
        core::arch::asm!(
            "prefetcht0 [{0}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::ops::Range;

    fn visited(fetch: Fetch) -> Vec<u64> {
        let mut lines = Vec::new();
        for_each_line(fetch.0 & ADDRESS_MASK, fetch.lines(), |line| lines.push(line));
        lines
    }

    #[test]
    fn each_line_of_a_part_is_fetched_and_no_other() {
        const ADDRESS: u64 = 0x7f00_0000_1000;
        let frequent = Reference(ADDRESS).with_frequency(Frequency::High).with_mark(MARK_END - 1);
        let parts = (0..20).flat_map(|first| (1..12).map(move |count| Part::lines(first, count)));
        for part in parts.chain([Part::lines(0, u16::MAX)]) {
            for fetch in [Reference(ADDRESS).fetch(part), frequent.fetch(part).then_locate(true)] {
                let mut lines = visited(fetch);
                lines.dedup();
                let range: Range<_> = part.first()..part.first() + part.count();
                assert!(lines.into_iter().eq(range.map(|line| ADDRESS + (line * CACHE_LINE) as u64)));
                assert_eq!(fetch.lines(), part.count() as u64);
            }
        }
    }

    /// Neither the object nor address 0, but a line that is in the cache.
    #[test]
    fn without_lines_a_cached_one_is_fetched() {
        let cached = from_ref(&CACHED).addr() as u64;
        let empty = Reference(0x7f00_0000_1000).fetch(Part::NONE);
        for fetch in [Fetch::NONE, Fetch::NONE.then_locate(true), empty, empty.then_locate(true)] {
            assert_eq!(visited(fetch), [cached; 3]);
            assert_eq!(fetch.lines(), 0);
        }
    }

    /// The number of prefetches is the same for up to three lines, so no branch depends on it.
    #[test]
    fn few_lines_are_as_many_prefetches() {
        for count in 0..=3 {
            assert_eq!(visited(Reference(64).fetch(Part::lines(0, count))).len(), 3);
        }
    }
}
