//! Lists of items by slot.

/// A list for each slot, stored one after another.
#[derive(Debug)]
pub(super) struct SlotLists<T> {
    /// The end of each list; the first begins at 0.
    ends: Box<[u32]>,
    all: Box<[T]>,
}

impl<T> SlotLists<T> {
    /// Creates the lists from pairs of a slot and an item, in order of slots.
    pub fn new(slots: usize, pairs: impl IntoIterator<Item = (u32, T)>) -> Self {
        let mut ends = vec![0; slots];
        let of = |(slot, one): (u32, T)| {
            ends[slot as usize] += 1;
            one
        };
        let all = pairs.into_iter().map(of).collect();
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        Self { ends: ends.into(), all }
    }

    /// Returns the list of a slot.
    #[inline(always)]
    pub fn get(&self, slot: u32) -> &[T] {
        let slot = slot as usize;
        let begin = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.all[begin as usize..self.ends[slot] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_its_list() {
        let lists = SlotLists::new(5, [(0, 'a'), (2, 'b'), (2, 'c'), (3, 'd')]);
        let all: Vec<&[char]> = (0..5).map(|slot| lists.get(slot)).collect();
        assert_eq!(all, [&['a'][..], &[], &['b', 'c'], &['d'], &[]]);
    }
}
