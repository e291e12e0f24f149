//! Walks that look up and insert keys, for bundles.

use super::bucket::Bucket;
use super::bucket_search::Found;
use super::versioned::Table;
use xtasking::arena::{Link, Written};
use xtasking::bundle::{Hop, Walk};
use xtasking::{Context, Part};

/// The lookup of a key.
pub(crate) struct Lookup<C> {
    pub(crate) table: Table,
    pub(crate) key: u64,
    /// What the receiver of the result needs.
    pub(crate) context: C,
}

impl<C: Send> Walk for Lookup<C> {
    type Target = Bucket;
    type Output = Option<u64>;

    #[inline(always)]
    fn read(&self, at: Link<Bucket>, bucket: &Bucket) -> Hop<Bucket, Option<u64>> {
        match bucket.find(self.key) {
            Found::Value(value) => Hop::End(Some(value)),
            Found::Missing => Hop::End(None),
            Found::Full => Hop::Go(self.table.next(at), Part::HEAD),
        }
    }
}

/// The insert of a key.
pub(crate) struct Insert {
    pub(crate) table: Table,
    pub(crate) key: u64,
    pub(crate) value: u64,
}

impl Walk for Insert {
    type Target = Bucket;
    /// Whether the key was new.
    type Output = bool;

    #[inline(always)]
    fn write(&mut self, at: Link<Bucket>, bucket: Written<'_, Bucket>, _: &mut Context) -> Hop<Bucket, bool> {
        match bucket.insert(self.key, self.value, bucket.token()) {
            Some(is_new) => Hop::End(is_new),
            None => Hop::Write(self.table.next(at), Part::HEAD),
        }
    }
}
