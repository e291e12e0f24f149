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

use crate::facts::CpuLoad;

/// Bytes, in the largest unit of which there is one.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let power = (count.max(1).ilog2() / 10).min(UNITS.len() as u32 - 1);
    let unit = 1u64 << (10 * power);
    let name = UNITS[power as usize];
    // Hundredths, as far as there are any.
    let number = (count as f64 / unit as f64 * 100.0).round() / 100.0;
    format!("{number} {name}")
}

/// So many of something.
fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
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
        assert_eq!([0, 1023, 32 << 10].map(bytes), ["0 bytes", "1023 bytes", "32 KiB"]);
        assert_eq!([1280 << 10, 3 << 39, u64::MAX].map(bytes), ["1.25 MiB", "1.5 TiB", "16384 PiB"]);
        assert_eq!([count(1, "core", "cores"), count(2, "core", "cores")], ["1 core", "2 cores"]);
        assert_eq!([0.0, 0.256, 1.0].map(percent), ["0 %", "26 %", "100 %"]);
    }
}
