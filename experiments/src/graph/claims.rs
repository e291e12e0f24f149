//! A search by claims: threads set distances by compare-and-exchange, as a program without this
//! runtime would. The vertices of a level are in no order.

use super::csr::Graph;
use super::search::{ROOT, UNREACHED};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Returns the vertices that two parts of a level have claimed.
pub(super) fn both(mut left: Vec<u32>, mut right: Vec<u32>) -> Vec<u32> {
    left.append(&mut right);
    left
}

/// The distances that threads find together.
pub(super) struct Distances(Vec<AtomicU32>);

impl Distances {
    /// Creates the distances of a search that has reached its root, from an
    /// [`unreached`](Self::unreached) entry for each vertex.
    pub(super) fn new(entries: Vec<AtomicU32>) -> Self {
        entries[ROOT as usize].store(0, Relaxed);
        Self(entries)
    }

    /// Creates the entry of a vertex that is not reached yet.
    pub(super) fn unreached() -> AtomicU32 {
        AtomicU32::new(UNREACHED)
    }

    /// Sets the distance of a vertex that has none. Returns true if this call did.
    #[inline(always)]
    pub(super) fn claim(&self, vertex: u32, distance: u32) -> bool {
        let entry = &self.0[vertex as usize];
        // Relaxed: the distance says everything, and the end of a level orders what it has set.
        // Most vertices are reached already, and a load leaves their cache lines shared.
        entry.load(Relaxed) == UNREACHED
            && entry.compare_exchange(UNREACHED, distance, Relaxed, Relaxed).is_ok()
    }

    /// Returns the distances.
    pub(super) fn into_inner(self) -> Vec<u32> {
        self.0.into_iter().map(AtomicU32::into_inner).collect()
    }
}

/// A level of a search, whose vertices claim those of the next one.
pub(super) struct Level<'s> {
    graph: &'s Graph,
    distances: &'s Distances,
    /// The distance of the vertices that are claimed.
    next: u32,
}

impl Level<'_> {
    /// Claims the neighbours of a vertex that have no distance, and returns them after those that
    /// are `claimed` already. The body of every parallel search.
    #[inline]
    pub(super) fn claim(&self, mut claimed: Vec<u32>, vertex: u32) -> Vec<u32> {
        for &neighbour in self.graph.neighbours(vertex) {
            if self.distances.claim(neighbour, self.next) {
                claimed.push(neighbour);
            }
        }
        claimed
    }
}

/// Searches from the root, level by level. `claim_all` returns what the vertices of a level
/// [claim](Level::claim).
pub(super) fn search(
    graph: &Graph,
    distances: Distances,
    mut claim_all: impl FnMut(&[u32], &Level<'_>) -> Vec<u32>,
) -> Vec<u32> {
    let (mut next, mut frontier) = (0, vec![ROOT]);
    while !frontier.is_empty() {
        next += 1;
        frontier = claim_all(&frontier, &Level { graph, distances: &distances, next });
    }
    distances.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vertex_is_claimed_once() {
        let distances = Distances::new((0..3).map(|_| Distances::unreached()).collect());
        assert!(!distances.claim(ROOT, 1) && distances.claim(2, 1) && !distances.claim(2, 2));
        assert_eq!(distances.into_inner(), [0, UNREACHED, 1]);
    }
}
