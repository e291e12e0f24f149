//! Defines the data of a node.

use super::ledger::TaskNumber;
use std::sync::Arc;
use xtasking_hierarchy::Node;

/// How often tasks visited the node, and which change is under way.
pub(super) struct Value {
    /// Incremented first and last by each task: a difference shows that a task was interrupted in
    /// between.
    pub count: u32,
    pub twin: u32,
    /// The last task that counted here.
    pub last: TaskNumber,
    /// The task that inserted the node; 0 for the initial nodes.
    pub inserted_by: TaskNumber,
    /// The change of the hierarchy that is under way at this node.
    pub step: Option<Box<Step>>,
    /// Its reference count is the number of live values.
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
    /// This node is being removed, with all below it; the number includes the node itself.
    Removing(usize),
    /// It is being linked under this parent, where it was not.
    Linking(Node),
    /// It is being unlinked from this parent.
    Unlinking(Node),
}

impl Value {
    pub fn new(inserted_by: TaskNumber, alive: &Arc<()>) -> Self {
        Self { count: 0, twin: 0, last: 0, inserted_by, step: None, _alive: alive.clone() }
    }

    /// Returns true if a task inserted the node.
    pub fn is_new(&self) -> bool {
        self.inserted_by != 0
    }
}
