//! The shards that a task holds.

use super::Shard;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::slice;
use xtasking::task::ReadOrWriteView;

/// A shard that a task holds.
pub(crate) struct Held<'v> {
    pub(crate) number: usize,
    view: ReadOrWriteView<&'v Shard, &'v mut Shard>,
}

/// The shards that a task holds, in ascending order. One of them takes no allocation.
#[derive(Debug, Default)]
pub(crate) enum HeldShards<'v> {
    /// None.
    #[default]
    None,
    /// One.
    One(Held<'v>),
    /// Any number.
    Many(Vec<Held<'v>>),
}

impl<'v> Held<'v> {
    pub(crate) fn new(number: usize, view: ReadOrWriteView<&'v Shard, &'v mut Shard>) -> Self {
        Self { number, view }
    }

    pub(super) fn is_written(&self) -> bool {
        matches!(self.view, ReadOrWriteView::Write(_))
    }
}

impl<'v> HeldShards<'v> {
    /// Makes it of the views of shards, whose numbers are in ascending order.
    pub(crate) fn of(
        shards: &[(usize, bool)],
        views: Vec<ReadOrWriteView<&'v Shard, &'v mut Shard>>,
    ) -> Self {
        let held = shards.iter().zip(views).map(|(&(number, _), view)| Held::new(number, view));
        Self::Many(held.collect())
    }

    pub(crate) fn read(number: usize, shard: &'v Shard) -> Self {
        Self::One(Held::new(number, ReadOrWriteView::Read(shard)))
    }

    pub(crate) fn written(number: usize, shard: &'v mut Shard) -> Self {
        Self::One(Held::new(number, ReadOrWriteView::Write(shard)))
    }
}

impl<'v> Deref for HeldShards<'v> {
    type Target = [Held<'v>];

    #[inline]
    fn deref(&self) -> &[Held<'v>] {
        match self {
            Self::None => &[],
            Self::One(held) => slice::from_ref(held),
            Self::Many(all) => all,
        }
    }
}

impl<'v> DerefMut for HeldShards<'v> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Held<'v>] {
        match self {
            Self::None => &mut [],
            Self::One(held) => slice::from_mut(held),
            Self::Many(all) => all,
        }
    }
}

impl Deref for Held<'_> {
    type Target = Shard;

    fn deref(&self) -> &Shard {
        &self.view
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Shard {
        self.view.writer().expect("a command that changes keys is marked as one that writes")
    }
}

impl fmt::Debug for Held<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shard {}", if self.is_written() { "writes" } else { "reads" }, self.number)
    }
}
