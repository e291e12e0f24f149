//! Turns links between named nodes into a shape.

use super::foreign;
use std::path::Path;
use xtasking_harness::failure::Failure;
use xtasking_hierarchy::{Shape, ShapeError};

/// Nodes under the numbers that the data has for them, which need not be dense.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// The nodes, by their numbers in the data.
    pub nodes: Vec<u32>,
    /// The links, each from a parent to a child.
    pub links: Vec<(u32, u32)>,
}

impl Links {
    /// Returns the shape, with nodes and children in the order of their numbers, and notes on what
    /// was left out.
    pub fn shape(mut self, path: &Path, fetch: &str) -> Result<(Shape, Vec<String>), Failure> {
        self.nodes.sort_unstable();
        if let Some(pair) = self.nodes.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(foreign(path, &format!("contains node {} twice", pair[0]), fetch));
        }
        let mut notes = Vec::new();
        // Children are in the order of the edges.
        self.links.sort_unstable_by_key(|&(parent, child)| (child, parent));
        let links = self.links.len();
        self.links.dedup();
        note_duplicates(links - self.links.len(), &mut notes);
        let number = |name| self.nodes.binary_search(&name).ok().map(|number| number as u32);
        let known = |&(parent, child): &(u32, u32)| Some((number(parent)?, number(child)?));
        let edges: Vec<_> = self.links.iter().filter_map(known).collect();
        let loose = self.links.len() - edges.len();
        if loose > 0 {
            notes.push(format!("links left out, as one of their ends is missing: {loose}"));
        }
        let shape = build(path, self.nodes.len(), &edges, |node| self.nodes[node as usize].to_string())?;
        Ok((shape, notes))
    }
}

/// Adds a note if links were given more than once.
pub(super) fn note_duplicates(duplicates: usize, notes: &mut Vec<String>) {
    if duplicates > 0 {
        notes.push(format!("duplicate links that are left out: {duplicates}"));
    }
}

/// Number of nodes of a cycle that an error names.
const MAX_NAMED: usize = 8;

/// Builds the shape of distinct edges. An error names the nodes of a cycle.
pub(super) fn build(
    path: &Path,
    nodes: usize,
    edges: &[(u32, u32)],
    name: impl Fn(u32) -> String,
) -> Result<Shape, Failure> {
    Shape::from_edges(nodes, edges).map_err(|error| match error {
        ShapeError::Cycle(cycle) => {
            let names = cycle.iter().take(MAX_NAMED).map(|node| name(node.0) + " → ").collect::<String>();
            let end = if cycle.len() > MAX_NAMED { "…".to_string() } else { name(cycle[0].0) };
            foreign(
                path,
                &format!(
                    "contains a cycle of {} nodes, each the parent of the next: {names}{end}",
                    cycle.len()
                ),
                "",
            )
        }
        error => foreign(path, &format!("cannot be used: {error}"), ""),
    })
}
