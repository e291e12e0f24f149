//! Poisoned nodes: those that a task has written before it panicked.

use super::node::Node;
use super::rights::Rights;
use super::table::TreeTable;
use crate::sync::{AtomicU32, Relaxed, SpinMutex};
use alloc::vec::Vec;

/// What a claim does where nodes are poisoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnPoison {
    /// Its task fails.
    Fail,
    /// Its task runs, and what it has claimed to write is no longer poisoned after it.
    Repair,
    /// Its task runs, and leaves all as it is: it looks at no data, and follows no links.
    Keep,
}

/// The poisoned nodes of a tree.
#[derive(Default)]
pub(crate) struct PoisonedNodes {
    /// How many there are; a tree without them is asked for no more than this.
    count: AtomicU32,
    nodes: SpinMutex<Vec<Node>>,
}

impl TreeTable {
    /// Returns true if the claim of a task covers a poisoned node.
    pub fn covers_poisoned(&self, rights: &Rights) -> bool {
        // Relaxed: a task that poisoned a node of this claim was ordered before it by the queues.
        if self.poisoned.count.load(Relaxed) == 0 {
            return false;
        }
        let targets = &rights.targets;
        targets.iter().any(|target| self.is_poisoned(target.node))
            || targets.iter().any(|target| !target.alone)
                && self.poisoned.nodes.lock().iter().any(|&node| self.covers(rights, node, false))
    }

    /// Returns true if a node exists and is poisoned.
    pub fn is_poisoned(&self, node: Node) -> bool {
        // Relaxed: a task that holds the node comes after all that have changed this.
        self.find(node).is_some_and(|slot| slot.is_poisoned.load(Relaxed))
    }

    /// Poisons the nodes of a claim that were written under this stamp.
    ///
    /// # Safety
    ///
    /// The caller is the task that holds the claim, whose body has ended.
    #[cold]
    pub unsafe fn poison_written(&self, rights: &Rights, stamp: u64) {
        if planted!("tree-poison-forgotten") {
            return;
        }
        for target in rights.targets.iter().filter(|target| target.write) {
            if self.find(target.node).is_none() {
                continue;
            }
            let nodes = match target.alone {
                true => Vec::from([(target.node.index, 0)]),
                // SAFETY: the claim covers all of them.
                false => unsafe { self.list(target.node.index) },
            };
            for (index, _) in nodes {
                let slot = self.slot(index);
                // Relaxed, here and below: only this task accesses them until it leaves.
                if slot.writer.load(Relaxed) == stamp && !slot.is_poisoned.swap(true, Relaxed) {
                    self.poisoned.count.fetch_add(1, Relaxed);
                    self.poisoned.nodes.lock().push(slot.node(index));
                }
            }
        }
    }

    /// Clears the poison of the nodes that a claim writes. The caller holds it.
    pub fn clear_written_poison(&self, rights: &Rights) {
        // Relaxed: the poison of this claim's nodes is older than the claim.
        if self.poisoned.count.load(Relaxed) > 0 {
            self.clear_poison(|node| self.covers(rights, node, true));
        }
    }

    /// Clears the poison of nodes that are about to be removed, which the caller holds to write.
    pub fn clear_removed_poison(&self, nodes: &[u32]) {
        // Relaxed: the poison of these nodes is older than the caller's claim.
        let is_poisoned = |index: &u32| self.slot(*index).is_poisoned.load(Relaxed);
        let mut poisoned: Vec<u32> = nodes.iter().copied().filter(is_poisoned).collect();
        if !poisoned.is_empty() {
            poisoned.sort_unstable();
            self.clear_poison(|node| poisoned.binary_search(&node.index).is_ok());
        }
    }

    /// Clears the poison of some nodes, which the caller holds to write.
    pub fn clear_poison(&self, clears: impl Fn(Node) -> bool) {
        self.poisoned.nodes.lock().retain(|&node| {
            let clears = clears(node);
            if clears {
                // Relaxed: the queues order the next holder of the node after this.
                self.slot(node.index).is_poisoned.store(false, Relaxed);
                self.poisoned.count.fetch_sub(1, Relaxed);
            }
            !clears
        });
    }
}
