//! The command line of the experiment.

use super::contenders;
use super::load::Load;
use super::sources::Source;
use crate::cli::{Common, parse_count};
use crate::lineup::help;
use crate::machine::cores;
use clap::{Args, ValueEnum};

/// Whether workers take tasks from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stealing {
    /// Those with nothing to do.
    On,
    /// A task runs where it was sent.
    Off,
}

/// What is changed from case to case, over all that is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sweep {
    /// Workers: 1, 2, 4 and so on to one for each core, or to 64 in virtual time
    Threads,
    /// The index of skew: 1 to 16
    Skew,
    /// Nodes that a task names: 1 to 32
    Nodes,
    /// Tasks that read: none to all
    Reads,
    /// Tasks that change the hierarchy: none to 10%
    Structural,
    /// Nodes of the hierarchy: 100 to a million
    Sizes,
    /// With and without stealing
    Stealing,
}

/// Sizes of a sweep.
const SIZES: [u64; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// Otherwise a sweep is on a hierarchy of so many nodes, if it is made up.
const SIZE: u64 = 100_000;
/// Workers of a sweep in virtual time.
const WORKERS: usize = 14;

/// Tasks on sub-trees of a hierarchy, kept apart in several ways, in thousands of tasks a second; with --virtual on as many
/// workers as wanted, in virtual time.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct Options {
    /// Change one thing from case to case, in steps that can be given instead
    #[arg(long, value_name = "WHAT", value_enum)]
    pub sweep: Option<Sweep>,

    /// Which hierarchy.
    #[command(flatten)]
    pub source: Source,

    /// What the tasks are like.
    #[command(flatten)]
    pub load: Load,

    /// Tasks [default: 100k; with --quick, and in virtual time, 10k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub tasks: Option<u64>,

    /// Granules of the hierarchy [default: one for 40 nodes, from 4,096, or as many as there are nodes, to 65,536]
    #[arg(long, value_name = "N")]
    pub granules: Option<u32>,

    /// Whether workers with nothing to do take tasks of others: on, off, or both, one after the other
    #[arg(
        long,
        value_name = "HOW,…",
        value_enum,
        value_delimiter = ',',
        default_value = "on",
        default_value_if("sweep", "stealing", "on,off")
    )]
    pub stealing: Vec<Stealing>,

    /// Tasks that are on their way at most [default: all; 100 where tasks change the hierarchy or panic]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub in_flight: Option<u64>,

    /// In virtual time, which --workers as 14 or 64 share on any machine
    #[arg(long = "virtual")]
    pub is_virtual: bool,

    /// Nanoseconds that a task takes for each node, in virtual time
    #[arg(long, value_name = "NS", default_value_t = 20)]
    pub node_time: u64,

    /// Nanoseconds that a task takes besides its nodes, in virtual time
    #[arg(long, value_name = "NS", default_value_t = 500)]
    pub task_time: u32,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}

impl Options {
    /// The same with what a sweep does not leave to others: hierarchies and workers, unless they are given.
    pub(super) fn completed(&self) -> Self {
        let mut options = self.clone();
        let Some(sweep) = options.sweep else { return options };
        if options.source.nodes.is_empty() && options.source.is_made_up() {
            options.source.nodes = if sweep == Sweep::Sizes { SIZES.to_vec() } else { vec![SIZE] };
        }
        let most = if options.is_virtual { 64 } else { cores() };
        options.common.workers.get_or_insert_with(|| match sweep {
            Sweep::Threads => {
                let powers = std::iter::successors(Some(1), |workers| Some(2 * workers));
                powers.take_while(|&workers| workers < most).chain([most]).collect()
            }
            _ if options.is_virtual => vec![WORKERS],
            _ => vec![most],
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
        options: Options,
    }

    fn options(line: &str) -> Options {
        Line::parse_from(std::iter::once("test").chain(line.split_whitespace())).options.completed()
    }

    #[test]
    fn a_sweep_changes_one_thing_in_steps_that_can_be_given() {
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
