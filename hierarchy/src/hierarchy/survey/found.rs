//! What has been looked at so far, and what is to come.

use super::super::slab::{Location, Slab};
use super::{Entry, Named, Seen, Surveyor};
use crate::Node;
use std::collections::BTreeMap;
use xtasking::{Granules, Held};

/// Nodes, each as it was when it was looked at last.
pub(super) struct Found<R> {
    pub entries: BTreeMap<Node, Entry<R>>,
    granules: BTreeMap<u32, Known>,
    /// Nodes to be looked at, by where they are thought to be. Where a granule is one that is known, what is known there is looked at
    /// again if it has changed.
    open: BTreeMap<u32, Vec<Named>>,
    /// Links have gone since all was walked through: there may be nodes that do not belong to it any more.
    is_loose: bool,
}

/// A granule where something was looked at.
struct Known {
    version: u64,
    nodes: Vec<Node>,
}

/// Nobody counts what is written.
pub(super) struct Uncounted;

impl<R> Found<R> {
    pub fn new() -> Self {
        Self { entries: BTreeMap::new(), granules: BTreeMap::new(), open: BTreeMap::new(), is_loose: false }
    }

    /// How many granules there are to be compared.
    pub fn granules(&self) -> usize {
        self.granules.len()
    }

    /// Whether all has been looked at once, though perhaps not at one moment.
    pub fn is_whole(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether some of it may not belong to it any more: then it has to be [walked through](Self::walk).
    pub fn is_loose(&self) -> bool {
        self.is_loose
    }

    /// Where to look next: so many granules at most, each with nodes there.
    pub fn next(&mut self, most: usize) -> Vec<(u32, Vec<Named>)> {
        (0..most).map_while(|_| self.open.pop_first()).collect()
    }

    /// Goes from the nodes that were named to all below them, drops what is not reached, and opens what is missing.
    pub fn walk<T>(&mut self, named: &[Named], granules: &Granules<Slab<T>>)
    where
        T: Send + Sync + 'static,
    {
        let mut reached: BTreeMap<Node, bool> = BTreeMap::new();
        let mut stack = named.to_vec();
        while let Some(next) = stack.pop() {
            let Named { node, below } = next;
            let Some(entry) = self.entries.get(&node) else {
                if let Some(at) = Location::find(granules.directory(), node) {
                    self.open.entry(at.granule).or_default().push(next);
                }
                continue;
            };
            let before = reached.insert(node, below);
            if before == Some(true) {
                reached.insert(node, true);
            } else if below {
                stack.extend(children(&entry.children));
            }
        }
        self.entries.retain(|node, entry| {
            let below = reached.get(node).copied();
            entry.below = below == Some(true);
            below.is_some()
        });
        self.granules.retain(|_, known| {
            known.nodes.retain(|node| self.entries.contains_key(node));
            !known.nodes.is_empty()
        });
        self.is_loose = false;
    }

    /// Opens all granules that have been written since they were looked at, or are just now; whether there are any.
    pub fn open_changed<T: Send + Sync + 'static>(&mut self, granules: &Granules<Slab<T>>) -> bool {
        let changed = |&(&granule, known): &(&u32, &Known)| granules.version(granule) != Some(known.version);
        let changed = self.granules.iter().filter(changed);
        self.open.extend(changed.map(|(&granule, _)| (granule, Vec::new())));
        !self.open.is_empty()
    }

    /// Looks at these nodes, what has changed of their granules, and all that is below them there; what is below them elsewhere is
    /// opened. Tells how many nodes were looked at.
    pub fn look<T, S>(
        &mut self,
        held: &Held<'_, Slab<T>>,
        next: Vec<(u32, Vec<Named>)>,
        surveyor: &mut S,
    ) -> Result<usize, Uncounted>
    where
        T: Send + Sync + 'static,
        S: Surveyor<T, Kept = R>,
    {
        let (mut looks, mut stack) = (0, Vec::new());
        for (granule, named) in next {
            let version = held.version(granule).ok_or(Uncounted)?;
            stack.extend(named);
            let known = self.granules.entry(granule).or_insert(Known { version, nodes: Vec::new() });
            if known.version != version {
                known.version = version;
                let nodes = std::mem::take(&mut known.nodes);
                looks += self.look_again(held, granule, nodes, surveyor, &mut stack);
            }
        }
        Ok(looks + self.descend(held, stack, surveyor))
    }

    /// Looks at these nodes and at all below them, as far as the task has them. Tells how many nodes were looked at.
    pub fn descend<T, S>(
        &mut self,
        held: &Held<'_, Slab<T>>,
        mut stack: Vec<Named>,
        surveyor: &mut S,
    ) -> usize
    where
        T: Send + Sync + 'static,
        S: Surveyor<T, Kept = R>,
    {
        let mut looks = 0;
        while let Some(next) = stack.pop() {
            let Named { node, below } = next;
            if let Some(entry) = self.entries.get_mut(&node) {
                if below && !entry.below {
                    entry.below = true;
                    stack.extend(children(&entry.children));
                }
                continue;
            }
            // If it is not there, it was not when it was named, or its parent has changed, which is seen when that is compared.
            let Some(Location { granule, slot }) = Location::find(held.directory(), node) else { continue };
            if !held.has(granule) {
                self.open.entry(granule).or_default().push(next);
                continue;
            }
            let Some(record) = held.get(granule).get(node, slot) else { continue };
            looks += 1;
            if let Some(known) = self.granules.get_mut(&granule) {
                known.nodes.push(node);
            }
            let entry =
                Entry { kept: surveyor.look(Seen { record }), children: (*record.children).into(), below };
            if below {
                stack.extend(children(&entry.children));
            }
            self.entries.insert(node, entry);
        }
        looks
    }

    /// Looks again at the nodes of a granule that has changed. Puts new children on the stack, and tells how many nodes were looked at.
    fn look_again<T, S>(
        &mut self,
        held: &Held<'_, Slab<T>>,
        granule: u32,
        nodes: Vec<Node>,
        surveyor: &mut S,
        stack: &mut Vec<Named>,
    ) -> usize
    where
        T: Send + Sync + 'static,
        S: Surveyor<T, Kept = R>,
    {
        let mut looks = 0;
        for node in nodes {
            let at = Location::find(held.directory(), node).filter(|at| at.granule == granule);
            let Some(record) = at.and_then(|at| held.get(granule).get(node, at.slot)) else {
                // It has gone, or has moved.
                self.is_loose |= self.entries.remove(&node).is_some();
                continue;
            };
            let Some(entry) = self.entries.get_mut(&node) else { continue };
            looks += 1;
            entry.kept = surveyor.look(Seen { record });
            if *entry.children != *record.children {
                self.is_loose |= entry.below;
                entry.children = (*record.children).into();
                if entry.below {
                    stack.extend(children(&entry.children));
                }
            }
            if let Some(known) = self.granules.get_mut(&granule) {
                known.nodes.push(node);
            }
        }
        looks
    }
}

/// These, with all below them.
fn children(nodes: &[Node]) -> impl Iterator<Item = Named> {
    nodes.iter().map(|&node| Named { node, below: true })
}
