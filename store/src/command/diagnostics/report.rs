//! LATENCY DOCTOR: what the monitor has seen, for people.

use crate::server::LatencyEvent;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Writes a report of the events that took longer than the threshold, in ms.
pub(super) fn report(events: &BTreeMap<&'static str, LatencyEvent>, threshold: i64) -> String {
    if threshold == 0 {
        return "The latency monitor is off. CONFIG SET latency-monitor-threshold MILLISECONDS turns it on.\n"
            .to_owned();
    }
    if events.is_empty() {
        return format!("Nothing has taken {threshold} ms or more.\n");
    }
    let mut text = format!("These took {threshold} ms or more:\n");
    for (name, event) in events {
        let times = event.samples.iter().map(|(_, milliseconds)| milliseconds);
        let mean = times.sum::<u64>() / (event.samples.len() as u64).max(1);
        // A string takes all text.
        let _ = writeln!(
            text,
            "{name}: in {} seconds, {mean} ms in the mean, {} ms at most. {}",
            event.samples.len(),
            event.longest,
            advice(name)
        );
    }
    text
}

fn advice(event: &str) -> &'static str {
    match event {
        "command" => "SLOWLOG GET has the requests; SCAN and its kin do the same work in parts.",
        "fast-command" => {
            "These take constant time: look at large values, and whether others use the machine."
        }
        "expire-cycle" => "Large values have expired.",
        "eviction-cycle" => "Keys were evicted: look at maxmemory, and at large values.",
        _ => "",
    }
}
