//! Which CPUs: the program has said how many of each class.

use crate::classes::Class;
use crate::facts::CpuSet;
use crate::machine::{Core, Machine};
use crate::questions::Sharing;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Cores that share a cache and are alike: those that are left, the last one to be taken first.
struct Group {
    cache: Option<u32>,
    left: Vec<usize>,
}

impl Group {
    /// The lowest is taken from next.
    fn rank(&self, caches: Sharing, taken: &BTreeMap<u32, usize>) -> (usize, usize) {
        let used = self.cache.and_then(|cache| taken.get(&cache)).copied().unwrap_or(0);
        match caches {
            Sharing::Any => (0, 0),
            // To whom there are most already, or can be.
            Sharing::Together => (usize::MAX - used, usize::MAX - self.left.len()),
            Sharing::Apart => (used, usize::MAX - self.left.len()),
        }
    }
}

/// The CPUs of a solution, by number: by preference of caches, then rather those of `present`.
pub(crate) fn pick(
    machine: &Machine,
    classes: &[Class],
    counts: &[usize],
    caches: Sharing,
    present: &CpuSet,
) -> Vec<u32> {
    // How many cores that share a cache have workers.
    let mut taken = BTreeMap::<u32, usize>::new();
    let mut cpus = Vec::new();
    let mut take = |core: usize, workers: usize, taken: &mut BTreeMap<u32, usize>| {
        let core: &Core = &machine.cores[core];
        if let Some(cache) = core.near.filter(|_| caches != Sharing::Any) {
            *taken.entry(cache).or_default() += 1;
        }
        cpus.extend(core.threads[..workers].iter().map(|thread| thread.cpu));
    };
    for class in classes {
        let counts = &counts[class.counts()];
        // There is nothing to choose where all are alike.
        if let Some(most) = counts.iter().position(|&count| count == class.cores.len()) {
            class.cores.iter().for_each(|&core| take(core, most + 1, &mut taken));
            continue;
        }
        if counts.iter().all(|&count| count == 0) {
            continue;
        }
        let mut groups = groups(machine, class, caches, present);
        // The one to be taken from next comes first. What is taken from one changes nothing for the others.
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

/// The cores of a class by the cache that they share, if that matters.
fn groups(machine: &Machine, class: &Class, caches: Sharing, present: &CpuSet) -> Vec<Group> {
    let mut groups = BTreeMap::<Option<u32>, Vec<usize>>::new();
    for &core in &class.cores {
        let cache = if caches == Sharing::Any { None } else { machine.cores[core].near };
        groups.entry(cache).or_default().push(core);
    }
    let rather = |&core: &usize| {
        let threads = &machine.cores[core].threads;
        (threads.iter().any(|thread| present.contains(thread.cpu)), usize::MAX - core)
    };
    let mut groups: Vec<_> = groups.into_iter().map(|(cache, left)| Group { cache, left }).collect();
    groups.iter_mut().for_each(|group| group.left.sort_by_key(rather));
    // Of groups that are as good, the one with more of the present CPUs, then the first.
    let presence = |group: &Group| group.left.iter().filter(|core| rather(core).0).count();
    groups.sort_by_cached_key(|group| usize::MAX - presence(group));
    groups
}
