//! One turn against a server, and what it gives.

use super::client::Client;
use super::requests::RequestKind;
use super::servers::Server;
use std::thread;
use std::time::Duration;
use xtasking_harness::failure::Wrong;
use xtasking_harness::machine::{cores, pin};

/// What all turns have in common.
#[derive(Clone, Copy)]
pub(super) struct Workload {
    pub keys: u64,
    pub value_size: usize,
    pub connections: usize,
    pub time: Duration,
    pub seed: u64,
}

/// What was measured in one turn.
pub(super) struct Measured {
    /// Requests a second, by the clock.
    pub by_clock: f64,
    /// Requests for each second of the server's CPU time.
    pub by_cpu: f64,
    /// Bytes by which the server's memory has grown for each key.
    pub bytes: f64,
}

impl Workload {
    /// Loads the keys, and then measures requests of a kind.
    ///
    /// # Errors
    ///
    /// If a connection fails, or a reply is wrong.
    pub fn turn(
        self,
        server: &Server,
        workers: usize,
        kind: RequestKind,
        pipeline: usize,
    ) -> Result<Measured, Wrong> {
        thread::scope(|scope| {
            let client = scope.spawn(|| {
                if workers < cores() {
                    // The server has the first core.
                    pin(1, cores());
                }
                self.turn_here(server, kind, pipeline)
            });
            client.join().unwrap_or_else(|_| Err(Wrong::new("the client panicked")))
        })
    }

    fn turn_here(self, server: &Server, kind: RequestKind, pipeline: usize) -> Result<Measured, Wrong> {
        let empty = server.memory()?;
        let mut client =
            Client::load(server.address, self.connections, self.keys, self.value_size, self.seed)?;
        let bytes = server.memory()?.saturating_sub(empty) as f64 / client.keys() as f64;
        // Warms up.
        client.run(kind, pipeline, self.time / 10)?;
        let before = server.cpu_time()?;
        let (requests, time) = client.run(kind, pipeline, self.time)?;
        let used = server.cpu_time()? - before;
        Ok(Measured { by_clock: requests as f64 / time.as_secs_f64(), by_cpu: requests as f64 / used, bytes })
    }
}
