//! Which nodes may be named: those whose sub-trees have neither too few nodes nor too many.

use std::ops::RangeInclusive;
use xtasking_hierarchy::{Node, Shape};

/// The nodes that may be named, in depth-first order.
#[derive(Clone, Debug)]
pub struct Targets {
    nodes: Vec<Node>,
    /// How many nodes there are in the sub-tree of each node, by number; 0 where they are too many.
    sizes: Vec<u32>,
}

impl Targets {
    /// Those whose sub-trees have so many nodes.
    ///
    /// It takes time for all nodes and links; and where nodes have several parents, for all nodes of each sub-tree that is
    /// not too large and has such nodes in it.
    pub fn new(shape: &Shape, range: RangeInclusive<usize>) -> Self {
        let sizes = sizes(shape, *range.end());
        let wanted = |node: &Node| match sizes[node.index()] {
            0 => false,
            size => range.contains(&(size as usize)),
        };
        let nodes = depth_first(shape).into_iter().filter(wanted).collect();
        Self { nodes, sizes }
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no node may be named.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The nodes, by their positions.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many nodes the sub-tree of one of them has, itself included.
    pub fn size(&self, node: Node) -> u32 {
        self.sizes[node.index()]
    }
}

/// For each node, by number, how many nodes its sub-tree has, each counted once; 0 if they are more than `most`.
fn sizes(shape: &Shape, most: usize) -> Vec<u32> {
    let mut sizes = vec![0u32; shape.bound()];
    // Whether a sub-tree is a tree, so that its size is that of its parts.
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
        // What is above a sub-tree of too many nodes need not be counted.
        let size = match (all, tree) {
            (false, _) => continue,
            (true, true) => sum,
            (true, false) => walk.count(shape, node, most),
        };
        if size <= most {
            sizes[node.index()] = size as u32;
        }
    }
    sizes
}

/// Walks of many sub-trees, with no more than a mark for each node.
struct Walk {
    /// By node, the last walk that came by.
    marks: Vec<u32>,
    walks: u32,
    open: Vec<Node>,
}

impl Walk {
    /// How many nodes a sub-tree has, or any number above `most` if they are more.
    fn count(&mut self, shape: &Shape, node: Node, most: usize) -> usize {
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
            if count > most {
                break;
            }
        }
        count
    }
}

/// All nodes, each before its children and those of one child before the next child, unless they have come before.
fn depth_first(shape: &Shape) -> Vec<Node> {
    let mut order = Vec::with_capacity(shape.len());
    let mut come = vec![false; shape.bound()];
    // What comes next is last.
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
        fn sub_trees_of_fitting_size_may_be_named(
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

    /// A walk of each sub-tree would take 2 · 10^10 steps each time.
    #[test]
    fn large_sub_trees_are_not_walked_one_by_one() {
        assert_eq!(Targets::new(&generate::path(200_000), 1..=199_999).len(), 199_999);
        let mut edges: Vec<_> = (1..200_000).map(|node| (node - 1, node)).collect();
        edges.push((0, 199_999));
        let shape = Shape::from_edges(200_000, &edges).unwrap();
        assert_eq!(Targets::new(&shape, 1..=50).len(), 50);
    }
}
