//! A random graph in compressed sparse rows.

use xtasking_harness::random::Random;

/// A directed graph.
pub(super) struct Graph {
    outgoing: Rows,
    incoming: Rows,
}

/// The other ends of the edges of each vertex.
struct Rows {
    /// Where the edges of each vertex begin, and at last where all end.
    begins: Vec<u32>,
    ends: Vec<u32>,
}

impl Rows {
    /// Arranges edges by one of their ends. `of` returns these ends, each time the same ones.
    fn new<I: Iterator<Item = u32>>(
        vertices: usize,
        of: impl Fn() -> I,
        others: impl Iterator<Item = u32>,
    ) -> Self {
        let mut begins = vec![0; vertices + 1];
        of().for_each(|vertex| begins[vertex as usize] += 1);
        let mut total = 0;
        for begin in &mut begins {
            (*begin, total) = (total, total + *begin);
        }
        let mut next = begins.clone();
        let mut ends = vec![0; total as usize];
        for (vertex, other) in of().zip(others) {
            let place = &mut next[vertex as usize];
            ends[*place as usize] = other;
            *place += 1;
        }
        Self { begins, ends }
    }

    #[inline(always)]
    fn of(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.ends[self.begins[vertex] as usize..self.begins[vertex + 1] as usize]
    }
}

impl Graph {
    /// Draws a graph: the ends of each edge are uniform and independent.
    ///
    /// # Panics
    ///
    /// If there is no vertex, or a number does not fit into 32 bits.
    pub(super) fn random(vertices: usize, edges: usize, seed: u64) -> Self {
        assert!(vertices > 0 && u32::try_from(vertices.max(edges)).is_ok(), "numbers of 32 bits");
        // Each end has a stream of its own, which is drawn whenever the ends are needed.
        let ends = |stream: u64| {
            let mut random = Random::new(seed, &[stream]);
            (0..edges).map(move |_| random.below(vertices as u64) as u32)
        };
        let outgoing = Rows::new(vertices, || ends(0), ends(1));
        let incoming = Rows::new(vertices, || ends(1), ends(0));
        Self { outgoing, incoming }
    }

    /// Returns the number of vertices.
    pub(super) fn vertices(&self) -> usize {
        self.outgoing.begins.len() - 1
    }

    /// Returns the vertices that the edges of a vertex lead to.
    #[inline(always)]
    pub(super) fn neighbours(&self, vertex: u32) -> &[u32] {
        self.outgoing.of(vertex)
    }

    /// Returns the vertices whose edges lead to a vertex.
    #[inline(always)]
    pub(super) fn predecessors(&self, vertex: u32) -> &[u32] {
        self.incoming.of(vertex)
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    #[test]
    fn a_graph_has_all_edges_and_depends_on_the_seed() {
        let graph = Graph::random(100, 5000, 1);
        let degrees: Vec<_> = (0..100).map(|vertex| graph.neighbours(vertex).len()).collect();
        assert_eq!((graph.vertices(), degrees.iter().sum::<usize>()), (100, 5000));
        assert!(degrees.iter().all(|degree| (20..90).contains(degree)), "{degrees:?}");
        assert!(graph.outgoing.ends.iter().all(|target| *target < 100));
        assert_ne!(graph.outgoing.ends, Graph::random(100, 5000, 2).outgoing.ends);
    }

    #[test]
    fn every_edge_is_known_at_both_ends() {
        let graph = Graph::random(50, 300, 3);
        let outgoing = (0..50).flat_map(|from| graph.neighbours(from).iter().map(move |&to| (from, to)));
        let incoming = (0..50).flat_map(|to| graph.predecessors(to).iter().map(move |&from| (from, to)));
        let sorted = |mut edges: Vec<(u32, u32)>| {
            edges.sort_unstable();
            edges
        };
        assert_eq!(sorted(outgoing.collect()), sorted(incoming.collect()));
    }
}
