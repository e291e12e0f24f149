//! The graph of the atomic parts of a composite part.

use crate::ycsb::distribution::Random;

/// How many edges leave each part.
pub const DEGREE: usize = 6;

/// Edges between the atomic parts of one composite part, which are named by their positions: a ring, so that all can be
/// reached, and edges to random others; the same edge may be there more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the edges of each part lead.
    pub leaving: Box<[[u16; DEGREE]]>,
    /// From where the edges to each part come: those to part n are from place `first[n]` on.
    pub entering: Box<[u16]>,
    first: Box<[u32]>,
}

impl Graph {
    /// A graph of so many parts, at least two.
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

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.leaving.len()
    }

    /// From where the edges to a part come, in rising order.
    pub fn entering(&self, part: usize) -> &[u16] {
        &self.entering[self.first[part] as usize..self.first[part + 1] as usize]
    }
}

/// What a walk through a graph has to remember: made once, it serves any number of walks.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    met: Vec<bool>,
    open: Vec<u16>,
}

impl Walk {
    /// Visits all parts that can be reached from the root part, which is the first one, each once.
    pub fn through(&mut self, graph: &Graph, mut visit: impl FnMut(usize)) {
        let Self { met, open } = self;
        met.clear();
        met.resize(graph.parts(), false);
        met[0] = true;
        // One more than can be open: what is written to the last place counts only if it is new.
        open.resize(graph.parts() + 1, 0);
        open[0] = 0;
        let mut count = 1;
        while count > 0 {
            count -= 1;
            let part = open[count] as usize;
            visit(part);
            for &to in &graph.leaving[part] {
                // No branch, as half of them would be mispredicted.
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
    fn all_parts_are_reached_by_edges_that_lead_both_ways() {
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
