//! How often a simulated disk fails.

/// How often a [`SimulatedDisk`](super::SimulatedDisk) fails. The default is never.
///
/// Each percentage is the probability of that fault in one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Reads and writes that do less than they were asked to, in percent.
    pub short: u8,
    /// Reads and writes that are interrupted, in percent.
    pub interrupted: u8,
    /// Operations that fail with an I/O error, in percent.
    pub errors: u8,
    /// Syncs that fail, and lose some of the data, in percent.
    pub failed_syncs: u8,
    /// The bytes of all files together, at most. Removed files count until they are closed.
    pub capacity: Option<u64>,
    /// The operation in which the power is cut, counted from now on; the first one is 0.
    pub power_cut: Option<u64>,
    /// The operation in which the process is killed, counted likewise. The system goes on, and
    /// keeps in its cache what was written.
    pub kill: Option<u64>,
}
