//! Generated shapes for tests and experiments. Those with a seed are the same on every machine.

use crate::{Shape, ShapeError};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Generates a complete tree: each node above the lowest level has `arity` children, so there are
/// `arity` to the power of `levels` − 1 leaves. Nodes are numbered level by level.
///
/// # Errors
/// [`ShapeError::TooMany`] if there would be more than [`Shape::MAX_SIZE`] nodes.
pub fn complete(arity: u32, levels: u32) -> Result<Shape, ShapeError> {
    let (mut nodes, mut level) = (0usize, 1usize);
    for _ in 0..levels {
        nodes = nodes.saturating_add(level);
        level = level.saturating_mul(arity as usize);
        if nodes > Shape::MAX_SIZE {
            return Err(ShapeError::TooMany(nodes));
        }
    }
    let edges: Vec<_> = (1..nodes as u32).map(|child| ((child - 1) / arity, child)).collect();
    Shape::from_edges(nodes, &edges)
}

/// Generates a path: each node but the last has the next one as its only child.
///
/// # Panics
/// Panics if there are more than [`Shape::MAX_SIZE`] nodes.
pub fn path(nodes: u32) -> Shape {
    tree(nodes, |child| child - 1)
}

/// Generates a star: all nodes but the first are children of the first.
///
/// # Panics
/// Panics if there are more than [`Shape::MAX_SIZE`] nodes.
pub fn star(nodes: u32) -> Shape {
    tree(nodes, |_| 0)
}

/// Generates a random tree: the parent of each node is uniformly distributed among the earlier
/// nodes.
///
/// # Panics
/// Panics if there are more than [`Shape::MAX_SIZE`] nodes.
pub fn random_tree(nodes: u32, seed: u64) -> Shape {
    let mut random = SplitMix64::seed_from_u64(seed);
    tree(nodes, |child| below(&mut random, child))
}

/// Generates a random acyclic graph: each node but the first has one to `parents` different
/// parents, uniformly distributed among the earlier nodes.
///
/// # Panics
/// Panics if there are more than [`Shape::MAX_SIZE`] nodes or edges, or if `parents` is 0.
pub fn random_dag(nodes: u32, parents: u32, seed: u64) -> Shape {
    let mut random = SplitMix64::seed_from_u64(seed);
    let mut edges = Vec::new();
    for child in 1..nodes {
        let from = edges.len();
        for _ in 0..=below(&mut random, parents) {
            let edge = (below(&mut random, child), child);
            if !edges[from..].contains(&edge) {
                edges.push(edge);
            }
        }
    }
    Shape::from_edges(nodes as usize, &edges).expect("edges lead from earlier to later nodes")
}

/// Generates a tree with the profile of the Penn Treebank in XML: many wide sentences that become
/// thin further down. With 2,437,666 nodes the maximum depth is 36 (35 for some seeds; a root has
/// depth 1), and the mean depth is 7.88 ± 0.014.
///
/// Below the root are wrappers, each with one sentence that has at least two children. Further
/// down, the probability that a node branches falls with its depth. Generation stops at `nodes`
/// nodes, which are numbered in depth-first order.
///
/// # Panics
/// Panics if there are more than [`Shape::MAX_SIZE`] nodes.
pub fn treebank(nodes: u32, seed: u64) -> Shape {
    let mut random = SplitMix64::seed_from_u64(seed);
    let mut edges = Vec::with_capacity(nodes as usize);
    // Pending nodes: the parent and the own depth, the next one last.
    let mut pending = Vec::new();
    for child in 1..nodes {
        let (parent, depth) = pending.pop().unwrap_or((0, 2));
        edges.push((parent, child));
        let children = match depth {
            2 => 1,
            3 => 1 + fan_out(&mut random),
            MAX_DEPTH.. => 0,
            _ if chance(&mut random, mean_children(depth) / MEAN_FAN_OUT) => fan_out(&mut random),
            _ => 0,
        };
        pending.extend((0..children).map(|_| (child, depth + 1)));
    }
    Shape::from_edges(nodes as usize, &edges).expect("edges lead from earlier to later nodes")
}

/// Depth at which no node of a treebank branches any more.
const MAX_DEPTH: u32 = 36;
/// Weights of 1, 2, 3 and 4 children of a branching node of a treebank.
const FAN_OUTS: [u32; 4] = [5, 9, 4, 2];
const MEAN_FAN_OUT: f64 = 2.15;

