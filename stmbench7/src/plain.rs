//! Implements a sequential world in plain vectors.

use super::build::Blueprint;
use super::layout::Layout;
use super::node::{Node, NodeList};
use super::parts::Part;
use super::world::{Values, View, World};
use std::sync::Arc;

/// A world that one thread owns.
#[derive(Clone, Debug)]
pub struct Plain {
    layout: Arc<Layout>,
    nodes: Vec<Option<Slot>>,
    free: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Slot {
    value: Part,
    children: Vec<Node>,
    parents: Vec<Node>,
}

impl Plain {
    /// Builds a world.
    pub fn new(blueprint: Blueprint) -> Self {
        let slot = |value| Some(Slot { value, children: Vec::new(), parents: Vec::new() });
        let nodes = blueprint.values.into_iter().map(slot).collect();
        let mut plain = Self { layout: blueprint.layout, nodes, free: Vec::new() };
        blueprint
            .edges
            .iter()
            .for_each(|&(parent, child)| plain.link(Node::of_number(parent), Node::of_number(child)));
        plain
    }

    /// Returns the nodes that never move.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    fn slot(&self, node: Node) -> &Slot {
        self.nodes.get(node.index()).and_then(Option::as_ref).unwrap_or_else(|| panic_missing(node))
    }

    fn slot_mut(&mut self, node: Node) -> &mut Slot {
        self.nodes.get_mut(node.index()).and_then(Option::as_mut).unwrap_or_else(|| panic_missing(node))
    }
}

#[cold]
fn panic_missing(node: Node) -> ! {
    panic!("node {node} does not exist")
}

fn remove_from(nodes: &mut Vec<Node>, node: Node) {
    let at = nodes.iter().position(|&other| other == node);
    nodes.remove(at.unwrap_or_else(|| panic!("node {node} does not have this link")));
}

impl View for Plain {
    #[inline]
    fn get(&self, node: Node) -> &Part {
        &self.slot(node).value
    }

    #[inline]
    fn children(&self, node: Node) -> NodeList<'_> {
        NodeList::Nodes(&self.slot(node).children)
    }

    #[inline]
    fn parents(&self, node: Node) -> NodeList<'_> {
        NodeList::Nodes(&self.slot(node).parents)
    }
}

impl Values for Plain {
    #[inline]
    fn get_mut(&mut self, node: Node) -> &mut Part {
        &mut self.slot_mut(node).value
    }
}

impl World for Plain {
    fn insert(&mut self, parent: Node, value: Part) -> Node {
        let slot = Some(Slot { value, children: Vec::new(), parents: Vec::new() });
        let node = match self.free.pop() {
            Some(free) => {
                self.nodes[free.index()] = slot;
                free
            }
            None => {
                self.nodes.push(slot);
                Node::of_number(self.nodes.len() as u32 - 1)
            }
        };
        self.link(parent, node);
        node
    }

    fn remove(&mut self, node: Node) {
        let slot = self.slot(node);
        assert!(slot.children.is_empty(), "node {node} has children");
        let &[parent] = &slot.parents[..] else { panic!("node {node} does not have exactly one parent") };
        remove_from(&mut self.slot_mut(parent).children, node);
        self.nodes[node.index()] = None;
        self.free.push(node);
    }

    fn link(&mut self, parent: Node, child: Node) {
        assert!(!self.slot(child).parents.contains(&parent), "node {child} is a child of {parent} already");
        self.slot_mut(parent).children.push(child);
        self.slot_mut(child).parents.push(parent);
    }

    fn unlink(&mut self, parent: Node, child: Node) {
        assert!(self.slot(child).parents.len() > 1, "node {parent} is the only parent of node {child}");
        remove_from(&mut self.slot_mut(parent).children, child);
        remove_from(&mut self.slot_mut(child).parents, parent);
    }
}
