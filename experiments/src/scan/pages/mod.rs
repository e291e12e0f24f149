//! Shows on which node each partition's worker runs, and on which nodes its memory is: after
//! loading, and after rows have moved.
//!
//! | module | what it holds |
//! |---|---|
//! | `maps` | the system's table of a process's memory |
//! | `placement` | the nodes of a partition's memory |

mod maps;
mod placement;

use super::ScanOptions;
use super::bookings::{Bookings, COLUMNS, NULL};
use super::chunks::Chunks;
use super::column_store::ColumnStore;
use super::database::{Database as _, Server as _};
use maps::Maps;
use placement::{MemoryPlacement, bounded};
use std::cell::RefCell;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};
use xtasking_knowledge::facts::{CpuSet, Facts};
use xtasking_knowledge::system::System;

/// An experiment that can be run.
pub(super) struct Pages {
    bookings: Bookings,
    workers: usize,
    chunks: Chunks,
    facts: Facts,
    notes: RefCell<Vec<String>>,
}

/// The stages that are examined. With one partition nothing moves.
const STAGES: [&str; 3] = ["loaded", "moved", "moved back"];

const UNIT: &str = "% on the worker's node";

/// The CPUs and the node of a worker.
struct WorkerNode {
    cpus: CpuSet,
    node: u32,
}

fn wrong(context: &str, text: String) -> Failure {
    Failure::Wrong { context: context.to_string(), wrong: Wrong::new(text) }
}

fn unknown(why: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("--pages: {why}"))
}

/// Joins a noun in singular or plural with `what`.
fn counted(count: usize, noun: &str, what: &str) -> String {
    if count == 1 { format!("{noun} {what}") } else { format!("{noun}s {what}") }
}

