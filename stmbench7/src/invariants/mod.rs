//! Checks the invariants of a world between operations.
//!
//! Types already guarantee the six edges of an atomic part and the kinds of values.
//!
//! | module | what it holds |
//! |---|---|
//! | `assemblies` | the module, the manual, and the tree of assemblies |
//! | `composites` | composite parts, their documents and atomic parts |
//! | `indexes` | that indexes and pools match the objects |

mod assemblies;
mod composites;
mod indexes;
#[cfg(test)]
mod tests;

use super::dates::{self, Date};
use super::layout::{Ids, Layout};
use super::node::Node;
use super::pages::DatedPart;
use super::world::View;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Returns the violated invariants, each with the object concerned.
pub fn violations(layout: &Layout, world: &impl View) -> Vec<String> {
    let mut check =
        Check { layout, world, nodes: Default::default(), parts: BTreeMap::new(), wrong: Vec::new() };
    check.assemblies();
    check.composites();
    check.indexes();
    check.pools();
    check.wrong
}

/// The state of a check.
struct Check<'w, W> {
    layout: &'w Layout,
    world: &'w W,
    /// The nodes of objects by kind and id; the id of a document leads to its composite part.
    nodes: [BTreeMap<u32, Node>; Ids::ALL.len()],
    /// The atomic parts with their dates, by id.
    parts: BTreeMap<u32, (DatedPart, Date)>,
    wrong: Vec<String>,
}

impl<W: View> Check<'_, W> {
    fn expect(&mut self, holds: bool, wrong: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(wrong());
        }
    }

    /// Records an object that is a node.
    fn note(&mut self, of: Ids, id: u32, node: Node) {
        let other = self.nodes[of as usize].insert(id, node);
        self.expect(other.is_none(), || format!("two objects of the kind {of:?} have the id {id}"));
    }

    /// Returns the nodes of a kind.
    fn all(&self, of: Ids) -> &BTreeMap<u32, Node> {
        &self.nodes[of as usize]
    }

    fn expect_date(&mut self, date: Date, among: &[RangeInclusive<Date>], node: Node) {
        let holds = among.iter().any(|dates| dates::reached(dates).contains(&date));
        let world = self.world;
        self.expect(holds, || format!("{} has the date {date}", world.get(node).name()));
    }
}
