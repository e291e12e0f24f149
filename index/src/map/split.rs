//! Splitting buckets, one after the other.

use super::bucket::{Bucket, Entry};
use super::chain::HeldBucket;
use super::hash::next_to_split;
use super::root::RootRef;
use xtasking::{
    Context, Part,
    arena::{Grower, Link, Written},
    bundle::{Hop, Walk},
};

/// A walk that splits each bucket that it writes.
pub(super) struct SplitWalk {
    pub(super) root: RootRef,
    pub(super) grower: Grower<Bucket>,
    /// The number of buckets to be added.
    pub(super) left: usize,
    /// For the entries of one bucket.
    pub(super) scratch: Vec<Entry>,
}

impl Walk for SplitWalk {
    type Target = Bucket;
    type Output = ();

    #[inline(always)]
    fn write(&mut self, _: Link<Bucket>, bucket: Written<'_, Bucket>, cx: &mut Context) -> Hop<Bucket, ()> {
        let root = self.root.get(cx);
        let buckets = root.buckets.len();
        let bit = 1 << buckets.ilog2();
        let held = HeldBucket::new(&bucket, &root.chains);
        // The new bucket counts from here on, while this one is held: see the module's
        // documentation.
        let grower = &mut self.grower;
        let take = |moved| grower.try_push(Bucket::new(moved)).is_ok();
        let is_split = held.split(bit, &mut self.scratch, cx, take);
        self.left -= 1;
        if self.left == 0 || !is_split {
            return Hop::End(());
        }
        Hop::Write(root.buckets.link(next_to_split(buckets + 1)), Part::HEAD)
    }
}
