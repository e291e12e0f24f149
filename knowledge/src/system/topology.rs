//! The online CPUs, and their cores and packages.

use super::Unreadable;
use super::sharing::{sharing_groups, unreported};
use super::survey::{Survey, brief};
use crate::facts::consistency::CORE_THREADS_MAX;
use crate::facts::{CoreKind, Cpu, CpuSet, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::thread;

const CPUS: &str = "/sys/devices/system/cpu";

/// Twice the maximum of Linux: bounds the work if a file is wrong.
const CPUS_MAX: usize = 1 << 14;

/// Returns the online CPUs; at least one.
pub(super) fn online(survey: &mut Survey<'_>, here: bool) -> Result<CpuSet, Unreadable> {
    let about = "CPUs online";
    let path = format!("{CPUS}/online");
    let plausible = |cpus: &CpuSet| !cpus.is_empty() && cpus.len() <= CPUS_MAX;
    if let Some(text) = survey.required(about, &path) {
        let read = |text: &str| text.parse().ok().filter(plausible);
        if let Some(cpus) = survey.parse_or_gap(about, &path, "list of CPUs", &text, read) {
            return Ok(cpus);
        }
    }
    let statistics = |line: &str| line.split_whitespace().next()?.strip_prefix("cpu")?.parse().ok();
    let processors = |line: &str| {
        let (key, value) = line.split_once(':')?;
        if key.trim() == "processor" { value.trim().parse().ok() } else { None }
    };
    for (path, number) in
        [("/proc/stat", &statistics as &dyn Fn(&str) -> Option<u32>), ("/proc/cpuinfo", &processors)]
    {
        let Some(text) = survey.text(about, path) else { continue };
        let cpus: CpuSet = text.lines().filter_map(number).filter(|&cpu| cpu < 1 << 20).collect();
        if plausible(&cpus) {
            survey.gap(about, format!("the CPUs of `{path}` count as online"));
            return Ok(cpus);
        }
    }
    if here && let Ok(count) = thread::available_parallelism() {
        survey.gap(about, "only their number is known; they are numbered from 0");
        return Ok((0..u32::try_from(count.get()).unwrap_or(1)).collect());
    }
    let why: Vec<_> = survey.gaps.iter().map(|gap| gap.why.as_str()).collect();
    Err(Unreadable(format!("the online CPUs cannot be determined: {}", why.join("; "))))
}

/// Returns the name of the processor.
pub(super) fn model(survey: &mut Survey<'_>) -> Option<String> {
    /// The key differs between architectures.
    const KEYS: [&str; 4] = ["model name", "cpu model", "Processor", "cpu"];
    // The kernel writes the text for all CPUs slowly on large machines; the first CPU's part is
    // enough.
    let start = survey.root.start("/proc/cpuinfo", 1 << 14).unwrap_or_default();
    let value = |key: &str| {
        let of = |line: &str| {
            line.split_once(':').filter(|(name, _)| name.trim() == key).map(|(_, value)| brief(value))
        };
        start.lines().find_map(of).filter(|value| !value.is_empty())
    };
    let model = KEYS.into_iter().find_map(value);
    if model.is_none() {
        survey.gap("model", "`/proc/cpuinfo` does not contain it");
    }
    model
}

/// Returns the CPUs. `nodes` contains each of them once.
pub(super) fn cpus(survey: &mut Survey<'_>, online: &CpuSet, nodes: &[Node]) -> Vec<Cpu> {
    let packages = packages(survey, online);
    let cores = cores(survey, online, &packages);
    let capacities = capacities(survey, online);
    let kinds = kinds(survey, online);
    let mut homes = BTreeMap::new();
    for node in nodes {
        homes.extend(node.cpus.iter().map(|cpu| (cpu, node.id)));
    }
    let cpu = |id| Cpu {
        id,
        core: cores[&id],
        package: packages.get(&id).copied().unwrap_or(0),
        node: homes.get(&id).copied().unwrap_or(0),
        capacity: capacities.get(&id).copied(),
        kind: kinds.get(&id).copied(),
    };
    online.iter().map(cpu).collect()
}

/// Returns the package of each CPU that reports it.
fn packages(survey: &mut Survey<'_>, online: &CpuSet) -> BTreeMap<u32, u32> {
    let about = "packages";
    let mut packages = BTreeMap::new();
    for cpu in online.iter() {
        let path = format!("{CPUS}/cpu{cpu}/topology/physical_package_id");
        // The kernel writes -1 if it does not know.
        let number = survey.parsed::<i64>(about, &path, "number").map(u32::try_from);
        packages.extend(number.and_then(Result::ok).map(|package| (cpu, package)));
    }
    if let Some(unreported) = unreported(online, |cpu| packages.contains_key(&cpu)) {
        survey.gap(about, format!("CPUs {unreported} report none and count as package 0"));
    }
    packages
}

/// Returns the core of each CPU, numbered in the order of their first CPUs.
fn cores(survey: &mut Survey<'_>, online: &CpuSet, packages: &BTreeMap<u32, u32>) -> BTreeMap<u32, u32> {
    let about = "cores";
    let mut said = BTreeMap::new();
    let mut offline = Vec::new();
    for cpu in online.iter() {
        // Kernels before 5.3 have only the second file.
        let list = ["core_cpus_list", "thread_siblings_list"].into_iter().find_map(|name| {
            let path = format!("{CPUS}/cpu{cpu}/topology/{name}");
            survey.parsed::<CpuSet>(about, &path, "list of CPUs")
        });
        if let Some(list) = list {
            offline.extend(list.iter().filter(|&cpu| !online.contains(cpu)));
            said.insert(cpu, list.and(online));
        }
    }
    if !offline.is_empty() {
        let offline: CpuSet = offline.into_iter().collect();
        survey.gap(about, format!("CPUs {offline} are in core masks, but not online"));
    }
    said.extend(by_number(survey, online, packages, &said));
    if let Some(unreported) = unreported(online, |cpu| said.contains_key(&cpu)) {
        survey.gap(
            about,
            format!("CPUs {unreported} report none; each counts as a core unless another CPU reports it"),
        );
    }
    let mut shared = sharing_groups(&said);
    if !shared.contradicted.is_empty() {
        survey.gap(about, format!("CPUs {} report inconsistent core masks", shared.contradicted));
    }
    let apart = |core: &&CpuSet| {
        let distinct: BTreeSet<_> = core.iter().filter_map(|cpu| packages.get(&cpu)).collect();
        distinct.len() > 1
    };
    for core in shared.groups.iter().filter(apart) {
        survey.gap(about, format!("CPUs {core} are one core, but in several packages"));
    }
    for core in shared.groups.extract_if(.., |core| core.len() > CORE_THREADS_MAX) {
        survey.gap(about, format!("CPUs {core} are one core, which has too many; each counts as a core"));
    }
    let placed: BTreeSet<u32> = shared.groups.iter().flat_map(CpuSet::iter).collect();
    let alone = online.iter().filter(|cpu| !placed.contains(cpu));
    shared.groups.extend(alone.map(|cpu| CpuSet::from_iter([cpu])));
    shared.groups.sort();
    let numbered = (0..).zip(&shared.groups);
    numbered.flat_map(|(number, core)| core.iter().map(move |cpu| (cpu, number))).collect()
}

/// Returns cores by `core_id`, a number within a die of a package, for CPUs that do not list their
/// threads.
fn by_number(
    survey: &mut Survey<'_>,
    online: &CpuSet,
    packages: &BTreeMap<u32, u32>,
    listed: &BTreeMap<u32, CpuSet>,
) -> BTreeMap<u32, CpuSet> {
    let mut cores: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for cpu in online.iter().filter(|cpu| !listed.contains_key(cpu)) {
        let mut number = |name: &str| {
            let path = format!("{CPUS}/cpu{cpu}/topology/{name}");
            survey.parsed::<i64>("cores", &path, "number").filter(|&number| number >= 0)
        };
        if let (Some(package), Some(core)) = (packages.get(&cpu), number("core_id")) {
            cores.entry((package, number("die_id"), core)).or_default().push(cpu);
        }
    }
    let each = |core: Vec<u32>| {
        let set: CpuSet = core.iter().copied().collect();
        core.into_iter().map(move |cpu| (cpu, set.clone()))
    };
    cores.into_values().flat_map(each).collect()
}

/// Returns the capacities of the CPUs, on machines that report them.
fn capacities(survey: &mut Survey<'_>, online: &CpuSet) -> BTreeMap<u32, u16> {
    let about = "capacities";
    let mut capacities = BTreeMap::new();
    for cpu in online.iter() {
        let path = format!("{CPUS}/cpu{cpu}/cpu_capacity");
        if let Some(text) = survey.text(about, &path) {
            let read = |text: &str| text.parse().ok().filter(|capacity| (1..=1024).contains(capacity));
            let capacity = survey.parse_or_gap(about, &path, "capacity from 1 to 1024", &text, read);
            capacities.extend(capacity.map(|capacity| (cpu, capacity)));
        }
    }
    if !capacities.is_empty()
        && let Some(unreported) = unreported(online, |cpu| capacities.contains_key(&cpu))
    {
        survey.gap(about, format!("CPUs {unreported} report none, but others do"));
    }
    capacities
}

/// Returns the kinds of cores. On hybrid machines, each kind has its own performance monitoring
/// unit.
fn kinds(survey: &mut Survey<'_>, online: &CpuSet) -> BTreeMap<u32, CoreKind> {
    let about = "kinds of cores";
    let mut list =
        |unit: &str| survey.parsed::<CpuSet>(about, &format!("/sys/devices/{unit}/cpus"), "list of CPUs");
    let (Some(fast), Some(thrifty)) = (list("cpu_core"), list("cpu_atom")) else { return BTreeMap::new() };
    let both = fast.and(&thrifty);
    if !both.is_empty() {
        survey.gap(about, format!("CPUs {both} are in the lists of two kinds"));
    }
    let of = |cpus: &CpuSet, kind| {
        let cpus = cpus.and(online);
        cpus.iter().filter(|&cpu| !both.contains(cpu)).map(|cpu| (cpu, kind)).collect::<Vec<_>>()
    };
    let mut kinds = BTreeMap::from_iter(of(&fast, CoreKind::Performance));
    kinds.extend(of(&thrifty, CoreKind::Efficiency));
    let known = |cpu| fast.contains(cpu) || thrifty.contains(cpu);
    if let Some(unreported) = unreported(online, known) {
        survey.gap(about, format!("CPUs {unreported} have no kind, but others do"));
    }
    kinds
}
