//! What the log has to do with requests: their effects are recorded, their replies wait for the
//! disk, and those that write are refused while it fails.

use super::batch::{Batch, Completion, Finished};
use super::engine::Inner;
use super::part::EarlyReplies;
use super::run::Body;
use crate::command::{Command, CommandError, Effects, Flags, resolve};
use crate::keyspace::Keys;
use crate::log::{Appended, Dependence, Outcome, Waiter};
use crate::resp::{Reply, each_reply};
use crate::session::Session;
use std::sync::{Arc, Weak};
use xtasking::Context;

/// The error of a command that is refused as the log cannot be written.
fn refusal(why: &str) -> CommandError {
    CommandError::new(format!("MISCONF Errors writing to the AOF file: {why}"))
}

fn writes(command: &Command) -> bool {
    // A PING is refused too, as in Redis: so health checks notice.
    command.flags.has(Flags::WRITE) || command.name == "ping"
}

impl Inner {
    /// Returns why nothing can be logged at present, if so.
    fn log_error(&self) -> Option<String> {
        self.server.log.get()?.error()
    }

    /// Returns true if nothing can be logged at present.
    pub(super) fn refuses_writes(&self) -> bool {
        self.log_error().is_some()
    }

    /// Checks that what a command changes can be logged. A transaction that writes is aborted if
    /// not.
    #[inline]
    pub(super) fn check_writable(
        &self,
        command: &Command,
        session: &mut Session,
    ) -> Result<(), CommandError> {
        if self.server.log.get().is_none() {
            return Ok(());
        }
        let Some(why) = self.log_error() else { return Ok(()) };
        if writes(command) {
            return Err(refusal(&why));
        }
        if let Some(transaction) = session.transaction.as_mut().filter(|_| command.name == "exec") {
            let requests = &transaction.requests;
            let writes = |index| resolve(requests.args(index)).is_ok_and(writes);
            if (0..requests.len()).any(writes) {
                transaction.refusal = Some(refusal(&why));
            }
        }
        Ok(())
    }

    /// Appends effects to the log, while the task holds the shards that they have changed.
    pub(super) fn record(&self, worker: usize, effects: &Effects, keys: &mut Keys<'_>) -> Option<Appended> {
        let log = self.server.log.get().filter(|_| !effects.commands.is_empty())?;
        let appended = log.append(worker, keys.last_stamp(), &effects.commands);
        keys.set_mark(appended.mark);
        Some(appended)
    }
}

impl Inner {
    /// Sends replies, now or when the log has what they depend on.
    pub(super) fn send_part(self: &Arc<Self>, part: EarlyReplies, cx: &mut Context) {
        self.go_on_when_logged(part.dependence, Box::new((Arc::downgrade(self), part)), cx);
    }

    /// Lets something go on when the log has what it depends on.
    fn go_on_when_logged<W: Waiter + 'static>(&self, on: Dependence, waiter: Box<W>, cx: &mut Context) {
        let Some(log) = self.server.log.get().filter(|_| on.epoch != 0) else {
            return waiter.go_on(Outcome::Kept, cx);
        };
        if let Some(outcome) = log.verdict(on) {
            return waiter.go_on(outcome, cx);
        }
        if let Some((waiter, outcome)) = log.wait(cx.worker(), on, waiter) {
            waiter.go_on(outcome, cx);
        }
    }
}

/// Returns the error in place of each reply, as what could not be logged is not to be acknowledged.
/// Messages stay: they answer no request.
fn unacknowledged(inner: Option<&Inner>, reply: &Reply) -> Reply {
    let why = inner.and_then(Inner::log_error).unwrap_or_default();
    let mut errors = Reply::new(reply.protocol());
    for written in each_reply(reply.as_bytes()) {
        match written {
            [b'>', ..] => errors.raw(written),
            _ => errors.error(refusal(&why).text()),
        }
    }
    errors
}

impl Body<'_, '_> {
    /// Notes that the replies of a batch may depend on all that was logged of the held shards.
    #[inline]
    pub(super) fn note_seen(&self, batch: &mut Batch) {
        if self.inner.server.log.get().is_some() && !planted!("held-reads-unlogged") {
            batch.dependence.see(self.keys.last_epoch());
        }
    }
}

impl Batch {
    /// Returns the batch if the log has what its replies depend on; else they are sent when it has.
    #[inline]
    pub(super) fn when_logged(self: Box<Self>, cx: &mut Context) -> Option<Box<Self>> {
        if self.dependence.epoch == 0 { Some(self) } else { self.wait_for_log(cx) }
    }

    fn wait_for_log(mut self: Box<Self>, cx: &mut Context) -> Option<Box<Self>> {
        let (on, inner) = (self.dependence, self.inner.clone());
        if let Some(outcome) = inner.server.log.get().map_or(Some(Outcome::Kept), |log| log.verdict(on)) {
            if outcome == Outcome::Failed {
                self.reply = unacknowledged(Some(&inner), &self.reply);
            }
            return Some(self);
        }
        let reply = std::mem::take(&mut self.reply);
        let (finished, then) = self.into_finished();
        let waiter = LoggedBatch { inner: Arc::downgrade(&*inner), reply, finished, then };
        inner.go_on_when_logged(on, Box::new(waiter), cx);
        None
    }
}

/// A batch that is done but for its replies, which wait for the log. The engine has the log, so the
/// batch does not have the engine any more.
struct LoggedBatch {
    inner: Weak<Inner>,
    reply: Reply,
    /// What comes with the replies.
    finished: Finished,
    then: Box<dyn Completion>,
}

impl Waiter for LoggedBatch {
    fn go_on(self: Box<Self>, outcome: Outcome, cx: &mut Context) {
        let Self { inner, mut reply, mut finished, then } = *self;
        if outcome == Outcome::Failed {
            reply = unacknowledged(inner.upgrade().as_deref(), &reply);
        }
        finished.replies = reply.into_bytes();
        then.complete(finished, cx);
    }
}

impl Waiter for (Weak<Inner>, EarlyReplies) {
    fn go_on(self: Box<Self>, outcome: Outcome, cx: &mut Context) {
        let (inner, EarlyReplies { mut reply, send, .. }) = *self;
        if outcome == Outcome::Failed {
            reply = unacknowledged(inner.upgrade().as_deref(), &reply);
        }
        send(reply.into_bytes(), cx);
    }
}
