//! What a runtime is given: workers, pools of tasks, memory, and virtual cores. `behaviour` says which programs of tests
//! there are.

#[path = "../common/mod.rs"]
mod common;

mod limits;
mod pools;
mod resize;
mod simulation;
mod virtual_time;
