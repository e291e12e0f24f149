//! Resources of a runtime: workers, queues of tasks, memory, and virtual cores. `behaviour` lists
//! the test programs.

#[path = "../common/mod.rs"]
mod common;

mod limits;
mod managed;
// On other systems threads cannot be bound.
#[cfg(all(target_os = "linux", not(bare)))]
mod placement;
mod pools;
#[cfg(all(unix, not(bare)))]
mod processes;
mod ranks;
mod resize;
mod simulation;
mod virtual_balance;
mod virtual_queue;
mod virtual_size;
mod virtual_time;
