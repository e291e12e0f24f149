//! Devices: how they are found, how they interrupt, and how workers look at them.
//!
//! A device is a *source of events*, and belongs to a worker. It reports by advancing counters in
//! memory, and then interrupts the core of its worker. The interrupt only ends a halt: the worker
//! looks at the counters, and spawns a task for the device. A core that waits for a block device is
//! interrupted by it, and looks itself.
//!
//! | file | what is in it |
//! |---|---|
//! | `counters` | the counters of a device, and the core that it interrupts |
//! | `memory` | memory and registers that kernel and device share |
//! | `msix` | the table that says which core a device interrupts |
//! | `pci` | the bus on which devices are found |
//! | `queues` | the queue of events of each worker |
//! | `registers` | where the registers of a device are |
//! | `transport` | a virtio device on that bus |

#[cfg(target_os = "none")]
mod counters;
#[cfg(target_os = "none")]
mod memory;
mod msix;
#[cfg(target_os = "none")]
mod pci;
#[cfg(target_os = "none")]
mod queues;
#[cfg(any(test, target_os = "none"))]
mod registers;
#[cfg(target_os = "none")]
mod transport;

#[cfg(target_os = "none")]
pub(crate) use counters::Counters;
#[cfg(target_os = "none")]
pub(crate) use memory::{Buffers, DeviceMemory};
#[cfg(target_os = "none")]
pub(crate) use pci::take;
#[cfg(target_os = "none")]
pub use pci::{DeviceError, DeviceKind};
#[cfg(target_os = "none")]
pub(crate) use queues::{DeviceQueues, NOWHERE};
#[cfg(target_os = "none")]
pub(crate) use transport::{Doorbells, Transport};
