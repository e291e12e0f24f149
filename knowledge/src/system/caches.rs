//! The caches, each once.

use super::root::Survey;
use super::sharing::{sharing, silent};
use crate::facts::{Cache, CacheKind, CpuSet};
use std::collections::{BTreeMap, BTreeSet};

/// What one CPU says of one of its caches.
struct Told {
    size: u64,
    line: Option<u32>,
    cpus: CpuSet,
}

/// All caches of which it is known who shares them.
pub(super) fn caches(survey: &mut Survey<'_>, online: &CpuSet) -> Vec<Cache> {
    let mut told: BTreeMap<(u8, CacheKind), BTreeMap<u32, Told>> = BTreeMap::new();
    let mut telling = BTreeSet::new();
    let mut lacking = BTreeMap::new();
    for cpu in online.iter() {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
        for index in survey.root.numbered(&folder, "index") {
            telling.insert(cpu);
            let folder = format!("{folder}/index{index}");
            let Some((level, kind, cache)) = one(survey, &folder, cpu, &mut lacking) else { continue };
            if told.entry((level, kind)).or_default().insert(cpu, cache).is_some() {
                survey.gap(about(level), format!("CPU {cpu} names two of a kind, of which one is left out"));
            }
        }
    }
    if let Some(silent) = silent(online, |cpu| telling.contains(&cpu)) {
        survey.gap("caches", format!("CPUs {silent} do not tell theirs"));
    }
    for (file, cpus) in lacking {
        let cpus: CpuSet = cpus.into_iter().collect();
        survey.gap("caches", format!("CPUs {cpus} do not tell the `{file}` of one, which is left out"));
    }
    told.into_iter().flat_map(|((level, kind), told)| shared(survey, online, level, kind, told)).collect()
}

/// The caches of one level and kind.
fn shared(
    survey: &mut Survey<'_>,
    online: &CpuSet,
    level: u8,
    kind: CacheKind,
    told: BTreeMap<u32, Told>,
) -> Vec<Cache> {
    let about = about(level);
    let offline: CpuSet =
        told.values().flat_map(|cache| cache.cpus.iter()).filter(|&cpu| !online.contains(cpu)).collect();
    if !offline.is_empty() {
        survey.gap(&about, format!("CPUs {offline} are said to share one, but are not online"));
    }
    let said = told.iter().map(|(&cpu, cache)| (cpu, cache.cpus.and(online))).collect();
    let shared = sharing(&said);
    if !shared.contradicted.is_empty() {
        let who = &shared.contradicted;
        survey.gap(&about, format!("what CPUs {who} say about who shares theirs, others contradict"));
    }
    let mut cache = |cpus: CpuSet| {
        let tellers: Vec<_> = cpus.iter().filter_map(|cpu| told.get(&cpu)).collect();
        let &&Told { size, line, .. } = tellers.first()?;
        if tellers.iter().any(|other| other.size != size || other.line != line) {
            survey.gap(
                &about,
                format!("CPUs {cpus} share one, but do not agree about its size: the first is believed"),
            );
        }
        Some(Cache { level, kind, size, line, cpus })
    };
    shared.groups.into_iter().filter_map(&mut cache).collect()
}

/// The cache that a CPU's folder tells of. Some systems make such folders and do not fill them: notes what is lacking.
fn one(
    survey: &mut Survey<'_>,
    folder: &str,
    cpu: u32,
    lacking: &mut BTreeMap<&'static str, Vec<u32>>,
) -> Option<(u8, CacheKind, Told)> {
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
        survey.understood(about, &format!("{folder}/{name}"), what, &text?, read)
    };
    let level =
        parsed("level", "level", level, &|text| text.parse().ok().filter(|level| (1..=9).contains(level)));
    let size = parsed("size", "size", size, &bytes);
    let kind =
        survey.understood(about, &format!("{folder}/type"), "kind of cache", &kind?, |text| match text {
            "Data" => Some(CacheKind::Data),
            "Instruction" => Some(CacheKind::Instruction),
            "Unified" => Some(CacheKind::Unified),
            _ => None,
        });
    let path = format!("{folder}/shared_cpu_list");
    let cpus = survey.understood(about, &path, "list of CPUs", &cpus?, |text| text.parse().ok());
    let line =
        survey.parsed(about, &format!("{folder}/coherency_line_size"), "number").filter(|&line| line > 0);
    Some((u8::try_from(level?).ok()?, kind?, Told { size: size?, line, cpus: cpus? }))
}

/// `512K` and the like, in bytes; nothing is no size.
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
    fn sizes() {
        assert_eq!(bytes("32K"), Some(32 << 10));
        assert_eq!(bytes("6M"), Some(6 << 20));
        assert_eq!(bytes("64"), Some(64));
        for wrong in ["", "K", "0K", "-1K", "1.5M", "18446744073709551615K", "12Q"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
