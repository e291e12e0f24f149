//! Tests of the tree. They are one program, so that the expensive shared code is compiled once.

mod common;

mod concurrent;
mod layouts;
mod linearizability;
mod memory;
mod model;
mod stale_top;
