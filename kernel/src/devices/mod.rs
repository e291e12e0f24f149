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

#[cfg(bare)]
mod counters;
#[cfg(bare)]
mod memory;
mod msix;
#[cfg(bare)]
mod pci;
#[cfg(bare)]
mod queues;
#[cfg(any(test, bare))]
mod registers;
#[cfg(bare)]
mod transport;

#[cfg(bare)]
pub(crate) use counters::Counters;
#[cfg(bare)]
pub(crate) use memory::{Buffers, DeviceMemory};
#[cfg(bare)]
pub(crate) use pci::take;
#[cfg(bare)]
pub use pci::{DeviceError, DeviceKind};
#[cfg(bare)]
pub(crate) use queues::{DeviceQueues, NOWHERE};
#[cfg(bare)]
pub(crate) use transport::{Doorbells, Transport};
