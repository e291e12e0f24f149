//! A hierarchical timing wheel: adding and removing an entry takes constant time, whatever the
//! number of entries. (G. Varghese, T. Lauck: "Hashed and Hierarchical Timing Wheels", SOSP 1987,
//! scheme 7.)
//!
//! Level `l` has 64 slots of `64^l` ticks each. An entry is in the level of the highest group of
//! six bits in which its tick differs from the present one. When the present comes to a slot of a
//! higher level, the entries there move to lower levels.

use alloc::vec::Vec;
use core::mem;

const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
const LEVELS: usize = 8;
/// The last tick that the levels can tell from others.
const LAST_TICK: u64 = (1 << (SLOT_BITS * LEVELS as u32)) - 1;
/// The index of no entry.
const NONE: u32 = u32::MAX;

/// Entries that are due at a tick.
pub(super) struct Wheel<T> {
    /// All entries of earlier ticks have been taken.
    now: u64,
    levels: [Level; LEVELS],
    entries: Vec<Entry<T>>,
    /// The first entry that is not in use.
    free: u32,
}

/// Names an entry. Later entries have other keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    index: u32,
    generation: u32,
}

#[derive(Clone, Copy)]
struct Level {
    /// A bit for each slot with entries.
    occupied: u64,
    /// The first entry of each slot.
    first: [u32; SLOTS],
}

struct Entry<T> {
    /// `None` while the entry is not in use.
    value: Option<T>,
    tick: u64,
    generation: u32,
    level: u8,
    slot: u8,
    next: u32,
    previous: u32,
}

impl<T> Wheel<T> {
    pub fn new(now: u64) -> Self {
        let level = Level { occupied: 0, first: [NONE; SLOTS] };
        Self { now: now.min(LAST_TICK), levels: [level; LEVELS], entries: Vec::new(), free: NONE }
    }

    /// Adds an entry. If its tick has passed, it is due at the next one.
    pub fn insert(&mut self, tick: u64, value: T) -> Key {
        let tick = tick.clamp((self.now + 1).min(LAST_TICK), LAST_TICK);
        let index = match self.free {
            NONE => {
                let (generation, level, slot, next, previous) = (0, 0, 0, NONE, NONE);
                self.entries.push(Entry { value: None, tick, generation, level, slot, next, previous });
                self.entries.len() as u32 - 1
            }
            free => {
                self.free = self.entries[free as usize].next;
                free
            }
        };
        let entry = &mut self.entries[index as usize];
        (entry.value, entry.tick) = (Some(value), tick);
        let generation = entry.generation;
        self.link(index);
        Key { index, generation }
    }

    /// Removes an entry. Returns `None` if it was due already, or removed.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let entry = self.entries.get(key.index as usize)?;
        if entry.generation != key.generation || entry.value.is_none() {
            return None;
        }
        let (level, slot, next, previous) = (entry.level, entry.slot, entry.next, entry.previous);
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
        if previous != NONE {
            self.entries[previous as usize].next = next;
        } else {
            self.levels[usize::from(level)].set_first(slot, next);
        }
        self.free_entry(key.index)
    }

    /// Returns the next tick at which an entry may be due; `None` without entries.
    pub fn next_tick(&self) -> Option<u64> {
        self.next_slot().map(|(_, _, tick)| tick)
    }

    /// Advances to a tick, and appends the entries that are due by then, in the order of their
    /// ticks.
    pub fn advance(&mut self, tick: u64, due: &mut Vec<T>) {
        while let Some((level, slot, began)) = self.next_slot().filter(|&(_, _, began)| began <= tick) {
            self.now = self.now.max(began);
            let mut index = mem::replace(&mut self.levels[level].first[slot], NONE);
            self.levels[level].occupied &= !(1 << slot);
            while index != NONE {
                let next = self.entries[index as usize].next;
                if self.entries[index as usize].tick <= self.now {
                    due.extend(self.free_entry(index));
                } else {
                    self.link(index);
                }
                index = next;
            }
        }
        self.now = self.now.max(tick.min(LAST_TICK));
    }

    /// Removes all entries.
    pub fn clear(&mut self) -> impl Iterator<Item = T> + use<T> {
        let now = self.now;
        let all = mem::replace(self, Self::new(now)).entries;
        all.into_iter().filter_map(|entry| entry.value)
    }

    /// Returns the next slot with entries: its level, its index, and the tick at which it begins.
    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        // Each slot of a lower level comes before those of higher ones.
        let (number, level) = (0..).zip(&self.levels).find(|(_, level)| level.occupied != 0)?;
        let slot = level.occupied.trailing_zeros();
        let shift = SLOT_BITS * number;
        // The entries differ from `now` in no higher bits.
        let higher = (self.now >> shift >> SLOT_BITS) << SLOT_BITS;
        Some((number as usize, slot as usize, (higher | u64::from(slot)) << shift))
    }

    /// Puts an entry into the slot of its tick.
    fn link(&mut self, index: u32) {
        let tick = self.entries[index as usize].tick;
        let differs = (tick ^ self.now) | 1;
        let number = (u64::BITS - 1 - differs.leading_zeros()) / SLOT_BITS;
        let slot = (tick >> (SLOT_BITS * number)) as u8 & (SLOTS as u8 - 1);
        let level = &mut self.levels[number as usize];
        let next = level.first[usize::from(slot)];
        level.set_first(slot, index);
        let entry = &mut self.entries[index as usize];
        (entry.level, entry.slot, entry.next, entry.previous) = (number as u8, slot, next, NONE);
        if next != NONE {
            self.entries[next as usize].previous = index;
        }
    }

    /// Takes the value of an entry that is in no slot.
    fn free_entry(&mut self, index: u32) -> Option<T> {
        let entry = &mut self.entries[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.next = mem::replace(&mut self.free, index);
        entry.value.take()
    }
}

