//! Groups of CPUs that share something, from what each CPU reports.

use crate::facts::CpuSet;
use std::collections::{BTreeMap, BTreeSet};

/// Disjoint groups of CPUs that share something.
pub(super) struct SharingGroups {
    pub(super) groups: Vec<CpuSet>,
    /// CPUs whose reports contradict others, or that are not in their own report.
    pub(super) contradicted: CpuSet,
}

/// Groups CPUs with equal reports. A CPU without a report joins the first group that names it.
/// `reports` names online CPUs only.
pub(super) fn sharing_groups(reports: &BTreeMap<u32, CpuSet>) -> SharingGroups {
    let mut agreeing: BTreeMap<&CpuSet, Vec<u32>> = BTreeMap::new();
    for (&cpu, set) in reports {
        agreeing.entry(set).or_default().push(cpu);
    }
    let mut silent = BTreeSet::new();
    let mut contradicted = Vec::new();
    let mut groups = Vec::new();
    for (set, members) in agreeing {
        let silent = set.iter().filter(|cpu| !reports.contains_key(cpu) && silent.insert(*cpu));
        let group: CpuSet = members.iter().copied().chain(silent).collect();
        if group != *set {
            contradicted.extend(members);
        }
        groups.push(group);
    }
    groups.sort();
    SharingGroups { groups, contradicted: contradicted.into_iter().collect() }
}

/// Returns the CPUs without a report, if there are any.
pub(super) fn unreported(online: &CpuSet, reports: impl Fn(u32) -> bool) -> Option<CpuSet> {
    let silent: CpuSet = online.iter().filter(|&cpu| !reports(cpu)).collect();
    (!silent.is_empty()).then_some(silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const N: usize>(said: [(u32, &str); N]) -> (Vec<String>, String) {
        let said = said.map(|(cpu, set)| (cpu, set.parse().unwrap()));
        let SharingGroups { groups, contradicted } = sharing_groups(&BTreeMap::from(said));
        (groups.iter().map(ToString::to_string).collect(), contradicted.to_string())
    }

    #[test]
    fn groups_are_disjoint() {
        let groups = |sets: &[&str]| sets.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(of([(0, "0-1"), (1, "0-1"), (2, "2")]), (groups(&["0-1", "2"]), String::new()));
        // CPU 1 has no report and joins the group that names it first.
        assert_eq!(of([(0, "0-1"), (2, "1-2")]), (groups(&["0-1", "2"]), "2".to_string()));
        // CPU 1 contradicts CPU 0.
        assert_eq!(of([(0, "0-1"), (1, "1")]), (groups(&["0", "1"]), "0".to_string()));
        // CPU 0 is not in its own report.
        assert_eq!(of([(0, "1"), (1, "1")]), (groups(&["0-1"]), "0-1".to_string()));
    }
}
