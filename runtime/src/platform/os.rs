//! What an operating system tells and gives: cores and nodes, pinning, pages.
//!
//! On Linux everything is there. Elsewhere nothing here fails either: cores are those the standard library counts,
//! on one node, threads are not pinned, and pages come from the allocator.

use super::topology::{CoreInfo, Topology};
use crate::memory::pages::{PageSource, Pages};
use core::ptr::NonNull;

/// How [`page_alloc`] backs a run of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// By huge pages, as far as the system finds free ones.
    Huge,
    /// By pages of the usual size.
    Small,
}

/// The cores that the calling thread may run on, and the machine's nodes.
///
/// Ask before pinning: a pinned thread sees a single core.
pub fn topology() -> Topology {
    let nodes = system::nodes();
    let node_of = |cpu: usize| nodes.iter().position(|node| node.cpus.contains(&cpu)).unwrap_or(0) as u16;
    let mut cores: Vec<_> =
        system::allowed_cpus().into_iter().map(|os_id| CoreInfo { os_id, node: node_of(os_id) }).collect();
    if cores.is_empty() {
        cores = Topology::uniform(parallelism(), 1).cores;
    }
    Topology { cores, nodes: nodes.len().max(1) }
}

/// How many workers make sense: as many as there are allowed cores, or fewer where a quota (of a container, say)
/// grants less processor time than that.
pub fn suggested_workers() -> usize {
    match system::allowed_cpus().len() {
        0 => parallelism(),
        allowed => allowed.min(parallelism()),
    }
}

/// Index of [`Topology`] of the node that the system gives that number; without nodes all is node 0.
pub fn node_of_number(number: u32) -> Option<u16> {
    let nodes = system::nodes();
    let found = nodes.iter().position(|node| node.os_id == number as usize);
    found.or_else(|| (nodes.is_empty() && number == 0).then_some(0)).map(|index| index as u16)
}

/// Whether threads can be bound to cores here.
pub const BINDS: bool = cfg!(target_os = "linux");

/// The standard library's count, which on Linux takes the quotas of control groups into account.
fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// Binds the calling thread to the core numbered `os_id`; whether that worked. Threads it starts inherit it.
pub fn pin_current_thread(os_id: usize) -> bool {
    system::pin(os_id)
}

/// How many bytes of memory this process may use: what the machine has, or less where a control group (of a container,
/// say) grants less. `None` where the system does not say.
pub fn memory() -> Option<u64> {
    system::memory()
}

/// `bytes` bytes of zeroed memory at a multiple of `align`, on `node` (an index of [`Topology`]) and in huge pages if
/// that is asked for and possible. Nothing is touched, so memory is taken only as it comes into use.
///
/// `None` when the system has no memory left, `bytes` is 0 or `align` is not a power of two.
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

/// Gives memory of [`page_alloc`] back.
///
/// # Safety
///
/// `ptr` came from [`page_alloc`] with this `bytes` and `align`, it was not freed yet, and nobody uses it any more.
pub unsafe fn page_free(ptr: NonNull<u8>, bytes: usize, align: usize) {
    // SAFETY: the caller's promise, passed on.
    unsafe { system::unmap(ptr, bytes, align) }
}

/// The operating system as a source of pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsPages;

// SAFETY: `page_alloc` gives fresh, zeroed mappings of the asked size and alignment, which live until `page_free`.
unsafe impl PageSource for OsPages {
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
        let (ptr, backing) = page_alloc(bytes, align, node, huge)?;
        Some(Pages { ptr, bytes, align, huge: backing == Backing::Huge })
    }

    unsafe fn release(&self, pages: Pages) {
        // SAFETY: the run came unchanged from `pages`, hence from `page_alloc` with these arguments.
        unsafe { page_free(pages.ptr, pages.bytes, pages.align) }
    }
}

/// A node as the system numbers it, with its cores.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere no node is ever found"))]
struct Node {
    os_id: usize,
    cpus: Vec<usize>,
}

/// Numbers in a list such as `0-3,8,10-11`; what cannot be read is left out.
#[cfg(any(target_os = "linux", test))]
fn parse_list(text: &str) -> Vec<usize> {
    /// No machine has more cores: a number beyond is an error, and must not become a list that fills memory.
    const MOST: usize = 1 << 16;
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<usize>(), last.trim().parse::<usize>())
            && last < MOST
        {
            numbers.extend(first..=last);
        }
    }
    numbers
}

#[cfg(target_os = "linux")]
mod system {
    use super::{Backing, Node, parse_list};
    use crate::memory::pages::HUGE_PAGE;
    use core::ffi::{c_int, c_ulong};
    use core::ptr::{NonNull, null_mut};
    use std::fs;
    use std::path::Path;
    use std::sync::OnceLock;

    const WORD_BITS: usize = c_ulong::BITS as usize;

