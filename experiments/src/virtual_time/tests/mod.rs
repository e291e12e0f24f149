//! What the clocks say is what can be computed by hand.

mod claims;

use super::{Clocks, CoreTime, Costs, VirtualTime};
use xtasking::{Pool, Runtime};

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

fn begin(cores: usize, seed: u64) -> (Runtime, Clocks) {
    begin_with(cores, seed, Pool::default())
}

fn begin_with(cores: usize, seed: u64, pool: Pool) -> (Runtime, Clocks) {
    let (platform, clocks) = VirtualTime::new(cores, seed, COSTS);
    (Runtime::builder().platform(platform).pool(pool).build().unwrap(), clocks)
}

fn busy(clocks: &Clocks) -> Vec<u64> {
    clocks.cores().iter().map(|core| core.busy).collect()
}
