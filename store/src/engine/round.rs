//! Goes from shard to shard, so that each has what new settings demand: orders of keys, and counts
//! of bytes.
//!
//! As for snapshots there is at most one task for each worker, and each spawns the next one when it
//! ends: requests of other clients wait for one shard, not for all.

use super::engine::Inner;
use crate::keyspace::Shard;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use xtasking::Context;
use xtasking::task::Spawner;

/// What comes after the last shard.
type AfterRound = Box<dyn FnOnce(&mut Context) + Send>;

/// A way through all shards.
struct ShardRound {
    inner: Arc<Inner>,
    /// The next shard that no task visits yet.
    next: AtomicUsize,
    /// The number of shards that were not left.
    rest: AtomicUsize,
    then: Mutex<Option<AfterRound>>,
}

impl Inner {
    /// Lets all shards have the orders and the count of bytes that the settings demand. Then calls
    /// a function, in a task.
    pub(super) fn visit_shards<S: Spawner + Copy>(
        self: &Arc<Self>,
        spawner: S,
        then: impl FnOnce(&mut Context) + Send + 'static,
    ) {
        let visitors = self.shards.len().min(self.server.workers);
        let round = Arc::new(ShardRound {
            inner: self.clone(),
            next: AtomicUsize::new(visitors),
            rest: AtomicUsize::new(self.shards.len()),
            then: Mutex::new(Some(Box::new(then))),
        });
        (0..visitors).for_each(|shard| round.clone().spawn(spawner, shard));
    }
}

impl ShardRound {
    fn spawn<S: Spawner>(self: Arc<Self>, spawner: S, shard: usize) {
        let inner = self.inner.clone();
        spawner.task(inner.shards[shard].write()).spawn(move |shard, cx| {
            self.visit(shard, cx);
            // Relaxed: only the number has to be another one.
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            if next < self.inner.shards.len() {
                self.spawn(cx, next);
            }
        });
    }

    fn visit(&self, shard: &mut Shard, cx: &mut Context) {
        let Inner { server, versions, .. } = &*self.inner;
        // As set now: of two rounds that are to set something else the later one is right.
        let ordered = server.settings.ordered_databases();
        let mut growth = shard.set_ordered(|database| ordered[database]);
        if versions.read().is_counted() {
            growth += shard.begin_to_count();
        }
        server.memory.add(cx.worker(), growth);
        // AcqRel: the last task sees what all others have done.
        if self.rest.fetch_sub(1, Ordering::AcqRel) == 1 {
            let then = self.then.lock().unwrap_or_else(PoisonError::into_inner).take();
            then.into_iter().for_each(|then| then(cx));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Engine;
    use crate::resp::Requests;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use xtasking::Runtime;

    /// The only worker runs tasks in the order in which they come.
    #[test]
    fn a_request_waits_for_a_part_of_a_round() {
        let rt = Runtime::builder().workers(1).build().unwrap();
        let engine = Engine::builder().shards(256).build(&rt);
        let (promise, handle) = rt.promise();
        let own = engine.clone();
        rt.task(()).spawn(move |(), _| {
            let has_ended = Arc::new(AtomicBool::new(false));
            let ended = has_ended.clone();
            own.inner.visit_shards(&*own.inner.runtime, move |_| ended.store(true, Ordering::SeqCst));
            let then = move |_, _: &mut _| promise.fulfil(has_ended.load(Ordering::SeqCst));
            own.submit(&*own.inner.runtime, own.session(""), Requests::one(["GET", "key"]), then);
        });
        assert!(!handle.join().unwrap(), "all shards were visited before the request");
    }
}
