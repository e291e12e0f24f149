//! Facts as a person sees them: a drawing of the machine with what it is doing.
//!
//! Both drawings show all that the facts hold. Parts of a machine that are alike are drawn as one, so that 256 CPUs stay
//! readable. What is not known is not drawn; the gaps stand at the end.

mod outline;
mod remarks;
mod svg;
mod text;

#[cfg(test)]
mod machines;

pub use svg::svg;
pub use text::text;

use crate::facts::{CpuLoad, CpuSet};

/// So many of something.
fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// CPUs by number.
fn named(cpus: &CpuSet) -> String {
    match cpus.len() {
        0 => "no CPU".to_string(),
        1 => format!("CPU {cpus}"),
        _ => format!("CPUs {cpus}"),
    }
}

/// What a CPU did, in the order in which it is drawn: for this process, for others, for those that give way, and what
/// was taken from it.
fn shares(load: &CpuLoad) -> [f64; 4] {
    // What is no number is nothing.
    [load.own, load.others, load.nice, load.steal].map(|share| if share > 0.0 { share.min(1.0) } else { 0.0 })
}

/// A share of a whole.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([count(1, "core", "cores"), count(2, "core", "cores")], ["1 core", "2 cores"]);
        assert_eq!(
            ["", "3", "0-1,4"].map(|list| named(&list.parse().unwrap())),
            ["no CPU", "CPU 3", "CPUs 0-1,4"]
        );
        assert_eq!([0.0, 0.256, 1.0].map(percent), ["0 %", "26 %", "100 %"]);
    }
}
