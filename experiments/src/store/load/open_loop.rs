//! Requests at a rate, with their latencies.
//!
//! Requests are due at the moments of a Poisson process, whether or not earlier ones are answered.
//! The latency of a request counts from the moment at which it was due. So a request that is sent
//! late, because the server or this program was slow, counts as slow.

use super::client::{Client, PATIENCE, Work, silent};
use super::kind::RequestKind;
use hdrhistogram::Histogram;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_harness::random::Random;

/// Requests at a rate.
pub(in crate::store) struct OpenLoop<'a> {
    pub kind: &'a RequestKind,
    /// Requests a second.
    pub rate: u64,
}

/// The system waits in whole milliseconds: what is due sooner is awaited without sleep.
const SHORT: Duration = Duration::from_millis(2);

/// The longest latency that is told from others, in nanoseconds.
const LONGEST: u64 = 600_000_000_000;

/// Returns a percentile in microseconds.
pub(in crate::store) fn micros(latencies: &Histogram<u64>, percentile: f64) -> f64 {
    latencies.value_at_percentile(percentile) as f64 / 1e3
}

impl OpenLoop<'_> {
    /// Sends requests as long as `goes_on` returns true of the time that has passed, and waits for
    /// the last answers. Returns the work and the latencies in nanoseconds.
    ///
    /// # Errors
    ///
    /// If a connection fails, or a reply is wrong.
    pub fn run(
        &self,
        client: &mut Client,
        mut goes_on: impl FnMut(Duration) -> bool,
    ) -> Result<(Work, Histogram<u64>), Wrong> {
        let mut latencies = Histogram::new_with_bounds(1, LONGEST, 3).expect("the bounds are valid");
        let mut source = client.source(self.kind);
        let mut random = Random::new(client.load.seed, &[self.rate]);
        let mean = 1e9 / self.rate as f64;
        // Nanoseconds from the begin, with a fraction.
        let mut due = 0.0;
        let (mut sent, mut answered) = (0u64, 0u64);
        let mut last_answer = Duration::ZERO;
        let mut is_over = false;
        let began = Instant::now();
        while !is_over || answered < sent {
            let now = began.elapsed();
            is_over = is_over || !goes_on(now);
            let before = sent;
            while !is_over && due <= now.as_nanos() as f64 {
                let next = sent as usize % client.connections.len();
                let mut out = client.connections[next].outgoing();
                source.request(due as u64, &client.dialect, &mut client.oracle, &mut out);
                sent += 1;
                due += mean * -(-random.fraction()).ln_1p();
            }
            let connections = client.connections.len();
            for number in (before..sent).take(connections) {
                client.connections[number as usize % connections].flush()?;
            }
            let next = Duration::from_nanos(due as u64).saturating_sub(began.elapsed());
            client.look(if is_over { SHORT } else { next.saturating_sub(SHORT) })?;
            let answers = answered;
            let record = |due| {
                answered += 1;
                latencies.saturating_record((began.elapsed().as_nanos() as u64).saturating_sub(due));
            };
            client.handle(record, |_, _, _| Ok(()))?;
            if answered > answers || answered == sent {
                last_answer = began.elapsed();
            } else if began.elapsed() > last_answer + PATIENCE {
                return Err(silent());
            }
        }
        Ok((Work { requests: answered, time: began.elapsed() }, latencies))
    }
}
