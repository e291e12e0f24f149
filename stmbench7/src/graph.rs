//! Implements the graph of the atomic parts of a composite part.

use xtasking_harness::random::Random;

/// Outgoing edges of each part.
pub const DEGREE: usize = 6;

/// Edges between the atomic parts of one composite part, which are named by their positions: a
/// ring, so that all parts are reachable, and edges to random other parts. An edge may occur more
/// than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The targets of the edges of each part.
    pub leaving: Box<[[u16; DEGREE]]>,
    /// The sources of the edges to each part: those to part n begin at index `first[n]`.
    pub entering: Box<[u16]>,
    first: Box<[u32]>,
}

impl Graph {
    /// Creates a graph of `parts` parts, at least two.
    pub fn random(parts: usize, random: &mut Random) -> Self {
        let mut other = |part: usize| (part + 1 + random.below(parts as u64 - 1) as usize) % parts;
        let edges = |part| {
            std::array::from_fn(|edge| if edge == 0 { (part + 1) % parts } else { other(part) } as u16)
        };
        let leaving: Box<[[u16; DEGREE]]> = (0..parts).map(edges).collect();
        let mut first = vec![0; parts + 1].into_boxed_slice();
        leaving.as_flattened().iter().for_each(|&to| first[to as usize + 1] += 1);
        (0..parts).for_each(|part| first[part + 1] += first[part]);
        let (mut next, mut entering) = (first.clone(), vec![0; parts * DEGREE].into_boxed_slice());
        for (from, edges) in leaving.iter().enumerate() {
            for &to in edges {
                entering[next[to as usize] as usize] = from as u16;
                next[to as usize] += 1;
            }
        }
        Self { leaving, entering, first }
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.leaving.len()
    }

    /// Returns the sources of the edges to a part, in ascending order.
    pub fn entering(&self, part: usize) -> &[u16] {
        &self.entering[self.first[part] as usize..self.first[part + 1] as usize]
    }
}

/// The buffers of a walk through a graph, reused by any number of walks.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    met: Vec<bool>,
    open: Vec<u16>,
}

impl Walk {
    /// Visits all parts reachable from the root part, which is the first one, each once.
    pub fn through(&mut self, graph: &Graph, mut visit: impl FnMut(usize)) {
        let Self { met, open } = self;
        met.clear();
        met.resize(graph.parts(), false);
        met[0] = true;
        // One more than can be open: an entry in the last slot counts only if it is new.
        open.resize(graph.parts() + 1, 0);
        open[0] = 0;
        let mut count = 1;
        while count > 0 {
            count -= 1;
            let part = open[count] as usize;
            visit(part);
            for &to in &graph.leaving[part] {
                // Branch-free, as half of the branches would be mispredicted.
                let known = std::mem::replace(&mut met[to as usize], true);
                open[count] = to;
                count += usize::from(!known);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_reached_and_edges_are_stored_in_both_directions() {
        let (mut random, mut walk) = (Random::new(1, &[]), Walk::default());
        for parts in [2, 3, 20, 200] {
            let graph = Graph::random(parts, &mut random);
            let mut visited = Vec::new();
            walk.through(&graph, |part| visited.push(part));
            visited.sort_unstable();
            assert!(visited.into_iter().eq(0..parts));
            for part in 0..parts {
                let edges = graph.leaving[part];
                assert_eq!(edges[0] as usize, (part + 1) % parts);
                assert!(edges.iter().all(|&to| (to as usize) < parts && to as usize != part));
                let enters = |from: usize| {
                    graph.leaving[from].iter().filter(|&&to| to as usize == part).map(move |_| from)
                };
                assert!(
                    (0..parts).flat_map(enters).eq(graph.entering(part).iter().map(|&from| from as usize))
                );
            }
        }
    }
}
