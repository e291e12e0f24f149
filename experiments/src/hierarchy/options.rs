//! Defines the command line of the experiment.

use super::load::Load;
use super::sources::Source;
use clap::{Args, ValueEnum};
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::controls;
use xtasking_harness::lineup::help;
use xtasking_harness::machine::cores;

/// Whether workers steal tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stealing {
    /// Idle workers steal.
    On,
    /// A task runs on the worker that it was sent to.
    Off,
}

/// What a sweep varies from case to case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sweep {
    /// Workers: powers of two up to one for each core, or up to 64 in virtual time
    Threads,
    /// Skew index: 1 to 16
    Skew,
    /// Nodes that a task names: 1 to 32
    Nodes,
    /// Reading tasks: 0 to 100%
    Reads,
    /// Tasks that change the hierarchy: 0 to 10%
    Structural,
    /// Nodes of the hierarchy: 100 to a million
    Sizes,
    /// With and without stealing
    Stealing,
}

/// Numbers of nodes of a sweep over sizes.
const SIZES: [u64; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// Nodes of a generated hierarchy in all other sweeps.
const SIZE: u64 = 100_000;
/// Workers of a sweep in virtual time.
const WORKERS: usize = 14;

/// Measure tasks on sub-trees of a hierarchy under several kinds of locks, in thousands of tasks a
/// second; with --virtual on any number of workers, in virtual time.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(controls::ALL, &[]))]
pub struct HierarchyOptions {
    /// Vary one thing from case to case; the option of that thing sets other steps
    #[arg(long, value_name = "WHAT", value_enum)]
    pub sweep: Option<Sweep>,

    /// Which hierarchy.
    #[command(flatten)]
    pub source: Source,

    /// What the tasks are like.
    #[command(flatten)]
    pub load: Load,

    /// Number of tasks [default: 100k; 10k with --quick or --virtual]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub tasks: Option<u64>,

    /// Number of tasks for each worker, so that more workers have more tasks
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "tasks")]
    pub tasks_per_worker: Option<u64>,

    /// Granules of the hierarchy [default: one for each 40 nodes, at least 4,096 (or one for each
    /// node), at most 65,536]
    #[arg(long, value_name = "N")]
    pub granules: Option<u32>,

    /// Whether idle workers steal tasks: on, off, or both, one after the other
    #[arg(
        long,
        value_name = "HOW,…",
        value_enum,
        value_delimiter = ',',
        default_value = "on",
        default_value_if("sweep", "stealing", "on,off")
    )]
    pub stealing: Vec<Stealing>,

    /// Maximal number of tasks in flight [default: all; 100 if tasks change the hierarchy or panic]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub in_flight: Option<u64>,

    /// Run in virtual time, with any number of --workers on any machine
    #[arg(long = "virtual")]
    pub is_virtual: bool,

    /// Nanoseconds of virtual time that a task takes for each node
    #[arg(long, value_name = "NS", default_value_t = 20)]
    pub node_time: u64,

    /// Nanoseconds of virtual time that a task takes besides its nodes
    #[arg(long, value_name = "NS", default_value_t = 500)]
    pub task_time: u32,

    /// Options of all experiments.
    #[command(flatten)]
    pub common: Common,
}

impl HierarchyOptions {
    /// Returns the options with defaults of the sweep filled in for hierarchies and workers that
    /// are not given.
    pub(super) fn completed(&self) -> Self {
        let mut options = self.clone();
        let Some(sweep) = options.sweep else { return options };
        if options.source.nodes.is_empty() && options.source.is_generated() {
            options.source.nodes = if sweep == Sweep::Sizes { SIZES.to_vec() } else { vec![SIZE] };
        }
        let max_workers = if options.is_virtual { 64 } else { cores() };
        options.common.workers.get_or_insert_with(|| match sweep {
            Sweep::Threads => {
                let powers = std::iter::successors(Some(1), |workers| Some(2 * workers));
                powers.take_while(|&workers| workers < max_workers).chain([max_workers]).collect()
            }
            _ if options.is_virtual => vec![WORKERS],
            _ => vec![max_workers],
        });
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: HierarchyOptions,
    }

    fn options(line: &str) -> HierarchyOptions {
        Line::parse_from(std::iter::once("test").chain(line.split_whitespace())).options.completed()
    }

    #[test]
    fn a_sweep_varies_one_option_in_steps_that_can_be_overridden() {
        let plain = options("");
        assert_eq!((plain.load.skew, plain.source.nodes, plain.common.workers), (vec![1, 8], vec![], None));
        let skew = options("--sweep skew");
        assert_eq!(skew.load.skew, [1, 2, 4, 8, 12, 16]);
        assert_eq!((skew.load.reads, skew.source.nodes), (vec![70], vec![SIZE]));
        assert_eq!(options("--sweep nodes --skew 3").load.nodes_per_task, [1, 2, 4, 8, 16, 32]);
        assert_eq!(options("--sweep nodes --skew 3").load.skew, [3]);
        assert_eq!(options("--sweep nodes --nodes-per-task 2,3").load.nodes_per_task, [2, 3]);
        assert_eq!(options("--sweep reads").load.reads, [0, 25, 50, 70, 90, 100]);
        assert_eq!(options("--sweep structural").load.structural, [0, 1, 2, 5, 10]);
        assert_eq!(options("--sweep sizes").source.nodes, SIZES);
        assert_eq!(options("--sweep sizes --nodes 5k,7k").source.nodes, [5_000, 7_000]);
        assert!(options("--sweep skew --hierarchy wordnet").source.nodes.is_empty());
        assert_eq!(options("--sweep stealing").stealing, [Stealing::On, Stealing::Off]);
        assert_eq!(options("--sweep threads --virtual").common.workers.unwrap(), [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(options("--sweep skew --virtual").common.workers.unwrap(), [14]);
        assert_eq!(options("--sweep skew --virtual --workers 3").common.workers.unwrap(), [3]);
        let threads = options("--sweep threads").common.workers.unwrap();
        assert!(threads[0] == 1 && threads.is_sorted() && threads.last() == Some(&cores()));
    }
}
