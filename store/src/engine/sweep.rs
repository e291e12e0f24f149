//! Which shards may have a key to evict.

/// What is known of the shards as long as no candidate is found. It goes from task to task.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// For each shard, whether it had no candidate when it was last seen. Empty at first.
    barren: Vec<bool>,
    /// The shard that was not free, and may have the only candidates.
    awaited: Option<usize>,
}

impl Sweep {
    /// Notes whether a shard has no candidate.
    pub(super) fn note(&mut self, number: usize, is_barren: bool, shards: usize) {
        if is_barren {
            self.barren.resize(shards, false);
        }
        if let Some(noted) = self.barren.get_mut(number) {
            *noted = is_barren;
        }
    }

    /// Forgets which shards had no candidate, as a key was evicted: there is time to look again.
    pub(super) fn forget(&mut self) {
        self.barren.clear();
    }

    /// Returns true if a shard had no candidate.
    pub(super) fn is_barren(&self, number: usize) -> bool {
        let is_barren = self.barren.get(number).is_some_and(|is_barren| *is_barren);
        is_barren && !planted!("barren-shard-forgotten")
    }

    /// Lets the next task wait for a shard.
    pub(super) fn wait_for(&mut self, number: usize) {
        self.awaited = Some(number);
    }

    /// Takes the shard that is to be waited for.
    pub(super) fn take_awaited(&mut self) -> Option<usize> {
        self.awaited.take()
    }

    /// Returns the shard that is to be waited for.
    #[cfg(test)]
    pub(super) fn awaited(&self) -> Option<usize> {
        self.awaited
    }
}
