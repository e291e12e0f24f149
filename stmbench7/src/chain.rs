//! Computes the critical path of a turn: the longest chain of operations that conflict, each with
//! the one before. It bounds the throughput on any number of workers.

use super::build::Blueprint;
use super::layout::{Ids, Shelves};
use super::operations::Operation;
use super::parts::Part;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use xtasking_hierarchy::Node;

/// An operation that has run.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub operation: Operation,
    /// The granules that it held, with `true` for write access.
    pub held_granules: Vec<(u32, bool)>,
    /// Its duration in nanoseconds.
    pub time: u64,
}

/// The critical path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    /// Number of all operations.
    operations: usize,
    /// Length of the path in nanoseconds.
    time: u64,
    /// Number of operations on the path.
    length: usize,
    /// Nanoseconds on the path, by operation.
    of: Vec<(&'static str, u64)>,
    /// Nanoseconds on the path, by what the granule holds on which an operation waits for its
    /// predecessor.
    at: Vec<(String, u64)>,
}

/// Number of entries to print of each list.
const MAX_ENTRIES: usize = 5;

/// The ends of the last accesses to a granule, each with the operation that ended last.
#[derive(Clone, Copy, Default)]
struct LastAccess {
    writer: (u64, usize),
    readers: (u64, usize),
}

impl Chain {
    /// Computes the critical path of operations in this order, on a world in which each permanent
    /// node has a granule of its number.
    pub fn of(steps: &[Step], world: &Blueprint) -> Self {
        let mut last: HashMap<u32, LastAccess> = HashMap::new();
        // For each operation its end, and the predecessor with the granule on which it waits.
        let mut ends: Vec<(u64, Option<(usize, u32)>)> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            let (mut begin, mut before) = (0, None);
            for &(granule, write) in &step.held_granules {
                let LastAccess { writer, readers } = last.get(&granule).copied().unwrap_or_default();
                let (end, other) = if write { writer.max(readers) } else { writer };
                if end > begin {
                    (begin, before) = (end, Some((other, granule)));
                }
            }
            let end = begin + step.time;
            for &(granule, write) in &step.held_granules {
                let last = last.entry(granule).or_default();
                let access = if write { &mut last.writer } else { &mut last.readers };
                *access = (*access).max((end, number));
            }
            ends.push((end, before));
        }
        let (mut of, mut at) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
        let final_one = (0..steps.len()).max_by_key(|&number| ends[number].0);
        let (mut next, mut length) = (final_one, 0);
        while let Some(number) = next {
            let Step { operation, time, .. } = steps[number];
            length += 1;
            *of.entry(operation.name()).or_default() += time;
            let before = ends[number].1;
            if let Some((_, granule)) = before {
                *at.entry(describe(world, granule)).or_default() += time;
            }
            next = before.map(|before| before.0);
        }
        Self {
            operations: steps.len(),
            time: final_one.map_or(0, |number| ends[number].0),
            length,
            of: most_frequent(of),
            at: most_frequent(at),
        }
    }
}

fn most_frequent<K: Clone>(of: BTreeMap<K, u64>) -> Vec<(K, u64)> {
    let mut of: Vec<(K, u64)> = of.into_iter().collect();
    of.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
    of.truncate(MAX_ENTRIES);
    of
}

/// Describes the content of a granule.
fn describe(world: &Blueprint, granule: u32) -> String {
    let (layout, node) = (&world.layout, Node(granule));
    let kind = |of: &Ids| {
        let is = |name: &str| Some(format!("{name} of the kind {of:?}").to_lowercase());
        match () {
            () if layout.pool(*of) == node => is("pool of ids"),
            () if layout.pages(*of).any(|page| page == node) => is("pages by id"),
            () => None,
        }
    };
    if let Some(of) = Ids::ALL.iter().find_map(kind) {
        return of;
    }
    let shelf = Shelves::ALL.into_iter().find(|&of| layout.shelves(of).any(|shelf| shelf == node));
    match (&world.values[node.index()], shelf) {
        (_, Some(of)) => format!("{of:?}").to_lowercase(),
        (Part::Complex(complex), _) => format!("assemblies of level {}", complex.level),
        (Part::Base(_), _) => "assemblies of level 1".to_string(),
        (Part::Dates(_), _) => "pages by date".to_string(),
        (Part::Titles(_), _) => "pages by title".to_string(),
        (other, _) => other.name(),
    }
}

/// Formats the critical path for a report.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operations, time, length, of, at } = self;
        let limit = *operations as f64 / (*time).max(1) as f64 * 1e6;
        let shares = |names: Vec<(&str, u64)>| {
            let share = |(name, part)| format!("{name} {:.0}%", 100.0 * part as f64 / (*time).max(1) as f64);
            names.into_iter().map(share).collect::<Vec<_>>().join(", ")
        };
        let at = at.iter().map(|(name, time)| (name.as_str(), *time)).collect();
        write!(
            f,
            "bound on any number of workers {limit:.1} kops/s, as {length} operations wait for one another \
                ({}), mostly at: {}",
            shares(of.clone()),
            shares(at)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Layout;
    use super::super::sizes::Sizes;
    use super::*;

    #[test]
    fn the_critical_path_is_found() {
        let world = Blueprint::new(Sizes::SMALL, 1);
        let root = world.layout.root().0;
        let step = |operation, held_granules: &[(u32, bool)], time| Step {
            operation,
            held_granules: held_granules.to_vec(),
            time,
        };
        let steps = [
            step(Operation::OP4, &[(Layout::MANUAL.0, false)], 100),
            step(Operation::ST1, &[(root, false)], 30),
            step(Operation::ST1, &[(root, false)], 10),
            step(Operation::OP12, &[(root, true)], 5),
            // In parallel with the two before it, and after the one that changes the root.
            step(Operation::ST1, &[(root, false), (Layout::MANUAL.0, false)], 20),
            step(Operation::OP11, &[(Layout::MANUAL.0, true)], 40),
        ];
        let chain = Chain::of(&steps[1..], &world);
        assert_eq!((chain.time, chain.length), (95, 4));
        assert_eq!(chain.of, [("ST1", 50), ("OP11", 40), ("OP12", 5)]);
        assert_eq!(chain.at, [("the manual".to_string(), 40), ("assemblies of level 4".to_string(), 25)]);
        // The first operation alone takes longer than these.
        let chain = Chain::of(&steps, &world);
        assert_eq!((chain.time, chain.length, chain.operations), (140, 2, 6));
        assert!(
            chain
                .to_string()
                .starts_with("bound on any number of workers 42857.1 kops/s, as 2 operations wait")
        );
        assert_eq!(Chain::of(&[], &world).time, 0);
    }
}
