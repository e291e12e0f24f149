//! Observation of a runtime while it runs and afterwards. `behaviour` lists the test programs.

#[path = "../common/mod.rs"]
mod common;

mod inspection;
mod sessions;
#[cfg(feature = "tracing")]
mod spans;
mod statistics;
mod timeline;
mod watchdog;
