//! What an operating system provides: cores and nodes, pinning, pages.
//!
//! Complete on Linux. On other systems every function has a fallback: the cores are those that the
//! standard library counts, all on one node; threads are not pinned; pages come from the allocator.

#[cfg(not(target_os = "linux"))]
mod fallback;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(test)]
mod tests;

#[cfg(not(target_os = "linux"))]
use fallback as system;
#[cfg(target_os = "linux")]
use linux as system;

use super::topology::{CoreInfo, CpuTopology};
use crate::memory::pages::{PageSource, Pages};
use core::ptr::NonNull;

/// The size of the pages behind memory of [`page_alloc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Huge pages, as far as the system finds free ones.
    Huge,
    /// Pages of the usual size.
    Small,
}

/// Lets forks of this process count, from now on.
pub fn watch_forks() {
    #[cfg(unix)]
    {
        use crate::sync::{Relaxed, global};
        static WATCHED: global::AtomicU64 = global::AtomicU64::new(0);
        extern "C" fn in_child() {
            crate::sync::count_fork();
        }
        // No `Once`: one that is running at a fork would never end in the child. Relaxed: only one
        // thread is to register the handler, and no data depends on that.
        if WATCHED.swap(1, Relaxed) == 0 {
            // SAFETY: the handler stores to an atomic, which is allowed in a forked process.
            // Without memory for it, forks go unnoticed.
            _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        }
    }
}

/// Returns the cores that the calling thread may run on, and the machine's nodes.
///
/// Call it before pinning: a pinned thread sees a single core.
pub fn topology() -> CpuTopology {
    let nodes = system::nodes();
    let node_of = |cpu: usize| nodes.iter().position(|node| node.cpus.contains(&cpu)).unwrap_or(0) as u16;
    let mut cores: Vec<_> =
        system::allowed_cpus().into_iter().map(|os_id| CoreInfo { os_id, node: node_of(os_id) }).collect();
    if cores.is_empty() {
        cores = CpuTopology::uniform(parallelism(), 1).cores;
    }
    CpuTopology { cores, nodes: nodes.len().max(1) }
}

/// Returns the number of workers that can run at once: the number of allowed cores, or less where a
/// quota (of a container, for example) grants less processor time.
pub fn suggested_workers() -> usize {
    match system::allowed_cpus().len() {
        0 => parallelism(),
        allowed => allowed.min(parallelism()),
    }
}

/// Returns the index in [`CpuTopology`] of the node that the system numbers `number`. A system
/// without nodes has node 0.
pub fn node_of_number(number: u32) -> Option<u16> {
    let nodes = system::nodes();
    let found = nodes.iter().position(|node| node.os_id == number as usize);
    found.or_else(|| (nodes.is_empty() && number == 0).then_some(0)).map(|index| index as u16)
}

/// Whether threads can be pinned to cores on this system.
pub const CAN_PIN: bool = cfg!(target_os = "linux");

/// Returns the standard library's count, which on Linux respects the quotas of control groups.
fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// Pins the calling thread, and threads that it starts, to the core numbered `os_id`.
///
/// # Errors
///
/// Fails if the system does not pin threads, or not to this core.
pub fn pin_current_thread(os_id: usize) -> std::io::Result<()> {
    system::pin(os_id)
}

/// Returns the number of the CPU that the calling thread runs on, if the system says so.
pub fn current_cpu() -> Option<u32> {
    system::current_cpu()
}

/// Makes all running threads of this process pass a full memory barrier. Returns false if the
/// system cannot do this.
pub fn barrier() -> bool {
    system::barrier()
}

/// Returns how many bytes of memory this process may use: the machine's memory, or less where a
/// control group (of a container, for example) grants less. `None` where the system does not say.
pub fn memory() -> Option<u64> {
    system::memory()
}

/// Allocates `bytes` bytes of zeroed memory at a multiple of `align`; on `node` (an index of
/// [`CpuTopology`]) and in huge pages where that is requested and possible. No page is touched, so
/// physical memory is used only as the caller touches it.
///
/// Returns `None` when the system has no memory left, `bytes` is 0 or `align` is not a power of
/// two.
pub fn page_alloc(
    bytes: usize,
    align: usize,
    node: Option<u16>,
    huge: bool,
) -> Option<(NonNull<u8>, Backing)> {
    if bytes == 0 || !align.is_power_of_two() {
        return None;
    }
    system::map(bytes, align, node, huge)
}

/// Returns memory of [`page_alloc`] to the system.
///
/// # Safety
///
/// `ptr` came from [`page_alloc`] with this `bytes` and `align`, it was not freed yet, and no
/// reference to it is left.
pub unsafe fn page_free(ptr: NonNull<u8>, bytes: usize, align: usize) {
    // SAFETY: the caller upholds the same contract.
    unsafe { system::unmap(ptr, bytes, align) }
}

/// Gives the memory behind the whole pages of a part of a run of [`page_alloc`] back, and keeps the
/// addresses: these pages are zeroed, and what is written there is in use again. Returns false
/// where the system does not do this, or if the part has no whole page.
///
/// # Safety
///
/// The `bytes` bytes from `start` on are in one run of [`page_alloc`] that was not freed, and
/// nothing needs what is in them. Other threads only read words of them meanwhile, atomically.
pub unsafe fn page_discard(start: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: the caller upholds the same contract.
    unsafe { system::discard(start, bytes) }
}

/// The operating system as a source of pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsPages;

// SAFETY: `page_alloc` returns fresh, zeroed mappings of the requested size and alignment, which
// live until `page_free`.
unsafe impl PageSource for OsPages {
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
        let (ptr, backing) = page_alloc(bytes, align, node, huge)?;
        Some(Pages { ptr, bytes, align, huge: backing == Backing::Huge })
    }

    unsafe fn discard(&self, start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the caller upholds the same contract, as runs come from `page_alloc`.
        unsafe { page_discard(start, bytes) }
    }

    unsafe fn release(&self, pages: Pages) {
        // SAFETY: the run came unchanged from `pages`, hence from `page_alloc` with these
        // arguments.
        unsafe { page_free(pages.ptr, pages.bytes, pages.align) }
    }

    unsafe fn discard_run(&self, pages: &Pages) -> bool {
        // SAFETY: the run is a mapping from `page_alloc`, and nothing needs its contents.
        unsafe { system::discard_run(pages.ptr, pages.bytes) }
    }
}

/// A node and its cores, by the system's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere no node is ever found"))]
struct Node {
    os_id: usize,
    cpus: Vec<usize>,
}

/// Returns the numbers in a list such as `0-3,8,10-11`. Skips what it cannot parse.
#[cfg(any(target_os = "linux", test))]
fn parse_list(text: &str) -> Vec<usize> {
    /// No machine has more cores. A larger number is an error in the list, and must not make it
    /// fill the memory.
    const CPU_NUMBER_END: usize = 1 << 16;
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<usize>(), last.trim().parse::<usize>())
            && last < CPU_NUMBER_END
        {
            numbers.extend(first..=last);
        }
    }
    numbers
}
