//! All that was done once more, one task after another, on a plain copy of the hierarchy.

use super::super::load::Access;
use super::act::{hangs_below, new_nodes};
use super::deeds::{Deed, Job};
use super::ledger::{Done, Linked};
use super::value::Value;
use xtasking_hierarchy::{Node, Shape, View};

/// The copy. What it has refused leaves it in no state to go on.
#[derive(Clone)]
pub(super) struct Model {
    nodes: Vec<Option<Plain>>,
    /// By node, the last walk that came by.
    marks: Vec<u32>,
    walks: u32,
}

#[derive(Clone, Default)]
struct Plain {
    count: u32,
    is_new: bool,
    children: Vec<Node>,
    parents: Vec<Node>,
}

impl Model {
    pub fn of(shape: &Shape) -> Self {
        let mut nodes = vec![None; shape.bound()];
        for node in shape.nodes() {
            let (children, parents) = (shape.children(node).collect(), shape.parents(node).collect());
            nodes[node.index()] = Some(Plain { children, parents, ..Plain::default() });
        }
        Self { marks: vec![0; nodes.len()], nodes, walks: 0 }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.iter().flatten().count()
    }

    fn at(&mut self, node: Node) -> Result<&mut Plain, String> {
        let found = self.nodes.get_mut(node.index()).and_then(Option::as_mut);
        found.ok_or_else(|| format!("there is no node {node}"))
    }

    /// Calls `each` with all below a node, each once for a walk.
    fn walk(&mut self, from: Node, mut each: impl FnMut(&mut Plain)) -> Result<(), String> {
        let mut open = vec![from];
        let walk = self.walks;
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut self.marks[node.index()], walk) != walk {
                let plain = self.at(node)?;
                each(plain);
                open.extend(&plain.children);
            }
        }
        Ok(())
    }

    fn new_child(&self, node: Node) -> Option<Node> {
        let is_new = |child: &Node| self.nodes[child.index()].as_ref().is_some_and(|plain| plain.is_new);
        self.nodes[node.index()].as_ref()?.children.iter().rev().copied().find(is_new)
    }

    /// Does what a task has done, and compares what it found.
    pub fn again(&mut self, job: &Job, done: &Done) -> Result<(), String> {
        self.walks += 1;
        let found = match (&job.deed, done) {
            (Deed::Visit(task), _) if task.access == Access::Read => {
                let mut sum = 0;
                for &node in &task.nodes {
                    self.walks += 1;
                    self.walk(node, |plain| sum += u64::from(plain.count))?;
                }
                Done::Read(sum)
            }
            (Deed::Visit(task), _) => {
                let mut visited = 0;
                for &node in &task.nodes {
                    self.walk(node, |plain| {
                        plain.count += 1;
                        visited += 1;
                    })?;
                }
                Done::Counted(visited)
            }
            (&Deed::Insert { under, chance }, Done::Inserted(nodes)) => {
                self.insert(under, chance, nodes)?;
                done.clone()
            }
            (&Deed::Remove { under }, _) => Done::Removed(self.remove(under)?),
            (&Deed::Link { parent, child }, _) => Done::Linked(self.link(parent, child)?),
            // Which of several parents it was, nothing says.
            (&Deed::Unlink { child, .. }, &Done::Unlinked(parent)) => {
                let several = self.at(child)?.parents.len() > 1;
                match parent {
                    Some(parent) if several => self.unlink(parent, child)?,
                    None if !several => {}
                    _ => return Err(format!("node {child} should have another number of parents")),
                }
                done.clone()
            }
            (deed, done) => return Err(format!("{deed:?} cannot have done {done:?}")),
        };
        if found == *done { Ok(()) } else { Err(format!("{done:?} should have been {found:?}")) }
    }

    fn insert(&mut self, under: Node, chance: u64, nodes: &[Node]) -> Result<(), String> {
        let (mut parent, mut turns) = (under, chance);
        while let Some(child) = self.new_child(parent).filter(|_| turns % 2 == 1) {
            (parent, turns) = (child, turns / 2);
        }
        if nodes.len() != new_nodes(chance) {
            return Err(format!("{} nodes were inserted, not {}", nodes.len(), new_nodes(chance)));
        }
        for (index, &node) in nodes.iter().enumerate() {
            let parent = if hangs_below(chance, index) { nodes[index - 1] } else { parent };
            if self.nodes.len() <= node.index() {
                self.nodes.resize(node.index() + 1, None);
                self.marks.resize(node.index() + 1, 0);
            }
            let plain = Plain { is_new: true, parents: vec![parent], ..Plain::default() };
            if self.nodes[node.index()].replace(plain).is_some() {
                return Err(format!("node {node} was there already"));
            }
            self.at(parent)?.children.push(node);
        }
        Ok(())
    }

    fn remove(&mut self, under: Node) -> Result<Option<(Node, usize)>, String> {
        let Some(top) = self.new_child(under) else { return Ok(None) };
        self.at(under)?.children.retain(|&child| child != top);
        let (mut open, mut count) = (vec![top], 0);
        while let Some(node) = open.pop() {
            let gone = self.nodes[node.index()].take().ok_or_else(|| format!("there is no node {node}"))?;
            open.extend(gone.children);
            count += 1;
        }
        Ok(Some((top, count)))
    }

    fn link(&mut self, parent: Node, child: Node) -> Result<Linked, String> {
        if self.at(parent)?.children.contains(&child) {
            return Ok(Linked::Twice);
        }
        self.walk(child, |_| ())?;
        if self.marks[parent.index()] == self.walks {
            return Ok(Linked::Cycle);
        }
        self.at(parent)?.children.push(child);
        self.at(child)?.parents.push(parent);
        Ok(Linked::New)
    }

    fn unlink(&mut self, parent: Node, child: Node) -> Result<(), String> {
        self.at(parent)?.children.retain(|&node| node != child);
        let parents = &mut self.at(child)?.parents;
        let at = parents.iter().position(|&above| above == parent);
        parents.swap_remove(at.ok_or_else(|| format!("node {child} is not under {parent}"))?);
        Ok(())
    }

    /// The first difference to what tasks have left.
    pub fn differs(&self, view: &View<'_, Value>) -> Option<String> {
        let mut count = 0;
        for (node, value) in view.all() {
            count += 1;
            let Some(plain) = self.nodes.get(node.index()).and_then(Option::as_ref) else {
                return Some(format!("node {node} should not be there"));
            };
            if (value.count, value.twin) != (plain.count, plain.count) {
                let Value { count, twin, .. } = value;
                return Some(format!(
                    "node {node} was counted {count} and {twin} times, not {}",
                    plain.count
                ));
            }
            if value.step.is_some() {
                return Some(format!("a change of node {node} was begun and not ended"));
            }
            let sorted = |nodes: &[Node]| {
                let mut nodes = nodes.to_vec();
                nodes.sort_unstable();
                nodes
            };
            if view.children(node) != plain.children || sorted(view.parents(node)) != sorted(&plain.parents) {
                return Some(format!("node {node} has other children or parents than it should"));
            }
        }
        let all = self.len();
        (count != all).then(|| format!("there are {count} nodes, not {all}"))
    }
}
