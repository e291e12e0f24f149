//! What the table of results leaves out: how long a batch takes, what loading takes, and who is ahead with which batches.

use super::database::Loaded;
use super::experiment::Case;
use crate::report::Measurement;
use std::collections::BTreeMap;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Findings {
    /// By contender and workers, in the order in which they started.
    loaded: Vec<(&'static str, usize, Loaded)>,
    /// Nanoseconds of each batch, by case, contender and workers.
    latencies: BTreeMap<(usize, &'static str, usize), Vec<u64>>,
    notes: Vec<String>,
}

/// The number that `percent` of some sorted ones do not exceed.
pub(super) fn percentile<T: Copy>(sorted: &[T], percent: usize) -> T {
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted[place.min(sorted.len() - 1)]
}

fn millis(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

impl Findings {
    /// A contender has loaded its table.
    pub(super) fn loaded(&mut self, name: &'static str, workers: usize, loaded: Loaded) {
        self.loaded.push((name, workers, loaded));
    }

    /// A turn took so long, batch by batch.
    pub(super) fn taken(&mut self, case: usize, name: &'static str, workers: usize, nanoseconds: Vec<u64>) {
        self.latencies.entry((case, name, workers)).or_default().extend(nanoseconds);
    }

    /// Everything was measured: adds to the results what is known besides.
    pub(super) fn complete(&mut self, cases: &[Case], rows: u64, results: &mut [Measurement]) {
        self.latencies.values_mut().for_each(|times| times.sort_unstable());
        self.notes.push("milliseconds of a batch, the median / 99 of 100, with so many workers:".to_string());
        for (number, case) in cases.iter().enumerate() {
            let of_case = self.latencies.range((number, "", 0)..(number + 1, "", 0));
            let times = of_case.map(|((_, name, workers), times)| {
                let [half, most] = [50, 99].map(|percent| millis(percentile(times, percent)));
                format!("{name} {workers}: {half:.2} / {most:.2}")
            });
            self.notes.push(format!("  {}: {}", case.name(), times.collect::<Vec<_>>().join(" · ")));
        }
        let loaded = self.loaded.iter().map(|(name, workers, loaded)| {
            let bytes = loaded.bytes.map(|bytes| format!(", {:.0} bytes a row", bytes as f64 / rows as f64));
            let seconds = loaded.nanoseconds as f64 / 1e9;
            format!("{name} {workers}: {seconds:.2} s{}", bytes.unwrap_or_default())
        });
        self.notes.push(format!("loading: {}", loaded.collect::<Vec<_>>().join(" · ")));
        self.notes.extend(ahead(cases, results));
        for result in results {
            let case = cases.iter().position(|case| case.name() == result.case);
            let name = |name: &str| result.implementation == name;
            for ((of, by, workers), times) in &self.latencies {
                if Some(*of) == case && name(by) && *workers == result.workers {
                    let detail = |percent| millis(percentile(times, percent));
                    result.details.extend([("batch_p50_ms", detail(50)), ("batch_p99_ms", detail(99))]);
                }
            }
            for (by, workers, loaded) in &self.loaded {
                if name(by) && *workers == result.workers {
                    result.details.push(("load_seconds", loaded.nanoseconds as f64 / 1e9));
                    let bytes = loaded.bytes.map(|bytes| ("bytes_a_row", bytes as f64 / rows as f64));
                    result.details.extend(bytes);
                }
            }
        }
    }

    /// A line each.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// For every mix and every contender but the first, with which batches it is ahead of the first; each with as many workers
/// as are best for it.
fn ahead(cases: &[Case], results: &[Measurement]) -> Vec<String> {
    let best = |case: &str, name: &str| {
        let of = results.iter().filter(|result| result.case == case && result.implementation == name);
        of.map(|result| result.summary.median).max_by(f64::total_cmp)
    };
    let mut names: Vec<&str> = Vec::new();
    for result in results {
        if !names.contains(&result.implementation.as_str()) {
            names.push(&result.implementation);
        }
    }
    let Some((first, others)) = names.split_first() else { return Vec::new() };
    let mut mixes: Vec<&str> = cases.iter().map(|case| case.mix.name()).collect();
    mixes.dedup();
    let mut lines = Vec::new();
    for mix in mixes {
        for other in others {
            let of_mix = cases.iter().filter(|case| case.mix.name() == mix);
            let sizes: Vec<_> = of_mix
                .filter(|case| best(&case.name(), other) > best(&case.name(), first))
                .map(|case| case.requests.to_string())
                .collect();
            lines.push(match sizes.is_empty() {
                true => format!("{mix}: {other} is never ahead of {first}"),
                false => format!("{mix}: {other} is ahead of {first} with batches of {}", sizes.join(", ")),
            });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_numbers() {
        let numbers: Vec<u64> = (1..=200).collect();
        assert_eq!([50, 99, 100].map(|percent| percentile(&numbers, percent)), [100, 198, 200]);
        assert_eq!([1, 50, 99].map(|percent| percentile(&[7], percent)), [7; 3]);
    }
}
