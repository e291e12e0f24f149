//! The limits of the process: its affinity mask and its control groups.

use super::cgroups::{GroupPath, Version, group_paths};
use super::survey::Survey;
use crate::facts::{CpuSet, Limits, Node, Quota};

/// Version 1 writes the largest multiple of the page size for no limit; no machine has this much
/// memory.
const NO_MEMORY_LIMIT: u64 = 1 << 62;

/// Reads the limits. A mask that excludes nothing is no limit.
pub(super) fn limits(survey: &mut Survey<'_>, online: &CpuSet, nodes: &[Node]) -> Limits {
    let nodes: CpuSet = nodes.iter().map(|node| node.id).collect();
    let affinity = affinity(survey, online);
    let groups = group_paths(survey, "cpuset");
    let about = "CPUs of the control group";
    let group = CPUS.read(survey, about, &groups, online).filter(|group| {
        let meets = affinity.as_ref().is_none_or(|affinity| affinity.meets(group));
        if !meets {
            survey.gap(about, format!("the affinity mask excludes all of {group} and takes precedence"));
        }
        meets
    });
    Limits {
        affinity,
        group,
        nodes: MEMORIES.read(survey, "nodes of the control group", &groups, &nodes),
        quota: quota(survey),
        memory: memory(survey),
    }
}

/// Reads the mask of the first thread; other threads inherit it unless they change it.
fn affinity(survey: &mut Survey<'_>, online: &CpuSet) -> Option<CpuSet> {
    let about = "affinity mask";
    let path = "/proc/self/status";
    let text = survey.required(about, path)?;
    let Some(list) = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")) else {
        survey.gap(about, format!("`{path}` has no `Cpus_allowed_list`"));
        return None;
    };
    let mask = survey.parse_or_gap(about, path, "list of CPUs", list, |list| list.parse::<CpuSet>().ok())?;
    restrict(survey, about, path, &mask, online)
}

/// Returns the part of `all` in `mask`. Returns `None` if the mask excludes nothing, or everything,
/// which cannot be right.
fn restrict(survey: &mut Survey<'_>, about: &str, path: &str, mask: &CpuSet, all: &CpuSet) -> Option<CpuSet> {
    let left = mask.and(all);
    if left.is_empty() {
        survey.gap(about, format!("`{path}` allows `{mask}`, but only {all} are there"));
    }
    (!left.is_empty() && left != *all).then_some(left)
}

/// The files that hold a mask of a control group.
struct Mask {
    /// The requested mask. In version 2 it may be empty, and enclosing groups may allow less.
    plain: &'static str,
    /// The effective masks of version 1 and 2, which include all enclosing groups; not every kernel
    /// has them.
    effective: [&'static str; 2],
}

const CPUS: Mask =
    Mask { plain: "cpuset.cpus", effective: ["cpuset.effective_cpus", "cpuset.cpus.effective"] };
const MEMORIES: Mask =
    Mask { plain: "cpuset.mems", effective: ["cpuset.effective_mems", "cpuset.mems.effective"] };

impl Mask {
    /// Returns the part of `all` that the groups allow; `None` if that is all of it.
    fn read(
        &self,
        survey: &mut Survey<'_>,
        about: &str,
        groups: &[GroupPath],
        all: &CpuSet,
    ) -> Option<CpuSet> {
        let mut left: Option<CpuSet> = None;
        for path in groups {
            let effective = match path.version {
                Version::V1 => self.effective[0],
                Version::V2 => self.effective[1],
            };
            for folder in &path.folders {
                let mut mask = |file: &str| {
                    let path = format!("{folder}/{file}");
                    let mask: CpuSet = survey.parsed(about, &path, "list")?;
                    (!mask.is_empty()).then_some((path, mask))
                };
                let known = mask(effective);
                // An enclosing group's effective mask may exclude what this group has exclusively,
                // so stop here.
                let last = known.is_some();
                let Some((path, mask)) = known.or_else(|| mask(self.plain)) else { continue };
                if let Some(mask) = restrict(survey, about, &path, &mask, all) {
                    left = Some(left.map_or_else(|| mask.clone(), |left| left.and(&mask)));
                }
                if last {
                    break;
                }
            }
        }
        if left.as_ref().is_some_and(CpuSet::is_empty) {
            survey.gap(about, "the nested groups together allow nothing");
            return None;
        }
        left
    }
}

/// Returns the tightest CPU quota.
fn quota(survey: &mut Survey<'_>) -> Option<Quota> {
    let mut tightest: Option<Quota> = None;
    for path in group_paths(survey, "cpu") {
        for folder in &path.folders {
            let quota = match path.version {
                Version::V1 => quota_v1(survey, folder),
                Version::V2 => quota_v2(survey, folder),
            };
            let tighter = |quota: &Quota| tightest.as_ref().is_none_or(|tightest| quota.cpus < tightest.cpus);
            if let Some(quota) = quota.filter(tighter) {
                tightest = Some(quota);
            }
        }
    }
    tightest
}

/// Version 1: two files; the quota is -1 if there is none.
fn quota_v1(survey: &mut Survey<'_>, folder: &str) -> Option<Quota> {
    let about = "quota";
    let source = format!("{folder}/cpu.cfs_quota_us");
    let text = survey.text(about, &source)?;
    let time: i64 = survey.parse_or_gap(about, &source, "quota", &text, |text| {
        text.parse().ok().filter(|&time| time > 0 || time == -1)
    })?;
    let time = u64::try_from(time).ok()?;
    let path = format!("{folder}/cpu.cfs_period_us");
    let text = survey.required(about, &path)?;
    let period = survey.parse_or_gap(about, &path, "period", &text, positive)?;
    Some(Quota { cpus: time as f64 / period as f64, source })
}

/// Version 2: one file with the quota, or `max`, and the period.
fn quota_v2(survey: &mut Survey<'_>, folder: &str) -> Option<Quota> {
    let about = "quota";
    let source = format!("{folder}/cpu.max");
    let text = survey.text(about, &source)?;
    if text.starts_with("max") {
        return None;
    }
    let cpus = survey.parse_or_gap(about, &source, "quota", &text, |text| {
        let (time, period) = text.split_once(' ')?;
        Some(positive(time)? as f64 / positive(period)? as f64)
    })?;
    Some(Quota { cpus, source })
}

/// Returns the tightest memory limit in bytes.
fn memory(survey: &mut Survey<'_>) -> Option<u64> {
    let about = "limit of memory";
    let mut tightest = None;
    for path in group_paths(survey, "memory") {
        let file = match path.version {
            Version::V1 => "memory.limit_in_bytes",
            Version::V2 => "memory.max",
        };
        for folder in &path.folders {
            let path = format!("{folder}/{file}");
            let Some(text) = survey.text(about, &path) else { continue };
            let limit = match text.trim() {
                "max" => None,
                _ => survey
                    .parse_or_gap(about, &path, "number of bytes", &text, |text| text.parse::<u64>().ok()),
            };
            tightest = limit.filter(|&limit| limit < NO_MEMORY_LIMIT).into_iter().chain(tightest).min();
        }
    }
    tightest
}

fn positive(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&number| number > 0)
}
