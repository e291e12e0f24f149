//! Many operations at once: bundles of walks, one for each worker.
//!
//! | file | contents |
//! |---|---|
//! | `gets` | lookups |
//! | `changes` | adding, replacing and removing entries |

mod changes;
mod gets;

use super::handle::Tree;
use crate::key_value::Key;
use crate::many::run;
use crate::node::{Layout, WriteMode};
use crate::value::Value;
use crate::write_outcome::WriteOutcome;
use core::marker::PhantomData;
use xtasking::{JoinError, Runtime};

/// For the client. Each blocks, and returns the results in the order of the operations.
impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    pub(crate) fn get_many(&self, rt: &Runtime, keys: &[K::Arg<'_>]) -> Result<Vec<Option<V>>, JoinError> {
        run(rt, self.root.peek(), &gets::Gets::<K, V, L>(PhantomData), keys, None)
    }

    pub(crate) fn write_many<R: Clone + Send>(
        &self,
        rt: &Runtime,
        entries: &[(K::Arg<'_>, V)],
        mode: WriteMode,
        result: fn(WriteOutcome<V>) -> R,
    ) -> Result<Vec<R>, JoinError> {
        let nothing = result(WriteOutcome::Missing);
        let puts = changes::Puts::<K, _, L, _> { mode, result, types: PhantomData };
        run(rt, self.root.peek(), &puts, entries, nothing)
    }

    pub(crate) fn remove_many(&self, rt: &Runtime, keys: &[K::Arg<'_>]) -> Result<Vec<Option<V>>, JoinError> {
        run(rt, self.root.peek(), &changes::Removes::<K, V, L>(PhantomData), keys, None)
    }
}
