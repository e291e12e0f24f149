//! The queries of each slot.

/// A list for each slot, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Where each one ends; the first begins at 0.
    ends: Box<[u32]>,
    queries: Box<[u32]>,
}

impl Lists {
    /// Of pairs in order, of which the first is the slot, or stands for it: each that is there has the next slot.
    pub fn new<S: PartialEq>(pairs: &[(S, u32)]) -> Self {
        let ends = pairs.chunk_by(|a, b| a.0 == b.0).scan(0, |end, group| {
            *end += group.len() as u32;
            Some(*end)
        });
        Self { ends: ends.collect(), queries: pairs.iter().map(|&(_, query)| query).collect() }
    }

    /// Takes out all lists that are at least so long; those are empty then. They come with their slots.
    pub fn take(&mut self, least: usize) -> Vec<(u32, Vec<u32>)> {
        let (mut taken, mut ends, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for slot in 0..self.slots() as u32 {
            let queries = self.of(slot);
            if queries.len() >= least {
                taken.push((slot, queries.to_vec()));
            } else {
                left.extend_from_slice(queries);
            }
            ends.push(left.len() as u32);
        }
        *self = Self { ends: ends.into(), queries: left.into() };
        taken
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.ends.len()
    }

    /// The queries of a slot.
    #[inline(always)]
    pub fn of(&self, slot: u32) -> &[u32] {
        let slot = slot as usize;
        let begin = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.queries[begin as usize..self.ends[slot] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_taken_out() {
        let mut lists = Lists::new(&[('a', 5), ('b', 1), ('b', 7), ('c', 2), ('d', 3), ('d', 4), ('d', 6)]);
        assert_eq!((lists.slots(), lists.of(1)), (4, &[1, 7][..]));
        assert_eq!(lists.take(2), [(1, vec![1, 7]), (3, vec![3, 4, 6])]);
        let left: Vec<_> = (0..4).map(|slot| lists.of(slot)).collect();
        assert_eq!(left, [&[5][..], &[], &[2], &[]]);
    }
}
