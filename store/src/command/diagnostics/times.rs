//! What becomes of the time of a request: the slow log and the latency monitor.

use super::super::{Command, Flags};
use super::redact::shown_args;
use crate::resp::Args;
use crate::server::{ClientInfo, Server, Setting};
use std::time::Instant;

/// Notes how long a request took, if that is long enough for the slow log or for the monitor.
pub(crate) fn note_time(
    server: &Server,
    client: &ClientInfo,
    command: &Command,
    args: Args<'_>,
    now: u64,
    nanoseconds: u64,
) {
    let microseconds = nanoseconds / 1000;
    let threshold = u64::try_from(server.settings.number(Setting::SlowlogLogSlowerThan));
    let is_slow = threshold.is_ok_and(|threshold| microseconds >= threshold);
    if is_slow && !command.flags.has(Flags::SKIP_SLOWLOG) {
        let most = usize::try_from(server.settings.number(Setting::SlowlogMaxLen)).unwrap_or(usize::MAX);
        server.slow_log.push(client, shown_args(command, args).into_iter(), now, microseconds, most);
    }
    let event = if command.flags.has(Flags::FAST) { "fast-command" } else { "command" };
    note_event(server, event, now, microseconds / 1000);
}

/// Notes that an event has ended, if it was long enough for the latency monitor.
pub(crate) fn note_event_since(server: &Server, event: &'static str, now: u64, began: Instant) {
    note_event(server, event, now, u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
}

/// Notes how many ms an event took, if that is long enough for the latency monitor.
fn note_event(server: &Server, event: &'static str, now: u64, milliseconds: u64) {
    let threshold = server.settings.number(Setting::LatencyMonitorThreshold) as u64;
    if threshold > 0 && milliseconds >= threshold {
        server.latency.add(event, now, milliseconds);
    }
}
