//! Manages the free ids of objects.

/// The free ids of one kind of object. The last returned id is taken first, so the ids depend only
/// on the order of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The next one last.
    free: Vec<u32>,
}

impl Pool {
    /// Creates a pool of the ids from `taken + 1` to `last`.
    pub fn new(taken: u32, last: u32) -> Self {
        Self { free: (taken + 1..=last).rev().collect() }
    }

    /// Returns the number of free ids.
    pub fn len(&self) -> usize {
        self.free.len()
    }

    /// Returns the free ids, the next one first.
    pub fn free(&self) -> impl Iterator<Item = u32> {
        self.free.iter().rev().copied()
    }

    /// Takes the next id.
    ///
    /// # Panics
    /// If no id is free.
    pub fn take(&mut self) -> u32 {
        self.free.pop().expect("the plan checks that an id is free")
    }

    /// Returns an id to the pool.
    pub fn put_back(&mut self, id: u32) {
        self.free.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_returned_id_is_taken_next() {
        let mut pool = Pool::new(2, 5);
        assert!(pool.free().eq([3, 4, 5]));
        assert_eq!((pool.take(), pool.take(), pool.len()), (3, 4, 1));
        [1, 4].into_iter().for_each(|id| pool.put_back(id));
        assert!(pool.free().eq([4, 1, 5]));
        assert_eq!(pool.take(), 4);
    }
}
