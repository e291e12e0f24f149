//! What the log knows of shards: the order in which they were changed.

use super::Keys;

/// The stamp and the epoch of a unit of effects in the log; in a shard, of the last unit that may
/// have changed it. Both are 0 without a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// A unit has a greater stamp than those that it depends on, and so comes after them.
    pub(crate) stamp: u64,
    /// The epoch, in which it becomes durable.
    pub(crate) epoch: u64,
}

/// Stamps that a task reserves, so that it need not mark all its shards for each unit.
const RESERVED: u64 = 256;

impl Keys<'_> {
    /// Returns a stamp that is not below those of the units on which the next one depends.
    pub(crate) fn last_stamp(&self) -> u64 {
        if self.logged.stamp > 0 {
            return self.logged.stamp;
        }
        self.held().iter().map(|held| held.mark.stamp).max().unwrap_or(0)
    }

    /// Notes the mark of a unit that the task has just logged, in the shards that it may have
    /// changed. So tasks that hold these shards later have greater stamps.
    pub(crate) fn set_mark(&mut self, mark: Mark) {
        let is_marked = self.logged.epoch == mark.epoch && mark.stamp <= self.reserved;
        self.logged = mark;
        if !is_marked {
            self.reserved = mark.stamp + RESERVED;
            let own = Mark { stamp: self.reserved, ..mark };
            self.held_mut().iter_mut().filter(|held| held.is_written()).for_each(|held| held.mark = own);
        }
    }

    /// Returns the last epoch of the units that the task may have seen.
    pub(crate) fn last_epoch(&self) -> u64 {
        self.held().iter().map(|held| held.mark.epoch).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Held, HeldShards, Layout, Shard, Versions};
    use super::*;
    use xtasking::task::ReadOrWriteView;

    #[test]
    fn later_holders_of_a_changed_shard_have_greater_stamps() {
        let (layout, versions) = (Layout::new(2, 1), Versions::default());
        let (mut written, read) = (Shard::new(1), Shard::new(1));
        let held = vec![
            Held::new(0, ReadOrWriteView::Write(&mut written)),
            Held::new(1, ReadOrWriteView::Read(&read)),
        ];
        let mut keys = Keys::new(&layout, &versions, HeldShards::Many(held));
        assert_eq!((keys.last_stamp(), keys.last_epoch()), (0, 0));
        keys.set_mark(Mark { stamp: 7, epoch: 3 });
        assert_eq!(keys.last_stamp(), 7);
        // One that is far ahead, as another task of the worker has drawn it.
        keys.set_mark(Mark { stamp: 10_000, epoch: 3 });
        keys.set_mark(Mark { stamp: 10_001, epoch: 4 });
        drop(keys);
        assert_eq!(read.mark, Mark::default());
        assert!(written.mark.stamp >= 10_001 && written.mark.epoch == 4);
        let keys = Keys::new(&layout, &versions, HeldShards::read(0, &written));
        assert!(keys.last_stamp() >= 10_001 && keys.last_epoch() == 4);
    }
}
