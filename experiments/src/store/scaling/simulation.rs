//! An engine on virtual cores, with its connections.

use super::super::load::{EmbeddedLoad, Load, RequestKind};
use super::super::options::VirtualTimes;
use super::connection::{Turn, VirtualConnection, lock};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use xtasking::platform::{Clocks, Costs, Simulation};
use xtasking::{Object, Plain, Runtime};
use xtasking_harness::failure::Wrong;
use xtasking_store::Engine;
use xtasking_store::resp::Parser;

/// A store that is loaded.
pub(super) struct VirtualStore {
    rt: Runtime,
    clocks: Clocks,
    times: VirtualTimes,
    load: Arc<Mutex<EmbeddedLoad>>,
    connections: Vec<Object<Plain<VirtualConnection>>>,
}

/// What was counted in a turn.
pub(super) struct VirtualRate {
    /// Requests a second.
    pub rate: f64,
    /// The share of requests that did not run in place.
    pub late: f64,
}

/// Records that are loaded by one call.
const LOADED_AT_ONCE: u64 = 256;
/// The part of a turn before requests count.
const WARM_UP: u64 = 8;
/// Milliseconds since 1970 at which the store begins.
const BEGIN: u64 = 1_700_000_000_000;

fn failed(error: &dyn std::fmt::Display) -> Wrong {
    Wrong::new(error.to_string())
}

impl VirtualStore {
    /// Makes a store on a number of cores, and loads it.
    ///
    /// # Errors
    ///
    /// If a reply is wrong.
    pub fn new(load: Load, times: VirtualTimes, cores: usize) -> Result<Self, Wrong> {
        let (simulation, clocks) = Simulation::with_costs(cores, 1, load.seed, Costs::default());
        Self::on(simulation.calls_in_place(times.transfer), clocks, load, times, cores)
    }

    fn on(
        simulation: Simulation,
        clocks: Clocks,
        load: Load,
        times: VirtualTimes,
        cores: usize,
    ) -> Result<Self, Wrong> {
        let rt = Runtime::builder().platform(simulation).build().map_err(|error| failed(&error))?;
        let clock = clocks.clone();
        let builder = match times.shards {
            Some(shards) => Engine::builder().shards(shards),
            None => Engine::builder(),
        };
        let engine = builder.seed(load.seed).clock(move || BEGIN + clock.now() / 1_000_000);
        let engine = engine.build(&rt);
        let mut store = Self {
            rt,
            clocks,
            times,
            load: Arc::new(Mutex::new(EmbeddedLoad::new(load))),
            connections: Vec::new(),
        };
        store.fill(&engine, load.keys)?;
        let connection = |number: usize| {
            let connection = VirtualConnection::new(engine.clone(), number);
            store.rt.plain(connection).core(number % cores).build()
        };
        store.connections = (0..load.connections).map(connection).collect();
        Ok(store)
    }

    fn fill(&self, engine: &Engine, keys: u64) -> Result<(), Wrong> {
        let mut client = engine.client();
        let mut parser = Parser::default();
        for first in (0..keys).step_by(LOADED_AT_ONCE as usize) {
            lock(&self.load).load(first..keys.min(first + LOADED_AT_ONCE), parser.input());
            let (requests, _) = parser.parse();
            let expected = requests.len();
            let replies = client.run_all(requests).map_err(|error| failed(&error))?;
            if replies != b"+OK\r\n".repeat(expected) {
                return Err(Wrong::new("a record was not loaded"));
            }
        }
        Ok(())
    }

    /// Lets all connections send pipelines of requests for a virtual time in nanoseconds.
    ///
    /// # Errors
    ///
    /// If a reply is wrong.
    pub fn turn(&self, kind: &RequestKind, pipeline: usize, time: u64) -> Result<VirtualRate, Wrong> {
        lock(&self.load).begin(kind);
        let from = self.clocks.makespan() + time / WARM_UP;
        let turn = Arc::new(Turn {
            clocks: self.clocks.clone(),
            times: self.times,
            load: self.load.clone(),
            pipeline,
            connections: self.connections.len(),
            from,
            until: from + time,
            counted: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            late: AtomicU64::new(0),
            wrong: Mutex::default(),
        });
        let begun: Vec<_> = self.connections.iter().map(|connection| self.begin(connection, &turn)).collect();
        for done in begun {
            done.join().map_err(|error| failed(&error))?;
        }
        let [counted, requests, late] =
            [&turn.counted, &turn.requests, &turn.late].map(|count| count.load(Relaxed) as f64);
        if let Some(wrong) = lock(&turn.wrong).take() {
            return Err(wrong);
        }
        Ok(VirtualRate { rate: counted / (time as f64 / 1e9), late: late / requests.max(1.0) })
    }

    fn begin(&self, connection: &Object<Plain<VirtualConnection>>, turn: &Arc<Turn>) -> xtasking::Handle<()> {
        let (promise, done) = self.rt.promise();
        let (this, turn) = (connection.clone(), turn.clone());
        self.rt
            .task(connection.write())
            .spawn(move |connection, cx| connection.begin(turn, promise, &this, cx));
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Popularity;

    const TIMES: VirtualTimes = VirtualTimes { system: 8_000, request: 300, transfer: 0, shards: None };

    fn load(popularity: Popularity) -> Load {
        Load { keys: 1000, value_size: 8, connections: 16, popularity, seed: 1 }
    }

    fn rate(cores: usize, kind: &str, pipeline: usize, popularity: Popularity, transfer: u64) -> f64 {
        let load = load(popularity);
        let store = VirtualStore::new(load, VirtualTimes { transfer, ..TIMES }, cores).unwrap();
        let turn = store.turn(&kind.parse().unwrap(), pipeline, 2_000_000).unwrap();
        assert!(turn.late == 0.0, "requests run in place");
        turn.rate
    }

    #[test]
    fn a_core_does_what_the_costs_say() {
        // Half of the costs are those of the engine and of the tasks.
        let alone = rate(1, "get", 1, Popularity::Uniform, 0);
        assert!((100_000.0..1e9 / 8_300.0).contains(&alone), "{alone}");
    }

    #[test]
    fn cores_add_up_unless_they_meet_at_a_shard() {
        let times = |kind, pipeline, popularity, transfer| {
            let on = |cores| rate(cores, kind, pipeline, popularity, transfer);
            on(4) / on(1)
        };
        for kind in ["get", "set", "mget:4", "mset:3", "multi:2", "a"] {
            let ratio = times(kind, 16, Popularity::Uniform, 0);
            assert!((3.8..4.1).contains(&ratio), "{kind}: {ratio}");
        }
        let slow = times("get", 16, Popularity::Zipf, 20_000);
        assert!(slow < 3.0, "a line that is slow to come is a limit: {slow}");
    }
    /// Without calls in place all requests are late: each command of a transaction is one.
    #[test]
    fn the_share_of_late_requests_is_one_of_requests() {
        for kind in ["get", "multi:3", "mset:3"] {
            let (simulation, clocks) = Simulation::with_costs(2, 1, 1, Costs::default());
            let store = VirtualStore::on(simulation, clocks, load(Popularity::Uniform), TIMES, 2).unwrap();
            let turn = store.turn(&kind.parse().unwrap(), 8, 500_000).unwrap();
            assert!(turn.late > 0.999 && turn.late <= 1.0, "{kind}: {}", turn.late);
        }
    }
}
