//! Replays all tasks that are done, one after another, on a plain copy of the hierarchy.

use super::super::load::Access;
use super::execution::{is_chained, new_nodes};
use super::jobs::{Job, Operation};
use super::ledger::{ChangeResult, LinkResult};
use super::value::Value;
use xtasking_hierarchy::{Node, Shape, View};

/// The copy. After an error it is inconsistent.
#[derive(Clone)]
pub(super) struct Model {
    nodes: Vec<Option<Plain>>,
    /// By node, the number of the last walk that visited it.
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

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.iter().flatten().count()
    }

    fn at(&mut self, node: Node) -> Result<&mut Plain, String> {
        let node_data = self.nodes.get_mut(node.index()).and_then(Option::as_mut);
        node_data.ok_or_else(|| format!("node {node} does not exist"))
    }

    /// Calls `each` with all nodes below `from`, each once.
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

    /// Replays a job, and compares its result with `result`.
    pub fn replay(&mut self, job: &Job, result: &ChangeResult) -> Result<(), String> {
        self.walks += 1;
        let expected = match (&job.operation, result) {
            (Operation::Visit(task), _) if task.access == Access::Read => {
                let mut sum = 0;
                for &node in &task.nodes {
                    self.walks += 1;
                    self.walk(node, |plain| sum += u64::from(plain.count))?;
                }
                ChangeResult::Read(sum)
            }
            (Operation::Visit(task), _) => {
                let mut visited = 0;
                for &node in &task.nodes {
                    self.walk(node, |plain| {
                        plain.count += 1;
                        visited += 1;
                    })?;
                }
                ChangeResult::Counted(visited)
            }
            (&Operation::Insert { under, chance }, ChangeResult::Inserted(nodes)) => {
                self.insert(under, chance, nodes)?;
                result.clone()
            }
            (&Operation::Remove { under }, _) => ChangeResult::Removed(self.remove(under)?),
            (&Operation::Link { parent, child }, _) => ChangeResult::Linked(self.link(parent, child)?),
            // The result names which of several parents it was; any is valid.
            (&Operation::Unlink { child, .. }, &ChangeResult::Unlinked(parent)) => {
                let several = self.at(child)?.parents.len() > 1;
                match parent {
                    Some(parent) if several => self.unlink(parent, child)?,
                    None if !several => {}
                    _ => {
                        return Err(format!(
                            "unlinking of node {child} does not match its number of parents"
                        ));
                    }
                }
                result.clone()
            }
            (operation, result) => return Err(format!("{operation:?} cannot result in {result:?}")),
        };
        if expected == *result {
            Ok(())
        } else {
            Err(format!("the result is {result:?}; expected {expected:?}"))
        }
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
            let parent = if is_chained(chance, index) { nodes[index - 1] } else { parent };
            if self.nodes.len() <= node.index() {
                self.nodes.resize(node.index() + 1, None);
                self.marks.resize(node.index() + 1, 0);
            }
            let plain = Plain { is_new: true, parents: vec![parent], ..Plain::default() };
            if self.nodes[node.index()].replace(plain).is_some() {
                return Err(format!("inserted node {node} exists already"));
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
            let removed =
                self.nodes[node.index()].take().ok_or_else(|| format!("node {node} does not exist"))?;
            open.extend(removed.children);
            count += 1;
        }
        Ok(Some((top, count)))
    }

    fn link(&mut self, parent: Node, child: Node) -> Result<LinkResult, String> {
        if self.at(parent)?.children.contains(&child) {
            return Ok(LinkResult::Duplicate);
        }
        self.walk(child, |_| ())?;
        if self.marks[parent.index()] == self.walks {
            return Ok(LinkResult::Cycle);
        }
        self.at(parent)?.children.push(child);
        self.at(child)?.parents.push(parent);
        Ok(LinkResult::New)
    }

    fn unlink(&mut self, parent: Node, child: Node) -> Result<(), String> {
        self.at(parent)?.children.retain(|&node| node != child);
        let parents = &mut self.at(child)?.parents;
        let at = parents.iter().position(|&above| above == parent);
        parents.swap_remove(at.ok_or_else(|| format!("node {child} is not a child of {parent}"))?);
        Ok(())
    }

    /// Returns the first difference from what the tasks left.
    pub fn differs(&self, view: &View<'_, Value>) -> Option<String> {
        let mut count = 0;
        for (node, value) in view.all() {
            count += 1;
            let Some(plain) = self.nodes.get(node.index()).and_then(Option::as_ref) else {
                return Some(format!("node {node} should not exist"));
            };
            if (value.count, value.twin) != (plain.count, plain.count) {
                let Value { count, twin, .. } = value;
                return Some(format!("node {node} has counts {count} and {twin}; expected {}", plain.count));
            }
            if value.step.is_some() {
                return Some(format!("a change of node {node} is unfinished"));
            }
            let sorted = |nodes: &[Node]| {
                let mut nodes = nodes.to_vec();
                nodes.sort_unstable();
                nodes
            };
            if view.children(node) != plain.children || sorted(view.parents(node)) != sorted(&plain.parents) {
                return Some(format!("node {node} has wrong children or parents"));
            }
        }
        let all = self.len();
        (count != all).then(|| format!("there are {count} nodes; expected {all}"))
    }
}
