//! The whole runtime under random schedules: every access to an atomic, every park and every wake is a point where
//! another thread may go on, and a seed says which.
//!
//! ```text
//! bash .ci/shuttle                                    all tests, a thousand schedules each
//! XTASKING_SCHEDULES=20 bash .ci/shuttle              20 times as many
//! XTASKING_SEED=1234 bash .ci/shuttle a_test's_name   one schedule of one test, which a failure has named
//! ```
//! One thread runs at a time, so this finds what goes wrong between whole steps: lost wake-ups, tasks that get lost or
//! run twice, circles of waiting, protocols that miss a case. What weak memory does is for the models of the single
//! pieces. A thread that waits for ever is found as a deadlock, or as a schedule that does not end.
//!
//! It is only there under `--cfg 'model="shuttle"'`, which `.ci/shuttle` sets.

#![cfg(model = "shuttle")]

#[path = "../common/mod.rs"]
mod common;

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
