//! Generates hierarchies.

use super::Hierarchy;
use xtasking_hierarchy::{Shape, generate};

fn generated(title: &str, shape: Shape) -> Hierarchy {
    Hierarchy { title: title.to_string(), shape, notes: Vec::new() }
}

pub(super) fn treebank(nodes: u32, seed: u64) -> Hierarchy {
    generated("a generated treebank", generate::treebank(nodes, seed))
}

/// Returns the deepest complete tree of at most `nodes` nodes.
pub(super) fn complete(nodes: u32, fan_out: u32) -> Hierarchy {
    let (mut levels, mut level, mut total) = (1, 1u64, 1u64);
    while total + level * u64::from(fan_out) <= nodes.into() {
        level *= u64::from(fan_out);
        total += level;
        levels += 1;
    }
    let shape = generate::complete(fan_out, levels).expect("the tree has at most `nodes` nodes");
    generated(&format!("a complete tree of {levels} levels, {fan_out} children each"), shape)
}

pub(super) fn path(nodes: u32) -> Hierarchy {
    generated("a path", generate::path(nodes))
}

pub(super) fn star(nodes: u32) -> Hierarchy {
    generated("a star", generate::star(nodes))
}

pub(super) fn random_tree(nodes: u32, seed: u64) -> Hierarchy {
    generated("a random tree", generate::random_tree(nodes, seed))
}

pub(super) fn random_dag(nodes: u32, parents: u32, seed: u64) -> Hierarchy {
    let title = format!("a random graph of up to {parents} parents each");
    generated(&title, generate::random_dag(nodes, parents, seed))
}
