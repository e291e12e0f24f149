//! Walks over many nodes. None is recursive: a hierarchy may be as deep as it has nodes.

use super::Shape;
use crate::Node;
use crate::node::NONE;
use std::collections::HashSet;

/// An iterator over the nodes of a sub-tree, each once: see [`Shape::subtree`].
#[derive(Clone, Debug)]
pub struct Subtree<'a> {
    shape: &'a Shape,
    first: Option<Node>,
    /// The path to the next nodes: edges whose children come next, with their later siblings.
    edges: Vec<u32>,
    /// Nodes with several parents that were visited.
    shared: HashSet<Node>,
}

impl Shape {
    /// Iterates over a node and its descendants in depth-first order: each once, before its
    /// children, which come in their order.
    #[track_caller]
    pub fn subtree(&self, node: Node) -> Subtree<'_> {
        self.links(node);
        Subtree { shape: self, first: Some(node), edges: Vec::new(), shared: HashSet::new() }
    }

    /// Returns the ancestors of a node, each once, in no particular order.
    #[track_caller]
    pub fn ancestors(&self, node: Node) -> Vec<Node> {
        self.links(node);
        self.climb(node, |_| true).into_iter().skip(1).map(|step| step.0).collect()
    }

    /// Returns all nodes, each after all its parents.
    pub fn topological(&self) -> Vec<Node> {
        let mut missing = vec![0u32; self.bound()];
        let linked = self.nodes().flat_map(|node| self.children(node));
        linked.for_each(|child| missing[child.index()] += 1);
        let mut order = Vec::with_capacity(self.len());
        order.extend(self.roots());
        let mut done = 0;
        while let Some(&node) = order.get(done) {
            done += 1;
            order.extend(self.children(node).filter(|child| {
                missing[child.index()] -= 1;
                missing[child.index()] == 0
            }));
        }
        order
    }

    /// Returns the depth of each node, indexed by node: the number of nodes on the longest path
    /// from a root, 1 for a root. The entry of an unused number is 0.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0; self.bound()];
        for node in self.topological() {
            let depth = depths[node.index()].max(1);
            depths[node.index()] = depth;
            for child in self.children(node) {
                let below = &mut depths[child.index()];
                *below = (*below).max(depth + 1);
            }
        }
        depths
    }

    /// Returns the node and its ancestors, each once, as far as `wanted` returns true for every
    /// node on the path. With each comes the index of the node from which it was reached
    /// (meaningless for the first).
    pub(crate) fn climb(&self, from: Node, mut wanted: impl FnMut(Node) -> bool) -> Vec<(Node, usize)> {
        let mut path = Vec::new();
        if wanted(from) {
            path.push((from, 0));
        }
        let (mut seen, mut forked) = (HashSet::new(), false);
        let mut done = 0;
        while let Some(&(node, _)) = path.get(done) {
            // Until a node has two parents there is only one path, and no node can be visited
            // twice.
            forked |= self.is_shared(node);
            for parent in self.parents(node) {
                if (!forked || seen.insert(parent)) && wanted(parent) {
                    path.push((parent, done));
                }
            }
            done += 1;
        }
        path
    }

    /// Returns a path down from a node to a descendant, including both ends; `None` if there is
    /// none. Only nodes for which `wanted` returns true are tried.
    pub(crate) fn path_down(
        &self,
        down_from: Node,
        to: Node,
        wanted: impl Fn(Node) -> bool,
    ) -> Option<Vec<Node>> {
        let mut found = false;
        let climbed = self.climb(to, |node| {
            let go_on = !found && wanted(node);
            found |= go_on && node == down_from;
            go_on
        });
        let mut at = climbed.iter().rposition(|&(node, _)| node == down_from)?;
        let mut path = vec![down_from];
        while at != 0 {
            at = climbed[at].1;
            path.push(climbed[at].0);
        }
        Some(path)
    }
}

