//! Tests of the hash map. They are one program, so that the expensive shared code is compiled once.

mod concurrent;
mod linearizability;
mod memory;
mod model;
mod requests;
mod scan;
