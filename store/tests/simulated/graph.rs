//! A graph of what comes before what, and its cycles.

use std::collections::VecDeque;

/// Why one comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The second has seen what the first has written (wr).
    Seen,
    /// The second has overwritten it (ww).
    Overwritten,
    /// The first has not seen what the second has written (rw).
    Unseen,
    /// They are of one connection.
    Session,
    /// The first had ended when the second began.
    Time,
}

/// Nodes by number, and edges.
pub struct Graph {
    edges: Vec<Vec<(usize, Reason)>>,
}

impl Graph {
    pub fn new(nodes: usize) -> Self {
        Self { edges: vec![Vec::new(); nodes] }
    }

    /// Adds an edge, unless it leads to where it begins.
    pub fn add(&mut self, from: usize, to: usize, reason: Reason) {
        if from != to {
            self.edges[from].push((to, reason));
        }
    }

    /// Returns a short cycle, if there is one: each node with the reason for the next.
    pub fn cycle(&self) -> Option<Vec<(usize, Reason)>> {
        let on_cycles = self.between_cycles();
        let nodes = (0..self.edges.len()).filter(|&node| on_cycles[node]).take(200);
        nodes.filter_map(|node| self.shortest(node, &on_cycles)).min_by_key(Vec::len)
    }

    /// Marks the nodes that are on cycles, or on ways between them.
    fn between_cycles(&self) -> Vec<bool> {
        let mut reversed = Self::new(self.edges.len());
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|&(to, reason)| reversed.add(to, from, reason));
        }
        let mut kept = vec![true; self.edges.len()];
        // What has no way in goes, and then what has no way out.
        for (there, back) in [(self, &reversed), (&reversed, self)] {
            let is_kept = |&(node, _): &(usize, Reason)| kept[node];
            let mut ways: Vec<_> =
                back.edges.iter().map(|edges| edges.iter().copied().filter(is_kept).count()).collect();
            let mut loose: Vec<_> = (0..ways.len()).filter(|&node| kept[node] && ways[node] == 0).collect();
            while let Some(node) = loose.pop() {
                kept[node] = false;
                for &(next, _) in there.edges[node].iter().filter(|(next, _)| kept[*next]) {
                    ways[next] -= 1;
                    if ways[next] == 0 {
                        loose.push(next);
                    }
                }
            }
        }
        kept
    }

    /// Returns the shortest way from a node back to itself.
    fn shortest(&self, start: usize, allowed: &[bool]) -> Option<Vec<(usize, Reason)>> {
        let mut came_from = vec![None; self.edges.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for &(next, reason) in self.edges[node].iter().filter(|(next, _)| allowed[*next]) {
                if came_from[next].is_none() {
                    came_from[next] = Some((node, reason));
                    queue.push_back(next);
                }
            }
        }
        let mut cycle = vec![came_from[start]?];
        while let Some(&(node, _)) = cycle.last()
            && node != start
        {
            cycle.push(came_from[node]?);
        }
        cycle.reverse();
        Some(cycle)
    }
}
