//! Who shares something, from what each CPU says of itself.

use crate::facts::CpuSet;
use std::collections::{BTreeMap, BTreeSet};

/// The groups of CPUs that share something, none in two of them.
pub(super) struct Sharing {
    pub(super) groups: Vec<CpuSet>,
    /// The CPUs whose statements others contradict, or that do not count themselves in.
    pub(super) contradicted: CpuSet,
}

/// Those that say the same belong together, and those that say nothing where others first say that they belong. `said`
/// names online CPUs alone.
pub(super) fn sharing(said: &BTreeMap<u32, CpuSet>) -> Sharing {
    let mut agreeing: BTreeMap<&CpuSet, Vec<u32>> = BTreeMap::new();
    for (&cpu, set) in said {
        agreeing.entry(set).or_default().push(cpu);
    }
    let mut silent = BTreeSet::new();
    let mut contradicted = Vec::new();
    let mut groups = Vec::new();
    for (set, members) in agreeing {
        let silent = set.iter().filter(|cpu| !said.contains_key(cpu) && silent.insert(*cpu));
        let group: CpuSet = members.iter().copied().chain(silent).collect();
        if group != *set {
            contradicted.extend(members);
        }
        groups.push(group);
    }
    groups.sort();
    Sharing { groups, contradicted: contradicted.into_iter().collect() }
}

/// The CPUs that tell nothing, if there are any.
pub(super) fn silent(online: &CpuSet, tells: impl Fn(u32) -> bool) -> Option<CpuSet> {
    let silent: CpuSet = online.iter().filter(|&cpu| !tells(cpu)).collect();
    (!silent.is_empty()).then_some(silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const N: usize>(said: [(u32, &str); N]) -> (Vec<String>, String) {
        let said = said.map(|(cpu, set)| (cpu, set.parse().unwrap()));
        let Sharing { groups, contradicted } = sharing(&BTreeMap::from(said));
        (groups.iter().map(ToString::to_string).collect(), contradicted.to_string())
    }

    #[test]
    fn each_is_in_one_group() {
        let groups = |sets: &[&str]| sets.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(of([(0, "0-1"), (1, "0-1"), (2, "2")]), (groups(&["0-1", "2"]), String::new()));
        // CPU 1 says nothing, and is taken at another's word.
        assert_eq!(of([(0, "0-1"), (2, "1-2")]), (groups(&["0-1", "2"]), "2".to_string()));
        // CPU 1 says otherwise.
        assert_eq!(of([(0, "0-1"), (1, "1")]), (groups(&["0", "1"]), "0".to_string()));
        // CPU 0 is not where it says.
        assert_eq!(of([(0, "1"), (1, "1")]), (groups(&["0-1"]), "0-1".to_string()));
    }
}
