//! How a task does what it is to do, and panics in the midst of it.

use super::super::load::{Access, Task};
use super::deeds::{Deed, Job};
use super::ledger::{Done, Linked, TaskNumber};
use super::value::{Change, Step, Value};
use std::sync::Arc;
use xtasking::Context;
use xtasking_hierarchy::{Node, Refused, View};

/// What those panic with who are to.
pub(super) struct Provoked;

/// Panics, without a word on the error stream.
fn strike() -> ! {
    std::panic::resume_unwind(Box::new(Provoked))
}

/// A task at work.
pub(super) struct Act<'a, 'h> {
    pub view: View<'h, Value>,
    pub number: TaskNumber,
    pub job: &'a Job,
    /// How large the sub-trees were that it names.
    pub size: u64,
    pub alive: &'a Arc<()>,
}

impl Act<'_, '_> {
    /// Does it, unless it panics. Returns also how many nodes it came by.
    pub fn run(&mut self, cx: &mut Context) -> (Done, u64) {
        match &self.job.deed {
            Deed::Visit(task) => self.visit(task),
            &Deed::Insert { under, chance } => self.insert(under, chance, cx),
            &Deed::Remove { under } => self.remove(under),
            &Deed::Link { parent, child } => self.link(parent, child),
            &Deed::Unlink { child, chance } => self.unlink(child, chance),
        }
    }

    fn visit(&mut self, task: &Task) -> (Done, u64) {
        let (number, mut visited) = (self.number, 0);
        let struck = self.job.strike.map(|chance| chance % self.size.max(1));
        let mut sum = 0;
        for &node in &task.nodes {
            if task.access == Access::Read {
                for below in self.view.below(node) {
                    let Value { count, twin, .. } = self.view[below];
                    assert_eq!(count, twin, "a task sees what another one has left half-written");
                    if struck == Some(visited) {
                        strike();
                    }
                    sum += u64::from(count);
                    visited += 1;
                }
                continue;
            }
            self.view.for_each_below(node, |value| {
                // One may be below another that it names.
                if value.last != number {
                    value.count += 1;
                    if struck == Some(visited) {
                        strike();
                    }
                    value.twin += 1;
                    value.last = number;
                    visited += 1;
                }
            });
        }
        if struck.is_some() {
            strike();
        }
        let done = if task.access == Access::Read { Done::Read(sum) } else { Done::Counted(visited) };
        (done, visited)
    }

    /// The last child of a node of those that were inserted.
    fn new_child(&self, node: Node) -> Option<Node> {
        self.view.children(node).iter().rev().copied().find(|&child| self.view[child].is_new())
    }

    fn insert(&mut self, under: Node, chance: u64, cx: &mut Context) -> (Done, u64) {
        let mut parent = under;
        let mut turns = chance;
        while let Some(child) = self.new_child(parent).filter(|_| turns % 2 == 1) {
            parent = child;
            turns /= 2;
        }
        let count = new_nodes(chance);
        let last = self.job.strike.map(|chance| chance as usize % count);
        let mut nodes: Vec<Node> = Vec::with_capacity(count);
        for index in 0..count {
            let at = if hangs_below(chance, index) { nodes[index - 1] } else { parent };
            let node = self.view.insert(at, Value::new(self.number, self.alive), cx);
            nodes.push(node.expect("there are numbers left"));
            if last == Some(index) {
                strike();
            }
        }
        (Done::Inserted(nodes), count as u64)
    }

    fn remove(&mut self, under: Node) -> (Done, u64) {
        let Some(top) = self.new_child(under) else {
            return self.unchanged(Done::Removed(None));
        };
        let nodes: Vec<Node> = self.view.below(top).collect();
        let last = self.job.strike.map(|chance| chance as usize % nodes.len());
        self.begin(top, Change::Removing(nodes.len()));
        // Each when nothing is below it any more.
        for (index, &node) in nodes.iter().rev().enumerate() {
            if last == Some(index) {
                strike();
            }
            self.view.remove(node).expect("what was inserted has one parent");
        }
        (Done::Removed(Some((top, nodes.len()))), nodes.len() as u64)
    }

    fn link(&mut self, parent: Node, child: Node) -> (Done, u64) {
        if self.view.children(parent).contains(&child) {
            return self.unchanged(Done::Linked(Linked::Twice));
        }
        self.begin(child, Change::Linking(parent));
        let linked = match self.view.link(parent, child) {
            Ok(()) => Linked::New,
            Err(Refused::Cycle(_)) => Linked::Cycle,
            Err(refused) => panic!("{refused}"),
        };
        if self.job.strike.is_some() {
            strike();
        }
        self.view[child].step = None;
        (Done::Linked(linked), 2)
    }

    fn unlink(&mut self, child: Node, chance: u64) -> (Done, u64) {
        let parents = self.view.parents(child);
        if parents.len() < 2 {
            return self.unchanged(Done::Unlinked(None));
        }
        let parent = pick(parents, chance);
        self.begin(child, Change::Unlinking(parent));
        if self.job.strike.is_some_and(|chance| chance.is_multiple_of(2)) {
            strike();
        }
        self.view.unlink(parent, child).expect("there is another parent");
        if self.job.strike.is_some() {
            strike();
        }
        self.view[child].step = None;
        (Done::Unlinked(Some(parent)), 2)
    }

    fn begin(&mut self, node: Node, change: Change) {
        self.view[node].step = Some(Box::new(Step { task: self.number, change }));
    }

    /// There is nothing to change.
    fn unchanged(&self, done: Done) -> (Done, u64) {
        if self.job.strike.is_some() {
            strike();
        }
        (done, 1)
    }
}

/// How many nodes are inserted.
pub(super) fn new_nodes(chance: u64) -> usize {
    1 + (chance >> 32) as usize % 4
}

/// Whether the new node of that index comes below the one before it, and not below the same as the first.
pub(super) fn hangs_below(chance: u64, index: usize) -> bool {
    index > 0 && chance >> (40 + index) & 1 == 1
}

/// The parent from under which a node is taken.
pub(super) fn pick(parents: &[Node], chance: u64) -> Node {
    parents[chance as usize % parents.len()]
}
