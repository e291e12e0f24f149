//! The command line of the experiment.

use super::contenders;
use super::workload::Workload;
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// Irregular fork-join work: an unbalanced tree, queens, skynet and a sort, in milliseconds
#[derive(Clone, Debug, Args)]
#[command(after_help = after_help())]
pub struct IrregularOptions {
    /// Workloads to run, by name or by a part of their names [default: all]
    #[arg(value_name = "WORKLOAD")]
    pub workloads: Vec<String>,

    /// Depth of the unbalanced tree, 1 to 13; each level has about four times as many nodes
    /// [default: 8; with --quick, 5]
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,

    /// Number of queens on a board of as many rows and columns, 1 to 15 [default: 12; with --quick,
    /// 8]
    #[arg(long, value_name = "N")]
    pub queens: Option<u32>,

    /// Levels of skynet, 1 to 8, each with ten times as many nodes [default: 6; with --quick, 4]
    #[arg(long, value_name = "N")]
    pub levels: Option<u32>,

    /// Number of integers to sort [default: 1M; with --quick, 20k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub items: Option<u64>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}

/// Returns the help text that lists the names for `--against` and the workloads.
fn after_help() -> String {
    let known =
        Workload::ALL.iter().map(|workload| format!("\n  {:<20} {}", workload.name(), workload.about()));
    format!("{}\n\nWorkloads:{}", help(contenders::ALL, &[]), known.collect::<String>())
}
