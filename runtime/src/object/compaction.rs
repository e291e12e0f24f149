//! Compaction: moving nodes out of memory that holds few of them.
//!
//! The memory of an arena is given back to the system in pieces of 64 nodes or more. After many
//! nodes were freed at random, each piece still holds some. Only the data structure can move a
//! node, since only it knows the links to that. So the arena names the nodes to be moved, and
//! reserves memory for them where most of it is in use.

use super::arena::{Arena, Reserved};
use super::class::Version;
use super::link::Link;
use crate::scheduler::Context;

/// A compaction of an arena that is under way: see [`Arena::begin_compaction`].
///
/// Visit all nodes in any order. For each that [should move](Self::should_move),
/// [reserve](Self::reserve) memory, fill it with a copy of the node, replace all links, and retire
/// the node. The memory is given back when the nodes in it are freed. Nodes that are left where
/// they are do no harm, and cost the memory around them.
///
/// Dropping it ends the compaction.
#[must_use = "dropping it ends the compaction"]
pub struct Compaction<T: Version> {
    arena: Arena<T>,
}

impl<T: Version> Arena<T> {
    /// Begins a compaction if many nodes are free in memory that nodes in use keep: more than a
    /// quarter of the number in use. Then a follow-up calls `then`, or drops it if it finds that no
    /// memory can be emptied. Returns false, and does nothing, if it does not pay, or if a
    /// compaction of this arena is under way.
    ///
    /// Call it after nodes were retired: it is cheap where there is nothing to do.
    ///
    /// # Panics
    ///
    /// Panics if the task belongs to another runtime.
    pub fn begin_compaction<F>(&self, cx: &mut Context, then: F) -> bool
    where
        F: FnOnce(Compaction<T>, &mut Context) + Send + 'static,
    {
        self.assert_same_runtime(cx);
        let begins = self.slots().begin_compaction();
        if begins {
            flush_shards(Compaction { arena: self.clone() }, 0, then, cx);
        }
        begins
    }
}

/// Visits all workers from number `worker` on, since the free memory that one has set aside would
/// keep the memory around it.
fn flush_shards<T, F>(compaction: Compaction<T>, worker: usize, then: F, cx: &mut Context)
where
    T: Version,
    F: FnOnce(Compaction<T>, &mut Context) + Send + 'static,
{
    cx.task(()).core(worker as u16).spawn(move |(), cx: &mut Context| {
        let slots = compaction.arena.slots();
        // SAFETY: a shard belongs to the worker of its index, which runs this thread.
        unsafe { slots.flush(cx.worker()) };
        if worker + 1 < cx.workers() {
            return flush_shards(compaction, worker + 1, then, cx);
        }
        if slots.close_sparse() {
            then(compaction, cx);
        }
    });
}

impl<T: Version> Compaction<T> {
    /// Returns true if this node of the arena is to be moved.
    pub fn should_move(&self, node: Link<T>) -> bool {
        self.arena.slots().should_move(node.address())
    }

    /// Reserves memory for a copy of a node, which gets the home of the original. Returns `None` if
    /// there is no memory left.
    ///
    /// # Panics
    ///
    /// Panics if the task belongs to another runtime.
    pub fn reserve(&self, original: Link<T>, cx: &mut Context) -> Option<Reserved<'_, T>> {
        let home = original.reference().home() as u16;
        self.arena.try_reserve_for(home, cx)
    }
}

impl<T: Version> Drop for Compaction<T> {
    fn drop(&mut self) {
        self.arena.slots().end_compaction();
    }
}
