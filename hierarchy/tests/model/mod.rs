//! A model of a shape: plain lists, and sets of descendants computed from scratch.

use proptest::prelude::*;
use std::collections::BTreeMap;
use xtasking_hierarchy::{Change, Node, Shape, ShapeError};

/// Largest number of nodes: the bits of a set.
pub const MAX_NODES: usize = 128;

#[derive(Clone, Debug)]
pub struct Model {
    roots: Vec<u32>,
    children: BTreeMap<u32, Vec<u32>>,
}

/// The members of a set.
pub fn all(set: u128) -> impl Iterator<Item = u32> {
    (0..u128::BITS).filter(move |bit| set & (1 << bit) != 0)
}

/// Compares a shape with the model.
pub fn shape_is(shape: &Shape, model: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(shape.len(), model.nodes().len());
    prop_assert!(shape.nodes().eq(model.nodes().into_iter().map(Node)));
    prop_assert!(shape.roots().eq(model.roots.iter().copied().map(Node)));
    for node in model.nodes() {
        let children = model.children(Some(node));
        prop_assert!(shape.children(Node(node)).eq(children.iter().copied().map(Node)));
        let mut parents: Vec<u32> = shape.parents(Node(node)).map(|parent| parent.0).collect();
        parents.sort();
        prop_assert_eq!(parents, model.parents(node));
        prop_assert_eq!(shape.is_root(Node(node)), model.roots.contains(&node));
        prop_assert_eq!(shape.first_child(Node(node)), children.first().copied().map(Node));
        prop_assert_eq!(shape.last_child(Node(node)), children.last().copied().map(Node));
    }
    Ok(())
}

impl Model {
    pub fn of(shape: &Shape) -> Self {
        let children = |node| shape.children(node).map(|child| child.0).collect();
        Self {
            roots: shape.roots().map(|root| root.0).collect(),
            children: shape.nodes().map(|node| (node.0, children(node))).collect(),
        }
    }

    pub fn nodes(&self) -> Vec<u32> {
        self.children.keys().copied().collect()
    }

    /// The children of a node, or the roots.
    pub fn children(&self, parent: Option<u32>) -> &[u32] {
        parent.map_or(&self.roots, |parent| &self.children[&parent])
    }

    pub fn edges(&self) -> Vec<(u32, u32)> {
        let of = |(&parent, children): (&u32, &Vec<u32>)| {
            children.iter().map(|&child| (parent, child)).collect::<Vec<_>>()
        };
        self.children.iter().flat_map(of).collect()
    }

    pub fn parents(&self, node: u32) -> Vec<u32> {
        let is = |(_, children): &(&u32, &Vec<u32>)| children.contains(&node);
        self.children.iter().filter(is).map(|(&parent, _)| parent).collect()
    }

    /// For each node the set of its descendants, including itself.
    pub fn below(&self) -> Vec<u128> {
        let mut below = vec![0; MAX_NODES];
        self.children.keys().for_each(|&node| below[node as usize] = 1 << node);
        loop {
            let mut changed = false;
            for (parent, child) in self.edges() {
                let all = below[parent as usize] | below[child as usize];
                changed |= all != below[parent as usize];
                below[parent as usize] = all;
            }
            if !changed {
                return below;
            }
        }
    }

    pub fn leaves_depth_first(&self) -> Vec<Node> {
        let (mut open, mut leaves) = (self.roots.clone(), Vec::new());
        open.reverse();
        while let Some(node) = open.pop() {
            let children = &self.children[&node];
            if children.is_empty() {
                leaves.push(Node(node));
            }
            open.extend(children.iter().rev());
        }
        leaves
    }

    /// Returns the error of a change. The details of cycles and shared nodes are arbitrary.
    pub fn error_of(&self, change: Change) -> Option<ShapeError> {
        match change {
            Change::Insert { .. } => None,
            Change::Remove(node) => {
                let gone = self.below()[node.index()];
                let outside = |of: u32| self.parents(of).into_iter().any(|parent| gone & (1 << parent) == 0);
                let shared =
                    self.parents(node.0).len() > 1 || all(gone).any(|of| of != node.0 && outside(of));
                shared.then_some(ShapeError::Shared { node, parent: node })
            }
            Change::Link { parent, child, .. } => {
                if self.children(Some(parent.0)).contains(&child.0) {
                    return Some(ShapeError::AlreadyChild { parent, child });
                }
                let cycle = self.below()[child.index()] & (1 << parent.0) != 0;
                cycle.then(|| ShapeError::Cycle(Vec::new()))
            }
            Change::Unlink { parent, child } => {
                if !self.children(Some(parent.0)).contains(&child.0) {
                    return Some(ShapeError::NotAChild { parent: Some(parent), child });
                }
                (self.parents(child.0).len() == 1).then_some(ShapeError::OnlyParent { parent, child })
            }
        }
    }

    fn put(&mut self, parent: Option<u32>, child: u32, before: Option<u32>) {
        let children =
            parent.map_or(&mut self.roots, |parent| self.children.get_mut(&parent).expect("the node exists"));
        let at = before.and_then(|before| children.iter().position(|&child| child == before));
        children.insert(at.unwrap_or(children.len()), child);
    }

    pub fn insert(&mut self, node: u32, parent: Option<u32>, before: Option<u32>) {
        assert!(self.children.insert(node, Vec::new()).is_none(), "node {node} exists already");
        self.put(parent, node, before);
    }

    /// Removes a sub-tree and returns its nodes in ascending order.
    pub fn remove(&mut self, node: u32) -> Vec<u32> {
        let gone: Vec<u32> = all(self.below()[node as usize]).collect();
        self.children.retain(|node, _| !gone.contains(node));
        self.children.values_mut().chain([&mut self.roots]).for_each(|list| list.retain(|of| *of != node));
        gone
    }

    pub fn link(&mut self, parent: u32, child: u32, before: Option<u32>) {
        self.put(Some(parent), child, before);
        self.roots.retain(|&root| root != child);
    }

    pub fn unlink(&mut self, parent: u32, child: u32) {
        self.children.get_mut(&parent).expect("the node exists").retain(|&of| of != child);
    }
}
