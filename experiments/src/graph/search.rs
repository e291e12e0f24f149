//! Distances of vertices, and the search that checks others.

use super::csr::Graph;
use std::mem::swap;

/// The distance of a vertex that cannot be reached.
pub(super) const UNREACHED: u32 = u32::MAX;

/// The vertex where every search begins.
pub(super) const ROOT: u32 = 0;

/// Searches with one thread, level by level.
pub(super) fn sequential(graph: &Graph) -> Vec<u32> {
    let mut distances = vec![UNREACHED; graph.vertices()];
    distances[ROOT as usize] = 0;
    let (mut level, mut frontier, mut next) = (0, vec![ROOT], Vec::new());
    while !frontier.is_empty() {
        level += 1;
        for &vertex in &frontier {
            for &neighbour in graph.neighbours(vertex) {
                let distance = &mut distances[neighbour as usize];
                if *distance == UNREACHED {
                    *distance = level;
                    next.push(neighbour);
                }
            }
        }
        swap(&mut frontier, &mut next);
        next.clear();
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_differ_by_one_level_at_most() {
        let graph = Graph::random(2000, 5000, 9);
        let distances = sequential(&graph);
        assert_eq!(distances.iter().filter(|&&distance| distance == 0).count(), 1);
        let reached: Vec<_> = (0..2000).filter(|&vertex| distances[vertex as usize] != UNREACHED).collect();
        assert!((1000..2000).contains(&reached.len()), "{}", reached.len());
        let mut has_predecessor = vec![false; 2000];
        for &vertex in &reached {
            let distance = distances[vertex as usize];
            for &neighbour in graph.neighbours(vertex) {
                let further = distances[neighbour as usize];
                assert!(further <= distance + 1);
                has_predecessor[neighbour as usize] |= further == distance + 1;
            }
        }
        assert!(reached.iter().all(|&vertex| vertex == ROOT || has_predecessor[vertex as usize]));
    }
}
