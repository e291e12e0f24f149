//! What the clocks say is what can be computed by hand.

mod claims;
mod ends;
mod forks;
mod load;
mod outside;
mod replay;
mod waits;

use super::{Clocks, CoreTime, Costs, VirtualTime};
use std::sync::{Mutex, MutexGuard};
use xtasking::{Links, Pool, Ranking, Runtime};

/// A task takes 10 ns besides its body, and nothing else takes any time.
const COSTS: Costs = Costs {
    task: 10,
    unit: 0,
    local_push: 0,
    remote_push: 0,
    steal: 0,
    miss: 0,
    look: 0,
    retry: 0,
    queue: 0,
};

/// All kinds.
const POOLS: [Pool; 8] = [
    Pool::Local,
    Pool::WorkStealing,
    Pool::XQueue(Links::Next),
    Pool::XQueue(Links::Neighbours),
    Pool::XQueue(Links::All),
    Pool::XQueue(Links::Kautz),
    Pool::Ranked(Ranking::Exact),
    Pool::Ranked(Ranking::Relaxed),
];

fn begin(cores: usize, seed: u64) -> (Runtime, Clocks) {
    begin_with(cores, seed, Pool::default())
}

fn begin_with(cores: usize, seed: u64, pool: Pool) -> (Runtime, Clocks) {
    let (platform, clocks) = VirtualTime::new(cores, seed, COSTS);
    (Runtime::builder().platform(platform).pool(pool).build().unwrap(), clocks)
}

fn time(busy: u64, blocked: u64, idle: u64) -> CoreTime {
    CoreTime { busy, blocked, idle }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}
