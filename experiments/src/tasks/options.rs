//! The command line of the experiment.

use super::{cases, contenders};
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// Overhead of spawning, placing, synchronising and running a task, in nanoseconds
#[derive(Clone, Debug, Args)]
#[command(after_help = after_help())]
pub struct TasksOptions {
    /// Cases to run, by name or by a part of their names [default: all]
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,

    /// Number of tasks of the cheapest cases; expensive ones run a fraction of it [default: 2M;
    /// with --quick, 200k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub tasks: Option<u64>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}

/// Returns the help text that lists the names for `--against` and the cases.
fn after_help() -> String {
    let cases = cases::ALL.iter().map(|case| format!("\n  {:<46} {}", case.name, case.about));
    format!("{}\n\nCases:{}", help(contenders::ALL, &[]), cases.collect::<String>())
}
