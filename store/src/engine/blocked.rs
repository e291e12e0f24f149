//! Sessions that wait for keys.

use super::batch::Batch;
use super::engine::Inner;
use super::plan::{Shards, normalize};
use super::run::Body;
use crate::command::{Block, write_null};
use crate::server::Unblock;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xtasking::task::Spawner;

/// A batch whose next request waits for keys.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) batch: Box<Batch>,
    pub(super) block: Block,
    /// The order among those that wait.
    pub(super) ticket: u64,
    pub(super) database: usize,
}

/// The parked batches. Their keys have lists of them too, in the shards.
#[derive(Debug, Default)]
pub(super) struct Blocked {
    waits: Mutex<Waits>,
    next_ticket: AtomicU64,
}

#[derive(Debug, Default)]
struct Waits {
    by_session: HashMap<u64, Parked>,
    /// Deadlines, each with its session.
    deadlines: BTreeSet<(u64, u64)>,
}

impl Blocked {
    fn lock(&self) -> MutexGuard<'_, Waits> {
        // Nothing panics inside.
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the number of a new wait: waits are served in this order.
    pub(super) fn next_ticket(&self) -> u64 {
        // Relaxed: waits for one key are ordered by its shard, which the caller holds.
        self.next_ticket.fetch_add(1, Ordering::Relaxed)
    }

    /// Parks a batch.
    pub(super) fn insert(&self, parked: Parked) {
        let session = parked.batch.session.id();
        parked.batch.session.client.set_blocked(true);
        let mut waits = self.lock();
        if let Some(deadline) = parked.block.deadline {
            waits.deadlines.insert((deadline, session));
        }
        waits.by_session.insert(session, parked);
    }

    /// Takes a parked batch, if it is parked with this ticket or any.
    pub(super) fn take(&self, session: u64, ticket: Option<u64>) -> Option<Parked> {
        let mut waits = self.lock();
        let found = waits.by_session.get(&session)?;
        if ticket.is_some_and(|ticket| ticket != found.ticket) {
            return None;
        }
        let parked = waits.by_session.remove(&session)?;
        if let Some(deadline) = parked.block.deadline {
            waits.deadlines.remove(&(deadline, session));
        }
        parked.batch.session.client.set_blocked(false);
        Some(parked)
    }

    /// Takes all parked batches.
    pub(super) fn take_all(&self) -> Vec<Parked> {
        let mut waits = self.lock();
        waits.deadlines.clear();
        waits.by_session.drain().map(|(_, parked)| parked).collect()
    }

    /// Returns the sessions whose deadline is not after `now`, and the next deadline after it.
    fn due(&self, now: u64) -> (Vec<u64>, Option<u64>) {
        let waits = self.lock();
        let due = waits.deadlines.iter().take_while(|(deadline, _)| *deadline <= now);
        let due: Vec<u64> = due.map(|(_, session)| *session).collect();
        (due, waits.deadlines.iter().find(|(deadline, _)| *deadline > now).map(|(deadline, _)| *deadline))
    }
}

impl Inner {
    pub(super) fn end_waits<S: Spawner + Copy>(self: &Arc<Self>, spawner: S) -> Option<u64> {
        let (due, next) = self.blocked.due(self.now());
        for session in due {
            self.unblock(spawner, session, Unblock::Timeout);
        }
        next
    }

    pub(super) fn unblock<S: Spawner>(self: &Arc<Self>, spawner: S, session: u64, how: Unblock) -> bool {
        let Some(parked) = self.blocked.take(session, None) else { return false };
        let mut shards: Shards = parked.block.keys.iter().map(|key| (self.layout.shard(key), true)).collect();
        normalize(&mut shards);
        let inner = self.clone();
        self.spawn_on(spawner, shards, move |held, cx| {
            let mut body = Body::new(&inner, held);
            body.keys.begin(parked.database, body.now);
            parked.block.keys.iter().for_each(|key| body.keys.stop_waiting(key, parked.ticket));
            let mut batch = parked.batch;
            match how {
                Unblock::Timeout => write_null(parked.block.null, &mut batch.reply),
                Unblock::Error => batch.reply.error(b"UNBLOCKED client unblocked via CLIENT UNBLOCK"),
                Unblock::Close => batch.session.is_closing = true,
            }
            batch.next += 1;
            batch.advance(cx);
        });
        true
    }
}
