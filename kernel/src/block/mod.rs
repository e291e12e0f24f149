//! A block device, on which [files](xkernel_files::Volume) are kept.
//!
//! ```text
//! let device = BlockDevice::take(machine)?;
//! let mut volume = Volume::open(device)?;
//! let log = volume.create("log")?;
//! volume.append(log, b"kept")?;
//! volume.commit()?;
//! ```
//!
//! A call hands requests to the device, and halts its core until they are done. Several cores use
//! the device at a time. It interrupts one of those that wait, the *receiver*, which notes what is
//! done and wakes the others. When the receiver goes on, it wakes them, too, and one of them
//! becomes the receiver.
//!
//! | file | what is in it |
//! |---|---|
//! | `device` | the device, by calls that wait |
//! | `queue` | the device's queue of requests |
//! | `slots` | the requests, and the cores that wait for them |
//! | `transfer` | the parts of a call, several at a time |

mod device;
mod queue;
mod slots;
mod transfer;

pub use device::BlockDevice;
