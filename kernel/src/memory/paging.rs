//! The page tables of all cores: memory is mapped to itself, and nothing is both written and run.
//!
//! | what | read | written | run |
//! |---|---|---|---|
//! | constants of the image | yes | | |
//! | code of the image | yes | | yes |
//! | data of the image, all other memory, stacks | yes | yes | |
//! | the registers of devices and interrupt controllers, not cached | yes | yes | |
//! | the first 2 MiB, gaps below stacks, what is no memory | | | |
//!
//! Tables are written before other cores start, or map what was not mapped before.

use super::{LARGE_PAGE, PAGE, Span};
use crate::cpu::{self, apic};
use core::ptr::with_exposed_provenance_mut;
use core::sync::atomic::{AtomicUsize, Ordering::*};

/// Entries of a table.
const ENTRIES: usize = 512;
const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const UNCACHED: u64 = 1 << 4;
/// The processor has used the page, and written to it.
const WAS_USED: u64 = 3 << 5;
const LARGE: u64 = 1 << 7;
const NEVER_RUN: u64 = 1 << 63;
/// The part of an entry that is an address.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// What a page is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Use {
    /// It is read.
    Read,
    /// It is run, and read.
    Run,
    /// It is read and written.
    Write,
    /// It has registers of a device.
    Device,
}

impl Use {
    fn flags(self) -> u64 {
        match self {
            Self::Read => PRESENT | NEVER_RUN,
            Self::Run => PRESENT,
            Self::Write => PRESENT | WRITABLE | NEVER_RUN,
            Self::Device => PRESENT | WRITABLE | NEVER_RUN | UNCACHED,
        }
    }
}

/// The physical address of the first table.
static ROOT: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    static __read_start: u8;
    static __run_start: u8;
    static __write_start: u8;
    static __image_end: u8;
}

/// Returns the memory that the image takes.
pub(crate) fn image() -> Span {
    Span { start: (&raw const __read_start).addr(), end: (&raw const __image_end).addr() }
}

/// Supplies an unused page frame for a table, which is mapped to itself.
pub(crate) type Frames<'a> = &'a mut dyn FnMut() -> usize;

/// Builds the tables for the image, and for all usable memory above it; and makes this core and
/// those that start later use them.
///
/// # Safety
///
/// The first core calls it, once and alone, while the loader's memory is still mapped. Nothing
/// needs what is below the image from now on.
pub(crate) unsafe fn begin(memory: &super::Spans, frames: Frames<'_>) {
    let root = empty_table(frames);
    ROOT.store(root, Relaxed);
    let [read, run, write, end] =
        [&raw const __read_start, &raw const __run_start, &raw const __write_start, &raw const __image_end]
            .map(<*const u8>::addr);
    map_itself(Span { start: read, end: run }, Use::Read, frames);
    map_itself(Span { start: run, end: write }, Use::Run, frames);
    map_itself(Span { start: write, end }, Use::Write, frames);
    for (span, _) in memory.iter() {
        map_itself(span, Use::Write, frames);
    }
    map_itself(Span { start: apic::REGISTERS, end: apic::REGISTERS + PAGE }, Use::Device, frames);
    crate::boot::set_page_root(root);
    // SAFETY: they map the image with this code and its stack, and all memory that is used.
    unsafe { cpu::set_page_root(root) };
}

/// Maps whole pages to themselves. Pages that are mapped already must have the same use.
pub(crate) fn map_itself(span: Span, how: Use, frames: Frames<'_>) {
    let mut at = span.start;
    while at < span.end {
        let is_large = at.is_multiple_of(LARGE_PAGE) && span.end - at >= LARGE_PAGE;
        let bytes = if is_large { LARGE_PAGE } else { PAGE };
        map(at, at, bytes, how, frames);
        at += bytes;
    }
}

/// Maps whole pages that have registers of a device to themselves. Returns false, and maps nothing,
/// if something else is mapped there.
pub(crate) fn map_registers(span: Span, frames: Frames<'_>) -> bool {
    let pages = || (span.start..span.end).step_by(PAGE);
    let how = Use::Device;
    let is_own = |page: usize| find(page).is_none_or(|entry| entry & !WAS_USED == page as u64 | how.flags());
    let is_free = pages().all(is_own);
    if is_free {
        pages().for_each(|page| map(page, page, PAGE, how, frames));
    }
    is_free
}

/// Returns the entry of a table for an address.
fn entry_of(table: usize, address: usize, level: u32) -> *mut u64 {
    let index = address >> (12 + 9 * level) & (ENTRIES - 1);
    with_exposed_provenance_mut::<u64>(table + index * size_of::<u64>())
}

/// Returns the entry that maps an address, if one does.
fn find(address: usize) -> Option<u64> {
    let mut table = ROOT.load(Relaxed);
    for level in (0..=3).rev() {
        // SAFETY: tables are whole frames that only this file uses, and one core at a time maps.
        let entry = unsafe { entry_of(table, address, level).read_volatile() };
        if entry & PRESENT == 0 {
            return None;
        }
        if level == 0 || entry & LARGE != 0 {
            return Some(entry);
        }
        table = (entry & ADDRESS) as usize;
    }
    None
}

/// Maps a page of this many bytes that was not mapped, to a frame.
pub(crate) fn map(address: usize, frame: usize, bytes: usize, how: Use, frames: Frames<'_>) {
    let levels = if bytes == LARGE_PAGE { 1..=3 } else { 0..=3 };
    let lowest = *levels.start();
    let mut table = ROOT.load(Relaxed);
    for level in levels.rev() {
        let entry = entry_of(table, address, level);
        // SAFETY: tables are whole frames that only this file uses, and one core at a time maps.
        unsafe {
            if level == lowest {
                let size = if level == 1 { LARGE } else { 0 };
                entry.write_volatile(frame as u64 | how.flags() | size);
                cpu::forget_translation(address);
            } else {
                if entry.read_volatile() & PRESENT == 0 {
                    // The pages below decide what may be done.
                    entry.write_volatile(empty_table(frames) as u64 | PRESENT | WRITABLE);
                }
                let next = entry.read_volatile();
                assert!(next & LARGE == 0, "{address:#x} is in a large page already");
                table = (next & ADDRESS) as usize;
            }
        }
    }
}

fn empty_table(frames: Frames<'_>) -> usize {
    let table = frames();
    // SAFETY: the frame is unused, and mapped to itself.
    unsafe { with_exposed_provenance_mut::<u8>(table).write_bytes(0, PAGE) };
    table
}
