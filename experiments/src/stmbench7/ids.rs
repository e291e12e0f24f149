//! Ids that objects have not taken.

/// The ids of one kind of object that are free. What is given back last is taken first, so that it depends on the order of
/// takings and givings alone who gets which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The next one last.
    free: Vec<u32>,
}

impl Pool {
    /// Of the ids from 1 to `last`, those up to `taken` have been taken.
    pub fn new(taken: u32, last: u32) -> Self {
        Self { free: (taken + 1..=last).rev().collect() }
    }

    /// How many are free.
    pub fn len(&self) -> usize {
        self.free.len()
    }

    /// The free ones, the next one first.
    pub fn free(&self) -> impl Iterator<Item = u32> {
        self.free.iter().rev().copied()
    }

    /// Takes the next one.
    ///
    /// # Panics
    /// If none is free.
    pub fn take(&mut self) -> u32 {
        self.free.pop().expect("who takes an id has made sure that one is free")
    }

    /// Gives one back.
    pub fn give(&mut self, id: u32) {
        self.free.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_given_is_the_next_one_taken() {
        let mut pool = Pool::new(2, 5);
        assert!(pool.free().eq([3, 4, 5]));
        assert_eq!((pool.take(), pool.take(), pool.len()), (3, 4, 1));
        [1, 4].into_iter().for_each(|id| pool.give(id));
        assert!(pool.free().eq([4, 1, 5]));
        assert_eq!(pool.take(), 4);
    }
}
