//! Files of a durable program, such as the log and the snapshots of a store: on a real disk, or on
//! a simulated one that fails by seed.
//!
//! A program that keeps its promises over a power cut writes through the traits [`Disk`] and
//! [`File`]. [`Directory`] implements them by files of the operating system. [`SimulatedDisk`]
//! implements them in memory, with the [`Faults`] that disks and kernels are known for:
//!
//! | fault | what happens |
//! |---|---|
//! | short reads and writes | an operation does less than it was asked to |
//! | interruption | it fails with [`Interrupted`], and may be repeated |
//! | I/O error | it fails; a write may have been made in part |
//! | full disk | a write is short, and the next one fails with [`StorageFull`] |
//! | failed sync | some of the data is lost, and the *next* sync succeeds nevertheless |
//! | kill | all fails from then on; what was written is there for the next process |
//! | power cut | all fails from then on; of what was not synced, any part may be there |
//!
//! After a power cut, unsynced writes are lost, torn within a sector, or made in another order.
//! Names that were created, renamed or removed since the last
//! [`sync_names`](Disk::sync_names) are old or new, each by itself.
//!
//! ```
//! use xtasking_storage::{Disk, File, SimulatedDisk};
//!
//! let mut disk = SimulatedDisk::new(1);
//! let mut log = disk.create("log")?;
//! log.append_all(b"kept")?;
//! log.sync()?;
//! disk.sync_names()?;
//! log.append_all(b"not promised")?;
//! disk.cut_power();
//! assert!(log.append_all(b"too late").is_err());
//!
//! disk.restart();
//! let log = disk.open("log")?;
//! let mut kept = [0; 4];
//! log.read_exact_at(0, &mut kept)?;
//! assert_eq!(&kept, b"kept");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `interface` | the traits |
//! | `directory` | files of the operating system |
//! | `simulated` | the disk that fails by seed |
//!
//! [`Interrupted`]: std::io::ErrorKind::Interrupted
//! [`StorageFull`]: std::io::ErrorKind::StorageFull

#![forbid(unsafe_code)]

mod directory;
mod interface;
mod simulated;

pub use directory::{Directory, SystemFile, SystemLock};
pub use interface::{Disk, File};
pub use simulated::{Faults, SimulatedDisk, SimulatedFile, SimulatedLock};