impl Level {
    fn set_first(&mut self, slot: u8, index: u32) {
        self.first[usize::from(slot)] = index;
        if index == NONE {
            self.occupied &= !(1 << slot);
        } else {
            self.occupied |= 1 << slot;
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *state >> 16
    }

    #[test]
    fn entries_are_due_at_their_ticks_whatever_is_added_and_removed() {
        for seed in 0..50 {
            let mut state = seed;
            let mut now = random(&mut state) % 100_000;
            let mut wheel = Wheel::new(now);
            // By tick and number.
            let mut model = BTreeMap::new();
            for number in 0..2_000u64 {
                match random(&mut state) % 8 {
                    0..=3 => {
                        let bits = random(&mut state) % 30;
                        let tick = now + random(&mut state) % (1 << bits);
                        let key = wheel.insert(tick, number);
                        model.insert((tick.max(now + 1), number), key);
                    }
                    4 if !model.is_empty() => {
                        let nth = random(&mut state) as usize % model.len();
                        let (&(tick, number), &key) = model.iter().nth(nth).unwrap();
                        assert_eq!(wheel.remove(key), Some(number));
                        assert_eq!(wheel.remove(key), None);
                        model.remove(&(tick, number));
                    }
                    _ => {
                        let bits = random(&mut state) % 24;
                        now += random(&mut state) % (1 << bits);
                        let later = model.split_off(&(now + 1, 0));
                        let expected: Vec<_> = mem::replace(&mut model, later).into_keys().collect();
                        let mut due = Vec::new();
                        wheel.advance(now, &mut due);
                        let mut numbers: Vec<_> = expected.iter().map(|&(_, number)| number).collect();
                        // Those of one tick are in no order.
                        numbers.sort_unstable();
                        due.sort_unstable();
                        assert_eq!(due, numbers);
                    }
                }
                let first = model.keys().next().map(|&(tick, _)| tick);
                // Never too late, and not before something may be due.
                match (wheel.next_tick(), first) {
                    (Some(next), Some(first)) => assert!(now < next && next <= first),
                    (next, first) => assert_eq!(next, first),
                }
            }
        }
    }

    #[test]
    fn entries_come_in_the_order_of_their_ticks() {
        let mut wheel = Wheel::new(5);
        for tick in [4000, 70, 6, 100_000, 65, 7] {
            wheel.insert(tick, tick);
        }
        wheel.insert(0, 1);
        let mut due = Vec::new();
        wheel.advance(1_000_000, &mut due);
        due[..2].sort_unstable();
        assert_eq!(due, [1, 6, 7, 65, 70, 4000, 100_000]);
    }

    #[test]
    fn the_end_of_time_is_far() {
        let mut wheel = Wheel::new(0);
        wheel.insert(u64::MAX, ());
        let mut due = Vec::new();
        wheel.advance(1 << 40, &mut due);
        assert!(due.is_empty() && wheel.next_tick().is_some());
        assert_eq!(wheel.clear().count(), 1);
        assert_eq!(wheel.next_tick(), None);
    }
}
