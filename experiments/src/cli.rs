//! The command line: which experiment, and the options that all of them share.

use crate::failure::Failure;
use crate::{
    cholesky, fib, granularity, hierarchy, inquiry, managed, pools, scan, soak, stmbench7, tasks, ycsb,
};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// The experiments of XTasking: every workload beside its peers, every result checked.
///
/// Without a subcommand, it runs `ycsb` with its defaults.
#[derive(Debug, Parser)]
#[command(name = "xtasking", version)]
pub struct Cli {
    /// The experiment.
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ycsb(ycsb::Options),
    Tasks(tasks::Options),
    Fib(fib::Options),
    Cholesky(cholesky::Options),
    Granularity(granularity::Options),
    Hierarchy(hierarchy::Options),
    Managed(managed::Options),
    Pools(pools::Options),
    Scan(scan::Options),
    Soak(soak::Options),
    Stmbench7(stmbench7::Options),
    Machine(inquiry::Options),
    /// A competitor of `scan`.
    #[command(hide = true)]
    Burn(scan::Burn),
}

/// The vocabulary that all experiments share.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Numbers of workers to run with, such as 1,2 [default: 1 and one for each core]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub workers: Option<Vec<usize>>,

    /// How often everything is measured [default: 3; with --quick, 1]
    #[arg(long, value_name = "N")]
    pub repetitions: Option<usize>,

    /// Where all chance comes from: equal seeds give equal requests
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,

    /// Whom to compare with
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub against: Option<Vec<String>>,

    /// A small run, done in less than 20 seconds
    #[arg(long)]
    pub quick: bool,

    /// Tell every measurement as soon as it is made, on the error stream
    #[arg(long, short)]
    pub verbose: bool,

    /// Write the results as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Draw the results as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// The most workers that a runtime can have.
const MAX_WORKERS: usize = 256;

impl Common {
    /// The numbers of workers to run with, each once, in the order asked for.
    pub fn worker_counts(&self) -> Result<Vec<usize>, Failure> {
        let default = || vec![1, crate::machine::cores().min(MAX_WORKERS)];
        let mut counts: Vec<usize> = Vec::new();
        for workers in self.workers.clone().unwrap_or_else(default) {
            if !(1..=MAX_WORKERS).contains(&workers) {
                let text =
                    format!("--workers: {workers} workers are not possible; choose 1 to {MAX_WORKERS}");
                return Err(Failure::Usage(text));
            }
            if !counts.contains(&workers) {
                counts.push(workers);
            }
        }
        Ok(counts)
    }

    /// How often to measure.
    pub fn repetition_count(&self) -> Result<usize, Failure> {
        match self.repetitions.unwrap_or(if self.quick { 1 } else { 3 }) {
            0 => Err(Failure::Usage("--repetitions: 0 would measure nothing; choose 1 or more".to_string())),
            repetitions => Ok(repetitions),
        }
    }

    /// Checks, before any work, that the results can be written.
    pub fn check_outputs(&self) -> Result<(), Failure> {
        self.json.iter().chain(&self.plot).try_for_each(|path| crate::report::file::check(path))
    }
}

impl Cli {
    /// Runs what was asked for.
    pub fn run(self) -> Result<(), Failure> {
        match self.command {
            Some(Command::Ycsb(options)) => ycsb::run(&options),
            Some(Command::Tasks(options)) => tasks::run(&options),
            Some(Command::Fib(options)) => fib::run(&options),
            Some(Command::Cholesky(options)) => cholesky::run(&options),
            Some(Command::Granularity(options)) => granularity::run(&options),
            Some(Command::Hierarchy(options)) => hierarchy::run(&options),
            Some(Command::Managed(options)) => managed::run(&options),
            Some(Command::Pools(options)) => pools::run(&options),
            Some(Command::Scan(options)) => scan::run(&options),
            Some(Command::Soak(options)) => soak::run(&options),
            Some(Command::Stmbench7(options)) => stmbench7::run(&options),
            Some(Command::Machine(options)) => inquiry::run(&options),
            Some(Command::Burn(options)) => scan::burn(&options),
            None => Self::parse_from(["xtasking", "ycsb"]).run(),
        }
    }
}

/// Bytes: a whole number, or one with a unit such as `MiB`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 5] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
    let unit = UNITS.iter().find_map(|&(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let number = digits.trim_end().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.ok_or_else(|| "write bytes such as 4096, 512MiB or 8GiB".to_string())
}

/// A whole number, in which `k`, `M` and `G` stand for thousands, millions and billions.
pub fn parse_count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((end, 'k' | 'K')) => (&text[..end], 1_000),
        Some((end, 'm' | 'M')) => (&text[..end], 1_000_000),
        Some((end, 'g' | 'G')) => (&text[..end], 1_000_000_000),
        _ => (text, 1),
    };
    let number = digits.replace('_', "").parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number.ok_or_else(|| "write a whole number such as 2000000 or 2M".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn bytes_have_units() {
        for (text, bytes) in [("7", 7), ("64B", 64), ("3KiB", 3 << 10), ("8GiB", 8 << 30), ("2 TiB", 2 << 40)]
        {
            assert_eq!(parse_bytes(text), Ok(bytes));
        }
        for text in ["", "GiB", "-1", "1.5GiB", "8GB", "8gib", "99999999TiB", "é"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_have_units() {
        for (text, count) in
            [("7", 7), ("2M", 2_000_000), ("500k", 500_000), ("1g", 1_000_000_000), ("1_000", 1_000)]
        {
            assert_eq!(parse_count(text), Ok(count));
        }
        for text in ["", "M", "-1", "1.5M", "1 M", "99999999999999999999", "99999999999999G", "é"] {
            assert!(parse_count(text).is_err(), "{text}");
        }
    }
}
