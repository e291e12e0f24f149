//! What an operation has named, as it was at one moment: to be read when others may change it again.
//!
//! Who changes a part that is in a snapshot gets a copy of it: so nobody waits for who reads long.

use super::concurrent::{Seen, Shared};
use super::layout::Layout;
use super::operations::{Operation, Scratch};
use super::parts::Part;
use super::world::{Mode, Planner, Values, View, World};
use xtasking_hierarchy::{Node, Surveyed};

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// For each node, where it is among those that were taken, and one more; 0 if it was not.
    places: Vec<u32>,
    taken: Vec<Taken>,
}

/// A node in a snapshot.
#[derive(Debug)]
pub(super) struct Taken {
    part: Shared,
    children: Box<[Node]>,
    parents: Box<[Node]>,
}

impl Taken {
    /// A node as it is.
    pub fn of(part: &Shared, children: &[Node], parents: &[Node]) -> Self {
        Self { part: part.clone(), children: children.into(), parents: parents.into() }
    }
}

/// Of all that a [survey](super::survey) has kept.
impl From<Surveyed<Taken>> for Snapshot {
    fn from(surveyed: Surveyed<Taken>) -> Self {
        let mut snapshot = Self::default();
        surveyed.into_iter().for_each(|(node, taken)| snapshot.put(node, || taken));
        snapshot
    }
}

impl Snapshot {
    /// Of all that an operation names.
    pub fn of(operation: Operation, seed: u64, layout: &Layout, seen: &Seen<'_>) -> Self {
        let mut taking = Taking { seen, snapshot: Self::default() };
        operation.plan(layout, seed, &mut Scratch::default(), &mut taking);
        taking.snapshot
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Puts a node in, unless it is.
    fn put(&mut self, node: Node, take: impl FnOnce() -> Taken) {
        let Self { places, taken } = self;
        if places.len() <= node.index() {
            places.resize(node.index() + 1, 0);
        }
        if places[node.index()] == 0 {
            taken.push(take());
            places[node.index()] = taken.len() as u32;
        }
    }

    #[track_caller]
    fn at(&self, node: Node) -> &Taken {
        let place = self.places.get(node.index()).and_then(|place| place.checked_sub(1));
        match place {
            Some(place) => &self.taken[place as usize],
            None => panic!("node {node} is not in the snapshot"),
        }
    }
}

/// Takes what a plan names.
struct Taking<'s, 'h> {
    seen: &'s Seen<'h>,
    snapshot: Snapshot,
}

impl Taking<'_, '_> {
    fn take(&mut self, node: Node) {
        let seen = self.seen;
        let take = || Taken::of(seen.part(node), seen.children(node), seen.parents(node));
        self.snapshot.put(node, take);
    }
}

impl Planner for Taking<'_, '_> {
    fn see<R>(&mut self, node: Node, look: impl FnOnce(&Part, &[Node], &[Node]) -> R) -> Option<R> {
        Some(look(self.seen.get(node), self.seen.children(node), self.seen.parents(node)))
    }

    fn only(&mut self, node: Node, _: Mode) {
        self.take(node);
    }

    fn tree(&mut self, node: Node, _: Mode) {
        let seen = self.seen;
        seen.below(node).for_each(|node| self.take(node));
    }
}

impl View for Snapshot {
    #[inline]
    fn get(&self, node: Node) -> &Part {
        &self.at(node).part
    }

    #[inline]
    fn children(&self, node: Node) -> &[Node] {
        &self.at(node).children
    }

    #[inline]
    fn parents(&self, node: Node) -> &[Node] {
        &self.at(node).parents
    }
}

/// Operations are written for worlds that can be changed; those that read only come here.
#[cold]
fn changed() -> ! {
    unreachable!("an operation that only reads changes nothing")
}

impl Values for Snapshot {
    fn get_mut(&mut self, _: Node) -> &mut Part {
        changed()
    }
}

impl World for Snapshot {
    fn insert(&mut self, _: Node, _: Part) -> Node {
        changed()
    }

    fn remove(&mut self, _: Node) {
        changed()
    }

    fn link(&mut self, _: Node, _: Node) {
        changed()
    }

    fn unlink(&mut self, _: Node, _: Node) {
        changed()
    }
}
