//! What the process may use: its affinity mask and its control groups.

use super::groups::{Line, Version, lines};
use super::root::Survey;
use crate::facts::{CpuSet, Limits, Node, Quota};

/// Version 1 writes no limit as the largest number of whole pages; that depends on the page, and no machine has so much.
const NO_MEMORY_LIMIT: u64 = 1 << 62;

/// The limits. A mask that leaves nothing out is none.
pub(super) fn limits(survey: &mut Survey<'_>, online: &CpuSet, nodes: &[Node]) -> Limits {
    let nodes: CpuSet = nodes.iter().map(|node| node.id).collect();
    let affinity = affinity(survey, online);
    let groups = lines(survey, "cpuset");
    let about = "CPUs of the control group";
    let group = CPUS.read(survey, about, &groups, online).filter(|group| {
        let meets = affinity.as_ref().is_none_or(|affinity| affinity.meets(group));
        if !meets {
            survey.gap(about, format!("the affinity mask allows none of {group}, and is believed"));
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

/// The mask of the process's first thread, which the others have from it unless they change it.
fn affinity(survey: &mut Survey<'_>, online: &CpuSet) -> Option<CpuSet> {
    let about = "affinity mask";
    let path = "/proc/self/status";
    let text = survey.needed(about, path)?;
    let Some(list) = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")) else {
        survey.gap(about, format!("`{path}` does not tell it"));
        return None;
    };
    let mask = survey.understood(about, path, "list of CPUs", list, |list| list.parse::<CpuSet>().ok())?;
    within(survey, about, path, &mask, online)
}

/// The part of `all` that a mask leaves; `None` if that is all of it, or nothing, which cannot be.
fn within(survey: &mut Survey<'_>, about: &str, path: &str, mask: &CpuSet, all: &CpuSet) -> Option<CpuSet> {
    let left = mask.and(all);
    if left.is_empty() {
        survey.gap(about, format!("`{path}` allows `{mask}`, of which nothing is there: {all} is"));
    }
    (!left.is_empty() && left != *all).then_some(left)
}

/// The names of the files that tell a mask of control groups.
struct Mask {
    /// What was asked for. In version 2 it may be empty, and groups further out may allow less.
    plain: &'static str,
    /// What came of it in version 1 and 2, with all groups further out taken into account; not all systems tell.
    effective: [&'static str; 2],
}

const CPUS: Mask =
    Mask { plain: "cpuset.cpus", effective: ["cpuset.effective_cpus", "cpuset.cpus.effective"] };
const MEMORIES: Mask =
    Mask { plain: "cpuset.mems", effective: ["cpuset.effective_mems", "cpuset.mems.effective"] };

impl Mask {
    /// What of `all` is left by groups; `None` if that is all of it.
    fn read(&self, survey: &mut Survey<'_>, about: &str, groups: &[Line], all: &CpuSet) -> Option<CpuSet> {
        let mut left: Option<CpuSet> = None;
        for line in groups {
            let effective = match line.version {
                Version::One => self.effective[0],
                Version::Two => self.effective[1],
            };
            for folder in &line.folders {
                let mut mask = |file: &str| {
                    let path = format!("{folder}/{file}");
                    let mask: CpuSet = survey.parsed(about, &path, "list")?;
                    (!mask.is_empty()).then_some((path, mask))
                };
                let known = mask(effective);
                // Further out, what is effective may leave out what was given to this group alone.
                let last = known.is_some();
                let Some((path, mask)) = known.or_else(|| mask(self.plain)) else { continue };
                if let Some(mask) = within(survey, about, &path, &mask, all) {
                    left = Some(left.map_or_else(|| mask.clone(), |left| left.and(&mask)));
                }
                if last {
                    break;
                }
            }
        }
        if left.as_ref().is_some_and(CpuSet::is_empty) {
            survey.gap(about, "the groups that contain each other allow nothing together");
            return None;
        }
        left
    }
}

/// The tightest quota of CPU time.
fn quota(survey: &mut Survey<'_>) -> Option<Quota> {
    let mut tightest: Option<Quota> = None;
    for line in lines(survey, "cpu") {
        for folder in &line.folders {
            let quota = match line.version {
                Version::One => quota_one(survey, folder),
                Version::Two => quota_two(survey, folder),
            };
            let tighter = |quota: &Quota| tightest.as_ref().is_none_or(|tightest| quota.cpus < tightest.cpus);
            if let Some(quota) = quota.filter(tighter) {
                tightest = Some(quota);
            }
        }
    }
    tightest
}

/// Two files, of which the first says -1 if there is no quota.
fn quota_one(survey: &mut Survey<'_>, folder: &str) -> Option<Quota> {
    let about = "quota";
    let source = format!("{folder}/cpu.cfs_quota_us");
    let text = survey.text(about, &source)?;
    let time: i64 = survey.understood(about, &source, "quota", &text, |text| {
        text.parse().ok().filter(|&time| time > 0 || time == -1)
    })?;
    let time = u64::try_from(time).ok()?;
    let path = format!("{folder}/cpu.cfs_period_us");
    let text = survey.needed(about, &path)?;
    let period = survey.understood(about, &path, "period", &text, positive)?;
    Some(Quota { cpus: time as f64 / period as f64, source })
}

/// One file with quota, or `max`, and period.
fn quota_two(survey: &mut Survey<'_>, folder: &str) -> Option<Quota> {
    let about = "quota";
    let source = format!("{folder}/cpu.max");
    let text = survey.text(about, &source)?;
    if text.starts_with("max") {
        return None;
    }
    let cpus = survey.understood(about, &source, "quota", &text, |text| {
        let (time, period) = text.split_once(' ')?;
        Some(positive(time)? as f64 / positive(period)? as f64)
    })?;
    Some(Quota { cpus, source })
}

/// The tightest limit of memory.
fn memory(survey: &mut Survey<'_>) -> Option<u64> {
    let about = "limit of memory";
    let mut tightest = None;
    for line in lines(survey, "memory") {
        let file = match line.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        for folder in &line.folders {
            let path = format!("{folder}/{file}");
            let Some(text) = survey.text(about, &path) else { continue };
            let limit = match text.trim() {
                "max" => None,
                _ => {
                    survey.understood(about, &path, "number of bytes", &text, |text| text.parse::<u64>().ok())
                }
            };
            tightest = limit.filter(|&limit| limit < NO_MEMORY_LIMIT).into_iter().chain(tightest).min();
        }
    }
    tightest
}

fn positive(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&number| number > 0)
}