    /// A set of numbers as the kernel takes it: one bit each, in words.
    fn bit_set(number: usize) -> Vec<c_ulong> {
        let mut words = vec![0; number / WORD_BITS + 1];
        words[number / WORD_BITS] = 1 << (number % WORD_BITS);
        words
    }

    /// Cores in the calling thread's affinity mask; empty if it cannot be read.
    pub(super) fn allowed_cpus() -> Vec<usize> {
        // The kernel refuses a mask shorter than its own, whose length it does not tell: 1024 cores usually do.
        let mut words = vec![0 as c_ulong; 1024 / WORD_BITS];
        while words.len() * WORD_BITS <= 1 << 16 {
            // SAFETY: the pointer and the length in bytes describe the vector; the call writes nothing beyond.
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

    pub(super) fn pin(os_id: usize) -> bool {
        if os_id >= 1 << 16 {
            return false;
        }
        let words = bit_set(os_id);
        // SAFETY: the pointer and the length in bytes describe the vector, which is only read.
        unsafe { libc::sched_setaffinity(0, size_of_val(&words[..]), words.as_ptr().cast()) == 0 }
    }

    /// The machine's nodes by ascending number. Read once, so that an index means the same node for ever.
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
        let [pages, page] =
            [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
        let physical =
            u64::try_from(pages).ok().zip(u64::try_from(page).ok()).map(|(pages, page)| pages * page);
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        physical.into_iter().chain(granted(Path::new("/sys/fs/cgroup"), &groups)).min()
    }

    /// The least that the control groups of `/proc/self/cgroup`, below `root`, grant: each counts, and those above it.
    pub(super) fn granted(root: &Path, groups: &str) -> Option<u64> {
        let limits = groups.lines().flat_map(|line| {
            // Number, controllers, path. Version 2 has no controllers here, version 1 a hierarchy for each.
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
            let limit =
                |group: &Path| fs::read_to_string(root.join(group).join(file)).ok()?.trim().parse().ok();
            group.ancestors().filter_map(limit).collect::<Vec<u64>>()
        });
        limits.min()
    }

    /// Whether the kernel gives huge pages to whoever asks for them by `madvise`.
    fn huge_pages_exist() -> bool {
        static EXIST: OnceLock<bool> = OnceLock::new();
        *EXIST.get_or_init(|| {
            fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
                .is_ok_and(|modes| !modes.contains("[never]"))
        })
    }

    /// `bytes` rounded up to whole pages; `None` if that is more than an address can count.
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
        // Whatever the kernel aligns its answer to, there is an aligned run in this many bytes.
        let mapped = bytes.checked_add(align)?.checked_sub(whole_pages(1)?)?;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that exists.
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
        // SAFETY: `before + bytes + after` is the length of the mapping just made, which nobody else knows; the
        // parts unmapped are whole pages at its ends.
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
        // SAFETY: the advice concerns the run alone and changes nothing about what it contains.
        let huge = huge && unsafe { libc::madvise(run, bytes, libc::MADV_HUGEPAGE) } == 0;
        if let (Some(node), [_, _, ..]) = (node, nodes()) {
            bind(run, bytes, node);
        }
        Some((NonNull::new(run.cast())?, if huge { Backing::Huge } else { Backing::Small }))
    }

    /// Asks for `node` as the place of a fresh run. Refusal is no error: the memory works wherever it is.
    fn bind(run: *mut libc::c_void, bytes: usize, node: u16) {
        /// From the kernel's mempolicy.h: this node, and others when it is full.
        const MPOL_PREFERRED: c_int = 1;
        let Some(node) = nodes().get(usize::from(node)) else { return };
        let words = bit_set(node.os_id);
        // The kernel takes one bit less than this says.
        let bits = words.len() * WORD_BITS + 1;
        // SAFETY: the call reads `bits - 1` bits of the vector and sets the policy of a run that is ours alone.
        unsafe { libc::syscall(libc::SYS_mbind, run, bytes, MPOL_PREFERRED, words.as_ptr(), bits, 0) };
    }

    pub(super) unsafe fn unmap(ptr: NonNull<u8>, bytes: usize, _align: usize) {
        // A length that `map` has rounded can be rounded again.
        let Some(bytes) = whole_pages(bytes) else { return };
        // SAFETY: by the caller's promise this is all that is left of a mapping of `map`, and no longer in use.
        let result = unsafe { libc::munmap(ptr.as_ptr().cast(), bytes) };
        debug_assert_eq!(result, 0);
    }
}

/// What every other system gets.
#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Backing, Node};
    use core::ptr::NonNull;
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    pub(super) fn allowed_cpus() -> Vec<usize> {
        Vec::new()
    }

    pub(super) fn pin(_os_id: usize) -> bool {
        false
    }

    pub(super) fn memory() -> Option<u64> {
        None
    }

