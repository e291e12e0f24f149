//! Selects the nodes that tasks may name: those whose sub-trees have neither too few nodes nor too
//! many.

use std::ops::RangeInclusive;
use xtasking_hierarchy::{Node, Shape};

/// The nodes that may be named, in depth-first order.
#[derive(Clone, Debug)]
pub struct Targets {
    nodes: Vec<Node>,
    /// Nodes in the sub-tree of each node, by number; 0 where it is too large.
    sizes: Vec<u32>,
}

impl Targets {
    /// Selects the nodes whose sub-trees have `range` nodes.
    ///
    /// Takes time for all nodes and links; and where nodes have several parents, for all nodes of
    /// each sub-tree that is not too large and contains such nodes.
    pub fn new(shape: &Shape, range: RangeInclusive<usize>) -> Self {
        let sizes = sizes(shape, *range.end());
        let wanted = |node: &Node| match sizes[node.index()] {
            0 => false,
            size => range.contains(&(size as usize)),
        };
        let nodes = depth_first(shape).into_iter().filter(wanted).collect();
        Self { nodes, sizes }
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if no node may be named.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the nodes, by their positions.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the number of nodes in the sub-tree of `node`, itself included.
    pub fn size(&self, node: Node) -> u32 {
        self.sizes[node.index()]
    }
}

/// Returns the number of nodes of each node's sub-tree, each counted once; 0 if it exceeds `max`.
fn sizes(shape: &Shape, max: usize) -> Vec<u32> {
    let mut sizes = vec![0u32; shape.bound()];
    // Whether the sub-tree is a tree, so that its size is the sum of its children's plus 1.
    let mut trees = vec![true; shape.bound()];
    let mut walk = Walk { marks: vec![0; shape.bound()], walks: 0, open: Vec::new() };
    for node in shape.topological().into_iter().rev() {
        let (mut sum, mut all, mut tree) = (1usize, true, true);
        for child in shape.children(node) {
            sum += sizes[child.index()] as usize;
            all &= sizes[child.index()] != 0;
            tree &= trees[child.index()] && !shape.is_shared(child);
        }
        trees[node.index()] = tree;
        // If a sub-tree is too large, so are those above it.
        let size = match (all, tree) {
            (false, _) => continue,
            (true, true) => sum,
            (true, false) => walk.count(shape, node, max),
        };
        if size <= max {
            sizes[node.index()] = size as u32;
        }
    }
    sizes
}

/// Walks many sub-trees, with one mark for each node.
struct Walk {
    /// By node, the number of the last walk that visited it.
    marks: Vec<u32>,
    walks: u32,
    open: Vec<Node>,
}

impl Walk {
    /// Counts the nodes of a sub-tree; any number above `max` if it has more.
    fn count(&mut self, shape: &Shape, node: Node, max: usize) -> usize {
        self.walks += 1;
        self.open.clear();
        self.open.push(node);
        let mut count = 1;
        while let Some(node) = self.open.pop() {
            for child in shape.children(node) {
                if std::mem::replace(&mut self.marks[child.index()], self.walks) != self.walks {
                    self.open.push(child);
                    count += 1;
                }
            }
            if count > max {
                break;
            }
        }
        count
    }
}

/// Returns all nodes in depth-first order, each where it is visited first.
fn depth_first(shape: &Shape) -> Vec<Node> {
    let mut order = Vec::with_capacity(shape.len());
    let mut come = vec![false; shape.bound()];
    // A stack.
    let mut open: Vec<Node> = shape.roots().collect();
    open.reverse();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut come[node.index()], true) {
            order.push(node);
            let next = open.len();
            open.extend(shape.children(node).filter(|child| !come[child.index()]));
            open[next..].reverse();
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use xtasking_hierarchy::generate;

    proptest! {
        /// Sizes are those of the sub-trees, walked one by one.
        #[test]
        fn nodes_with_sub_trees_of_fitting_size_may_be_named(
            nodes in 1u32..80, parents in 1u32..4, seed: u64, smallest in 1usize..9, more in 0usize..40,
        ) {
            for shape in [generate::random_dag(nodes, parents, seed), generate::random_tree(nodes, seed)] {
                let range = smallest..=smallest + more;
                let targets = Targets::new(&shape, range.clone());
                for node in shape.nodes() {
                    let size = shape.subtree(node).count();
                    prop_assert_eq!(targets.nodes().contains(&node), range.contains(&size));
                    prop_assert_eq!(targets.size(node) as usize, if size <= *range.end() { size } else { 0 });
                }
            }
        }
    }

    #[test]
    fn positions_are_in_depth_first_order() {
        let edges = [(5, 1), (5, 0), (1, 7), (1, 2), (0, 3), (0, 2), (4, 6), (4, 1)];
        let shape = Shape::from_edges(8, &edges).unwrap();
        let targets = Targets::new(&shape, 1..=8);
        assert_eq!(targets.nodes(), [4, 6, 1, 7, 2, 5, 0, 3].map(Node));
        let tree = generate::treebank(3_000, 1);
        assert!(Targets::new(&tree, 1..=3_000).nodes().iter().copied().eq(tree.subtree(Node(0))));
        assert!(Targets::new(&Shape::default(), 1..=9).is_empty());
    }

    /// A walk of each sub-tree would take 2 · 10^10 steps.
    #[test]
    fn large_sub_trees_are_not_walked_one_by_one() {
        assert_eq!(Targets::new(&generate::path(200_000), 1..=199_999).len(), 199_999);
        let mut edges: Vec<_> = (1..200_000).map(|node| (node - 1, node)).collect();
        edges.push((0, 199_999));
        let shape = Shape::from_edges(200_000, &edges).unwrap();
        assert_eq!(Targets::new(&shape, 1..=50).len(), 50);
    }
}
