//! LATENCY GRAPH: the samples of an event as bars.

use crate::server::LatencyEvent;
use std::fmt::Write;

/// The lines of the bars.
const LINES: u64 = 8;

/// Draws the samples, the last one at the right.
pub(super) fn draw(name: &str, event: &LatencyEvent, now: u64) -> String {
    let times = || event.samples.iter().map(|(_, milliseconds)| *milliseconds);
    let (longest, shortest) = (times().max().unwrap_or(0), times().min().unwrap_or(0));
    let mut text = format!(
        "{name}: {} samples, from {shortest} to {longest} ms (longest of all: {} ms)\n",
        event.samples.len(),
        event.longest
    );
    for line in (0..LINES).rev() {
        let is_full = |milliseconds: u64| (milliseconds * LINES).div_ceil(longest.max(1)) > line;
        let bar: String = times().map(|time| if is_full(time) { '#' } else { ' ' }).collect();
        text.push_str(bar.trim_end());
        text.push('\n');
    }
    if let Some((first, _)) = event.samples.front() {
        // A string takes all text.
        let _ = writeln!(text, "the first is {} s old", now.saturating_sub(*first));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::server::LatencyEvent;

    #[test]
    fn bars_are_as_high_as_the_times() {
        let event = LatencyEvent { samples: [(1, 10), (2, 80), (5, 41)].into(), longest: 90 };
        let text = draw("command", &event, 7);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "command: 3 samples, from 10 to 80 ms (longest of all: 90 ms)");
        assert_eq!(lines[1..9], [" #", " #", " #", " ##", " ##", " ##", " ##", "###"]);
        assert_eq!(lines[9], "the first is 6 s old");
    }
}
