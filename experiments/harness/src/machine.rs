//! A description of the machine that every report includes, memory limits, and thread pinning.
//!
//! Some facts are known on Linux only; elsewhere the report leaves them out.

use crate::failure::Failure;
use serde::Serialize;
use std::fs;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};
use xtasking::platform::Placement;
use xtasking_knowledge::Bytes;
use xtasking_knowledge::facts::{Cache, CacheKind, Facts};
use xtasking_knowledge::system::System as Known;

/// The machine, its operating system and the program.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The processor's brand name.
    pub cpu: String,
    /// The number of logical CPUs that this process may use.
    pub cores: usize,
    /// Where a runtime with default settings places its workers, and why.
    pub habit: String,
    /// The number of NUMA nodes, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// The data caches of the first CPU, such as `L1d 32 KiB, L2 1 MiB`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caches: Option<String>,
    /// Physical memory in bytes.
    pub memory: u64,
    /// The kernel's setting for transparent huge pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<String>,
    /// The operating system, its kernel and the architecture.
    pub system: String,
    /// The compiler that built the program.
    pub compiler: &'static str,
    /// The version of the program.
    pub version: &'static str,
}

impl Machine {
    /// Collects the facts from the operating system.
    pub fn detect() -> Self {
        let system = system();
        let facts = Known::here().facts().ok();
        let cpus = system.as_ref().map_or(&[][..], System::cpus);
        let cpu = cpus.first().map(|cpu| cpu.brand().trim()).filter(|brand| !brand.is_empty());
        let name = System::long_os_version().unwrap_or_else(|_| std::env::consts::OS.to_string());
        let kernel = System::kernel_version().unwrap_or_else(|_| "unknown".to_string());
        Self {
            cpu: cpu.unwrap_or("unknown processor").to_string(),
            cores: cores(),
            habit: Placement::of_this_process().to_string(),
            nodes: facts.as_ref().and_then(nodes),
            caches: facts.as_ref().and_then(caches),
            memory: system.as_ref().map_or(0, System::total_memory),
            huge_pages: huge_pages(),
            system: format!("{name}, kernel {kernel}, {}", std::env::consts::ARCH),
            compiler: env!("XTASKING_RUSTC"),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// Describes the machine for people, in five lines.
    pub fn describe(&self) -> String {
        let caches = self.caches.as_deref().map(|caches| format!(", {caches}")).unwrap_or_default();
        let nodes = self.nodes.filter(|nodes| *nodes > 1).map(|nodes| format!(" on {nodes} nodes"));
        let huge_pages = self.huge_pages.as_deref().map(|pages| format!(", huge pages: {pages}"));
        format!(
            "machine   {}{}{caches}\nworkers   by default on {}\nmemory    {:.1} GiB{}\nsystem    {}\n\
            program   xtasking-bench {}, {}",
            self.cpu,
            nodes.unwrap_or_default(),
            self.habit,
            self.memory as f64 / GIBIBYTE,
            huge_pages.unwrap_or_default(),
            self.system,
            self.version,
            self.compiler
        )
    }
}

const GIBIBYTE: f64 = (1u64 << 30) as f64;

/// Returns the number of logical CPUs that this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Threads beside the workers: the progress bar's, and those of clients.
const SPARE_THREADS: usize = 4;

/// Checks that as many threads can be started as a run with `workers` workers has.
///
/// # Errors
///
/// If the system refuses one, for example by `ulimit -u`.
pub fn check_threads(workers: usize) -> Result<(), Failure> {
    let needed = workers + SPARE_THREADS;
    thread::scope(|scope| {
        // Threads end when the sender is dropped, so that all of them exist at the same time.
        let (sender, receiver) = mpsc::channel::<()>();
        let receiver = Arc::new(Mutex::new(receiver));
        let outcome = (0..needed).try_for_each(|started| {
            let receiver = receiver.clone();
            let waits = move || _ = receiver.lock().map(|receiver| receiver.recv());
            thread::Builder::new().spawn_scoped(scope, waits).map(drop).map_err(|error| {
                let why = "the system refuses further threads (see `ulimit -u`)";
                Failure::Usage(format!(
                    "only {started} of {needed} threads can be started, as {why}: {error}"
                ))
            })
        });
        drop(sender);
        outcome
    })
}

/// Returns the bytes of memory available without swapping, within the limit of the container, or
/// `None` if unknown.
pub fn available_memory() -> Option<u64> {
    let system = system()?;
    let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    Some(system.available_memory().min(limit)).filter(|available| *available > 0)
}

/// Returns the resident set size of this process in bytes, or `None` if unknown.
pub fn resident_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Reads processor and memory facts.
fn system() -> Option<System> {
    let refresh = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::nothing().with_ram());
    System::new_with_specifics(refresh).ok()
}

/// Returns the number of NUMA nodes, or `None` if it is unknown.
fn nodes(facts: &Facts) -> Option<usize> {
    let is_unknown = facts.gaps.iter().any(|gap| gap.about == "nodes");
    Some(facts.nodes.len()).filter(|&nodes| nodes > 1 || !is_unknown)
}

fn caches(facts: &Facts) -> Option<String> {
    let first = facts.cpus.first()?.id;
    let cache = |cache: &Cache| {
        let kind = match cache.kind {
            CacheKind::Data => "d",
            CacheKind::Unified => "",
            CacheKind::Instruction => return None,
        };
        let is_of_first = cache.cpus.contains(first);
        is_of_first.then(|| format!("L{}{kind} {}", cache.level, Bytes(cache.size)))
    };
    let caches: Vec<_> = facts.caches.iter().filter_map(cache).collect();
    (!caches.is_empty()).then(|| caches.join(", "))
}

fn huge_pages() -> Option<String> {
    // The file lists all choices; brackets mark the active one.
    let choices = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    let (_, rest) = choices.split_once('[')?;
    rest.split_once(']').map(|(choice, _)| choice.to_string())
}

/// Pins the calling thread to the core of its index; does nothing if there are more workers than
/// cores.
pub fn pin(index: usize, workers: usize) {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if workers <= cores.len() {
        core_affinity::set_for_current(cores[index % cores.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_caches_are_those_of_the_facts() {
        let mut facts = Facts::symmetric(2, 1, 4, 2);
        assert_eq!(nodes(&facts), Some(2));
        assert_eq!(caches(&facts).unwrap(), "L1d 32 KiB, L2 1 MiB, L3 32 MiB");
        facts.caches.clear();
        assert_eq!(caches(&facts), None);
    }

    #[test]
    fn the_machine_is_described_in_five_lines() {
        let machine = Machine::detect();
        assert!(machine.cores > 0 && machine.memory > 0 && available_memory().is_some());
        assert!(machine.compiler.starts_with("rustc"));
        assert_eq!(machine.describe().lines().count(), 5);
    }
}
