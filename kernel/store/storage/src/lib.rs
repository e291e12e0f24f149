//! The disk in memory and the traits of disks. This machine has no directory of files.
//!
//! The sources are those of the crate of this name, in `testing/storage`.

#![forbid(unsafe_code)]

#[path = "../../../../testing/storage/src/interface.rs"]
mod interface;
#[path = "../../../../testing/storage/src/simulated/mod.rs"]
mod simulated;

pub use interface::{Disk, File};
pub use simulated::{Faults, SimulatedDisk, SimulatedFile, SimulatedLock};
