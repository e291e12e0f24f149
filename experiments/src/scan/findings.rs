//! Collects what the table of results leaves out: latencies of batches, costs of loading, and which
//! contender leads at which batch size.

use super::database::LoadResult;
use super::experiment::Case;
use std::collections::BTreeMap;
use xtasking_harness::report::Measurement;

/// Latencies and costs of loading.
#[derive(Default)]
pub(super) struct Findings {
    /// By contender and workers, in order of their start.
    loads: Vec<(&'static str, usize, LoadResult)>,
    /// Nanoseconds of each batch, by case, contender and workers.
    latencies: BTreeMap<(usize, &'static str, usize), Vec<u64>>,
    notes: Vec<String>,
}

/// Returns the given percentile of sorted numbers.
pub(super) fn percentile<T: Copy>(sorted: &[T], percent: usize) -> T {
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted[place.min(sorted.len() - 1)]
}

fn millis(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

impl Findings {
    /// Records that a contender has loaded its table.
    pub(super) fn add_load(&mut self, name: &'static str, workers: usize, loads: LoadResult) {
        self.loads.push((name, workers, loads));
    }

    /// Records the time of each batch of a turn.
    pub(super) fn add_turn(
        &mut self,
        case: usize,
        name: &'static str,
        workers: usize,
        nanoseconds: Vec<u64>,
    ) {
        self.latencies.entry((case, name, workers)).or_default().extend(nanoseconds);
    }

    /// Adds details to the results, and notes, after all measurements.
    pub(super) fn complete(&mut self, cases: &[Case], rows: u64, results: &mut [Measurement]) {
        self.latencies.values_mut().for_each(|times| times.sort_unstable());
        self.notes
            .push("milliseconds of a batch, by number of workers, median / 99th percentile:".to_string());
        for (number, case) in cases.iter().enumerate() {
            let of_case = self.latencies.range((number, "", 0)..(number + 1, "", 0));
            let times = of_case.map(|((_, name, workers), times)| {
                let [median, p99] = [50, 99].map(|percent| millis(percentile(times, percent)));
                format!("{name} {workers}: {median:.2} / {p99:.2}")
            });
            self.notes.push(format!("  {}: {}", case.name(), times.collect::<Vec<_>>().join(" · ")));
        }
        let loads = self.loads.iter().map(|(name, workers, loads)| {
            let bytes = loads.bytes.map(|bytes| format!(", {:.0} bytes a row", bytes as f64 / rows as f64));
            let seconds = loads.nanoseconds as f64 / 1e9;
            format!("{name} {workers}: {seconds:.2} s{}", bytes.unwrap_or_default())
        });
        self.notes.push(format!("loading: {}", loads.collect::<Vec<_>>().join(" · ")));
        self.notes.extend(compare_with_first(cases, results));
        for result in results {
            let case = cases.iter().position(|case| case.name() == result.case);
            let name = |name: &str| result.implementation == name;
            for ((of, by, workers), times) in &self.latencies {
                if Some(*of) == case && name(by) && *workers == result.workers {
                    let detail = |percent| millis(percentile(times, percent));
                    result.details.extend([("batch_p50_ms", detail(50)), ("batch_p99_ms", detail(99))]);
                }
            }
            for (by, workers, loads) in &self.loads {
                if name(by) && *workers == result.workers {
                    result.details.push(("load_seconds", loads.nanoseconds as f64 / 1e9));
                    let bytes = loads.bytes.map(|bytes| ("bytes_a_row", bytes as f64 / rows as f64));
                    result.details.extend(bytes);
                }
            }
        }
    }

    /// Returns the notes, a line each.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// For every mix and every contender but the first, lists the batch sizes at which it beats the
/// first; each with its best number of workers.
fn compare_with_first(cases: &[Case], results: &[Measurement]) -> Vec<String> {
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
                true => format!("{mix}: {other} is never faster than {first}"),
                false => {
                    format!("{mix}: {other} is faster than {first} with batches of {}", sizes.join(", "))
                }
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
