//! Compares the clocks with results computed by hand.

mod claims;
mod ends;
mod forks;
mod load;
mod outside;
mod replay;
mod waits;

use super::{Clocks, CoreTime, Costs, VirtualTime};
use std::sync::{Mutex, MutexGuard};
use xtasking::{QueuePolicy, Runtime};
use xtasking_testing::QUEUE_POLICIES;

/// A task takes 10 ns besides its body; everything else is free.
const COSTS: Costs = Costs {
    task: 10,
    unit: 0,
    local_push: 0,
    remote_push: 0,
    steal: 0,
    miss: 0,
    poll: 0,
    retry: 0,
    queue: 0,
};

fn begin(cores: usize, seed: u64) -> (Runtime, Clocks) {
    begin_with(cores, seed, QueuePolicy::default())
}

fn begin_with(cores: usize, seed: u64, pool: QueuePolicy) -> (Runtime, Clocks) {
    let (platform, clocks) = VirtualTime::new(cores, seed, COSTS);
    (Runtime::builder().platform(platform).pool(pool).build().unwrap(), clocks)
}

fn time(busy: u64, blocked: u64, idle: u64) -> CoreTime {
    CoreTime { busy, blocked, idle }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}
