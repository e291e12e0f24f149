//! The whole runtime under random schedules: every atomic access, every park and every wake is a
//! point where the scheduler may switch threads, and a seed decides.
//!
//! ```text
//! bash .ci/shuttle                                    all tests, a thousand schedules each
//! XTASKING_SCHEDULES=20 bash .ci/shuttle              20 times as many
//! XTASKING_SEED=1234 bash .ci/shuttle a_test's_name   the schedule of a failure
//! ```
//! One thread runs at a time, so this finds errors between whole steps: lost wake-ups, tasks that
//! are lost or run twice, deadlocks, and protocols that miss a case. Weak memory is left to the
//! models of single components. A thread that waits for ever appears as a deadlock, or as a
//! schedule that does not end.
//!
//! The program is compiled only with `--cfg 'model="shuttle"'`, which `.ci/shuttle` sets.

#![cfg(model = "shuttle")]

#[path = "../common/mod.rs"]
mod common;

mod blocking;
mod bundles;
mod ends;
mod failures;
mod forks;
mod groups;
mod handles;
mod memory;
mod platform;
mod primitives;
mod ranks;
mod resize;
mod schedules;
mod several;
mod spawning;
