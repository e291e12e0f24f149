//! The log, on the machine's block device if it has one.

use crate::Outcome;
use std::num::NonZeroUsize;
use xkernel::block::BlockDevice;
use xkernel::{DeviceError, Machine};
use xtasking_storage::Files;

/// Threads of a log: one writes it, one takes snapshots. Each has a core of its own.
const THREADS: usize = 2;

/// Returns the files of the block device; `None` if the machine has none.
pub fn files(machine: &Machine) -> Outcome<Option<Files<BlockDevice>>> {
    match BlockDevice::take(machine) {
        Ok(device) => Ok(Some(Files::open(device)?)),
        Err(DeviceError::Missing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns how many workers there can be, with a log or without.
pub fn workers(machine: &Machine, has_log: bool) -> Outcome<usize> {
    let cores = machine.topology().cores.len();
    let left = cores.checked_sub(if has_log { THREADS } else { 0 }).and_then(NonZeroUsize::new);
    let error = || format!("a store with a disk needs at least {} cores", THREADS + 1);
    Ok(left.ok_or_else(error)?.get())
}
