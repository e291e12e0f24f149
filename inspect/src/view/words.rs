//! Times and names in sentences.

use std::time::Duration;
use xtasking::metrics::{ObjectLabel, WaitingClaim};

/// Returns a time with its unit, such as `2.1 s`.
pub(crate) fn time(time: Duration) -> String {
    let nanoseconds = time.as_nanos() as f64;
    // A time that would be rounded to the next unit has that one.
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    match units.into_iter().find(|&(size, _)| nanoseconds >= 0.9995 * size) {
        Some((size, unit)) if nanoseconds >= 99.95 * size => format!("{:.0} {unit}", nanoseconds / size),
        Some((size, unit)) => format!("{:.1} {unit}", nanoseconds / size),
        None => format!("{nanoseconds} ns"),
    }
}

/// Returns a name between backticks, by which the page knows names in sentences.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

/// Returns what an object is called: its name, or its type and address.
pub(crate) fn label(object: &ObjectLabel) -> String {
    match &object.name {
        Some(name) => name.clone(),
        None => format!("{} at {:#x}", short(&object.data), object.address),
    }
}

/// Returns the path of a type without the modules in it.
fn short(path: &str) -> String {
    let mut short = String::new();
    for part in path.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        short += part.rsplit("::").next().unwrap_or(part);
    }
    short
}

/// Returns the ranges that a claim waits for, and of what.
pub(crate) fn ranges(claim: &WaitingClaim) -> String {
    /// Ranges that are named; of more, the others are counted.
    const NAMED: usize = 3;
    let named = claim.ranges.iter().take(NAMED).map(|range| match range.len() {
        1 => format!("{}", range.start),
        _ => format!("{}..{}", range.start, range.end),
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if claim.ranges.len() > NAMED {
        text += &format!(" and {} more", claim.ranges.len() - NAMED);
    }
    format!("{text} of {}", short(&claim.data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        for (nanoseconds, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_500, "1.5 µs"),
            (999_400, "999 µs"),
            (999_999, "1.0 ms"),
            (999_999_999, "1.0 s"),
            (2_140_000_000, "2.1 s"),
            (152_300_000, "152 ms"),
        ] {
            assert_eq!(time(Duration::from_nanos(nanoseconds)), text);
        }
    }

    #[test]
    fn types_lose_their_modules() {
        for (path, name) in [
            ("u64", "u64"),
            ("bank::Account", "Account"),
            ("alloc::vec::Vec<(core::option::Option<a::B>, u8)>", "Vec<(Option<B>, u8)>"),
        ] {
            assert_eq!(short(path), name);
        }
    }

    #[test]
    fn a_quoted_name_has_no_further_quotes() {
        assert_eq!(quoted("a`b"), "`a'b`");
    }
}
