//! The experiment: options checked and completed, turns and conclusion.

use super::GraphOptions;
use super::contenders::{self, Entry, Search};
use super::csr::Graph;
use super::search::{UNREACHED, sequential};
use crate::memory::check_available;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Instant;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    vertices: usize,
    edges: usize,
    seed: u64,
    lineup: Lineup<Search>,
    /// A line about what a search reaches.
    note: RefCell<Option<String>>,
}

/// A graph with the distances that every search must find.
struct Input {
    graph: Graph,
    distances: Vec<u32>,
    /// The edges of the vertices that are reached: those that a search looks at.
    edges: usize,
}

/// The numbers of vertices that are possible.
const VERTICES: RangeInclusive<u64> = 1..=4_000_000_000;
/// The numbers of edges that are possible.
const EDGES: RangeInclusive<u64> = 0..=4_000_000_000;
/// Edges for each vertex by default.
const DEGREE: u64 = 10;
/// Bytes of a vertex: where its edges begin in both directions, three times its distance, and twice
/// its place in a level; and once more while the graph is made.
const VERTEX_BYTES: u64 = 32;
/// Bytes of an edge, which is known at both ends.
const EDGE_BYTES: u64 = 8;
/// Vertices of the graph that is searched before the measurement, to warm up threads and heaps.
const WARM_UP_VERTICES: usize = 1000;

const UNIT: &str = "Medges/s";

impl Input {
    fn new(vertices: usize, edges: usize, seed: u64) -> Self {
        let graph = Graph::random(vertices, edges, seed);
        let distances = sequential(&graph);
        let reached = (0..).zip(&distances).filter(|(_, distance)| **distance != UNREACHED);
        let edges = reached.map(|(vertex, _)| graph.neighbours(vertex).len()).sum();
        Self { graph, distances, edges }
    }

    /// Checks the distances that a search has found.
    fn check(&self, found: &[u32]) -> Result<(), Wrong> {
        let wrong = self.distances.iter().zip(found).position(|(expected, found)| expected != found);
        if let Some(vertex) = wrong {
            let (found, expected) = (found[vertex], self.distances[vertex]);
            return Err(Wrong::new(format!(
                "the distance of vertex {vertex} is {found} instead of {expected}"
            )));
        }
        if found.len() != self.distances.len() {
            let text = format!("{} distances of {} vertices", found.len(), self.distances.len());
            return Err(Wrong::new(text));
        }
        Ok(())
    }

    /// Describes what a search reaches.
    fn describe(&self) -> String {
        let reached = || self.distances.iter().filter(|distance| **distance != UNREACHED);
        format!(
            "a search reaches {} of {} vertices, at distances up to {}, by {} edges",
            reached().count(),
            self.distances.len(),
            reached().max().unwrap_or(&0),
            self.edges
        )
    }
}

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &GraphOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let vertices = options.vertices.unwrap_or(if common.quick { 20_000 } else { 200_000 });
        check_range("--vertices", vertices, &VERTICES, "")?;
        let edges = options.edges.unwrap_or(vertices * DEGREE);
        check_range("--edges", edges, &EDGES, "")?;
        check_available("--vertices and --edges", vertices * VERTEX_BYTES + edges * EDGE_BYTES)?;
        let lineup = Lineup::new(contenders::ALL, &[], common)?;
        let (vertices, edges) = (vertices as usize, edges as usize);
        Ok(Self { vertices, edges, seed: common.seed, lineup, note: RefCell::default() })
    }
}

/// Runs one turn, and returns millions of edges per second.
fn once([warm_up, input]: &[Input; 2], entry: &Entry, workers: usize, context: &str) -> Result<f64, Failure> {
    let search = (entry.start)(workers)?;
    search(&warm_up.graph);
    settle();
    let began = Instant::now();
    let found = search(&input.graph);
    let time = began.elapsed();
    input.check(&found).map_err(|wrong| Failure::Wrong { context: context.to_string(), wrong })?;
    Ok(input.edges as f64 / time.as_secs_f64() / 1e6)
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "graph";
    const TITLE: &'static str =
        "Each runtime searches this many millions of edges a second, breadth first: more is better.";

    fn describe(&self) -> String {
        format!(
            "graph of {} vertices and {} edges · seed {}\n{}",
            self.vertices,
            self.edges,
            self.seed,
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("vertices", self.vertices);
        parameters.add("edges", self.edges);
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        self.lineup.outline(parameters, 1)
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("generating the graph".to_string());
        let warm_up = Input::new(WARM_UP_VERTICES, WARM_UP_VERTICES * DEGREE as usize, self.seed);
        let inputs = [warm_up, Input::new(self.vertices, self.edges, self.seed)];
        self.note.replace(Some(inputs[1].describe()));
        let once = |_, entry: &Entry, workers, context: &str| once(&inputs, entry, workers, context);
        self.lineup.measure(progress, UNIT, &["breadth-first search".to_string()], once)
    }

    fn notes(&self) -> Vec<String> {
        self.note.take().into_iter().collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("Medges/s: millions of edges of reached vertices per wall-clock second, more is better; all \
            distances were compared with those of a sequential search"
            .to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_distance_is_found() {
        let input = Input::new(20, 60, 1);
        assert!(input.check(&input.distances).is_ok());
        assert!(input.check(&input.distances[1..]).is_err() && input.check(&input.distances[..19]).is_err());
        for vertex in 0..20 {
            let mut wrong = input.distances.clone();
            wrong[vertex] ^= 1;
            let text = input.check(&wrong).unwrap_err().to_string();
            assert!(text.starts_with(&format!("the distance of vertex {vertex} is ")), "{text}");
        }
    }
}