impl Iterator for Subtree<'_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        if let Some(first) = self.first.take() {
            self.edges.push(self.shape.links(first).children.first);
            return Some(first);
        }
        loop {
            let edge = *self.shape.edge(self.edges.pop()?)?;
            if edge.next != NONE {
                self.edges.push(edge.next);
            }
            let node = edge.child();
            if !self.shape.is_shared(node) || self.shared.insert(node) {
                let below = self.shape.links(node).children.first;
                if below != NONE {
                    self.edges.push(below);
                }
                return Some(node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use proptest::prelude::*;

    /// The edges of an acyclic graph: from lower to higher numbers, which are then shuffled.
    fn edges() -> impl Strategy<Value = (usize, Vec<(u32, u32)>)> {
        (2usize..40).prop_flat_map(|nodes| {
            let names = Just((0..nodes as u32).collect::<Vec<_>>()).prop_shuffle();
            let pairs = prop::collection::hash_set((0..nodes, 0..nodes), 0..80);
            (names, pairs).prop_map(move |(names, pairs)| {
                let pairs = pairs.into_iter().filter(|pair| pair.0 < pair.1);
                (nodes, pairs.map(|(above, below)| (names[above], names[below])).collect())
            })
        })
    }

    /// `above[a][b]` is true if `a` is `b` or an ancestor of it.
    fn above(nodes: usize, edges: &[(u32, u32)]) -> Vec<Vec<bool>> {
        let mut above = vec![vec![false; nodes]; nodes];
        (0..nodes).for_each(|node| above[node][node] = true);
        edges.iter().for_each(|&(parent, child)| above[parent as usize][child as usize] = true);
        for via in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    above[from][to] |= above[from][via] && above[via][to];
                }
            }
        }
        above
    }

    proptest! {
        #[test]
        fn walks_find_all_descendants_and_ancestors((nodes, edges) in edges()) {
            let shape = Shape::from_edges(nodes, &edges).unwrap();
            let above = above(nodes, &edges);
            for node in shape.nodes() {
                let sorted = |mut nodes: Vec<Node>| { nodes.sort(); nodes };
                let all = |is: &dyn Fn(Node) -> bool| -> Vec<Node> {
                    shape.nodes().filter(|&node| is(node)).collect()
                };
                let below = all(&|other| above[node.index()][other.index()]);
                prop_assert_eq!(sorted(shape.subtree(node).collect()), below);
                let higher = all(&|other| other != node && above[other.index()][node.index()]);
                prop_assert_eq!(sorted(shape.ancestors(node)), higher);
                for other in shape.nodes() {
                    let path = shape.path_down(node, other, |_| true);
                    prop_assert_eq!(path.is_some(), above[node.index()][other.index()]);
                    if let Some(path) = path {
                        prop_assert_eq!((path[0], path[path.len() - 1]), (node, other));
                        prop_assert!(path.windows(2).all(|two| edges.contains(&(two[0].0, two[1].0))));
                    }
                }
            }
            let order = shape.topological();
            let mut when = vec![0; nodes];
            order.iter().enumerate().for_each(|(index, node)| when[node.index()] = index);
            prop_assert_eq!(sorted_numbers(&order), (0..nodes as u32).collect::<Vec<_>>());
            let depths = shape.depths();
            for (parent, child) in edges {
                prop_assert!(when[parent as usize] < when[child as usize]);
                prop_assert!(depths[parent as usize] < depths[child as usize]);
            }
            for node in shape.nodes() {
                let longest = shape.parents(node).map(|parent| depths[parent.index()]).max().unwrap_or(0);
                prop_assert_eq!(depths[node.index()], longest + 1);
            }
        }

        /// An edge to an ancestor closes a cycle, which the error names.
        #[test]
        fn the_error_names_a_cycle((nodes, mut edges) in edges(), pick in any::<prop::sample::Index>()) {
            let above = above(nodes, &edges);
            let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
            let back: Vec<_> = pairs.filter(|&(from, to)| above[to][from]).collect();
            let (from, to) = back[pick.index(back.len())];
            edges.push((from as u32, to as u32));
            match Shape::from_edges(nodes, &edges) {
                Err(crate::ShapeError::Cycle(cycle)) => {
                    let next = cycle.iter().skip(1).chain(cycle.first());
                    prop_assert!(cycle.iter().zip(next).all(|(a, b)| edges.contains(&(a.0, b.0))));
                    let mut once = sorted_numbers(&cycle);
                    once.dedup();
                    prop_assert_eq!(once.len(), cycle.len());
                }
                other => prop_assert!(false, "{other:?} instead of a cycle"),
            }
        }
    }

    fn sorted_numbers(nodes: &[Node]) -> Vec<u32> {
        let mut numbers: Vec<u32> = nodes.iter().map(|node| node.0).collect();
        numbers.sort();
        numbers
    }

    #[test]
    fn a_path_of_a_million_nodes_does_not_overflow_the_stack() {
        let shape = generate::path(1_000_000);
        assert_eq!(shape.subtree(Node(0)).last(), Some(Node(999_999)));
        assert_eq!(shape.ancestors(Node(999_999)).len(), 999_999);
        assert_eq!(shape.depths()[999_999], 1_000_000);
    }

    #[test]
    fn a_cycle_of_a_million_nodes_is_found() {
        let edges: Vec<_> = (0..1_000_000).map(|node| (node, (node + 1) % 1_000_000)).collect();
        let Err(crate::ShapeError::Cycle(cycle)) = Shape::from_edges(1_000_000, &edges) else {
            panic!("the edges form a cycle");
        };
        assert!(cycle.into_iter().eq((0..1_000_000).map(Node)));
    }
}
