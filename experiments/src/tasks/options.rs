//! The command line of the experiment.

use super::cases;
use crate::cli::{Common, parse_count};
use clap::Args;

/// What the runtime itself costs: spawning, running, placing and synchronising tasks, in nanoseconds.
#[derive(Clone, Debug, Args)]
#[command(after_help = after_help())]
pub struct Options {
    /// Which cases to run, by name or by any part of their names [default: all]
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,

    /// How many tasks the cheapest cases run; the others run fewer, in proportion [default: 2M; with --quick, 200k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub tasks: Option<u64>,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}

/// The names for `--against` and for cases, which their lists know best.
fn after_help() -> String {
    let peers = cases::Who::ALL.iter().map(|who| format!("\n  {:<20} {}", who.name(), who.about()));
    let known = cases::ALL.iter().map(|case| format!("\n  {:<44} {}", case.name, case.about));
    format!(
        "Implementations, of which the first always takes part:{}\n\nCases:{}",
        peers.collect::<String>(),
        known.collect::<String>()
    )
}
