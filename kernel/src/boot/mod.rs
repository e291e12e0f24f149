//! From the loader's entry to Rust, and what the loader says of the machine (PVH).

use crate::memory::Span;
use core::arch::global_asm;
use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

/// The physical address of the loader's description.
static START_INFO: AtomicU64 = AtomicU64::new(0);
/// The physical address of the page tables that a core loads when it starts.
static PAGE_ROOT: AtomicU64 = AtomicU64::new(0);
/// The index of the core with each APIC ID, or [`NO_CORE`].
static CORE_OF_APIC: [AtomicU32; 256] = [const { AtomicU32::new(NO_CORE) }; 256];
/// The index of a core that the firmware does not list, or beyond [`MAX_CORES`](crate::MAX_CORES):
/// it halts.
const NO_CORE: u32 = u32::MAX;
/// The upper end of the stack of each core but the first.
static CORE_STACKS: [AtomicPtr<u8>; crate::MAX_CORES] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; crate::MAX_CORES];

global_asm!(
    include_str!("entry.s"),
    start_info = sym START_INFO,
    page_root = sym PAGE_ROOT,
    core_of_apic = sym CORE_OF_APIC,
    no_core = const NO_CORE,
    core_stacks = sym CORE_STACKS,
    first_main = sym crate::start::first_main,
    other_main = sym crate::start::other_main,
);

unsafe extern "C" {
    static trampoline: u8;
    static trampoline_end: u8;
}

/// Where a core that starts begins to run.
pub(crate) const TRAMPOLINE: usize = 0x8000;

/// The magic number of the loader's description.
const MAGIC: u32 = 0x336e_c578;
/// The kind of memory that may be used.
const USABLE: u32 = 1;

/// The loader's description, as PVH lays it out.
#[repr(C)]
#[derive(Clone, Copy)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
    rsdp: u64,
    memory_map: u64,
    memory_entries: u32,
    reserved: u32,
}

/// A line of the memory map.
#[repr(C)]
#[derive(Clone, Copy)]
struct MemoryEntry {
    start: u64,
    bytes: u64,
    kind: u32,
    reserved: u32,
}

/// What the loader says of the machine.
pub(crate) struct LoaderInfo(StartInfo);

impl LoaderInfo {
    /// Reads the description. Returns `None` if the loader left none.
    ///
    /// # Safety
    ///
    /// Memory is still as the loader left it, and mapped to itself.
    pub unsafe fn read() -> Option<Self> {
        let at = START_INFO.load(Relaxed) as *const StartInfo;
        if at.is_null() {
            return None;
        }
        // SAFETY: the loader has passed this address, and memory is as it was.
        let info = unsafe { at.read_unaligned() };
        (info.magic == MAGIC && info.version >= 1).then_some(Self(info))
    }

    /// Returns the physical address of ACPI's root pointer; 0 if the loader names none.
    pub fn rsdp(&self) -> usize {
        self.0.rsdp as usize
    }

    /// Copies the command line into `buffer`, as far as it fits.
    ///
    /// # Safety
    ///
    /// As for [`read`](Self::read).
    pub unsafe fn command_line<'a>(&self, buffer: &'a mut [u8]) -> &'a str {
        if self.0.command_line == 0 {
            return "";
        }
        // SAFETY: the loader has ended the line by a zero.
        let line = unsafe { CStr::from_ptr(self.0.command_line as *const _) }.to_bytes();
        let bytes = line.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&line[..bytes]);
        core::str::from_utf8(&buffer[..bytes]).unwrap_or_default().trim()
    }

    /// Calls `visit` with each run of usable memory.
    ///
    /// # Safety
    ///
    /// As for [`read`](Self::read).
    pub unsafe fn usable(&self, mut visit: impl FnMut(Span)) {
        let entries = self.0.memory_map as *const MemoryEntry;
        for index in 0..self.0.memory_entries as usize {
            // SAFETY: the loader has passed a map with this number of entries.
            let entry = unsafe { entries.add(index).read_unaligned() };
            if entry.kind == USABLE {
                visit(Span { start: entry.start as usize, end: (entry.start + entry.bytes) as usize });
            }
        }
    }
}

/// Copies the code that a core runs first to where it starts.
///
/// # Safety
///
/// Memory below 1 MiB is mapped, and nothing needs it any longer.
pub(crate) unsafe fn copy_trampoline() {
    let (from, end) = (&raw const trampoline, &raw const trampoline_end);
    // SAFETY: the symbols enclose the code, and the caller has nothing at its target.
    unsafe { core::ptr::copy_nonoverlapping(from, TRAMPOLINE as *mut u8, end.addr() - from.addr()) };
}

/// Sets the page tables of the cores that start from now on.
pub(crate) fn set_page_root(root: usize) {
    PAGE_ROOT.store(root as u64, Relaxed);
}

/// Sets the index and the stack of a core that is going to start.
pub(crate) fn prepare_core(apic_id: u8, index: usize, stack_top: *mut u8) {
    CORE_OF_APIC[usize::from(apic_id)].store(index as u32, Relaxed);
    // Release: the core starts by an interrupt that is sent later.
    CORE_STACKS[index].store(stack_top, Release);
}
