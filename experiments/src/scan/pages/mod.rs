//! On which node each partition's worker runs, and on which nodes its memory is: after loading, and after rows have moved.
//!
//! | module | what it holds |
//! |---|---|
//! | `maps` | what the system tells of a process's memory |
//! | `whereabouts` | what that says of a partition's |

mod maps;
mod whereabouts;

use super::Options;
use super::bookings::{Bookings, COLUMNS, NULL};
use super::chunks::Chunks;
use super::database::{Database as _, Server as _};
use super::own::Own;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::plan::Wrong;
use maps::Maps;
use std::cell::RefCell;
use whereabouts::{Whereabouts, bounded};
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

/// What is looked at. With one partition nothing moves.
const STAGES: [&str; 3] = ["loaded", "moved", "moved back"];

const UNIT: &str = "% on the worker's node";

/// Where a worker runs.
struct Seat {
    cpus: CpuSet,
    node: u32,
}

fn wrong(context: &str, text: String) -> Failure {
    Failure::Wrong { context: context.to_string(), wrong: Wrong::new(text) }
}

fn unknown(why: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("--pages: {why}"))
}

/// One thing or several, of which something is said.
fn counted(count: usize, noun: &str, what: &str) -> String {
    if count == 1 { format!("{noun} {what}") } else { format!("{noun}s {what}") }
}

/// How many rows there are, and then the sum of each column.
fn sums(bookings: &Bookings) -> Vec<i64> {
    let mut sums = vec![0; 1 + COLUMNS.len()];
    for row in bookings.rows() {
        sums[0] += 1;
        let values = row.iter().map(|&value| if value == NULL { 0 } else { value });
        sums[1..].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// The node of these CPUs, if it is one.
fn node(facts: &Facts, cpus: &CpuSet) -> Option<u32> {
    let mut nodes: Vec<_> = cpus.iter().filter_map(|cpu| facts.cpu(cpu)).map(|cpu| cpu.node).collect();
    nodes.dedup();
    <[u32; 1]>::try_from(nodes).ok().map(|[node]| node)
}

impl Pages {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        if common.against.is_some() {
            return Err(unknown("it looks at the column store alone: there is nobody to name"));
        }
        let rows = options.row_count()?;
        let workers = common.worker_counts()?.into_iter().max().unwrap_or(1);
        common.check_outputs()?;
        // Before any work.
        Maps::here().map_err(unknown)?;
        let facts = System::here().facts().map_err(unknown)?;
        let bookings = Bookings::new(rows, common.seed);
        Ok(Self { bookings, workers, chunks: Chunks::here(), facts, notes: RefCell::default() })
    }

    /// What is looked at.
    fn stages(&self) -> &'static [&'static str] {
        if self.workers > 1 { &STAGES } else { &STAGES[..1] }
    }

    /// Where each worker may run, as the system has it.
    fn seats(&self, own: &Own) -> Result<Vec<Seat>, Failure> {
        let seat = |(worker, cpus): (usize, CpuSet)| match node(&self.facts, &cpus) {
            Some(node) => Ok(Seat { cpus, node }),
            None => Err(unknown(format!(
                "worker {worker} is not bound to a node: it may run on CPUs {cpus}; choose fewer --workers"
            ))),
        };
        own.cpus_allowed().map_err(unknown)?.into_iter().enumerate().map(seat).collect()
    }

    /// Looks where everything is.
    fn look(&self, own: &Own, seats: &[Seat], stage: &'static str) -> Result<Measurement, Failure> {
        let partitions = own.memory().map_err(|text| wrong(stage, text))?;
        let maps = Maps::here().map_err(unknown)?;
        let mut notes = self.notes.borrow_mut();
        let mut all = Whereabouts::default();
        for (number, partition) in partitions.iter().enumerate() {
            let Seat { cpus, node } = &seats[partition.worker];
            let found = Whereabouts::new(&maps, &partition.addresses, *node);
            notes.push(format!(
                "{stage}, partition {number}: worker {} on {} of node {node} · {} rows, {:.1} MiB · {} of it on node {node} · \
                 {found}",
                partition.worker,
                counted(cpus.len(), "CPU", &cpus.to_string()),
                partition.rows,
                partition.bytes() as f64 / f64::from(1 << 20),
                bounded(found.percent_there()),
            ));
            all.merge(&found);
        }
        let (least, most) = all.percent_there();
        let mut result = Measurement::new(stage.to_string(), "xtasking", self.workers, UNIT, vec![least]);
        result.details.extend([("at_most_percent", most), ("bytes", all.bytes as f64)]);
        Ok(result)
    }

    /// The first half of the workers give half of what they have to the others.
    fn weights(&self) -> Vec<f64> {
        (0..self.workers).map(|worker| if worker < self.workers / 2 { 1.0 } else { 3.0 }).collect()
    }
}

impl crate::experiment::Experiment for Pages {
    const NAME: &'static str = "scan";

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

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("rows", self.bookings.row_count());
        parameters.add("workers", self.workers);
        parameters.add("chunk_rows", self.chunks.rows);
        parameters.add("nodes", self.facts.nodes.len());
        parameters.add("seed", self.bookings.seed());
        parameters
    }

    fn steps(&self) -> u64 {
        self.stages().len() as u64
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let right = sums(&self.bookings);
        let mut own = Own::start(self.workers)?;
        let seats = self.seats(&own)?;
        let mut results = Vec::new();
        for &stage in self.stages() {
            progress.begin(stage.to_string());
            let done = match stage {
                "loaded" => own.load(&self.bookings).map(drop),
                "moved" => own.balance(&self.weights()).map(drop),
                _ => own.balance(&vec![1.0; self.workers]).map(drop),
            };
            done.map_err(|text| wrong(stage, text))?;
            let result = self.look(&own, &seats, stage)?;
            let sums = own.sums().map_err(|text| wrong(stage, text))?;
            if sums != right {
                let text = format!("the table's rows and sums are {sums:?} instead of {right:?}");
                return Err(wrong(stage, text));
            }
            progress.measured(stage, result.summary.median, UNIT);
            results.push(result);
            progress.advance();
        }
        if let [node] = &self.facts.nodes[..] {
            self.notes.borrow_mut().push(format!(
                "this machine has one node, {}: where its memory is touched first does not matter",
                node.id
            ));
        }
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("how much of the rows' memory is, at least, on the node of the worker that scans it; the sums of all columns were \
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
