//! The progress of a survey: what has been read, and what is pending.

use super::super::slab::{Location, Slab};
use super::{Entry, NodeView, Selected, Surveyor};
use crate::Node;
use std::collections::BTreeMap;
use xtasking::{Granules, Held};

/// Nodes as they were when they were last read.
pub(super) struct Progress<R> {
    pub entries: BTreeMap<Node, Entry<R>>,
    granules: BTreeMap<u32, GranuleEntries>,
    /// Nodes still to be read, by the granule that the directory names. Granules that were read
    /// before are read again if their version has changed.
    pending: BTreeMap<u32, Vec<Selected>>,
    /// Links were removed since the last walk: some entries may no longer belong to the survey.
    needs_walk: bool,
}

/// A granule that was read, and which of its nodes.
struct GranuleEntries {
    version: u64,
    nodes: Vec<Node>,
}

/// The error of a hierarchy whose granules have no versions.
pub(super) struct NoVersions;

impl<R> Progress<R> {
    pub fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            granules: BTreeMap::new(),
            pending: BTreeMap::new(),
            needs_walk: false,
        }
    }

    /// Number of granules to be validated.
    pub fn granule_count(&self) -> usize {
        self.granules.len()
    }

    /// Returns true if everything has been read at least once, though not necessarily at one time.
    pub fn is_complete(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns true if some entries may not belong to the survey, so that it has to
    /// [walk](Self::walk) again.
    pub fn needs_walk(&self) -> bool {
        self.needs_walk
    }

    /// Removes and returns up to `max_granules` pending granules, each with the nodes to be read
    /// there.
    pub fn take_pending(&mut self, max_granules: usize) -> Vec<(u32, Vec<Selected>)> {
        (0..max_granules).map_while(|_| self.pending.pop_first()).collect()
    }

    /// Walks from the selected nodes to all descendants, drops entries that are not reachable, and
    /// adds missing nodes to the pending ones.
    pub fn walk<T>(&mut self, selected: &[Selected], granules: &Granules<Slab<T>>)
    where
        T: Send + Sync + 'static,
    {
        let mut reached: BTreeMap<Node, bool> = BTreeMap::new();
        let mut stack = selected.to_vec();
        while let Some(next) = stack.pop() {
            let Selected { node, with_descendants } = next;
            let Some(entry) = self.entries.get(&node) else {
                if let Some(at) = Location::find(granules.directory(), node) {
                    self.pending.entry(at.granule).or_default().push(next);
                }
                continue;
            };
            let before = reached.insert(node, with_descendants);
            if before == Some(true) {
                reached.insert(node, true);
            } else if with_descendants {
                stack.extend(children(&entry.children));
            }
        }
        self.entries.retain(|node, entry| {
            let with_descendants = reached.get(node).copied();
            entry.with_descendants = with_descendants == Some(true);
            with_descendants.is_some()
        });
        self.granules.retain(|_, known| {
            known.nodes.retain(|node| self.entries.contains_key(node));
            !known.nodes.is_empty()
        });
        self.needs_walk = false;
    }

    /// Adds all granules to the pending ones that have been written since they were read, or are
    /// being written. Returns true if there are any.
    pub fn reopen_changed<T: Send + Sync + 'static>(&mut self, granules: &Granules<Slab<T>>) -> bool {
        let changed =
            |&(&granule, known): &(&u32, &GranuleEntries)| granules.version(granule) != Some(known.version);
        let changed = self.granules.iter().filter(changed);
        self.pending.extend(changed.map(|(&granule, _)| (granule, Vec::new())));
        !self.pending.is_empty()
    }

    /// Reads the given nodes, the nodes of changed granules, and all descendants in granules that
    /// the task holds. Descendants elsewhere become pending. Returns how many nodes were read.
    pub fn read<T, S>(
        &mut self,
        held: &Held<'_, Slab<T>>,
        next: Vec<(u32, Vec<Selected>)>,
        surveyor: &mut S,
    ) -> Result<usize, NoVersions>
    where
        T: Send + Sync + 'static,
        S: Surveyor<T, Output = R>,
    {
        let (mut read_count, mut stack) = (0, Vec::new());
        for (granule, selected) in next {
            let version = held.version(granule).ok_or(NoVersions)?;
            stack.extend(selected);
            let known = self.granules.entry(granule).or_insert(GranuleEntries { version, nodes: Vec::new() });
            if known.version != version {
                known.version = version;
                let nodes = std::mem::take(&mut known.nodes);
                read_count += self.reread(held, granule, nodes, surveyor, &mut stack);
            }
        }
        Ok(read_count + self.descend(held, stack, surveyor))
    }

    /// Reads the nodes of `stack` and all descendants in granules that the task holds. Returns how
    /// many nodes were read.
    pub fn descend<T, S>(
        &mut self,
        held: &Held<'_, Slab<T>>,
        mut stack: Vec<Selected>,
        surveyor: &mut S,
    ) -> usize
    where
        T: Send + Sync + 'static,
        S: Surveyor<T, Output = R>,
    {
        let mut read_count = 0;
        while let Some(next) = stack.pop() {
            let Selected { node, with_descendants } = next;
            if let Some(entry) = self.entries.get_mut(&node) {
                if with_descendants && !entry.with_descendants {
                    entry.with_descendants = true;
                    stack.extend(children(&entry.children));
                }
                continue;
            }
            // A missing node did not exist when it was selected, or its parent has changed. The
            // parent's granule then fails the validation.
            let Some(Location { granule, slot }) = Location::find(held.directory(), node) else { continue };
            if !held.has(granule) {
                self.pending.entry(granule).or_default().push(next);
                continue;
            }
            let Some(record) = held.get(granule).get(node, slot) else { continue };
            read_count += 1;
            if let Some(known) = self.granules.get_mut(&granule) {
                known.nodes.push(node);
            }
            let entry = Entry {
                output: surveyor.read_node(NodeView { record }),
                children: (*record.children).into(),
                with_descendants,
            };
            if with_descendants {
                stack.extend(children(&entry.children));
            }
            self.entries.insert(node, entry);
        }
        read_count
    }

    /// Reads the nodes of a changed granule again, and pushes new children onto `stack`. Returns
    /// how many nodes were read.
    fn reread<T, S>(
        &mut self,
        held: &Held<'_, Slab<T>>,
        granule: u32,
        nodes: Vec<Node>,
        surveyor: &mut S,
        stack: &mut Vec<Selected>,
    ) -> usize
    where
        T: Send + Sync + 'static,
        S: Surveyor<T, Output = R>,
    {
        let mut read_count = 0;
        for node in nodes {
            let at = Location::find(held.directory(), node).filter(|at| at.granule == granule);
            let Some(record) = at.and_then(|at| held.get(granule).get(node, at.slot)) else {
                // The node was removed or has moved.
                self.needs_walk |= self.entries.remove(&node).is_some();
                continue;
            };
            let Some(entry) = self.entries.get_mut(&node) else { continue };
            read_count += 1;
            entry.output = surveyor.read_node(NodeView { record });
            if *entry.children != *record.children {
                self.needs_walk |= entry.with_descendants && !planted!("survey-keeps-unlinked");
                entry.children = (*record.children).into();
                if entry.with_descendants {
                    stack.extend(children(&entry.children));
                }
            }
            if let Some(known) = self.granules.get_mut(&granule) {
                known.nodes.push(node);
            }
        }
        read_count
    }
}

/// These nodes, each with its descendants.
fn children(nodes: &[Node]) -> impl Iterator<Item = Selected> {
    nodes.iter().map(|&node| Selected { node, with_descendants: true })
}
