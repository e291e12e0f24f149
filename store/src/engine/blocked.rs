//! Sessions that wait for keys.

use super::batch::Batch;
use super::engine::Inner;
use super::plan::{Shards, normalize};
use super::run::Body;
use super::serve::{Serve, serve_in_order};
use super::turn::Turn;
use crate::command::Block;
use crate::keyspace::Waiting;
use crate::server::{Ended, Unblock};
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
#[repr(align(128))]
pub(super) struct Blocked {
    waits: Mutex<Waits>,
    held: Mutex<HeldRequests>,
    next_ticket: AtomicU64,
}

/// What CLIENT PAUSE holds, in the order in which it came.
#[derive(Debug, Default)]
pub(super) struct HeldRequests {
    /// Batches whose next request is held.
    #[expect(clippy::vec_box, reason = "a batch goes from task to task in its box")]
    pub(super) batches: Vec<Box<Batch>>,
    /// Sessions to be served, whose key has changed before.
    pub(super) serves: Vec<Serve>,
    /// True once nothing will end the pause.
    pub(super) is_abandoned: bool,
}

#[derive(Debug, Default)]
struct Waits {
    by_session: HashMap<u64, Parked>,
    /// Deadlines, each with its session and ticket.
    deadlines: BTreeSet<(u64, u64, u64)>,
    /// Waits for several keys whose command runs again now, by session.
    reruns: HashMap<u64, Rerun>,
    /// True once nothing will serve waits.
    is_abandoned: bool,
}

/// A wait whose command runs again for one of its keys. Tasks that change others do not find it.
#[derive(Debug)]
struct Rerun {
    ticket: u64,
    /// The keys that have changed meanwhile.
    missed: Vec<Box<[u8]>>,
}

impl Blocked {
    fn lock(&self) -> MutexGuard<'_, Waits> {
        // Nothing panics inside.
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks what a pause holds.
    pub(super) fn held(&self) -> MutexGuard<'_, HeldRequests> {
        // Nothing panics inside.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the number of a new wait, which is not 0: waits are served in this order.
    pub(super) fn next_ticket(&self) -> u64 {
        // Relaxed: waits for one key are ordered by its shard, which the caller holds.
        self.next_ticket.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Parks a batch, and returns those of its keys that have changed while its command ran again.
    /// Gives it back if its session is gone.
    pub(super) fn insert(&self, parked: Parked) -> Result<Vec<Box<[u8]>>, Parked> {
        let session = parked.batch.session.id();
        let mut waits = self.lock();
        let missed = waits.reruns.remove(&session).map_or_else(Vec::new, |rerun| rerun.missed);
        // Inside of the lock: a wait that can be ended is here to be found.
        let client = &parked.batch.session.client;
        let may_wait = !waits.is_abandoned && client.begin_wait(parked.ticket);
        if !may_wait && !planted!("gone-session-waits") {
            return Err(parked);
        }
        if let Some(deadline) = parked.block.deadline {
            waits.deadlines.insert((deadline, session, parked.ticket));
        }
        waits.by_session.insert(session, parked);
        Ok(missed)
    }

    /// Ends a wait and takes its batch, if nothing has ended it before.
    fn take(&self, session: u64, ticket: u64) -> Option<Parked> {
        self.lock().take_if(session, ticket, |_| true)
    }

    /// Takes the batch of a session whose command is to run again for a key, if nothing has ended
    /// its wait before and `is_wanted`. If the command runs now for another key, the caller of
    /// [`insert`](Self::insert) learns of this one: else the change would be lost if that run gets
    /// nothing.
    pub(super) fn take_to_run(
        &self,
        waiting: Waiting,
        key: &[u8],
        is_wanted: impl FnOnce(&Parked) -> bool,
    ) -> Option<Parked> {
        let Waiting { client: session, ticket, .. } = waiting;
        let mut waits = self.lock();
        if let Some(rerun) = waits.reruns.get_mut(&session).filter(|rerun| rerun.ticket == ticket) {
            if !planted!("missed-key-forgotten") {
                rerun.missed.push(key.into());
            }
            return None;
        }
        let parked = waits.take_if(session, ticket, is_wanted)?;
        if parked.block.keys.len() > 1 {
            waits.reruns.insert(session, Rerun { ticket, missed: Vec::new() });
        }
        Some(parked)
    }

    /// Notes that a command has run again, and waits no more.
    pub(super) fn end_rerun(&self, parked: &Parked) {
        if parked.block.keys.len() > 1 {
            self.lock().reruns.remove(&parked.batch.session.id());
        }
    }

    /// Takes all batches that wait for keys or for the end of a pause, as nothing will serve them.
    /// None waits after this.
    #[expect(clippy::vec_box, reason = "a batch goes from task to task in its box")]
    pub(super) fn abandon(&self) -> (Vec<Parked>, Vec<Box<Batch>>) {
        let mut waits = self.lock();
        waits.is_abandoned = true;
        waits.deadlines.clear();
        let parked = waits.by_session.drain().map(|(_, parked)| parked).collect();
        drop(waits);
        let mut held = self.held();
        held.is_abandoned = true;
        held.serves.clear();
        (parked, std::mem::take(&mut held.batches))
    }

    /// Takes the batch of a wait that was ended.
    fn take_ended(&self, ended: Ended) -> Option<Parked> {
        self.lock().remove(ended.session, ended.ticket)
    }

    /// Returns the sessions whose deadline is not after `now`, with their tickets, and the next
    /// deadline after it.
    fn due(&self, now: u64) -> (Vec<(u64, u64)>, Option<u64>) {
        let waits = self.lock();
        let due = waits.deadlines.iter().take_while(|(deadline, ..)| *deadline <= now);
        let due = due.map(|&(_, session, ticket)| (session, ticket)).collect();
        (due, waits.deadlines.iter().map(|(deadline, ..)| *deadline).find(|deadline| *deadline > now))
    }
}

impl Waits {
    /// Ends a wait and takes its batch, if nothing has ended it before and `is_wanted`.
    fn take_if(
        &mut self,
        session: u64,
        ticket: u64,
        is_wanted: impl FnOnce(&Parked) -> bool,
    ) -> Option<Parked> {
        let found = self.by_session.get(&session)?;
        let client = &found.batch.session.client;
        let is_taken = client.waits_with(ticket) && is_wanted(found) && client.end_wait(ticket);
        if is_taken || planted!("ended-wait-served") { self.remove(session, ticket) } else { None }
    }

