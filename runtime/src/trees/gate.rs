//! Gates, and what claims count there.

use super::mode::{COUNTED, Mode};
use super::node::NONE;
use super::queue::GateQueue;
use super::segments::Segments;
use crate::sync::{AtomicBool, AtomicU32, Relaxed, SpinMutex};
use core::ptr::NonNull;

/// A gate: a node with many nodes below.
pub(crate) struct GateSlot {
    /// The number of the record, which stays the same.
    pub number: AtomicU32,
    /// Index of the node.
    pub node: AtomicU32,
    /// The gate above; [`NONE`] for the root.
    pub above: AtomicU32,
    /// Counted up before and after each move of the gate: a way up that looks as before may have
    /// been another one meanwhile.
    pub moves: AtomicU32,
    /// Up while the queue is not empty; changed under the lock of the queue.
    pub flag: AtomicBool,
    /// Nodes in the clusters right below, and [`IS_DUE`](super::node::IS_DUE) if it will be merged.
    pub load: AtomicU32,
    /// Gates right below.
    pub gates: AtomicU32,
    pub queue: SpinMutex<GateQueue>,
}

impl GateSlot {
    #[inline(always)]
    pub fn number(&self) -> u32 {
        // Relaxed: stored before any other thread could know the record.
        self.number.load(Relaxed)
    }
}

impl Default for GateSlot {
    fn default() -> Self {
        Self {
            number: AtomicU32::new(NONE),
            node: AtomicU32::new(NONE),
            above: AtomicU32::new(NONE),
            moves: AtomicU32::new(0),
            flag: AtomicBool::new(false),
            load: AtomicU32::new(0),
            gates: AtomicU32::new(0),
            queue: SpinMutex::default(),
        }
    }
}

/// What a claim counts at a gate: one mode.
///
/// It is one word, so that the lists of most claims lie inside their states: the address of the
/// gate's record, so that it is looked up once, with the mode in the lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted(NonNull<GateSlot>);

/// The bits of a [`Counted`] that are its mode.
const MODE_BITS: usize = 0b11;
const _: () = assert!(COUNTED <= MODE_BITS && align_of::<GateSlot>() > MODE_BITS);

impl Counted {
    #[inline(always)]
    pub fn new(slot: &GateSlot, mode: Mode) -> Self {
        debug_assert!((mode as usize) < COUNTED, "{mode:?} is not counted");
        Self(NonNull::from(slot).map_addr(|address| address | mode as usize))
    }

    /// Returns the mode as a number: one of [`Mode::COUNTED`].
    #[inline(always)]
    pub fn column(self) -> usize {
        self.0.addr().get() & MODE_BITS
    }

    #[inline(always)]
    pub fn mode(self) -> Mode {
        Mode::COUNTED[self.column()]
    }

    /// Returns true if it is at this gate.
    #[inline(always)]
    pub fn is_at(self, gate: &GateSlot) -> bool {
        self.gate() == core::ptr::from_ref(gate)
    }

    /// Returns the record of the gate, in the table of the claim.
    #[inline(always)]
    pub fn slot(self, _: &Segments<GateSlot>) -> &GateSlot {
        // SAFETY: without the mode it is the pointer that `new` got. The record is in this table: a
        // tree has one, and its claims get no other. Records stay where they are until the table is
        // dropped.
        unsafe { &*self.gate() }
    }

    /// Returns the address of the gate's record.
    #[inline(always)]
    pub fn gate(self) -> *const GateSlot {
        self.0.as_ptr().cast_const().map_addr(|address| address & !MODE_BITS)
    }
}
