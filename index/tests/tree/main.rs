//! Tests of the tree. They are one program, so that the expensive shared code is compiled once.

mod common;

mod bytes;
mod concurrent;
mod give_back;
mod in_place;
mod layouts;
mod linearizability;
mod load;
mod memory;
mod merge;
mod model;
mod ranges;
mod requests;
mod snapshot;
mod stale_top;
mod values;
