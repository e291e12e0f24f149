//! What a hierarchy looks like, in numbers.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use std::fmt;
use xtasking_hierarchy::Shape;

/// What a hierarchy looks like. The depth of a node is how many nodes are on the longest way to it from a root, both
/// included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many links from a parent to a child.
    pub edges: usize,
    /// Nodes without a parent.
    pub roots: usize,
    /// Nodes without a child.
    pub leaves: usize,
    /// The depth of the deepest node.
    pub deepest: u32,
    /// The mean of the nodes' depths.
    pub mean_depth: f64,
    /// Nodes with several parents.
    pub shared: usize,
    /// The most children of a node.
    pub widest: usize,
}

impl Profile {
    /// That of a shape. It takes time for all nodes and links.
    pub fn of(shape: &Shape) -> Self {
        let depths = shape.depths();
        let total: u64 = depths.iter().copied().map(u64::from).sum();
        let fan_outs = || shape.nodes().map(|node| shape.children(node).count());
        Self {
            nodes: shape.len(),
            edges: fan_outs().sum(),
            roots: shape.roots().count(),
            leaves: shape.nodes().filter(|&node| shape.is_leaf(node)).count(),
            deepest: depths.iter().copied().max().unwrap_or(0),
            mean_depth: total as f64 / shape.len().max(1) as f64,
            shared: shape.nodes().filter(|&node| shape.is_shared(node)).count(),
            widest: fan_outs().max().unwrap_or(0),
        }
    }
}

/// A line for each.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
        for (what, number) in [
            ("nodes", self.nodes.to_string()),
            ("links", self.edges.to_string()),
            ("roots", self.roots.to_string()),
            ("leaves", self.leaves.to_string()),
            ("greatest depth", self.deepest.to_string()),
            ("mean depth", format!("{:.2}", self.mean_depth)),
            ("nodes with several parents", self.shared.to_string()),
            ("most children of a node", self.widest.to_string()),
        ] {
            table.add_row([what.to_string(), number]);
        }
        table.column_mut(1).expect("two columns").set_cell_alignment(CellAlignment::Right);
        table.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_those_of_the_longest_ways() {
        // Node 5 is below 0, and below 2 and 4, which are deeper; node 3 is a root.
        let edges = [(0, 1), (1, 2), (2, 4), (0, 5), (2, 5), (4, 5), (3, 6)];
        let profile = Profile::of(&Shape::from_edges(7, &edges).unwrap());
        let expected = Profile {
            nodes: 7,
            edges: 7,
            roots: 2,
            leaves: 2,
            deepest: 5,
            mean_depth: (1.0 + 2.0 + 3.0 + 1.0 + 4.0 + 5.0 + 2.0) / 7.0,
            shared: 1,
            widest: 2,
        };
        assert_eq!(profile, expected);
        let table = profile.to_string();
        assert!(table.contains("mean depth") && table.contains("2.57"), "{table}");
        assert_eq!(Profile::of(&Shape::default()).mean_depth, 0.0);
    }
}
