//! Frees what was removed and is large, when its shards are left: by tasks, in parts. They have a
//! low priority, as requests go before. If much is left, they have that of requests, and the more
//! is left the larger are their parts: requests do not make garbage faster than it is freed.

use super::engine::Inner;
use crate::keyspace::Garbage;
use crate::value::Pieces;
use std::sync::Arc;
use xtasking::{Context, Priority};

/// The pieces that one task frees, in some 100 µs.
pub(super) const PIECES_OF_TASK: usize = 2048;

/// Values and tables being freed.
struct Freeing {
    inner: Arc<Inner>,
    rest: Vec<Garbage>,
    /// What is left of one of them, and the bytes that it had.
    current: Option<(Pieces, i64)>,
}

impl Inner {
    /// Frees values and tables by tasks. The caller may still hold shards.
    pub(super) fn free_later(self: &Arc<Self>, garbage: Vec<Garbage>, cx: &mut Context) {
        if garbage.is_empty() {
            return;
        }
        let bytes = garbage.iter().map(Garbage::bytes).sum();
        self.server.memory.add_garbage(garbage.len() as i64, bytes);
        Freeing { inner: self.clone(), rest: garbage, current: None }.spawn(cx);
    }
}

impl Freeing {
    fn spawn(mut self, cx: &mut Context) {
        let is_urgent = self.urgency() > 0;
        let priority = if is_urgent { Priority::Normal } else { Priority::Low };
        cx.task(()).priority(priority).begin_operation().spawn(move |(), cx| {
            let is_done = self.free_part();
            // Requests that have come meanwhile do not wait for the next part, nor for those of
            // other tasks.
            self.inner.poll_events(cx);
            if !is_done {
                self.spawn(cx);
            }
        });
    }

    fn urgency(&self) -> usize {
        if planted!("garbage-unbounded") { 0 } else { self.inner.server.memory.garbage_urgency() }
    }

    /// Frees a part. Returns true if that was the last one.
    fn free_part(&mut self) -> bool {
        let mut left = PIECES_OF_TASK * self.urgency().max(1);
        loop {
            if let Some((pieces, bytes)) = &mut self.current {
                left -= pieces.by_ref().take(left).count();
                if left == 0 {
                    return false;
                }
                self.inner.server.memory.add_garbage(-1, -*bytes);
            }
            let Some(next) = self.rest.pop() else {
                self.current = None;
                return true;
            };
            let bytes = next.bytes();
            self.current = Some((next.into_pieces(), bytes));
        }
    }
}
