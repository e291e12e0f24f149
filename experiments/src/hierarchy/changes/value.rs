//! What is at a node.

use super::ledger::TaskNumber;
use std::sync::Arc;
use xtasking_hierarchy::Node;

/// How often tasks have been here, and what they were about to do.
pub(super) struct Value {
    /// Counted first and last by each task: if they differ, one was interrupted between the two.
    pub count: u32,
    pub twin: u32,
    /// Who has counted here last.
    pub last: TaskNumber,
    /// Who has inserted the node; 0 for those that were there.
    pub born: TaskNumber,
    /// What is under way here that changes the hierarchy.
    pub step: Option<Box<Step>>,
    /// Counts the values that there are.
    _alive: Arc<()>,
}

/// A change that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub task: TaskNumber,
    pub change: Change,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// This node goes, with so many below it, itself included.
    Removing(usize),
    /// It comes under this parent, under which it was not.
    Linking(Node),
    /// It is taken from under this parent.
    Unlinking(Node),
}

impl Value {
    pub fn new(born: TaskNumber, alive: &Arc<()>) -> Self {
        Self { count: 0, twin: 0, last: 0, born, step: None, _alive: alive.clone() }
    }

    /// Whether it was not there in the beginning.
    pub fn is_new(&self) -> bool {
        self.born != 0
    }
}
