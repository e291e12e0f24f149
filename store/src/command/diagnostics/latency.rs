//! LATENCY: the events that took long, and the times of commands.

use super::super::table::find;
use super::super::{Call, CommandError, CommandResult};
use super::graph::draw;
use super::report::report;
use crate::server::{Histogram, LatencyEvent, Setting, longest_beside};
use std::collections::BTreeMap;

pub(super) fn latest(call: &mut Call<'_, '_>) -> CommandResult {
    let events = call.server.latency.events();
    call.reply.array(events.len());
    for (name, event) in events {
        let (at, milliseconds) = event.samples.back().copied().unwrap_or_default();
        call.reply.array(4);
        call.reply.bulk(name.as_bytes());
        for number in [at, milliseconds, event.longest] {
            call.reply.integer(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }
    call.done()
}

pub(super) fn history(call: &mut Call<'_, '_>) -> CommandResult {
    let LatencyEvent { samples, .. } = call.server.latency.event(call.args.at(2)).unwrap_or_default();
    call.reply.array(samples.len());
    for (at, milliseconds) in samples {
        call.reply.array(2);
        for number in [at, milliseconds] {
            call.reply.integer(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }
    call.done()
}

pub(super) fn reset(call: &mut Call<'_, '_>) -> CommandResult {
    let names: Vec<&[u8]> = call.args.skip(2).iter().collect();
    call.count(call.server.latency.reset(&names))
}

pub(super) fn graph(call: &mut Call<'_, '_>) -> CommandResult {
    let name = call.args.at(2);
    let Some(event) = call.server.latency.event(name) else {
        return Err(CommandError::with_arg("ERR No samples available for event '", name, "'"));
    };
    let text = draw(&String::from_utf8_lossy(name), &event, call.now() / 1000);
    call.reply.verbatim("txt", text.as_bytes());
    call.done()
}

pub(super) fn doctor(call: &mut Call<'_, '_>) -> CommandResult {
    let threshold = call.server.settings.number(Setting::LatencyMonitorThreshold);
    let text = report(&call.server.latency.events(), threshold);
    call.reply.verbatim("txt", text.as_bytes());
    call.done()
}

/// The times of the commands that were asked for: of a container those of its subcommands.
fn wanted_times(call: &Call<'_, '_>) -> Vec<(&'static str, Histogram)> {
    let all = call.server.statistics.times();
    let names = call.args.skip(2);
    if names.is_empty() {
        return all.into_iter().collect();
    }
    names.iter().flat_map(|name| times_of(&all, name)).collect()
}

fn times_of(all: &BTreeMap<&'static str, Histogram>, name: &[u8]) -> Vec<(&'static str, Histogram)> {
    let name = name.to_ascii_lowercase();
    let container = find(&name).filter(|command| !command.subcommands.is_empty());
    let is_wanted = |known: &str| {
        known.as_bytes() == name
            || container.is_some_and(|container| known.split('|').next() == Some(container.name))
    };
    let found = all.iter().filter(|(known, _)| is_wanted(known));
    found.map(|(known, times)| (*known, times.clone())).collect()
}

/// For each command the number of calls, and of those that took at most 1, 2, 4 … microseconds, as
/// far as there are more than in the line before.
pub(super) fn histogram(call: &mut Call<'_, '_>) -> CommandResult {
    let wanted = wanted_times(call);
    let reply = &mut *call.reply;
    reply.map(wanted.len());
    for (name, times) in wanted {
        reply.bulk(name.as_bytes());
        reply.map(2);
        reply.bulk(b"calls");
        reply.integer(i64::try_from(times.calls()).unwrap_or(i64::MAX));
        reply.bulk(b"histogram_usec");
        let buckets = buckets(&times);
        reply.map(buckets.len());
        for (microseconds, calls) in buckets {
            reply.integer(microseconds);
            reply.integer(calls);
        }
    }
    call.done()
}

fn buckets(times: &Histogram) -> Vec<(i64, i64)> {
    let (mut shown, mut before) = (Vec::new(), 0);
    for nanoseconds in (10..).map(|power| 1u64 << power) {
        if before == times.calls() {
            break;
        }
        let calls = times.calls_up_to(nanoseconds);
        if calls > before {
            let microseconds = longest_beside(nanoseconds) / 1000;
            shown.push((microseconds as i64, i64::try_from(calls).unwrap_or(i64::MAX)));
            before = calls;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{Histogram, buckets};

    #[test]
    fn buckets_are_those_of_redis() {
        let mut times = Histogram::default();
        for (nanoseconds, calls) in [(900, 3), (1500, 1), (10_000, 7), (20_000, 1), (1_000_000_000, 2)] {
            times.record(nanoseconds, calls);
        }
        assert_eq!(buckets(&times), [(1, 3), (2, 4), (16, 11), (33, 12), (1_082_130, 14)]);
    }
}
