//! Draws a machine and its load, as text and as SVG.
//!
//! Both drawings show all facts. Equal parts are drawn as one, so that 256 CPUs stay readable.
//! Unknown facts are not drawn; gaps are listed at the end.

mod part_tree;
mod sections;
mod svg;
mod text;

#[cfg(test)]
mod test_machines;

pub use svg::svg;
pub use text::text;

use crate::facts::{CpuLoad, CpuSet};

/// Formats a number with its noun.
fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Formats a set of CPUs.
fn named(cpus: &CpuSet) -> String {
    match cpus.len() {
        0 => "no CPU".to_string(),
        1 => format!("CPU {cpus}"),
        _ => format!("CPUs {cpus}"),
    }
}

/// Returns the shares of a CPU's time in drawing order: own, others, niced, stolen.
fn shares(load: &CpuLoad) -> [f64; 4] {
    // A share that is not a number counts as zero.
    [load.own, load.others, load.nice, load.steal].map(|share| if share > 0.0 { share.min(1.0) } else { 0.0 })
}

/// Formats a share as a percentage.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        assert_eq!([count(1, "core", "cores"), count(2, "core", "cores")], ["1 core", "2 cores"]);
        assert_eq!(
            ["", "3", "0-1,4"].map(|list| named(&list.parse().unwrap())),
            ["no CPU", "CPU 3", "CPUs 0-1,4"]
        );
        assert_eq!([0.0, 0.256, 1.0].map(percent), ["0 %", "26 %", "100 %"]);
    }
}
