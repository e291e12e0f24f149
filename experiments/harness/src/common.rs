//! Options that all experiments share, with parsers and range checks for option values.

use crate::failure::Failure;
use clap::Args;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Options that all experiments share.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Numbers of workers to measure with, such as 1,2,4 [default: 1, and one per core]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub workers: Option<Vec<usize>>,

    /// Repetitions of each measurement; results give their median, minimum and maximum [default: 3;
    /// with --quick, 1]
    #[arg(long, value_name = "N")]
    pub repetitions: Option<usize>,

    /// Seed of all random numbers; equal seeds generate equal workloads
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,

    /// Implementations to compare with, by name (listed below)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub against: Option<Vec<String>>,

    /// Run a small version of the experiment, in less than 20 seconds
    #[arg(long)]
    pub quick: bool,

    /// Print each measurement to the error stream as soon as it is taken
    #[arg(long, short)]
    pub verbose: bool,

    /// Serve a live page of XTasking's runtimes, such as at 127.0.0.1:9100; what is measured while
    /// it is open takes longer
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<String>,

    /// Write the results to a file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Draw the results to a file as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// Maximum number of workers of a runtime.
const MAX_WORKERS: usize = 256;

/// Numbers of repetitions.
const REPETITIONS: RangeInclusive<usize> = 1..=1_000_000;

impl Common {
    /// Returns the numbers of workers in the given order, without duplicates.
    ///
    /// # Errors
    ///
    /// If a number is out of range.
    pub fn worker_counts(&self) -> Result<Vec<usize>, Failure> {
        let default = || vec![1, crate::machine::cores().min(MAX_WORKERS)];
        let mut counts = Vec::new();
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

    /// Returns the number of repetitions.
    ///
    /// # Errors
    ///
    /// If it is out of range.
    pub fn repetition_count(&self) -> Result<usize, Failure> {
        let repetitions = self.repetitions.unwrap_or(if self.quick { 1 } else { 3 });
        check_range("--repetitions", repetitions, &REPETITIONS, "")
    }

    /// Checks before any work that the output files can be written.
    ///
    /// # Errors
    ///
    /// If one of them cannot be written.
    pub fn check_outputs(&self) -> Result<(), Failure> {
        self.json.iter().chain(&self.plot).try_for_each(|path| crate::report::file::check(path))
    }
}

/// Checks that the value of an option is within a range. `unit` follows the range in the error; it
/// may be empty.
///
/// # Errors
///
/// A usage error that names the option, the value and the range.
pub fn check_range<T: PartialOrd + Display>(
    option: &str,
    value: T,
    range: &RangeInclusive<T>,
    unit: &str,
) -> Result<T, Failure> {
    if range.contains(&value) {
        return Ok(value);
    }
    let text = format!("{option} is {value}; choose {} to {} {unit}", range.start(), range.end());
    Err(Failure::Usage(text.trim_end().to_string()))
}

/// Parses a number of bytes: a whole number, optionally with a unit such as `MiB`.
///
/// # Errors
///
/// A text that shows how to write the number.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 5] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
    let unit = UNITS.iter().find_map(|&(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let number = digits.trim_end().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.ok_or_else(|| "write bytes such as 4096, 512MiB or 8GiB".to_string())
}

/// Parses a whole number with an optional suffix `k`, `M` or `G` for thousands, millions or
/// billions.
///
/// # Errors
///
/// A text that shows how to write the number.
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
