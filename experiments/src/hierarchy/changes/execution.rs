//! Executes the operation of a job, and panics inside it where the job says so.

use super::super::load::{Access, Task};
use super::jobs::{Job, Operation};
use super::ledger::{ChangeResult, LinkResult, TaskNumber};
use super::value::{Change, Step, Value};
use std::sync::Arc;
use xtasking::Context;
use xtasking_hierarchy::{Node, ShapeError, View};

/// The payload of an injected panic.
pub(super) struct InjectedPanic;

/// Panics without a message on the error stream.
fn inject_panic() -> ! {
    std::panic::resume_unwind(Box::new(InjectedPanic))
}

/// The execution of one job.
pub(super) struct Execution<'a, 'h> {
    pub view: View<'h, Value>,
    pub number: TaskNumber,
    pub job: &'a Job,
    /// Nodes in the sub-trees that the job names.
    pub size: u64,
    pub alive: &'a Arc<()>,
}

impl Execution<'_, '_> {
    /// Executes the operation, unless it panics. Returns its result and the number of visited
    /// nodes.
    pub fn run(&mut self, cx: &mut Context) -> (ChangeResult, u64) {
        match &self.job.operation {
            Operation::Visit(task) => self.visit(task),
            &Operation::Insert { under, chance } => self.insert(under, chance, cx),
            &Operation::Remove { under } => self.remove(under),
            &Operation::Link { parent, child } => self.link(parent, child),
            &Operation::Unlink { child, chance } => self.unlink(child, chance),
        }
    }

    fn visit(&mut self, task: &Task) -> (ChangeResult, u64) {
        let (number, mut visited) = (self.number, 0);
        let panic_at = self.job.panic_at.map(|chance| chance % self.size.max(1));
        let mut sum = 0;
        for &node in &task.nodes {
            if task.access == Access::Read {
                for below in self.view.subtree(node) {
                    let Value { count, twin, .. } = self.view[below];
                    assert_eq!(count, twin, "a task reads a node that another task left half-written");
                    if panic_at == Some(visited) {
                        inject_panic();
                    }
                    sum += u64::from(count);
                    visited += 1;
                }
                continue;
            }
            self.view.for_each_in_subtree(node, |value| {
                // A named node may be below another one: count only once.
                if value.last != number {
                    value.count += 1;
                    if panic_at == Some(visited) {
                        inject_panic();
                    }
                    value.twin += 1;
                    value.last = number;
                    visited += 1;
                }
            });
        }
        if panic_at.is_some() {
            inject_panic();
        }
        let result = if task.access == Access::Read {
            ChangeResult::Read(sum)
        } else {
            ChangeResult::Counted(visited)
        };
        (result, visited)
    }

    /// Returns the last inserted child of a node.
    fn new_child(&self, node: Node) -> Option<Node> {
        self.view.children(node).iter().rev().copied().find(|&child| self.view[child].is_new())
    }

    fn insert(&mut self, under: Node, chance: u64, cx: &mut Context) -> (ChangeResult, u64) {
        let mut parent = under;
        let mut turns = chance;
        while let Some(child) = self.new_child(parent).filter(|_| turns % 2 == 1) {
            parent = child;
            turns /= 2;
        }
        let count = new_nodes(chance);
        let panic_index = self.job.panic_at.map(|chance| chance as usize % count);
        let mut nodes: Vec<Node> = Vec::with_capacity(count);
        for index in 0..count {
            let at = if is_chained(chance, index) { nodes[index - 1] } else { parent };
            let node = self.view.insert(at, Value::new(self.number, self.alive), cx);
            nodes.push(node.expect("the hierarchy has room for new nodes"));
            if panic_index == Some(index) {
                inject_panic();
            }
        }
        (ChangeResult::Inserted(nodes), count as u64)
    }

    fn remove(&mut self, under: Node) -> (ChangeResult, u64) {
        let Some(top) = self.new_child(under) else {
            return self.unchanged(ChangeResult::Removed(None));
        };
        let nodes: Vec<Node> = self.view.subtree(top).collect();
        let panic_index = self.job.panic_at.map(|chance| chance as usize % nodes.len());
        self.begin(top, Change::Removing(nodes.len()));
        // In reverse order, so that each node is a leaf when it is removed.
        for (index, &node) in nodes.iter().rev().enumerate() {
            if panic_index == Some(index) {
                inject_panic();
            }
            self.view.remove(node).expect("an inserted node has one parent");
        }
        (ChangeResult::Removed(Some((top, nodes.len()))), nodes.len() as u64)
    }

    fn link(&mut self, parent: Node, child: Node) -> (ChangeResult, u64) {
        if self.view.children(parent).contains(&child) {
            return self.unchanged(ChangeResult::Linked(LinkResult::Duplicate));
        }
        self.begin(child, Change::Linking(parent));
        let linked = match self.view.link(parent, child) {
            Ok(()) => LinkResult::New,
            Err(ShapeError::Cycle(_)) => LinkResult::Cycle,
            Err(error) => panic!("{error}"),
        };
        if self.job.panic_at.is_some() {
            inject_panic();
        }
        self.view[child].step = None;
        (ChangeResult::Linked(linked), 2)
    }

    fn unlink(&mut self, child: Node, chance: u64) -> (ChangeResult, u64) {
        let parents = self.view.parents(child);
        if parents.len() < 2 {
            return self.unchanged(ChangeResult::Unlinked(None));
        }
        let parent = pick_parent(parents, chance);
        self.begin(child, Change::Unlinking(parent));
        if self.job.panic_at.is_some_and(|chance| chance.is_multiple_of(2)) {
            inject_panic();
        }
        self.view.unlink(parent, child).expect("the node has another parent");
        if self.job.panic_at.is_some() {
            inject_panic();
        }
        self.view[child].step = None;
        (ChangeResult::Unlinked(Some(parent)), 2)
    }

    fn begin(&mut self, node: Node, change: Change) {
        self.view[node].step = Some(Box::new(Step { task: self.number, change }));
    }

    /// Returns a result without a change, or panics if the job says so.
    fn unchanged(&self, result: ChangeResult) -> (ChangeResult, u64) {
        if self.job.panic_at.is_some() {
            inject_panic();
        }
        (result, 1)
    }
}

/// Returns how many nodes an insertion adds.
pub(super) fn new_nodes(chance: u64) -> usize {
    1 + (chance >> 32) as usize % 4
}

/// Returns true if the new node `index` becomes a child of the one before it, rather than of the
/// common parent.
pub(super) fn is_chained(chance: u64, index: usize) -> bool {
    index > 0 && chance >> (40 + index) & 1 == 1
}

/// Returns the parent that a node is unlinked from.
pub(super) fn pick_parent(parents: &[Node], chance: u64) -> Node {
    parents[chance as usize % parents.len()]
}
