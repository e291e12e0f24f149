//! What a runtime is given: workers and their number, pools of tasks, memory, and virtual cores. `behaviour` says which programs of tests
//! there are.

#[path = "../common/mod.rs"]
mod common;

mod limits;
mod managed;
// Elsewhere threads cannot be bound.
#[cfg(target_os = "linux")]
mod placement;
mod pools;
mod ranks;
mod resize;
mod simulation;
mod virtual_queue;
mod virtual_size;
mod virtual_time;
