//! Runs a blocked command again when one of its keys has changed.

use super::batch::Batch;
use super::blocked::Parked;
use super::engine::Inner;
use super::part::EarlyReplies;
use super::plan::{Shards, normalize};
use super::run::Body;
use super::turn::Turn;
use crate::command::{Command, SnapshotRequest, check_rights, resolve, show, write_timeout};
use crate::keyspace::{Entry, Waiting};
use crate::server::{CommandCounts, Unblock};
use std::collections::VecDeque;
use std::sync::Arc;
use xtasking::Context;

/// The reply to a command whose wait CLIENT UNBLOCK has ended by an error.
const UNBLOCKED: &[u8] = b"UNBLOCKED client unblocked via CLIENT UNBLOCK";

/// What a task could not do, as it does not hold the shards: others do it.
#[derive(Debug)]
pub(super) enum Errand {
    /// Serve the sessions that wait for a key.
    Serve(Serve),
    /// Take a snapshot, and end the wait of the session that has asked for it, if it waits.
    Save { request: SnapshotRequest, waits: Option<Waiting> },
    /// Send what a session that waits has of its replies.
    Send(EarlyReplies),
    /// End the pause that CLIENT UNPAUSE ends.
    EndPause,
    /// Take a session off the list of a key.
    StopWaiting { database: usize, key: Box<[u8]>, ticket: u64 },
}

/// The sessions to serve: those that wait for a key. The first needs these shards for that.
#[derive(Debug)]
pub(super) struct Serve {
    database: usize,
    key: Box<[u8]>,
    shards: Shards,
}

/// Serves the sessions that wait for keys which the last command has changed; then those that wait
/// for what these change, and so on.
pub(super) fn serve_ready(body: &mut Body<'_, '_>) {
    while body.keys.has_ready() {
        for (database, key) in body.keys.take_ready() {
            serve_key(body, database, &key);
        }
    }
}

/// Serves the sessions that wait for a key, in order, as long as the key is there. If it is not,
/// those are served that have to know. Only the commands run that get something: to run each of
/// those that wait would take as long as there are many, while the shard is held.
fn serve_key(body: &mut Body<'_, '_>, database: usize, key: &[u8]) {
    body.keys.begin(database, body.turn.now);
    let are_waiting = body.keys.next_waiting(key, None, false).is_some();
    let is_held = || body.inner.hold_serve(Serve::of_key(body.inner, database, key.into())).is_none();
    if !are_waiting || body.inner.server.has_pause() && is_held() {
        return;
    }
    body.keys.keep_expired(false);
    let (mut is_there, mut last) = (true, None);
    loop {
        body.keys.begin(database, body.turn.now);
        is_there = is_there && body.keys.contains(key);
        let Some(waiting) = body.keys.next_waiting(key, last, !is_there) else { return };
        last = Some(waiting.ticket);
        let mut missing = None;
        let parked = body.inner.blocked.take_to_run(waiting, key, |parked| {
            let value = body.keys.peek(key).map(Entry::value);
            let condition = &parked.block.condition;
            if !condition.is_met(&parked.block.keys, key, value) && !planted!("unmet-waits-run") {
                return false;
            }
            let holds_others = parked.block.others.iter().all(|other| body.keys.may_write(other));
            if !holds_others && !planted!("other-shards-not-held") {
                missing = Some(shards_of(body.inner, parked, key));
            }
            missing.is_none()
        });
        if let Some(shards) = missing {
            // Later ones wait until this one was served.
            body.turn.errands.push(Errand::Serve(Serve { database, key: key.into(), shards }));
            return;
        }
        if let Some(parked) = parked {
            serve(body, parked, key);
        }
    }
}

/// Writes the messages to a session that tracks keys: what others have changed while it waited
/// comes before its reply, which may have new values.
fn write_messages(batch: &mut Batch) {
    if batch.session.tracking.is_some() && !planted!("messages-after-served-value") {
        batch.session.write_messages(&mut batch.reply);
    }
}

fn shards_of(inner: &Inner, parked: &Parked, key: &[u8]) -> Shards {
    let keys = parked.block.others.iter().map(|other| &**other).chain([key]);
    let mut shards = keys.map(|key| (inner.layout.shard(key), true)).collect();
    normalize(&mut shards);
    shards
}

/// Runs a parked command for a key. If it blocks again, it is parked as it was.
fn serve(body: &mut Body<'_, '_>, parked: Parked, key: &[u8]) {
    let Parked { mut batch, block, ticket, database } = parked;
    let Ok(command) = resolve(batch.requests.args(batch.next)) else {
        unreachable!("a command that runs again was found before")
    };
    write_messages(&mut batch);
    let before = batch.reply.len();
    // What has changed the key is another request.
    body.turn.measure();
    let Batch { session, requests, next, reply, .. } = &mut *batch;
    let (args, server) = (requests.args(*next), &body.inner.server);
    // Rights may have changed since it began to wait.
    let is_allowed = check_rights(command, args, session, server, body.turn.now);
    if let Err(error) = is_allowed
        && !planted!("served-rights-unchecked")
    {
        reply.error(error.text());
        server.statistics.count_error(session.lane, error.text());
        body.turn.end_waited(body.inner, &batch, command);
        body.let_served_go(Parked { batch, block, ticket, database }, before);
        return;
    }
    let executed = body.execute(command, &mut batch, Some(key));
    body.turn.end_waited(body.inner, &batch, command);
    if executed.has_failed {
        body.count_failure(&batch, command);
    }
    if executed.block.is_some() {
        body.turn.errands.extend(batch.take_part().map(Errand::Send));
        body.insert(Parked { batch, block, ticket, database });
        return;
    }
    body.let_served_go(Parked { batch, block, ticket, database }, before);
}