    pub(super) fn nodes() -> &'static [Node] {
        &[]
    }

    pub(super) fn map(
        bytes: usize,
        align: usize,
        _node: Option<u16>,
        _huge: bool,
    ) -> Option<(NonNull<u8>, Backing)> {
        let layout = Layout::from_size_align(bytes, align).ok()?;
        // SAFETY: the caller has made sure that `bytes` is not zero.
        NonNull::new(unsafe { alloc_zeroed(layout) }).map(|ptr| (ptr, Backing::Small))
    }

    pub(super) unsafe fn unmap(ptr: NonNull<u8>, bytes: usize, align: usize) {
        // SAFETY: by the caller's promise `map` allocated this with this very layout, having checked it.
        unsafe { dealloc(ptr.as_ptr(), Layout::from_size_align_unchecked(bytes, align)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert_eq!(parse_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse_list(" 7 "), [7]);
        assert_eq!(parse_list("2 - 3 , 5"), [2, 3, 5]);
        assert_eq!(parse_list(""), []);
        assert_eq!(parse_list("\n"), []);
        assert_eq!(parse_list("x,1-,-4,2-y,9"), [9]);
        assert_eq!(parse_list("5-3,1"), [1]);
        assert_eq!(parse_list("0-99999999999,4"), [4]);
        assert_eq!(parse_list("0-99999999999999999999999,4"), [4]);
    }

    #[test]
    fn topology_makes_sense() {
        let topology = topology();
        assert!(!topology.cores.is_empty() && topology.nodes >= 1);
        assert!(topology.cores.iter().all(|core| usize::from(core.node) < topology.nodes));
        assert!((1..=topology.cores.len()).contains(&suggested_workers()));
    }

    #[test]
    fn pages_of_every_kind() {
        for (bytes, align) in
            [(1, 1), (4096, 4096), (100_000, 1 << 16), (5 << 20, 1 << 16), (2 << 20, 4 << 20)]
        {
            for node in [None, Some(0), Some(999)] {
                for huge in [false, true] {
                    let pages = OsPages.pages(bytes, align, node, huge).unwrap();
                    assert!(pages.bytes >= bytes && pages.ptr.addr().get().is_multiple_of(align));
                    // SAFETY: the run is ours alone.
                    unsafe {
                        let run = core::slice::from_raw_parts_mut(pages.ptr.as_ptr(), bytes);
                        assert!(run.iter().all(|byte| *byte == 0));
                        run.fill(1);
                        OsPages.release(pages);
                    }
                }
            }
        }
        assert!(page_alloc(0, 64, None, true).is_none());
        assert!(page_alloc(64, 3, None, true).is_none());
        assert!(page_alloc(usize::MAX, 64, None, true).is_none());
        assert!(page_alloc(usize::MAX / 2, 64, None, true).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_least_grant_of_all_groups_counts() {
        let root = std::env::temp_dir().join(std::format!("xtasking-groups-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let file = root.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("outer/memory.max", "4096000\n");
        write("outer/inner/memory.max", "max\n");
        write("memory/old/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/memory.limit_in_bytes", "8192000\n");
        let granted = |groups| system::granted(&root, groups);
        assert_eq!(granted("0::/outer/inner\n"), Some(4_096_000));
        assert_eq!(granted("5:cpu,memory:/old\n1:name=systemd:/outer\n"), Some(8_192_000));
        assert_eq!(granted("5:memory:/old\n0::/outer/inner/unknown\n"), Some(4_096_000));
        assert_eq!([granted("0::/\n"), granted(""), granted("1:cpu:/outer\nnonsense")], [None; 3]);
        std::fs::remove_dir_all(&root).unwrap();
        assert!(memory().is_some_and(|bytes| bytes >= 1 << 20));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pinning() {
        let core = topology().cores[0].os_id;
        std::thread::spawn(move || {
            assert!(pin_current_thread(core));
            assert_eq!(topology().cores.iter().map(|core| core.os_id).collect::<Vec<_>>(), [core]);
            assert_eq!(suggested_workers(), 1);
            assert!(!pin_current_thread(60_000) && !pin_current_thread(usize::MAX));
        })
        .join()
        .unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nodes_with_gaps() {
        let directory = std::env::temp_dir().join(format!("xtasking-nodes-{}", std::process::id()));
        for (node, list) in [("node10", "4-5\n"), ("node2", "0-1,3\n"), ("node7", "\n"), ("nodes", "9\n")] {
            std::fs::create_dir_all(directory.join(node)).unwrap();
            std::fs::write(directory.join(node).join("cpulist"), list).unwrap();
        }
        std::fs::create_dir_all(directory.join("node3")).unwrap();
        let found = system::read_nodes(&directory);
        std::fs::remove_dir_all(&directory).unwrap();
        let node = |os_id, cpus: &[usize]| Node { os_id, cpus: cpus.into() };
        assert_eq!(found, [node(2, &[0, 1, 3]), node(7, &[]), node(10, &[4, 5])]);
        assert!(system::read_nodes(&directory).is_empty());
    }
}
