//! Linux: affinity masks, `/sys`, control groups, and `mmap`.

use super::{Backing, Node, parse_list};
use crate::memory::pages::HUGE_PAGE;
use core::ffi::{c_int, c_ulong};
use core::ptr::{NonNull, null_mut};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

const WORD_BITS: usize = c_ulong::BITS as usize;

/// Builds a bit set in the kernel's format with one member.
fn bit_set(number: usize) -> Vec<c_ulong> {
    let mut words = vec![0; number / WORD_BITS + 1];
    words[number / WORD_BITS] = 1 << (number % WORD_BITS);
    words
}

/// Returns the cores in the calling thread's affinity mask; none if it cannot be read.
pub(super) fn allowed_cpus() -> Vec<usize> {
    // The kernel refuses a mask shorter than its own and does not say how long that is. 1024
    // cores usually suffice; double until they do.
    let mut words = vec![0 as c_ulong; 1024 / WORD_BITS];
    while words.len() * WORD_BITS <= 1 << 16 {
        // SAFETY: the pointer and the length in bytes describe the vector, and the call writes
        // nothing beyond it.
        let result =
            unsafe { libc::sched_getaffinity(0, size_of_val(&words[..]), words.as_mut_ptr().cast()) };
        if result == 0 {
            let set = |cpu: &usize| words[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1;
            return (0..words.len() * WORD_BITS).filter(set).collect();
        }
        words = vec![0; words.len() * 2];
    }
    Vec::new()
}

pub(super) fn pin(os_id: usize) -> io::Result<()> {
    if os_id >= 1 << 16 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let words = bit_set(os_id);
    // SAFETY: the pointer and the length in bytes describe the vector, and the call only reads
    // it.
    match unsafe { libc::sched_setaffinity(0, size_of_val(&words[..]), words.as_ptr().cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the CPU of the calling thread; Miri does not know the call.
pub(super) fn current_cpu() -> Option<u32> {
    if cfg!(miri) {
        return None;
    }
    // SAFETY: the call has no arguments.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Calls `membarrier`, for the threads of this process; Miri does not know it.
pub(super) fn barrier() -> bool {
    const PRIVATE_EXPEDITED: c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;
    static IS_REGISTERED: OnceLock<bool> = OnceLock::new();
    // SAFETY: the call takes two numbers, and accesses no memory of this process.
    let call = |command: c_int| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } == 0;
    let register = || !cfg!(miri) && call(REGISTER_PRIVATE_EXPEDITED);
    *IS_REGISTERED.get_or_init(register) && call(PRIVATE_EXPEDITED)
}

/// Returns the machine's nodes in ascending order. Reads them once, so that an index always
/// means the same node.
pub(super) fn nodes() -> &'static [Node] {
    static NODES: OnceLock<Vec<Node>> = OnceLock::new();
    NODES.get_or_init(|| read_nodes(Path::new("/sys/devices/system/node")))
}

pub(super) fn read_nodes(directory: &Path) -> Vec<Node> {
    let mut nodes = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node")).map(str::parse);
        if let Some(Ok(os_id)) = number
            && let Ok(list) = fs::read_to_string(entry.path().join("cpulist"))
        {
            nodes.push(Node { os_id, cpus: parse_list(&list) });
        }
    }
    nodes.sort_by_key(|node| node.os_id);
    nodes
}

pub(super) fn memory() -> Option<u64> {
    // SAFETY: the calls only read constants of the system.
    let [pages, page] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    let physical = u64::try_from(pages).ok().zip(u64::try_from(page).ok()).map(|(pages, page)| pages * page);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    physical.into_iter().chain(group_limit(Path::new("/sys/fs/cgroup"), &groups)).min()
}

/// Returns the smallest limit of the control groups listed in `/proc/self/cgroup`, whose files
/// are below `root`. The limits of a group's ancestors apply to it as well.
pub(super) fn group_limit(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        // A line is number, controllers, path. Version 2 names no controllers; version 1 has a
        // line for each hierarchy.
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (root, file) = if controllers.is_empty() {
            (root.to_path_buf(), "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            return Vec::new();
        };
        let group = Path::new(path.trim_start_matches('/'));
        // Without a limit the file says "max", or a number that no machine has.
        let limit = |group: &Path| fs::read_to_string(root.join(group).join(file)).ok()?.trim().parse().ok();
        group.ancestors().filter_map(limit).collect::<Vec<u64>>()
    });
    limits.min()
}

/// Returns true if the kernel grants huge pages that are requested by `madvise`.
fn huge_pages_exist() -> bool {
    static EXIST: OnceLock<bool> = OnceLock::new();
    *EXIST.get_or_init(|| {
        fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
            .is_ok_and(|modes| !modes.contains("[never]"))
    })
}

/// Rounds `bytes` up to whole pages; `None` on overflow.
fn whole_pages(bytes: usize) -> Option<usize> {
    static PAGE: OnceLock<usize> = OnceLock::new();
    // SAFETY: the call only reads a constant of the system.
    let page = *PAGE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize);
    bytes.checked_next_multiple_of(page)
}

