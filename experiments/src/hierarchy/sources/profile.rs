//! Computes the numbers that characterize a hierarchy.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use std::fmt;
use xtasking_hierarchy::Shape;

/// The numbers that characterize a hierarchy. The depth of a node is the number of nodes on the
/// longest path to it from a root, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeProfile {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of links from a parent to a child.
    pub edges: usize,
    /// Nodes without a parent.
    pub roots: usize,
    /// Nodes without a child.
    pub leaves: usize,
    /// The largest depth.
    pub deepest: u32,
    /// The mean depth of the nodes.
    pub mean_depth: f64,
    /// Nodes with several parents.
    pub shared: usize,
    /// The largest number of children of a node.
    pub widest: usize,
}

impl ShapeProfile {
    /// Computes the profile of `shape`. Takes time for all nodes and links.
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

/// Formats the profile, a line for each number.
impl fmt::Display for ShapeProfile {
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
    fn the_depth_of_a_node_is_the_length_of_its_longest_path() {
        // Node 5 is below 0, and below 2 and 4, which are deeper; node 3 is a root.
        let edges = [(0, 1), (1, 2), (2, 4), (0, 5), (2, 5), (4, 5), (3, 6)];
        let profile = ShapeProfile::of(&Shape::from_edges(7, &edges).unwrap());
        let expected = ShapeProfile {
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
        assert_eq!(ShapeProfile::of(&Shape::default()).mean_depth, 0.0);
    }
}
