//! What a claim counts at gates.

use super::gate::{Counted, GateSlot};
use super::key_map::KeyMap;
use super::mode::{Mode, Modes};
use super::short_list::ShortList;
use alloc::boxed::Box;
use core::ops::Deref;

/// Longer lists have an index: each gate on the way from a further target is looked for.
const MOST_SEARCHED: usize = 64;

/// Modes that a claim counts at gates, each once, ascending from the targets. With an intention at
/// a gate the claim has it at all gates above.
pub(crate) struct CountedList {
    list: ShortList<Counted, 12>,
    /// Made when a gate is first looked for in a long list.
    index: Option<Box<CountedIndex>>,
}

/// The modes that are counted at each gate, for the first part of a list.
#[derive(Default)]
struct CountedIndex {
    modes: KeyMap<*const GateSlot, Modes>,
    /// Entries of the list that are in the map.
    entered: usize,
}

impl CountedList {
    #[inline(always)]
    pub fn new() -> Self {
        Self { list: ShortList::new(), index: None }
    }

    /// Makes an empty list in its place, like [`ShortList::init`].
    ///
    /// # Safety
    ///
    /// The place is valid for writes, and aligned. What is there is not dropped.
    #[inline(always)]
    pub unsafe fn init(place: *mut Self) {
        // A field that is added has to be set below, too.
        let _ = |Self { list: _, index: _ }: &Self| ();
        // SAFETY: by the contract of this function.
        unsafe {
            ShortList::init(&raw mut (*place).list);
            (&raw mut (*place).index).write(None);
        }
    }

    /// Returns true if some of the list lies outside.
    #[inline(always)]
    pub fn has_memory(&self) -> bool {
        let Self { list, index } = self;
        list.has_memory() | index.is_some()
    }

    /// Adds a mode that the claim does not count at that gate yet.
    #[inline(always)]
    pub fn push(&mut self, counted: Counted) {
        self.list.push(counted);
    }

    /// Adds a mode unless the claim counts it at that gate.
    pub fn add(&mut self, gate: &GateSlot, mode: Mode) {
        if !self.modes_at(gate).has(mode) {
            self.push(Counted::new(gate, mode));
        }
    }

    /// Returns the modes that are counted at a gate.
    #[inline(always)]
    pub fn modes_at(&mut self, gate: &GateSlot) -> Modes {
        if self.list.len() > MOST_SEARCHED {
            return self.look_up(gate);
        }
        let here = self.list.iter().filter(|counted| counted.is_at(gate));
        here.fold(Modes::NONE, |modes, counted| modes.and(Modes::only(counted.mode())))
    }

    /// Returns true if the claim has an intention at a gate, or one that covers it.
    #[inline(always)]
    pub fn intends(&mut self, gate: &GateSlot, intention: Mode) -> bool {
        let modes = Modes::of(&[intention, Mode::IntendWrite]);
        if self.list.len() > MOST_SEARCHED {
            return self.look_up(gate).meets(modes);
        }
        let [same, wider] = [intention, Mode::IntendWrite].map(|mode| Counted::new(gate, mode));
        // What was counted last is asked for most.
        self.list.iter().rev().any(|counted| *counted == same || *counted == wider)
    }

    /// Looks a gate up in the index, into which the whole list is entered before.
    #[inline(never)]
    fn look_up(&mut self, gate: &GateSlot) -> Modes {
        let index = self.index.get_or_insert_default();
        if index.entered == 0 {
            index.modes.reserve(self.list.len());
        }
        for counted in &self.list[index.entered..] {
            let modes = index.modes_at(counted.gate()).and(Modes::only(counted.mode()));
            index.modes.insert(counted.gate(), modes);
        }
        index.entered = self.list.len();
        index.modes_at(gate)
    }

    #[inline(always)]
    pub fn truncate(&mut self, len: usize) {
        if let Some(index) = &mut self.index
            && !planted!("tree-index-outlives-its-list")
        {
            index.forget(self.list.get(len..index.entered).unwrap_or_default());
        }
        self.list.truncate(len);
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        self.list.clear();
        if self.index.is_some() {
            self.index = None;
        }
    }

    pub fn retain(&mut self, keeps: impl Fn(&Counted) -> bool) {
        self.index = None;
        self.list.retain(keeps);
    }
}

impl CountedIndex {
    fn modes_at(&self, gate: *const GateSlot) -> Modes {
        self.modes.get(gate).unwrap_or(Modes::NONE)
    }

    /// Takes out the entries at the end of the list.
    #[cold]
    fn forget(&mut self, last: &[Counted]) {
        for counted in last {
            let modes = self.modes_at(counted.gate()).without(counted.mode());
            self.modes.insert(counted.gate(), modes);
        }
        self.entered -= last.len();
    }
}

impl Deref for CountedList {
    type Target = [Counted];

    #[inline(always)]
    fn deref(&self) -> &[Counted] {
        &self.list
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The same steps on a vector that is searched, with lists that become long and short again.
    #[test]
    fn a_long_list_has_the_modes_of_a_short_one() {
        let gates: Vec<GateSlot> = (0..90).map(|_| GateSlot::default()).collect();
        let (mut list, mut vector) = (CountedList::new(), Vec::new());
        for step in 0..6000usize {
            let random = (step as u32).wrapping_mul(0x9E37_79B1) as usize >> 8;
            let (gate, mode) = (&gates[random % 90], Mode::COUNTED[random / 90 % 3]);
            match random >> 20 {
                0 if step % 30 == 0 => {
                    list.clear();
                    vector.clear();
                }
                1 if step % 10 == 0 => {
                    list.retain(|counted| counted.mode() != mode);
                    vector.retain(|counted: &Counted| counted.mode() != mode);
                }
                2 if step % 5 == 0 => {
                    let len = random % (vector.len() + 1);
                    list.truncate(len);
                    vector.truncate(len);
                }
                _ if vector.contains(&Counted::new(gate, mode)) => list.add(gate, mode),
                _ => {
                    list.add(gate, mode);
                    vector.push(Counted::new(gate, mode));
                }
            }
            assert_eq!(*list, *vector);
            for gate in [gate, &gates[step % 90]] {
                let is_here = |mode: &Mode| vector.contains(&Counted::new(gate, *mode));
                let modes: Vec<Mode> = Mode::COUNTED.into_iter().filter(is_here).collect();
                assert_eq!(list.modes_at(gate), Modes::of(&modes));
                let intends = modes.contains(&mode) || modes.contains(&Mode::IntendWrite);
                assert_eq!(list.intends(gate, mode), intends);
            }
        }
    }
}