/// Returns the number of rows, followed by the sum of each column.
fn sums(bookings: &Bookings) -> Vec<i64> {
    let mut sums = vec![0; 1 + COLUMNS.len()];
    for row in bookings.rows() {
        sums[0] += 1;
        let values = row.iter().map(|&value| if value == NULL { 0 } else { value });
        sums[1..].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// Returns the node of these CPUs, if it is one.
fn node(facts: &Facts, cpus: &CpuSet) -> Option<u32> {
    let mut nodes: Vec<_> = cpus.iter().filter_map(|cpu| facts.cpu(cpu)).map(|cpu| cpu.node).collect();
    nodes.dedup();
    <[u32; 1]>::try_from(nodes).ok().map(|[node]| node)
}

impl Pages {
    /// Checks and completes the options.
    pub(super) fn new(options: &ScanOptions) -> Result<Self, Failure> {
        let common = &options.common;
        if common.against.is_some() {
            return Err(unknown("it examines the column store alone; leave out --against and --only"));
        }
        let rows = options.row_count()?;
        let workers = common.worker_counts()?.into_iter().max().unwrap_or(1);
        common.check_outputs()?;
        // Fails before any work if the system lacks the file.
        Maps::here().map_err(unknown)?;
        let facts = System::here().facts().map_err(unknown)?;
        let bookings = Bookings::new(rows, common.seed);
        Ok(Self { bookings, workers, chunks: Chunks::here(), facts, notes: RefCell::default() })
    }

    /// Returns the stages.
    fn stages(&self) -> &'static [&'static str] {
        if self.workers > 1 { &STAGES } else { &STAGES[..1] }
    }

    /// Returns where each worker may run, as the system reports it.
    fn nodes(&self, column_store: &ColumnStore) -> Result<Vec<WorkerNode>, Failure> {
        let worker_node = |(worker, cpus): (usize, CpuSet)| match node(&self.facts, &cpus) {
            Some(node) => Ok(WorkerNode { cpus, node }),
            None => Err(unknown(format!(
                "worker {worker} is not bound to a node: it may run on CPUs {cpus}; choose fewer --workers"
            ))),
        };
        column_store.cpus_allowed().map_err(unknown)?.into_iter().enumerate().map(worker_node).collect()
    }

    /// Examines the memory of all partitions.
    fn examine(
        &self,
        column_store: &ColumnStore,
        nodes: &[WorkerNode],
        stage: &'static str,
    ) -> Result<Measurement, Failure> {
        let partitions = column_store.memory().map_err(|text| wrong(stage, text))?;
        let maps = Maps::here().map_err(unknown)?;
        let mut notes = self.notes.borrow_mut();
        let mut all = MemoryPlacement::default();
        for (number, partition) in partitions.iter().enumerate() {
            let WorkerNode { cpus, node } = &nodes[partition.worker];
            let placement = MemoryPlacement::new(&maps, &partition.addresses, *node);
            notes.push(format!(
                "{stage}, partition {number}: worker {} on {} of node {node} · {} rows, {:.1} MiB · \
                 {} of it on node {node} · \
                 {placement}",
                partition.worker,
                counted(cpus.len(), "CPU", &cpus.to_string()),
                partition.rows,
                partition.bytes() as f64 / f64::from(1 << 20),
                bounded(placement.percent_there()),
            ));
            all.merge(&placement);
        }
        let (min, max) = all.percent_there();
        let mut result = Measurement::new(stage.to_string(), "xtasking", self.workers, UNIT, vec![min]);
        result.details.extend([("at_most_percent", max), ("bytes", all.bytes as f64)]);
        Ok(result)
    }

    /// The first half of the workers give half of their rows to the others.
    fn weights(&self) -> Vec<f64> {
        (0..self.workers).map(|worker| if worker < self.workers / 2 { 1.0 } else { 3.0 }).collect()
    }
}

impl xtasking_harness::experiment::Experiment for Pages {
    const NAME: &'static str = "scan";
    const TITLE: &'static str = "Share of the rows' memory on the node of the worker that scans it";

    fn describe(&self) -> String {
        format!(
            "scan of {} rows: on which nodes the memory of {} is · seed {}\n{}",
            self.bookings.row_count(),
            if self.workers == 1 {
                "one partition".to_string()
            } else {
                format!("{} partitions", self.workers)
            },
            self.bookings.seed(),
            self.chunks
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("rows", self.bookings.row_count());
        parameters.add("workers", self.workers);
        parameters.add("chunk_rows", self.chunks.rows);
        parameters.add("nodes", self.facts.nodes.len());
        parameters.add("seed", self.bookings.seed());
        let legend = vec![("xtasking".to_string(), "the column store of this project".to_string())];
        Outline { parameters, legend, steps: self.stages().len() as u64 }
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let expected = sums(&self.bookings);
        let mut column_store = ColumnStore::start(self.workers)?;
        let nodes = self.nodes(&column_store)?;
        let mut results = Vec::new();
        for &stage in self.stages() {
            progress.begin(stage.to_string());
            let outcome = match stage {
                "loaded" => column_store.load(&self.bookings).map(drop),
                "moved" => column_store.balance(&self.weights()).map(drop),
                _ => column_store.balance(&vec![1.0; self.workers]).map(drop),
            };
            outcome.map_err(|text| wrong(stage, text))?;
            let result = self.examine(&column_store, &nodes, stage)?;
            let sums = column_store.sums().map_err(|text| wrong(stage, text))?;
            if sums != expected {
                let text = format!("the table's row count and sums are {sums:?}; expected {expected:?}");
                return Err(wrong(stage, text));
            }
            progress.show_measurement(stage, result.summary.median, UNIT);
            results.push(result);
            progress.advance();
        }
        if let [node] = &self.facts.nodes[..] {
            self.notes.borrow_mut().push(format!(
                "this machine has one node, {}: so first-touch placement does not matter",
                node.id
            ));
        }
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("minimal share of the rows' memory on the node of the worker that scans it, more is better; \
            the sums of all columns were \
            compared with those of the bookings each time"
            .to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_on_a_node_if_all_its_cpus_are() {
        // Two packages of two cores, each with its node.
        let facts = Facts::symmetric(2, 1, 2, 1);
        let node = |cpus: &str| node(&facts, &cpus.parse().unwrap());
        assert_eq!(
            ["0", "0-1", "3", "1-2", "0-3", "9"].map(node),
            [Some(0), Some(0), Some(1), None, None, None]
        );
    }
}
