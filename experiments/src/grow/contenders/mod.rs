//! The contenders, a file for each. A new one is a file with an `ENTRY`, and a line in [`ALL`].

mod hierarchy;
mod rwlock;
mod tasks;
mod trees;

use super::contender::Entry;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[rwlock::ENTRY, hierarchy::ENTRY, trees::ENTRY];

#[cfg(test)]
mod tests {
    use super::super::growth::Growth;
    use super::*;
    use std::sync::Arc;

    #[test]
    fn all_contenders_grow_the_same_tree() {
        for entry in ALL {
            for (workers, nodes) in [(1, 1), (1, 700), (3, 3000)] {
                let mut contender = (entry.start)(workers).unwrap();
                let growth = Arc::new(Growth::new(nodes, 5));
                contender.grow(&growth).unwrap();
                let links = contender.links().unwrap();
                growth.check(&links).unwrap_or_else(|wrong| panic!("{} {nodes}: {wrong}", entry.name));
                let pairs = growth.pairs(20);
                let exclusive = contender.count_exclusive(&growth, &pairs).unwrap();
                assert_eq!(exclusive.is_some(), entry.name != "rwlock" && workers > 1, "{}", entry.name);
                assert!(exclusive.is_none_or(|count| count <= pairs.len()));
            }
        }
    }
}
