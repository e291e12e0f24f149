//! Which CPUs there are, and how they make up cores and packages.

use super::Unreadable;
use super::root::{Survey, brief};
use super::sharing::{sharing, silent};
use crate::facts::{CoreKind, Cpu, CpuSet, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::thread;

const CPUS: &str = "/sys/devices/system/cpu";

/// Twice as many as Linux can be built for: the time that a survey takes must not follow from a mistake.
const MOST_CPUS: usize = 1 << 14;

/// The CPUs that are online: at least one.
pub(super) fn online(survey: &mut Survey<'_>, here: bool) -> Result<CpuSet, Unreadable> {
    let about = "CPUs online";
    let path = format!("{CPUS}/online");
    let plausible = |cpus: &CpuSet| !cpus.is_empty() && cpus.len() <= MOST_CPUS;
    if let Some(text) = survey.needed(about, &path) {
        let read = |text: &str| text.parse().ok().filter(plausible);
        if let Some(cpus) = survey.understood(about, &path, "list of CPUs", &text, read) {
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
            survey.gap(about, format!("those of `{path}` are taken"));
            return Ok(cpus);
        }
    }
    if here && let Ok(count) = thread::available_parallelism() {
        survey.gap(about, "all that is known is how many this process may use: they are numbered from 0");
        return Ok((0..u32::try_from(count.get()).unwrap_or(1)).collect());
    }
    let why: Vec<_> = survey.gaps.iter().map(|gap| gap.why.as_str()).collect();
    Err(Unreadable(format!("the number of CPUs is not to be found: {}", why.join("; "))))
}

/// What the processor calls itself.
pub(super) fn model(survey: &mut Survey<'_>) -> Option<String> {
    /// Architectures name it differently.
    const KEYS: [&str; 4] = ["model name", "cpu model", "Processor", "cpu"];
    // The first CPU's paragraph is enough, and all of them take long to write on large machines.
    let start = survey.root.start("/proc/cpuinfo", 1 << 14).unwrap_or_default();
    let value = |key: &str| {
        let of = |line: &str| {
            line.split_once(':').filter(|(name, _)| name.trim() == key).map(|(_, value)| brief(value))
        };
        start.lines().find_map(of).filter(|value| !value.is_empty())
    };
    let model = KEYS.into_iter().find_map(value);
    if model.is_none() {
        survey.gap("model", "`/proc/cpuinfo` does not name it");
    }
    model
}

/// The CPUs. `nodes` names each of them once.
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

/// The package of each CPU that tells it.
fn packages(survey: &mut Survey<'_>, online: &CpuSet) -> BTreeMap<u32, u32> {
    let about = "packages";
    let mut packages = BTreeMap::new();
    for cpu in online.iter() {
        let path = format!("{CPUS}/cpu{cpu}/topology/physical_package_id");
        // -1 is how the system says that it does not know.
        let number = survey.parsed::<i64>(about, &path, "number").map(u32::try_from);
        packages.extend(number.and_then(Result::ok).map(|package| (cpu, package)));
    }
    if let Some(silent) = silent(online, |cpu| packages.contains_key(&cpu)) {
        survey.gap(about, format!("CPUs {silent} do not tell theirs, and are taken to be in package 0"));
    }
    packages
}

/// The core of each CPU, counted from 0 in the order of their first CPUs.
fn cores(survey: &mut Survey<'_>, online: &CpuSet, packages: &BTreeMap<u32, u32>) -> BTreeMap<u32, u32> {
    let about = "cores";
    let mut said = BTreeMap::new();
    let mut offline = Vec::new();
    for cpu in online.iter() {
        // Kernels before 5.3 know it by the second name alone.
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
        survey.gap(about, format!("CPUs {offline} are named as threads of cores, but are not online"));
    }
    said.extend(by_number(survey, online, packages, &said));
    if let Some(silent) = silent(online, |cpu| said.contains_key(&cpu)) {
        survey.gap(
            about,
            format!("CPUs {silent} do not tell theirs, and are taken for one each if no other says so"),
        );
    }
    let mut shared = sharing(&said);
    if !shared.contradicted.is_empty() {
        survey.gap(about, format!("what CPUs {} say of their core, others contradict", shared.contradicted));
    }
    let apart = |core: &&CpuSet| {
        let told: BTreeSet<_> = core.iter().filter_map(|cpu| packages.get(&cpu)).collect();
        told.len() > 1
    };
    for core in shared.groups.iter().filter(apart) {
        survey.gap(about, format!("CPUs {core} are said to be one, but are in several packages"));
    }
    let placed: BTreeSet<u32> = shared.groups.iter().flat_map(CpuSet::iter).collect();
    let alone = online.iter().filter(|cpu| !placed.contains(cpu));
    shared.groups.extend(alone.map(|cpu| CpuSet::from_iter([cpu])));
    shared.groups.sort();
    let numbered = (0..).zip(&shared.groups);
    numbered.flat_map(|(number, core)| core.iter().map(move |cpu| (cpu, number))).collect()
}

/// Cores by `core_id`, which is a number within a die of a package, for CPUs that do not list their threads.
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

/// What the CPUs can do, on machines that say so.
fn capacities(survey: &mut Survey<'_>, online: &CpuSet) -> BTreeMap<u32, u16> {
    let about = "capacities";
    let mut capacities = BTreeMap::new();
    for cpu in online.iter() {
        let path = format!("{CPUS}/cpu{cpu}/cpu_capacity");
        if let Some(text) = survey.text(about, &path) {
            let read = |text: &str| text.parse().ok().filter(|capacity| (1..=1024).contains(capacity));
            let capacity = survey.understood(about, &path, "capacity from 1 to 1024", &text, read);
            capacities.extend(capacity.map(|capacity| (cpu, capacity)));
        }
    }
    if !capacities.is_empty()
        && let Some(silent) = silent(online, |cpu| capacities.contains_key(&cpu))
    {
        survey.gap(about, format!("CPUs {silent} do not tell theirs, though others do"));
    }
    capacities
}

/// The kinds of cores, on machines that have several: each kind has its own unit for counting events.
fn kinds(survey: &mut Survey<'_>, online: &CpuSet) -> BTreeMap<u32, CoreKind> {
    let about = "kinds of cores";
    let mut list =
        |unit: &str| survey.parsed::<CpuSet>(about, &format!("/sys/devices/{unit}/cpus"), "list of CPUs");
    let (Some(fast), Some(thrifty)) = (list("cpu_core"), list("cpu_atom")) else { return BTreeMap::new() };
    let both = fast.and(&thrifty);
    if !both.is_empty() {
        survey.gap(about, format!("CPUs {both} are said to be of two kinds"));
    }
    let of = |cpus: &CpuSet, kind| {
        let cpus = cpus.and(online);
        cpus.iter().filter(|&cpu| !both.contains(cpu)).map(|cpu| (cpu, kind)).collect::<Vec<_>>()
    };
    let mut kinds = BTreeMap::from_iter(of(&fast, CoreKind::Performance));
    kinds.extend(of(&thrifty, CoreKind::Efficiency));
    let told = |cpu| fast.contains(cpu) || thrifty.contains(cpu);
    if let Some(silent) = silent(online, told) {
        survey.gap(about, format!("CPUs {silent} are not among those of which a kind is told"));
    }
    kinds
}
