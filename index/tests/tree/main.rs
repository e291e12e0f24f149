//! Tests of the tree, in one program: what they share is compiled once, which is most of it.

mod common;

mod concurrent;
mod layouts;
mod linearizability;
mod memory;
mod model;
mod stale_top;
