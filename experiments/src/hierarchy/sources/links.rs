//! What is read, on the way to a shape: links between nodes that have names of their own.

use super::foreign;
use crate::failure::Failure;
use std::path::Path;
use xtasking_hierarchy::{Refused, Shape};

/// Nodes that the data calls by numbers, which need not be dense.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// What is there, by its number in the data.
    pub nodes: Vec<u32>,
    /// Each from a parent to a child.
    pub links: Vec<(u32, u32)>,
}

impl Links {
    /// Its shape, the nodes in the order of their numbers, and so their children; and what is to be said about it.
    pub fn shape(mut self, path: &Path, fetch: &str) -> Result<(Shape, Vec<String>), Failure> {
        self.nodes.sort_unstable();
        if let Some(twice) = self.nodes.windows(2).find(|two| two[0] == two[1]) {
            return Err(foreign(path, &format!("has node {} twice", twice[0]), fetch));
        }
        let mut notes = Vec::new();
        // Children come in the order of the edges.
        self.links.sort_unstable_by_key(|&(parent, child)| (child, parent));
        let links = self.links.len();
        self.links.dedup();
        note_twice(links - self.links.len(), &mut notes);
        let number = |name| self.nodes.binary_search(&name).ok().map(|number| number as u32);
        let known = |&(parent, child): &(u32, u32)| Some((number(parent)?, number(child)?));
        let edges: Vec<_> = self.links.iter().filter_map(known).collect();
        let loose = self.links.len() - edges.len();
        if loose > 0 {
            notes.push(format!("links left out, as one of their ends is not there: {loose}"));
        }
        let shape = build(path, self.nodes.len(), &edges, |node| self.nodes[node as usize].to_string())?;
        Ok((shape, notes))
    }
}

/// Says that links were given more than once, if any were.
pub(super) fn note_twice(twice: usize, notes: &mut Vec<String>) {
    if twice > 0 {
        notes.push(format!("links left out, as they are given a second time: {twice}"));
    }
}

/// So many nodes of a cycle are named.
const NAMED: usize = 8;

/// The shape of edges that are each given once; a cycle is told by the nodes' names.
pub(super) fn build(
    path: &Path,
    nodes: usize,
    edges: &[(u32, u32)],
    name: impl Fn(u32) -> String,
) -> Result<Shape, Failure> {
    Shape::from_edges(nodes, edges).map_err(|refused| match refused {
        Refused::Cycle(cycle) => {
            let names = cycle.iter().take(NAMED).map(|node| name(node.0) + " → ").collect::<String>();
            let end = if cycle.len() > NAMED { "…".to_string() } else { name(cycle[0].0) };
            foreign(
                path,
                &format!("has a cycle of {} nodes, each above the next: {names}{end}", cycle.len()),
                "",
            )
        }
        refused => foreign(path, &format!("cannot be used: {refused}"), ""),
    })
}
