//! Changes of one entry: what becomes of it, and what that does to a bucket that is held.

use super::bucket::{Bucket, Entry, key_word};
use super::chain::HeldBucket;
use super::root::Root;
use crate::node::WriteMode;
use crate::write_outcome::WriteOutcome;
use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use xtasking::{
    Context,
    arena::{Link, Written},
};

/// A change of one entry.
pub(super) trait EntryChange: Send + 'static {
    /// What the operation's continuation gets.
    type Result: Send + 'static;

    /// Decides from the value that the key has what becomes of the entry. Called once, while the
    /// bucket is held.
    fn decide(&mut self, value: Option<u64>) -> (Action, Self::Result);
}

/// What becomes of an entry.
pub(super) enum Action {
    Keep,
    Set(u64),
    Remove,
}

/// The number of entries has changed by this.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Delta {
    None,
    Added,
    Removed,
}

/// The result of applying a change.
pub(super) enum ApplyResult<R> {
    Done(R, Delta),
    /// The key belongs to this bucket.
    Elsewhere(Link<Bucket>),
}

/// Adds an entry or replaces its value.
pub(super) struct Put {
    pub value: u64,
    pub mode: WriteMode,
}

impl EntryChange for Put {
    type Result = WriteOutcome<u64>;

    #[inline(always)]
    fn decide(&mut self, value: Option<u64>) -> (Action, WriteOutcome<u64>) {
        match (value, self.mode) {
            (Some(old), WriteMode::Insert) => (Action::Keep, WriteOutcome::Exists(old)),
            (Some(old), _) => (Action::Set(self.value), WriteOutcome::Replaced(old)),
            (None, WriteMode::Update) => (Action::Keep, WriteOutcome::Missing),
            (None, _) => (Action::Set(self.value), WriteOutcome::Inserted),
        }
    }
}

/// Changes a value by a closure. If that panics, the entry stays as it is.
pub(super) struct Modify<C>(pub Option<C>);

/// The old value, or the payload of the closure's panic.
pub(super) type Modified<V> = Result<Option<V>, Box<dyn Any + Send>>;

impl<C: FnOnce(u64) -> u64 + Send + 'static> EntryChange for Modify<C> {
    type Result = Modified<u64>;

    fn decide(&mut self, value: Option<u64>) -> (Action, Modified<u64>) {
        let Some(old) = value else { return (Action::Keep, Ok(None)) };
        // A closure that is not called is dropped later, when no bucket is held.
        let Some(change) = self.0.take() else { return (Action::Keep, Ok(None)) };
        match catch_unwind(AssertUnwindSafe(|| change(old))) {
            Ok(new) => (Action::Set(new), Ok(Some(old))),
            Err(payload) => (Action::Keep, Err(payload)),
        }
    }
}

/// Removes an entry.
pub(super) struct Remove;

impl EntryChange for Remove {
    type Result = Option<u64>;

    #[inline(always)]
    fn decide(&mut self, value: Option<u64>) -> (Action, Option<u64>) {
        (if value.is_some() { Action::Remove } else { Action::Keep }, value)
    }
}

/// Applies a change to the bucket of a hash, which is held for writing. The operation began at the
/// bucket among `begun` buckets.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn apply<E: EntryChange>(
    change: &mut E,
    root: &Root,
    at: Link<Bucket>,
    bucket: &Written<'_, Bucket>,
    (hash, begun): (u64, usize),
    cx: &mut Context,
) -> ApplyResult<E::Result> {
    let (held, key) = (HeldBucket::new(bucket, &root.chains), key_word(hash));
    let found = held.find(key);
    if found.is_none()
        && let Some(bucket) = root.buckets.elsewhere(hash, at, begun)
    {
        return ApplyResult::Elsewhere(bucket);
    }
    let (action, result) = change.decide(found.map(|(_, value)| value));
    let delta = match (action, found) {
        (Action::Set(value), Some((found, _))) => {
            held.set_value(found, Entry { key, value }, cx);
            Delta::None
        }
        (Action::Set(value), None) => {
            held.add(Entry { key, value }, cx);
            Delta::Added
        }
        (Action::Remove, Some(_)) => {
            held.remove(key, cx);
            Delta::Removed
        }
        (Action::Keep, _) | (Action::Remove, None) => Delta::None,
    };
    ApplyResult::Done(result, delta)
}
