//! The runtime with no operating system below.
//!
//! An image is a program that is linked with this kernel, and that a virtual machine boots. The
//! kernel brings the cores up, and is a [platform](xtasking::platform::Platform) for runtimes:
//! [`Cores`]. Nothing in it has control flow but tasks, the program, and handlers of interrupts
//! that only end a halt.
//!
//! ```text
//! #![no_std]
//! #![no_main]
//! #![forbid(unsafe_code)]
//!
//! xkernel::program!(run);
//!
//! fn run(machine: &'static xkernel::Machine) {
//!     let rt = machine.runtime().build().expect("a runtime");
//!     rt.task(()).spawn(|(), _cx| xkernel::println!("a task"));
//! }
//! ```
//!
//! `docs/explanation/kernel.md` in the repository says how it works, `kernel/README.md` how to run
//! it.
//!
//! | file | what is in it |
//! |---|---|
//! | `acpi` | the firmware's tables of cores and nodes |
//! | `bare` | the cores themselves, below any runtime |
//! | `block` | a block device |
//! | `boot` | from the loader to Rust |
//! | `calendar` | the date |
//! | `clock` | the counter of cycles as a clock |
//! | `console` | the serial port |
//! | `cores` | the cores: their jobs, sleep and wake-ups |
//! | `cpu` | registers, interrupts, what a core does for itself |
//! | `devices` | how devices are found, and how they interrupt |
//! | `lock` | a lock that spins |
//! | `machine` | what a program knows of the machine |
//! | `memory` | page tables, page frames by node, the heap |
//! | `network` | the network: a card, TCP, connections |
//! | `platform`, `platform/workers` | the platform of runtimes |
//! | `report` | panics, faults, the end |
//! | `start` | the order in which all of it begins |
//! | `unwind` | panics that unwind, by the standard library |

#![cfg_attr(not(test), no_std)]
// On the host only what needs no machine is compiled, for its tests.
#![cfg_attr(not(bare), allow(dead_code, unused_imports))]

extern crate alloc;
// For panics alone.
#[cfg(feature = "unwind")]
extern crate std;
// The unwinder, which the standard library calls.
#[cfg(feature = "unwind")]
extern crate unwinding as _;

mod acpi;
#[cfg(bare)]
pub mod bare;
#[cfg(bare)]
pub mod block;
#[cfg(bare)]
mod boot;
mod calendar;
#[cfg(bare)]
mod clock;
#[cfg(bare)]
mod console;
#[cfg(bare)]
mod cores;
#[cfg(bare)]
mod cpu;
mod devices;
mod lock;
#[cfg(bare)]
mod machine;
mod memory;
pub mod network;
#[cfg(bare)]
mod platform;
#[cfg(bare)]
mod report;
#[cfg(bare)]
mod start;
#[cfg(feature = "unwind")]
mod unwind;

#[cfg(bare)]
pub use console::print;
#[cfg(bare)]
pub use devices::{DeviceError, DeviceKind};
#[cfg(bare)]
pub use machine::Machine;
#[cfg(bare)]
pub use platform::Cores;
#[cfg(bare)]
pub use report::{ExitStatus, exit};

/// The largest number of cores. Further ones are not started.
pub const MAX_CORES: usize = 64;

/// Names the function that an image runs: `fn(&'static Machine)`.
///
/// The machine is switched off when it returns, with [`ExitStatus::Success`].
#[macro_export]
macro_rules! program {
    ($program:path) => {
        /// The kernel calls it when the machine is up.
        #[unsafe(no_mangle)]
        fn xkernel_program(machine: &'static $crate::Machine) {
            $program(machine)
        }
    };
}
