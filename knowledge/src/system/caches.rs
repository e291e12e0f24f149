//! The caches, each listed once.

use super::sharing::{sharing_groups, unreported};
use super::survey::Survey;
use crate::facts::{Cache, CacheKind, CpuSet};
use std::collections::{BTreeMap, BTreeSet};

/// What one CPU reports about one of its caches.
struct CacheReport {
    size: u64,
    line: Option<u32>,
    cpus: CpuSet,
}

/// Returns the caches whose sharing CPUs are known.
pub(super) fn caches(survey: &mut Survey<'_>, online: &CpuSet) -> Vec<Cache> {
    let mut reports: BTreeMap<(u8, CacheKind), BTreeMap<u32, CacheReport>> = BTreeMap::new();
    let mut reporting = BTreeSet::new();
    let mut lacking = BTreeMap::new();
    for cpu in online.iter() {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
        for index in survey.root.numbered_entries(&folder, "index") {
            reporting.insert(cpu);
            let folder = format!("{folder}/index{index}");
            let Some((level, kind, cache)) = one(survey, &folder, cpu, &mut lacking) else { continue };
            if reports.entry((level, kind)).or_default().insert(cpu, cache).is_some() {
                survey.gap(about(level), format!("CPU {cpu} reports two of one kind; one is ignored"));
            }
        }
    }
    if let Some(unreported) = unreported(online, |cpu| reporting.contains(&cpu)) {
        survey.gap("caches", format!("CPUs {unreported} report none"));
    }
    for (file, cpus) in lacking {
        let cpus: CpuSet = cpus.into_iter().collect();
        survey.gap("caches", format!("a cache of CPUs {cpus} has no `{file}` and is ignored"));
    }
    reports
        .into_iter()
        .flat_map(|((level, kind), reports)| shared(survey, online, level, kind, reports))
        .collect()
}

/// Returns the caches of one level and kind.
fn shared(
    survey: &mut Survey<'_>,
    online: &CpuSet,
    level: u8,
    kind: CacheKind,
    reports: BTreeMap<u32, CacheReport>,
) -> Vec<Cache> {
    let about = about(level);
    let offline: CpuSet =
        reports.values().flat_map(|cache| cache.cpus.iter()).filter(|&cpu| !online.contains(cpu)).collect();
    if !offline.is_empty() {
        survey.gap(&about, format!("sharing masks contain CPUs {offline}, which are not online"));
    }
    let said = reports.iter().map(|(&cpu, cache)| (cpu, cache.cpus.and(online))).collect();
    let shared = sharing_groups(&said);
    if !shared.contradicted.is_empty() {
        let cpus = &shared.contradicted;
        survey.gap(&about, format!("CPUs {cpus} report inconsistent cache sharing masks"));
    }
    let mut cache = |cpus: CpuSet| {
        let reporters: Vec<_> = cpus.iter().filter_map(|cpu| reports.get(&cpu)).collect();
        let &&CacheReport { size, line, .. } = reporters.first()?;
        if reporters.iter().any(|other| other.size != size || other.line != line) {
            survey.gap(
                &about,
                format!("CPUs {cpus} report different sizes of a shared cache; the first counts"),
            );
        }
        Some(Cache { level, kind, size, line, cpus })
    };
    shared.groups.into_iter().filter_map(&mut cache).collect()
}

/// Reads a cache from the directory of a CPU. Some kernels leave such directories empty; missing
/// files are added to `lacking`.
fn one(
    survey: &mut Survey<'_>,
    folder: &str,
    cpu: u32,
    lacking: &mut BTreeMap<&'static str, Vec<u32>>,
) -> Option<(u8, CacheKind, CacheReport)> {
    let about = "caches";
    let field = |name: &'static str| {
        let text = survey.text(about, &format!("{folder}/{name}"));
        if text.is_none() {
            lacking.entry(name).or_default().push(cpu);
        }
        text
    };
    let [level, kind, size, cpus] = ["level", "type", "size", "shared_cpu_list"].map(field);
    let mut parsed = |name: &str, what: &str, text: Option<String>, read: &dyn Fn(&str) -> Option<u64>| {
        survey.parse_or_gap(about, &format!("{folder}/{name}"), what, &text?, read)
    };
    let level =
        parsed("level", "level", level, &|text| text.parse().ok().filter(|level| (1..=9).contains(level)));
    let size = parsed("size", "size", size, &bytes);
    let kind =
        survey.parse_or_gap(about, &format!("{folder}/type"), "kind of cache", &kind?, |text| match text {
            "Data" => Some(CacheKind::Data),
            "Instruction" => Some(CacheKind::Instruction),
            "Unified" => Some(CacheKind::Unified),
            _ => None,
        });
    let path = format!("{folder}/shared_cpu_list");
    let cpus = survey.parse_or_gap(about, &path, "list of CPUs", &cpus?, |text| text.parse().ok());
    let line =
        survey.parsed(about, &format!("{folder}/coherency_line_size"), "number").filter(|&line| line > 0);
    Some((u8::try_from(level?).ok()?, kind?, CacheReport { size: size?, line, cpus: cpus? }))
}

/// Parses a size such as `512K`; zero is not a size.
fn bytes(text: &str) -> Option<u64> {
    let units = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)];
    let unit = units.into_iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)));
    let (number, unit) = unit.unwrap_or((text, 1));
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

fn about(level: u8) -> String {
    format!("caches of level {level}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        assert_eq!(bytes("32K"), Some(32 << 10));
        assert_eq!(bytes("6M"), Some(6 << 20));
        assert_eq!(bytes("64"), Some(64));
        for wrong in ["", "K", "0K", "-1K", "1.5M", "18446744073709551615K", "12Q"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
