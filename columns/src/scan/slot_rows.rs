//! Rows grouped by slot.

/// Pairs of a slot and a row, at most one for each row.
#[derive(Default)]
pub(super) struct SlotRows {
    pairs: Vec<(u32, u16)>,
    /// The begin of each slot's rows, after grouping.
    starts: Vec<u32>,
    rows: Vec<u16>,
}

/// From this ratio of slots to pairs on, sorting is faster than counting.
const SORT_SLOTS_PER_PAIR: usize = 4;

impl SlotRows {
    pub fn clear(&mut self) {
        self.pairs.clear();
    }

    pub fn add(&mut self, slot: u32, row: u16) {
        self.pairs.push((slot, row));
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Calls `each` with every slot that has rows.
    pub fn by_slot(&mut self, slots: usize, mut each: impl FnMut(u32, &[u16])) {
        if slots < self.pairs.len() * SORT_SLOTS_PER_PAIR {
            self.group(slots);
            for slot in 0..slots as u32 {
                let rows = self.between(slot, slot);
                if !rows.is_empty() {
                    each(slot, rows);
                }
            }
        } else {
            self.pairs.sort_unstable();
            self.rows.clear();
            self.rows.extend(self.pairs.iter().map(|&(_, row)| row));
            let mut begin = 0;
            for group in self.pairs.chunk_by(|a, b| a.0 == b.0) {
                let end = begin + group.len();
                each(group[0].0, &self.rows[begin..end]);
                begin = end;
            }
        }
    }

    /// Groups the rows by slot, with a counting sort.
    pub fn group(&mut self, slots: usize) {
        let Self { pairs, starts, rows } = self;
        starts.clear();
        starts.resize(slots + 1, 0);
        for &(slot, _) in pairs.iter() {
            starts[slot as usize] += 1;
        }
        let mut sum = 0;
        for start in starts.iter_mut() {
            sum += *start;
            *start = sum;
        }
        rows.clear();
        rows.resize(pairs.len(), 0);
        // Backwards: each start descends to its final value, and rows keep their order.
        for &(slot, row) in pairs.iter().rev() {
            let start = &mut starts[slot as usize];
            *start -= 1;
            rows[*start as usize] = row;
        }
    }

    /// Returns the rows of the slots `first..=last`, in order of slots.
    pub fn between(&self, first: u32, last: u32) -> &[u16] {
        &self.rows[self.starts[first as usize] as usize..self.starts[last as usize + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_are_grouped_by_slot(slots: Vec<u8>, more in 0usize..2000) {
            let mut slot_rows = SlotRows::default();
            slots.iter().zip(0..).for_each(|(&slot, row)| slot_rows.add(slot.into(), row));
            let expected = |from: u32, to: u32| {
                let mut pairs: Vec<_> = slots.iter().map(|&slot| u32::from(slot)).zip(0u16..).collect();
                pairs.sort();
                let within = pairs.into_iter().filter(|(slot, _)| (from..=to).contains(slot));
                within.map(|(_, row)| row).collect::<Vec<_>>()
            };
            let mut reported = Vec::new();
            slot_rows.by_slot(256 + more, |slot, rows| {
                assert_eq!(rows, expected(slot, slot));
                reported.push(slot);
            });
            let mut expected_slots: Vec<u32> = slots.iter().map(|&slot| slot.into()).collect();
            expected_slots.sort_unstable();
            expected_slots.dedup();
            prop_assert_eq!(reported, expected_slots);
            slot_rows.group(256);
            for (from, to) in [(0, 255), (7, 7), (100, 200)] {
                prop_assert_eq!(slot_rows.between(from, to), expected(from, to));
            }
        }
    }
}
