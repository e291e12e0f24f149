//! Rows that somebody asks for by a column, and their order by slots.

/// Pairs of a slot and a row, of which each has one at most.
#[derive(Default)]
pub(super) struct Hits {
    pairs: Vec<(u32, u16)>,
    /// Where the rows of each slot begin, once they are in order.
    starts: Vec<u32>,
    rows: Vec<u16>,
}

/// With so many times as many slots as pairs, these are sorted by comparing.
const SPARSE: usize = 4;

impl Hits {
    pub fn clear(&mut self) {
        self.pairs.clear();
    }

    pub fn add(&mut self, slot: u32, row: u16) {
        self.pairs.push((slot, row));
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Calls `each` with every slot that has rows, and with these.
    pub fn by_slot(&mut self, slots: usize, mut each: impl FnMut(u32, &[u16])) {
        if slots < self.pairs.len() * SPARSE {
            self.order(slots);
            for slot in 0..slots as u32 {
                let rows = self.of(slot, slot);
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

    /// Puts the rows in order of slots, by counting.
    pub fn order(&mut self, slots: usize) {
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
        // From behind, so that each start ends where it belongs, and rows keep their order.
        for &(slot, row) in pairs.iter().rev() {
            let start = &mut starts[slot as usize];
            *start -= 1;
            rows[*start as usize] = row;
        }
    }

    /// The rows of these slots and of all between them, in order.
    pub fn of(&self, first: u32, last: u32) -> &[u16] {
        &self.rows[self.starts[first as usize] as usize..self.starts[last as usize + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_by_slot(slots: Vec<u8>, more in 0usize..2000) {
            let mut hits = Hits::default();
            slots.iter().zip(0..).for_each(|(&slot, row)| hits.add(slot.into(), row));
            let expected = |from: u32, to: u32| {
                let mut pairs: Vec<_> = slots.iter().map(|&slot| u32::from(slot)).zip(0u16..).collect();
                pairs.sort();
                let within = pairs.into_iter().filter(|(slot, _)| (from..=to).contains(slot));
                within.map(|(_, row)| row).collect::<Vec<_>>()
            };
            let mut seen = Vec::new();
            hits.by_slot(256 + more, |slot, rows| {
                assert_eq!(rows, expected(slot, slot));
                seen.push(slot);
            });
            let mut there: Vec<u32> = slots.iter().map(|&slot| slot.into()).collect();
            there.sort_unstable();
            there.dedup();
            prop_assert_eq!(seen, there);
            hits.order(256);
            for (from, to) in [(0, 255), (7, 7), (100, 200)] {
                prop_assert_eq!(hits.of(from, to), expected(from, to));
            }
        }
    }
}
