//! Changing one entry by a task, which writes the bucket.

use super::bucket::Bucket;
use super::change::{ApplyResult, EntryChange, apply};
use super::growth;
use super::root::{Root, RootRef};
use crate::root::{Continuation, Epoch, Operation};
use xtasking::{
    Context,
    arena::{Link, Modify, Written},
    task::Spawner,
};

/// Starts a change.
#[inline(always)]
pub(super) fn begin<S: Spawner, E: EntryChange, F: Continuation<E::Result>>(
    at: S,
    root: RootRef,
    hash: u64,
    change: E,
    then: F,
) {
    root.begin(at, WriteOperation { root, hash, begun: 0, change, then });
}

struct WriteOperation<E, F> {
    root: RootRef,
    hash: u64,
    /// The number of buckets when the first task was spawned; 0 before.
    begun: usize,
    change: E,
    then: F,
}

impl<E: EntryChange, F: Continuation<E::Result>> Operation<Root> for WriteOperation<E, F> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn start<S: Spawner>(mut self, at: S, root: &Root, epoch: Epoch) {
        let (bucket, begun) = root.buckets.of(self.hash);
        self.begun = begun;
        epoch.annotate(at.task(bucket.write())).modify(self);
    }
}

impl<E: EntryChange, F: Continuation<E::Result>> Modify for WriteOperation<E, F> {
    type Target = Bucket;
    type Output = ApplyResult<E::Result>;

    #[inline(always)]
    fn write(&mut self, at: Link<Bucket>, bucket: Written<'_, Bucket>, cx: &mut Context) -> Self::Output {
        apply(&mut self.change, self.root.get(cx), at, &bucket, (self.hash, self.begun), cx)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn then(self, applied: ApplyResult<E::Result>, cx: &mut Context) {
        match applied {
            ApplyResult::Done(result, delta) => {
                growth::note(self.root, self.hash, delta, cx);
                (self.then)(result, cx);
            }
            ApplyResult::Elsewhere(bucket) => cx.task(bucket.write()).modify(self),
        }
    }
}
