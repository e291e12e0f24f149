//! What a claim holds, or waits for.

use super::counted_list::CountedList;
use super::mode::Mode;
use super::node::Node;
use super::short_list::ShortList;
use super::target_list::TargetList;
use crate::sync::{AtomicBool, AtomicU32, MODEL, UnsafeCell};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A node that a task claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub node: Node,
    /// Without what is below.
    pub alone: bool,
    pub write: bool,
}

impl Target {
    /// Returns how the target uses its node if that is a gate.
    pub(super) fn mode_at_gate(&self) -> Mode {
        match (self.alone, self.write) {
            (true, false) => Mode::ReadAlone,
            (true, true) => Mode::WriteAlone,
            (false, false) => Mode::Read,
            (false, true) => Mode::Write,
        }
    }
}

/// A target below gates, and the cluster in which it is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exact {
    pub cluster: u32,
    pub target: Target,
}

/// What a claim holds, with what it has registered for that.
pub(crate) struct Rights {
    pub targets: TargetList,
    pub counted: CountedList,
    /// Entries in the queues of gates.
    pub explicit: ShortList<(u32, Mode), 1>,
    /// Entries in the stripes.
    pub exact: ShortList<Exact, 2>,
    pub changes: Option<Box<Changes>>,
    /// The moves of all gates on the ways when a claim that may wait was registered, added up.
    pub moves: u32,
    /// Overtakes claims that wait, where it need not wait itself.
    pub is_unordered: bool,
}

/// What is left to do after a task that has changed the tree.
#[derive(Default)]
pub(crate) struct Changes {
    /// Clusters with too many nodes.
    pub splits: Vec<Node>,
    /// Gates with few nodes.
    pub merges: Vec<Node>,
    /// Gates that are none any more. Their records are free once the task has left.
    pub freed_gates: Vec<u32>,
}

/// A claim as the queues know it; its address is its identity there.
pub(crate) struct Registration {
    /// Entries that were not granted yet.
    pub pending: AtomicU32,
    /// A task that runs has entered a cluster where this claim has an entry, and they clash. So the
    /// entry is outdated, even if the node comes back there.
    pub is_displaced: AtomicBool,
    /// Accessed by one thread at a time: by the owner of the claim. While entries wait, that is the
    /// thread that will decrement `pending` to zero.
    pub rights: UnsafeCell<Rights>,
}

// SAFETY: `rights` moves between threads with `pending`, as stated there.
unsafe impl Send for Registration {}
// SAFETY: as for Send; `pending` is atomic.
unsafe impl Sync for Registration {}

impl Registration {
    /// Makes the registration of a claim that holds nothing.
    #[inline(always)]
    pub fn new(is_unordered: bool) -> Self {
        Self {
            pending: AtomicU32::new(0),
            is_displaced: AtomicBool::new(false),
            rights: UnsafeCell::new(Rights::new(is_unordered)),
        }
    }

    /// Makes the registration of a claim that holds nothing, like [`ShortList::init`].
    ///
    /// # Safety
    ///
    /// The place is valid for writes, and aligned. What is there is not dropped.
    #[inline(always)]
    pub unsafe fn init(place: *mut Self, is_unordered: bool) {
        // A field that is added has to be set below, too.
        let _ = |Self { pending: _, is_displaced: _, rights: _ }: &Self| ();
        // SAFETY: by the contract of this function. A cell has the layout of its value, but that
        // of a model.
        unsafe {
            if MODEL {
                return place.write(Self::new(is_unordered));
            }
            (&raw mut (*place).pending).write(AtomicU32::new(0));
            (&raw mut (*place).is_displaced).write(AtomicBool::new(false));
            Rights::init((&raw mut (*place).rights).cast(), is_unordered);
        }
    }

    /// Returns what the claim holds.
    ///
    /// # Safety
    ///
    /// The caller owns the claim, and has borrowed this nowhere else.
    #[expect(clippy::mut_from_ref, reason = "the owner of the claim is the only one to call this")]
    pub unsafe fn rights(&self) -> &mut Rights {
        // SAFETY: the caller is the only one that accesses it.
        self.rights.with_mut(|rights| unsafe { &mut *rights })
    }
}

impl Rights {
    /// Makes the rights of a claim that holds nothing.
    #[inline(always)]
    pub fn new(is_unordered: bool) -> Self {
        Self {
            targets: TargetList::new(),
            counted: CountedList::new(),
            explicit: ShortList::new(),
            exact: ShortList::new(),
            changes: None,
            moves: 0,
            is_unordered,
        }
    }

    /// Makes the rights of a claim that holds nothing in their place, like [`ShortList::init`].
    ///
    /// # Safety
    ///
    /// The place is valid for writes, and aligned. What is there is not dropped.
    #[inline(always)]
    unsafe fn init(place: *mut Self, is_unordered: bool) {
        // A field that is added has to be set below, too.
        let _ = |Self {
                     targets: _,
                     counted: _,
                     explicit: _,
                     exact: _,
                     changes: _,
                     moves: _,
                     is_unordered: _,
                 }: &Self| ();
        // SAFETY: by the contract of this function.
        unsafe {
            TargetList::init(&raw mut (*place).targets);
            CountedList::init(&raw mut (*place).counted);
            ShortList::init(&raw mut (*place).explicit);
            ShortList::init(&raw mut (*place).exact);
            (&raw mut (*place).changes).write(None);
            (&raw mut (*place).moves).write(0);
            (&raw mut (*place).is_unordered).write(is_unordered);
        }
    }

    /// Returns true if some of it lies outside.
    #[inline(always)]
    pub fn has_memory(&self) -> bool {
        let Self { targets, counted, explicit, exact, changes, moves: _, is_unordered: _ } = self;
        targets.has_memory()
            | counted.has_memory()
            | explicit.has_memory()
            | exact.has_memory()
            | changes.is_some()
    }

    /// Returns the mode of the claim's entry in the queue of a gate.
    pub fn explicit_at(&self, gate: u32) -> Option<Mode> {
        self.explicit.iter().find(|entry| entry.0 == gate).map(|entry| entry.1)
    }

    /// Returns what is left to do after the task, to add to it.
    pub fn changes(&mut self) -> &mut Changes {
        self.changes.get_or_insert_default()
    }
}
