//! What holds in every world between operations.
//!
//! That an atomic part has six edges, and which kinds of values there are, the types say already.
//!
//! | module | what it holds |
//! |---|---|
//! | `assemblies` | the module, the manual, and the tree of assemblies |
//! | `composites` | composite parts, their documents and atomic parts |
//! | `indexes` | that indexes and pools know what is there, and nothing else |

mod assemblies;
mod composites;
mod indexes;
#[cfg(test)]
mod tests;

use super::dates::{self, Date};
use super::layout::{Ids, Layout};
use super::pages::Dated;
use super::world::View;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use xtasking_hierarchy::Node;

/// What does not hold, each with the object that it is about. A world in order has nothing.
pub fn violations(layout: &Layout, world: &impl View) -> Vec<String> {
    let mut check =
        Check { layout, world, nodes: Default::default(), parts: BTreeMap::new(), wrong: Vec::new() };
    check.assemblies();
    check.composites();
    check.indexes();
    check.pools();
    check.wrong
}

/// A check, and what it has come across.
struct Check<'w, W> {
    layout: &'w Layout,
    world: &'w W,
    /// The node of each object that is one, by kind and id, and for the id of a document that of its composite part.
    nodes: [BTreeMap<u32, Node>; Ids::ALL.len()],
    /// Each atomic part, and its date.
    parts: BTreeMap<u32, (Dated, Date)>,
    wrong: Vec<String>,
}

impl<W: View> Check<'_, W> {
    fn expect(&mut self, holds: bool, wrong: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(wrong());
        }
    }

    /// Notes an object that is a node.
    fn note(&mut self, of: Ids, id: u32, node: Node) {
        let other = self.nodes[of as usize].insert(id, node);
        self.expect(other.is_none(), || format!("id {id} is that of two objects of the kind {of:?}"));
    }

    /// The nodes of a kind.
    fn all(&self, of: Ids) -> &BTreeMap<u32, Node> {
        &self.nodes[of as usize]
    }

    fn expect_date(&mut self, date: Date, among: &[RangeInclusive<Date>], node: Node) {
        let holds = among.iter().any(|dates| dates::reached(dates).contains(&date));
        let world = self.world;
        self.expect(holds, || format!("{} has the date {date}", world.get(node).name()));
    }
}
