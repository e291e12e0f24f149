//! Selects the CPUs: which cores of each class get the workers that the solver counted.

use crate::facts::CpuSet;
use crate::machine::{Machine, UsableCore};
use crate::request::CacheSharing;
use crate::solver::core_classes::Class;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Equal cores that share a cache. The last remaining one is taken first.
struct CacheGroup {
    cache: Option<u32>,
    left: Vec<usize>,
}

impl CacheGroup {
    /// Returns the rank; the group with the lowest rank is taken from next.
    fn rank(&self, caches: CacheSharing, taken: &BTreeMap<u32, usize>) -> (usize, usize) {
        let used = self.cache.and_then(|cache| taken.get(&cache)).copied().unwrap_or(0);
        match caches {
            CacheSharing::Any => (0, 0),
            // Prefer the cache with the most workers, then the largest group.
            CacheSharing::Together => (usize::MAX - used, usize::MAX - self.left.len()),
            CacheSharing::Apart => (used, usize::MAX - self.left.len()),
        }
    }
}

/// Returns the CPUs of a solution in ascending order. The preference for caches comes first, then
/// that for the CPUs of `present`.
pub(crate) fn select_cpus(
    machine: &Machine,
    classes: &[Class],
    counts: &[usize],
    caches: CacheSharing,
    present: &CpuSet,
) -> Vec<u32> {
    // How many cores with workers share each cache.
    let mut taken = BTreeMap::<u32, usize>::new();
    let mut cpus = Vec::new();
    let mut take = |core: usize, workers: usize, taken: &mut BTreeMap<u32, usize>| {
        let core: &UsableCore = &machine.cores[core];
        if let Some(cache) = core.near.filter(|_| caches != CacheSharing::Any) {
            *taken.entry(cache).or_default() += 1;
        }
        cpus.extend(core.threads[..workers].iter().map(|thread| thread.cpu));
    };
    for class in classes {
        let counts = &counts[class.counts()];
        // If every core of the class gets the same, there is nothing to select.
        if let Some(most) = counts.iter().position(|&count| count == class.cores.len()) {
            class.cores.iter().for_each(|&core| take(core, most + 1, &mut taken));
            continue;
        }
        if counts.iter().all(|&count| count == 0) {
            continue;
        }
        let mut groups = groups(machine, class, caches, present);
        // A heap by rank. Taking from one group does not change the rank of another.
        let mut order: BinaryHeap<_> = groups
            .iter()
            .enumerate()
            .map(|(index, group)| Reverse((group.rank(caches, &taken), index)))
            .collect();
        for (workers, &count) in counts.iter().enumerate().map(|(index, count)| (index + 1, count)).rev() {
            for _ in 0..count {
                let Some(Reverse((_, index))) = order.pop() else { break };
                let group = &mut groups[index];
                if let Some(core) = group.left.pop() {
                    take(core, workers, &mut taken);
                }
                if !group.left.is_empty() {
                    order.push(Reverse((group.rank(caches, &taken), index)));
                }
            }
        }
    }
    cpus.sort_unstable();
    cpus
}

/// Groups the cores of a class by their shared cache, if the request has a preference.
fn groups(machine: &Machine, class: &Class, caches: CacheSharing, present: &CpuSet) -> Vec<CacheGroup> {
    let mut groups = BTreeMap::<Option<u32>, Vec<usize>>::new();
    for &core in &class.cores {
        let cache = if caches == CacheSharing::Any { None } else { machine.cores[core].near };
        groups.entry(cache).or_default().push(core);
    }
    let rather = |&core: &usize| {
        let threads = &machine.cores[core].threads;
        (threads.iter().any(|thread| present.contains(thread.cpu)), usize::MAX - core)
    };
    let mut groups: Vec<_> = groups.into_iter().map(|(cache, left)| CacheGroup { cache, left }).collect();
    groups.iter_mut().for_each(|group| group.left.sort_by_key(rather));
    // Of equal groups, prefer the one with more of the present CPUs, then the first.
    let presence = |group: &CacheGroup| group.left.iter().filter(|core| rather(core).0).count();
    groups.sort_by_cached_key(|group| usize::MAX - presence(group));
    groups
}