pub(super) fn map(
    bytes: usize,
    align: usize,
    node: Option<u16>,
    huge: bool,
) -> Option<(NonNull<u8>, Backing)> {
    let huge = huge && bytes >= HUGE_PAGE && huge_pages_exist();
    let align = if huge { align.max(HUGE_PAGE) } else { align };
    let (bytes, align) = (whole_pages(bytes)?, whole_pages(align)?);
    // Wherever the kernel places the mapping, one of this size contains an aligned run.
    let mapped = bytes.checked_add(align)?.checked_sub(whole_pages(1)?)?;
    // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that
    // exists.
    let start = unsafe {
        libc::mmap(
            null_mut(),
            mapped,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    let before = start.addr().next_multiple_of(align) - start.addr();
    let after = mapped - before - bytes;
    // SAFETY: `before + bytes + after` is the length of the mapping just made, to which no
    // other code has a pointer. The parts unmapped are whole pages at its ends.
    let run = unsafe {
        let run = start.byte_add(before);
        if before != 0 {
            libc::munmap(start, before);
        }
        if after != 0 {
            libc::munmap(run.byte_add(bytes), after);
        }
        run
    };
    // SAFETY: the advice concerns this run alone and does not change its contents.
    let huge = huge && unsafe { libc::madvise(run, bytes, libc::MADV_HUGEPAGE) } == 0;
    if let (Some(node), [_, _, ..]) = (node, nodes()) {
        bind(run, bytes, node);
    }
    Some((NonNull::new(run.cast())?, if huge { Backing::Huge } else { Backing::Small }))
}

/// Asks the kernel to place a fresh run on `node`. A refusal is ignored: the memory works
/// wherever it is.
fn bind(run: *mut libc::c_void, bytes: usize, node: u16) {
    /// From the kernel's mempolicy.h: use this node, and others when it is full.
    const MPOL_PREFERRED: c_int = 1;
    let Some(node) = nodes().get(usize::from(node)) else { return };
    let words = bit_set(node.os_id);
    // The kernel reads one bit less than this number.
    let bits = words.len() * WORD_BITS + 1;
    // SAFETY: the call reads `bits - 1` bits of the vector and sets the policy of a run that
    // only `map` has a pointer to.
    unsafe { libc::syscall(libc::SYS_mbind, run, bytes, MPOL_PREFERRED, words.as_ptr(), bits, 0) };
}

pub(super) unsafe fn discard(start: NonNull<u8>, bytes: usize) -> bool {
    let Some(page) = whole_pages(1) else { return false };
    let from = start.addr().get().next_multiple_of(page) - start.addr().get();
    let Some(whole) = bytes.checked_sub(from).map(|rest| rest / page * page) else { return false };
    // SAFETY: `page_discard`'s contract: the pages are in a private mapping of `map`, and their
    // contents are not needed. The kernel supplies zeroed ones when they are touched again.
    whole != 0 && unsafe { libc::madvise(start.as_ptr().add(from).cast(), whole, libc::MADV_DONTNEED) } == 0
}

pub(super) unsafe fn unmap(ptr: NonNull<u8>, bytes: usize, _align: usize) {
    // `map` has rounded the length up; rounding it again changes nothing.
    let Some(bytes) = whole_pages(bytes) else { return };
    // SAFETY: `page_free`'s contract: this run is what `map` left of a mapping, and is no
    // longer in use.
    let result = unsafe { libc::munmap(ptr.as_ptr().cast(), bytes) };
    debug_assert_eq!(result, 0);
}

/// Replaces the pages of a run by zeroed ones, which take no memory before they are written.
///
/// # Safety
///
/// The run came from `map`, and nothing needs what is in it.
pub(super) unsafe fn discard_run(ptr: NonNull<u8>, bytes: usize) -> bool {
    let Some(bytes) = whole_pages(bytes) else { return false };
    // SAFETY: the run is a private mapping, whose contents are not needed.
    unsafe { libc::madvise(ptr.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 }
}
