//! What a result was measured on. Linux tells most; elsewhere the unknown parts are left out.

use serde::Serialize;
use std::fs;
use std::thread;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};
use xtasking::Placement;

/// The machine, its system and the program.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The name of the processor.
    pub cpu: String,
    /// How many logical CPUs this process may use.
    pub cores: usize,
    /// Where a runtime that is told nothing has its workers, and why.
    pub habit: String,
    /// How many NUMA nodes there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// The caches that the first core sees, such as `L1d 32K, L2 1024K`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caches: Option<String>,
    /// All memory, in bytes.
    pub memory: u64,
    /// The system's setting for transparent huge pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<String>,
    /// The operating system and its kernel.
    pub system: String,
    /// The compiler that built the program.
    pub compiler: &'static str,
    /// The version of the program.
    pub version: &'static str,
}

impl Machine {
    /// Asks the system.
    pub fn detect() -> Self {
        let system = system();
        let cpus = system.as_ref().map_or(&[][..], System::cpus);
        let cpu = cpus.first().map(|cpu| cpu.brand().trim()).filter(|brand| !brand.is_empty());
        let name = System::long_os_version().unwrap_or_else(|_| std::env::consts::OS.to_string());
        let kernel = System::kernel_version().unwrap_or_else(|_| "unknown".to_string());
        Self {
            cpu: cpu.unwrap_or("unknown processor").to_string(),
            cores: cores(),
            habit: Placement::of_this_process().to_string(),
            nodes: nodes(),
            caches: caches(),
            memory: system.as_ref().map_or(0, System::total_memory),
            huge_pages: huge_pages(),
            system: format!("{name}, kernel {kernel}, {}", std::env::consts::ARCH),
            compiler: env!("XTASKING_RUSTC"),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// A few lines for people.
    pub fn describe(&self) -> String {
        let caches = self.caches.as_deref().map(|caches| format!(", {caches}")).unwrap_or_default();
        let nodes = self.nodes.filter(|nodes| *nodes > 1).map(|nodes| format!(" on {nodes} nodes"));
        let huge_pages = self.huge_pages.as_deref().map(|pages| format!(", huge pages: {pages}"));
        format!(
            "machine   {}{}{caches}\nworkers   unless told otherwise on {}\nmemory    {:.1} GiB{}\nsystem    {}\nprogram   xtasking {}, {}",
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

/// How many logical CPUs this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// How much memory can be had without swapping, in bytes, if the system tells: what it has left, or what the limit of a
/// container leaves.
pub fn available_memory() -> Option<u64> {
    let system = system()?;
    let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    Some(system.available_memory().min(limit)).filter(|available| *available > 0)
}

/// What the system says about its processors and its memory.
fn system() -> Option<System> {
    let refresh = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::nothing().with_ram());
    System::new_with_specifics(refresh).ok()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string()).filter(|text| !text.is_empty())
}

fn nodes() -> Option<usize> {
    let entries = fs::read_dir("/sys/devices/system/node").ok()?;
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    Some(entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_node)).count())
        .filter(|nodes| *nodes > 0)
}

fn caches() -> Option<String> {
    let cache = |index: usize| {
        let part = |name| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"));
        let kind = match part("type")?.as_str() {
            "Data" => "d",
            "Instruction" => return Some(None),
            _ => "",
        };
        Some(Some(format!("L{}{kind} {}", part("level")?, part("size")?)))
    };
    let caches: Vec<_> = (0..).map_while(cache).flatten().collect();
    (!caches.is_empty()).then(|| caches.join(", "))
}

fn huge_pages() -> Option<String> {
    // All choices are listed, with the one in force in brackets.
    let choices = read("/sys/kernel/mm/transparent_hugepage/enabled")?;
    let (_, rest) = choices.split_once('[')?;
    rest.split_once(']').map(|(choice, _)| choice.to_string())
}

/// Pins the calling thread as this runtime pins its workers: one a core, unless there are more workers than cores.
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
    fn there_is_a_machine() {
        let machine = Machine::detect();
        assert!(machine.cores > 0 && machine.memory > 0 && available_memory().is_some());
        assert!(machine.compiler.starts_with("rustc"));
        assert_eq!(machine.describe().lines().count(), 5);
    }
}
