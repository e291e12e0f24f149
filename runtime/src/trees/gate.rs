//! Gates, and what claims count there.

use super::mode::Mode;
use super::node::NONE;
use super::queue::GateQueue;
use super::segments::Segments;
use crate::sync::{AtomicBool, AtomicU32, SpinMutex};
use core::ptr::NonNull;

/// A gate: a node with many nodes below.
pub(crate) struct GateSlot {
    /// Index of the node.
    pub node: AtomicU32,
    /// The gate above; [`NONE`] for the root.
    pub above: AtomicU32,
    /// Up while the queue is not empty; changed under the lock of the queue.
    pub flag: AtomicBool,
    /// Nodes in the homes right below, and [`IS_DUE`](super::node::IS_DUE) if it will be merged.
    pub load: AtomicU32,
    /// Gates right below.
    pub gates: AtomicU32,
    pub queue: SpinMutex<GateQueue>,
}

impl Default for GateSlot {
    fn default() -> Self {
        Self {
            node: AtomicU32::new(NONE),
            above: AtomicU32::new(NONE),
            flag: AtomicBool::new(false),
            load: AtomicU32::new(0),
            gates: AtomicU32::new(0),
            queue: SpinMutex::default(),
        }
    }
}

/// What a claim counts at a gate: one mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub gate: u32,
    pub mode: Mode,
    /// The slot of the gate: so it is looked up once.
    slot: NonNull<GateSlot>,
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        (self.gate, self.mode) == (other.gate, other.mode)
    }
}

impl Counted {
    #[inline(always)]
    pub fn new(gate: u32, slot: &GateSlot, mode: Mode) -> Self {
        Self { gate, mode, slot: NonNull::from(slot) }
    }

    /// Returns the slot of the gate, in the table of the claim.
    #[inline(always)]
    pub fn slot<'t>(&self, _: &'t Segments<GateSlot>) -> &'t GateSlot {
        // SAFETY: the slot is in this table: a tree has one, and its claims get no other. Slots
        // stay where they are until the table is dropped.
        unsafe { self.slot.as_ref() }
    }
}
