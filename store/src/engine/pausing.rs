//! Holds requests while CLIENT PAUSE is in force. No worker waits for that: their batches do.

use super::batch::Batch;
use super::blocked::HeldRequests;
use super::engine::Inner;
use super::serve::{Serve, serve_in_order};
use crate::command::{Command, Flags, resolve};
use crate::server::PauseScope;
use crate::session::Session;
use std::sync::{Arc, MutexGuard};
use xtasking::Context;
use xtasking::task::Spawner;

/// Returns true if a request may change something: by itself, or as what a transaction has queued.
fn writes(command: &Command, session: &Session) -> bool {
    let is_writer =
        |command: &Command| command.flags.has(Flags::WRITE) || command.flags.has(Flags::MAY_REPLICATE);
    let queued = session.transaction.as_ref().filter(|_| command.name == "exec");
    let has_writer = queued.is_some_and(|transaction| {
        let requests = &transaction.requests;
        (0..requests.len()).any(|index| resolve(requests.args(index)).is_ok_and(is_writer))
    });
    is_writer(command) || has_writer
}

/// Returns true for an EXEC that gets an error in any case.
fn is_refused(command: &Command, session: &Session) -> bool {
    command.name == "exec" && session.transaction.as_ref().is_some_and(|queued| queued.refusal.is_some())
}

/// Lets go on what a pause has held: first the sessions whose keys had changed before.
fn go_on<S: Spawner + Copy>(inner: &Arc<Inner>, mut paused: MutexGuard<'_, HeldRequests>, spawner: S) {
    let HeldRequests { batches, serves, .. } = &mut *paused;
    let (mut batches, serves) = (std::mem::take(batches), std::mem::take(serves));
    drop(paused);
    for batch in &mut batches {
        batch.session.is_closing |= !batch.session.client.end_hold();
    }
    if serves.is_empty() {
        return batches.into_iter().for_each(|batch| batch.launch(spawner));
    }
    let own = inner.clone();
    spawner.task(()).spawn(move |(), cx| {
        let launch = |batches: Vec<Box<Batch>>, cx: &mut Context| {
            batches.into_iter().for_each(|batch| batch.launch(&mut *cx));
        };
        if planted!("held-before-served") {
            launch(std::mem::take(&mut batches), cx);
        }
        serve_in_order(&own, serves.into(), move |cx| launch(batches, cx), cx);
    });
}

impl Inner {
    /// Returns true while CLIENT PAUSE is in force.
    pub(super) fn is_paused(&self) -> bool {
        self.server.has_pause() && self.server.held(self.now()).is_some()
    }

    /// Returns true if a request has to wait, as CLIENT PAUSE is in force.
    #[cold]
    pub(super) fn is_held(&self, command: &Command, session: &Session, now: u64) -> bool {
        if session.is_leaving || is_refused(command, session) {
            return false;
        }
        match self.server.held(now) {
            None => false,
            Some(PauseScope::All) => true,
            Some(PauseScope::Writes) => writes(command, session),
        }
    }

    /// Returns true if a request that runs now leaves expired keys where they are, as CLIENT PAUSE
    /// lets nothing be written.
    #[cold]
    pub(super) fn keeps_expired(&self, command: &Command, session: &Session, now: u64) -> bool {
        let is_paused = self.server.held(now).is_some() && !planted!("expired-key-removed-in-pause");
        is_paused && !writes(command, session)
    }

    /// Lets sessions wait for the end of the pause whose key has changed: their commands write.
    /// Gives them back if there is no pause.
    pub(super) fn hold_serve(&self, serve: Serve) -> Option<Serve> {
        if planted!("served-in-pause") {
            return Some(serve);
        }
        let mut paused = self.blocked.held();
        // Inside of the lock: the end of the pause comes before or after.
        if paused.is_abandoned || !self.is_paused() {
            return Some(serve);
        }
        paused.serves.push(serve);
        None
    }

    /// Lets a batch wait for the end of the pause. The replies that it has are sent before.
    pub(super) fn hold(self: &Arc<Self>, mut batch: Box<Batch>, cx: &mut Context) {
        if let Some(part) = batch.take_part() {
            self.send_part(part, cx);
        }
        let mut paused = self.blocked.held();
        // Inside of the lock: the end of the pause, of the session or of the engine comes before or
        // after.
        let is_abandoned = paused.is_abandoned && !planted!("held-after-engine");
        if !is_abandoned && self.is_paused() && batch.session.client.begin_hold() {
            return paused.batches.push(batch);
        }
        drop(paused);
        batch.session.is_closing |= is_abandoned || batch.session.client.is_gone();
        batch.go_on(cx);
    }

    /// Ends the pause, and lets all batches go on.
    pub(super) fn end_pause<S: Spawner + Copy>(self: &Arc<Self>, spawner: S) {
        let paused = self.blocked.held();
        self.server.end_pause();
        go_on(self, paused, spawner);
    }

    /// Ends the pause if its time is over.
    pub(super) fn end_pause_if_over<S: Spawner + Copy>(self: &Arc<Self>, spawner: S) {
        if self.server.has_pause() {
            let paused = self.blocked.held();
            if self.server.end_pause_if_over(self.now()) {
                go_on(self, paused, spawner);
            }
        }
    }

    /// Lets the batch of a session go on that is to end.
    pub(super) fn end_hold<S: Spawner>(self: &Arc<Self>, spawner: S, session: u64) {
        let mut paused = self.blocked.held();
        let batches = &mut paused.batches;
        let Some(at) = batches.iter().position(|batch| batch.session.id() == session) else { return };
        let mut batch = batches.remove(at);
        drop(paused);
        batch.session.is_closing = true;
        batch.launch(spawner);
    }
}
