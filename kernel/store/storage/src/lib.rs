//! The traits of disks, the disk in memory, and files on a block device in place of a directory.
//!
//! All but `files` are the sources of the crate of this name, in `testing/storage`.

#![forbid(unsafe_code)]

mod files;
#[path = "../../../../testing/storage/src/interface.rs"]
mod interface;
#[path = "../../../../testing/storage/src/simulated/mod.rs"]
mod simulated;

pub use files::{Files, VolumeFile, VolumeLock};
pub use interface::{Disk, File};
pub use simulated::{Faults, SimulatedDisk, SimulatedFile, SimulatedLock};