impl Body<'_, '_> {
    /// Parks a batch, or ends it if its session is gone. What has changed while its command ran
    /// again is looked at by the next tasks.
    pub(super) fn insert(&mut self, parked: Parked) {
        let database = parked.database;
        match self.inner.blocked.insert(parked) {
            Ok(missed) => {
                let serve = missed.into_iter().map(|key| Serve::of_key(self.inner, database, key));
                self.turn.errands.extend(serve.map(Errand::Serve));
            }
            Err(parked) => self.end_wait(parked, Unblock::Close),
        }
    }

    /// Lets a batch go on whose command has run again.
    fn let_served_go(&mut self, parked: Parked, before: usize) {
        self.inner.blocked.end_rerun(&parked);
        self.let_go(parked, before);
    }

    /// Ends a wait without the keys.
    pub(super) fn end_wait(&mut self, mut parked: Parked, how: Unblock) {
        if how != Unblock::Close {
            self.count_end(&parked.batch, how);
        }
        write_messages(&mut parked.batch);
        let Batch { session, reply, .. } = &mut *parked.batch;
        let before = reply.len();
        match how {
            Unblock::Timeout => write_timeout(parked.block.null, reply),
            Unblock::Error => reply.error(UNBLOCKED),
            Unblock::Saved(true) => reply.ok(),
            Unblock::Saved(false) => reply.error(b"ERR"),
            Unblock::Close => session.is_closing = true,
        }
        self.let_go(parked, before);
    }

    /// Shows and counts the end of a wait that no key has ended.
    fn count_end(&mut self, batch: &Batch, how: Unblock) {
        let args = batch.requests.args(batch.next);
        let Ok(command) = resolve(args) else { return };
        show(&self.inner.server, &batch.session, command, args, self.turn.now);
        self.turn.end_waited(self.inner, batch, command);
        if how == Unblock::Error {
            let statistics = &self.inner.server.statistics;
            statistics.count_error(batch.session.lane, UNBLOCKED);
            self.count_failure(batch, command);
        }
    }

    /// Counts that a command has failed which had waited: its call was counted before.
    fn count_failure(&self, batch: &Batch, command: &Command) {
        let counts = CommandCounts { failed: 1, ..CommandCounts::default() };
        self.inner.server.statistics.count(batch.session.lane, command.name, counts);
    }

    /// Takes a batch off the lists of its keys. It goes on, after the reply that starts at
    /// `before`.
    fn let_go(&mut self, parked: Parked, before: usize) {
        let Parked { mut batch, block, ticket, database } = parked;
        self.note_seen(&mut batch);
        batch.session.replies.apply(&mut batch.reply, before, false);
        if batch.session.tracking.is_some() {
            batch.session.end_tracked(&mut batch.reply, None);
        }
        batch.next += 1;
        self.turn.served.push(batch);
        self.keys.begin(database, self.turn.now);
        for key in block.keys {
            if self.keys.may_write(&key) {
                self.keys.stop_waiting(&key, ticket);
            } else {
                self.turn.errands.push(Errand::StopWaiting { database, key, ticket });
            }
        }
    }
}

impl Serve {
    /// Returns the sessions that wait for a key. The first needs no other shard.
    fn of_key(inner: &Inner, database: usize, key: Box<[u8]>) -> Self {
        let shards = [(inner.layout.shard(&key), true)].into_iter().collect();
        Self { database, key, shards }
    }

    /// Spawns a task that serves the sessions, then does the rest, and calls `then`.
    fn spawn(
        self,
        inner: &Arc<Inner>,
        mut rest: VecDeque<Self>,
        then: impl FnOnce(&mut Context) + Send + 'static,
        cx: &mut Context,
    ) {
        let own = inner.clone();
        inner.spawn_on(cx, self.shards, move |held, cx| {
            let mut turn = Turn::new(&own, cx.worker());
            let mut body = Body::new(&own, &mut turn, held);
            serve_key(&mut body, self.database, &self.key);
            serve_ready(&mut body);
            turn.settle(&own, cx);
            turn.count(&own);
            let mut next = turn.take_before_next();
            next.append(&mut rest);
            serve_in_order(&own, next, then, cx);
        });
    }
}

/// Serves sessions by tasks, one after the other. Then a batch goes on by `then`: what has waited
/// for its changes comes before its later requests.
pub(super) fn serve_in_order(
    inner: &Arc<Inner>,
    mut all: VecDeque<Serve>,
    then: impl FnOnce(&mut Context) + Send + 'static,
    cx: &mut Context,
) {
    match all.pop_front() {
        Some(first) => first.spawn(inner, all, then, cx),
        None => then(cx),
    }
}

/// Serves the sessions that wait for keys, by tasks.
pub(super) fn serve_later(inner: &Arc<Inner>, keys: Vec<(usize, Box<[u8]>)>, cx: &mut Context) {
    let serve = keys.into_iter().map(|(database, key)| Serve::of_key(inner, database, key));
    serve_in_order(inner, serve.collect(), |_| {}, cx);
}

/// Spawns a task that takes a session off the list of a key.
pub(super) fn stop_waiting(
    inner: &Arc<Inner>,
    database: usize,
    key: Box<[u8]>,
    ticket: u64,
    cx: &mut Context,
) {
    let own = inner.clone();
    let shard = inner.layout.shard(&key);
    inner.spawn_on(cx, [(shard, true)].into_iter().collect(), move |held, cx| {
        let mut turn = Turn::new(&own, cx.worker());
        let mut body = Body::new(&own, &mut turn, held);
        body.keys.begin(database, body.turn.now);
        body.keys.stop_waiting(&key, ticket);
    });
}