/// Mean number of children of a treebank node at a depth of at least 4.
fn mean_children(depth: u32) -> f64 {
    const MEANS: [f64; 7] = [1.62, 1.27, 1.03, 0.89, 0.80, 0.74, 0.70];
    MEANS.get(depth as usize - 4).copied().unwrap_or(0.688)
}

fn fan_out(random: &mut SplitMix64) -> u32 {
    let mut at = below(random, FAN_OUTS.iter().sum());
    let mut children = 1;
    for weight in FAN_OUTS {
        if at < weight {
            break;
        }
        at -= weight;
        children += 1;
    }
    children
}

fn tree(nodes: u32, parent: impl FnMut(u32) -> u32) -> Shape {
    let mut parent = parent;
    let edges: Vec<_> = (1..nodes).map(|child| (parent(child), child)).collect();
    Shape::from_edges(nodes as usize, &edges).expect("edges lead from earlier to later nodes")
}

/// Returns a random number below `end`: the upper half of a product, which is nearly uniform.
fn below(random: &mut SplitMix64, end: u32) -> u32 {
    assert!(end > 0, "`end` must be at least 1");
    ((u128::from(random.next_u64()) * u128::from(end)) >> 64) as u32
}

/// Returns true with that probability.
fn chance(random: &mut SplitMix64, probability: f64) -> bool {
    // 53 random bits are a number from 0 to 1.
    ((random.next_u64() >> 11) as f64) < probability * (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Node;

    #[test]
    fn complete_trees_are_complete() {
        let shape = complete(3, 4).unwrap();
        assert_eq!(shape.len(), 1 + 3 + 9 + 27);
        let depths = shape.depths();
        for node in shape.nodes() {
            let children = if depths[node.index()] == 4 { 0 } else { 3 };
            assert_eq!(shape.children(node).count(), children);
        }
        assert_eq!(complete(1, 5).unwrap().depths(), [1, 2, 3, 4, 5]);
        assert_eq!(complete(0, 3).unwrap().len(), 1);
        assert_eq!((complete(7, 0).unwrap().len(), complete(7, 1).unwrap().len()), (0, 1));
        assert!(matches!(complete(10, 12), Err(ShapeError::TooMany(_))));
    }

    #[test]
    fn paths_and_stars_of_any_size() {
        for nodes in 0..4 {
            assert_eq!((path(nodes).len(), star(nodes).len()), (nodes as usize, nodes as usize));
        }
        assert_eq!(path(4).depths(), [1, 2, 3, 4]);
        assert_eq!(star(4).children(Node(0)).count(), 3);
    }

    #[test]
    fn the_same_seed_generates_the_same_shape() {
        let edges = |shape: Shape| {
            let of = |node| shape.children(node).map(move |child| (node, child)).collect::<Vec<_>>();
            shape.nodes().flat_map(of).collect::<Vec<_>>()
        };
        for make in
            [|seed| random_tree(300, seed), |seed| random_dag(300, 4, seed), |seed| treebank(300, seed)]
        {
            assert_eq!(edges(make(7)), edges(make(7)));
            assert_ne!(edges(make(7)), edges(make(8)));
        }
    }

    #[test]
    fn random_graphs_have_one_root_and_shared_nodes() {
        let shape = random_dag(10_000, 4, 1);
        assert!(shape.roots().eq([Node(0)]));
        let max = shape.nodes().map(|node| shape.parents(node).count()).max();
        assert_eq!(max, Some(4));
        assert!(random_tree(10_000, 1).nodes().skip(1).all(|node| !shape.is_root(node)));
    }

    /// The published profile of the treebank. The mean depth varies by about 0.014 around 7.88
    /// between seeds.
    #[test]
    #[cfg_attr(
        any(sanitizer = "address", sanitizer = "thread"),
        ignore = "one thread of safe code, and much of it"
    )]
    fn a_treebank_is_as_deep_as_the_real_one() {
        let means = [1, 2, 3].map(|seed| {
            let shape = treebank(2_437_666, seed);
            assert_eq!(shape.len(), 2_437_666);
            let depths = shape.depths();
            assert_eq!(depths.iter().max(), Some(&36));
            // Node 1 is the first wrapper, node 2 its sentence.
            assert!(shape.parents(Node(2)).eq([Node(1)]) && shape.children(Node(2)).count() >= 2);
            depths.iter().map(|&depth| f64::from(depth)).sum::<f64>() / depths.len() as f64
        });
        assert!(means.iter().all(|mean| (7.84..7.93).contains(mean)), "mean depths {means:?}");
        let mean = means.iter().sum::<f64>() / 3.0;
        assert!((7.87..=7.89).contains(&mean), "the mean of {means:?} is {mean}");
    }
}
