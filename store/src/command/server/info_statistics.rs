//! INFO: the sections on commands and errors.

use super::super::Call;
use super::info::field;
use crate::server::Setting;

pub(super) fn commands(call: &mut Call<'_, '_>, text: &mut String) {
    for (name, counts) in call.server.statistics.commands() {
        let (calls, rejected, failed) = (counts.calls, counts.rejected, counts.failed);
        let microseconds = counts.nanoseconds / 1000;
        let each = if calls == 0 { 0.0 } else { microseconds as f64 / calls as f64 };
        let line = format_args!(
            "cmdstat_{name}:calls={calls},usec={microseconds},usec_per_call={each:.2},\
             rejected_calls={rejected},failed_calls={failed}"
        );
        field(text, line);
    }
}

pub(super) fn errors(call: &mut Call<'_, '_>, text: &mut String) {
    for (code, count) in call.server.statistics.errors() {
        field(text, format_args!("errorstat_{}:count={count}", String::from_utf8_lossy(&code)));
    }
}

pub(super) fn latencies(call: &mut Call<'_, '_>, text: &mut String) {
    if call.server.settings.number(Setting::LatencyTracking) == 0 {
        return;
    }
    let percentiles = call.server.settings.percentiles();
    for (name, times) in call.server.statistics.times() {
        let shown: Vec<String> = percentiles
            .iter()
            .map(|percentile| {
                let microseconds = times.percentile(*percentile) as f64 / 1000.0;
                format!("p{percentile}={microseconds:.3}")
            })
            .collect();
        field(text, format_args!("latency_percentiles_usec_{name}:{}", shown.join(",")));
    }
}