    fn remove(&mut self, session: u64, ticket: u64) -> Option<Parked> {
        self.by_session.get(&session).filter(|found| found.ticket == ticket)?;
        let parked = self.by_session.remove(&session)?;
        if let Some(deadline) = parked.block.deadline {
            self.deadlines.remove(&(deadline, session, ticket));
        }
        Some(parked)
    }
}

impl Inner {
    pub(super) fn end_waits<S: Spawner + Copy>(self: &Arc<Self>, spawner: S) -> Option<u64> {
        let (due, next) = self.blocked.due(self.now());
        for (client, ticket) in due {
            self.end_wait(spawner, Waiting { ticket, client, heeds_removal: false }, Unblock::Timeout);
        }
        next
    }

    /// Ends a wait, unless something has ended it before.
    pub(super) fn end_wait<S: Spawner>(self: &Arc<Self>, spawner: S, waiting: Waiting, how: Unblock) {
        if let Some(parked) = self.blocked.take(waiting.client, waiting.ticket) {
            self.finish_wait(spawner, parked, how);
        }
    }

    pub(super) fn unblock<S: Spawner>(self: &Arc<Self>, spawner: S, session: u64, how: Unblock) -> bool {
        let ended = self.server.clients.end_wait(session, how);
        ended.inspect(|&ended| self.finish_ended(spawner, ended)).is_some()
    }

    /// Lets a batch go on whose wait was ended.
    pub(super) fn finish_ended<S: Spawner>(self: &Arc<Self>, spawner: S, ended: Ended) {
        if ended.was_held() {
            self.end_hold(spawner, ended.session);
        } else if let Some(parked) = self.blocked.take_ended(ended) {
            self.finish_wait(spawner, parked, ended.how);
        }
    }

    /// Takes a session off the lists of its keys, by a task, and lets its batch go on.
    fn finish_wait<S: Spawner>(self: &Arc<Self>, spawner: S, parked: Parked, how: Unblock) {
        let mut shards: Shards = parked.block.keys.iter().map(|key| (self.layout.shard(key), true)).collect();
        normalize(&mut shards);
        let inner = self.clone();
        self.spawn_on(spawner, shards, move |held, cx| {
            let mut turn = Turn::new(&inner, cx.worker());
            Body::new(&inner, &mut turn, held).end_wait(parked, how);
            turn.settle(&inner, cx);
            turn.count(&inner);
            serve_in_order(&inner, turn.take_before_next(), |_| {}, cx);
        });
    }
}
