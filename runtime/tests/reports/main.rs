//! What a runtime tells of itself while it runs, and afterwards. `behaviour` says which programs of tests there are.

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "tracing")]
mod spans;
mod statistics;
mod timeline;
mod watchdog;
