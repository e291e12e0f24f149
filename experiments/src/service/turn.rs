//! One turn against a server, and what it gives.

use super::client::{Outcome, Turn};
use super::ledger::Counts;
use super::loads::{Load, Pattern, Transfers};
use super::process::{Server, Setup};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;
use xtasking_harness::failure::Wrong;
use xtasking_harness::machine::{cores, pin};

/// What all turns have in common.
#[derive(Clone, Copy)]
pub(super) struct Workload {
    pub accounts: usize,
    pub connections: usize,
    pub time: Duration,
    pub seed: u64,
    /// Where the server's runtime is shown, if it has one.
    pub page: Option<SocketAddr>,
}

/// What was measured in one turn.
pub(super) struct Measured {
    pub counts: Counts,
    /// Halves of failed transfers that the accounts contain.
    pub halves: u64,
    time: Duration,
    /// CPU time of the server in microseconds.
    cpu: u64,
    /// Bytes by which the server's memory has grown.
    pub grown: u64,
    /// In ascending order, in nanoseconds.
    latencies: Vec<u64>,
}

/// The length of the turn before the measurement, to warm up connections and memory.
const WARM_UP: Duration = Duration::from_millis(20);
/// Transfers under way for each worker, in open loop and where the bank bounds them.
const MOST_PER_WORKER: usize = 8;

impl Workload {
    /// Returns what a server is started with. In a closed loop the connections bound the transfers
    /// under way, and none is refused.
    pub fn setup(&self, load: Load, workers: usize) -> Setup {
        let most = match load {
            Load::Closed(_) => self.connections,
            Load::Open { .. } => workers * MOST_PER_WORKER,
        };
        Setup { workers, accounts: self.accounts, most, page: self.page }
    }

    /// Sends the transfers of a turn to a server that was started for it, and checks all answers.
    ///
    /// # Errors
    ///
    /// If a connection fails or an answer is wrong.
    pub fn turn(
        self,
        server: &Server,
        load: Load,
        workers: usize,
        steps_per_microsecond: f64,
    ) -> Result<Measured, Wrong> {
        let steps = match load {
            Load::Closed(_) => 0,
            Load::Open { micros, .. } => (f64::from(micros) * steps_per_microsecond) as u64,
        };
        let turn = self.connect(server, load.pattern(), steps, 1);
        let schedule = load.schedule(workers, self.time, self.seed);
        let measured = thread::scope(|scope| {
            let client = scope.spawn(|| {
                if workers < cores() {
                    // The server has the first core.
                    pin(1, cores());
                }
                self.measure(server, turn, schedule)
            });
            client.join()
        });
        measured.unwrap_or_else(|_| Err(Wrong::new("the client panicked")))
    }

    /// Sends transfers, after others that warm up the server.
    fn measure(
        self,
        server: &Server,
        turn: Turn,
        schedule: Option<Vec<Duration>>,
    ) -> Result<Measured, Wrong> {
        let Outcome { mut ledger, .. } = self.connect(server, Pattern::Uniform, 0, 0).run(WARM_UP, None)?;
        let before = server.usage()?;
        let outcome = turn.run(self.time, schedule)?;
        let (after, counts) = (server.usage()?, outcome.ledger.counts);
        ledger.add(outcome.ledger)?;
        let halves = ledger.check(&server.accounts()?)?;
        let mut latencies = outcome.latencies;
        latencies.sort_unstable();
        let (cpu, grown) = (after.cpu - before.cpu, after.memory.saturating_sub(before.memory));
        Ok(Measured { counts, halves, time: outcome.time, cpu, grown, latencies })
    }

    /// Returns connections to a server, which send transfers of a computation of `steps`.
    fn connect(self, server: &Server, pattern: Pattern, steps: u64, number: usize) -> Turn {
        let streams = (0..self.connections).map(|connection| number * self.connections + connection);
        let transfers = |stream| Transfers::new(pattern, self.accounts, steps, self.seed, stream);
        Turn {
            address: server.address,
            accounts: self.accounts,
            connections: streams.map(transfers).collect(),
        }
    }
}

impl Measured {
    fn served(&self) -> f64 {
        (self.counts.done + self.counts.failed) as f64
    }

    /// Returns the number of transfers that were served in a second.
    pub fn per_second(&self) -> f64 {
        self.served() / self.time.as_secs_f64()
    }

    /// Returns the number of transfers that were served in a second of the server's CPU time.
    pub fn per_cpu_second(&self) -> f64 {
        self.served() / self.cpu as f64 * 1e6
    }

    /// Returns the share of transfers that were refused.
    pub fn refused(&self) -> f64 {
        let Counts { disabled, overloaded, .. } = self.counts;
        overloaded as f64 / (self.served() + (disabled + overloaded) as f64)
    }

    /// Returns the latency in microseconds that `percent` of the transfers that were served do not
    /// exceed.
    pub fn percentile(&self, percent: f64) -> f64 {
        let rank = (self.latencies.len() as f64 * percent / 100.0).ceil() as usize;
        self.latencies.get(rank.max(1) - 1).map_or(f64::NAN, |&nanos| nanos as f64 / 1e3)
    }
}
