//! What the log has to do with requests: their effects are recorded, their replies wait for the
//! disk, and those that write are refused while it fails.

use super::batch::Batch;
use super::engine::Inner;
use super::run::Body;
use crate::command::{Command, CommandError, Effects, Flags, resolve};
use crate::keyspace::Keys;
use crate::log::{Appended, Outcome, Waiter};
use crate::resp::{Reply, count_replies};
use crate::session::Session;
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
            transaction.is_aborted |= (0..requests.len()).any(writes);
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

impl Body<'_> {
    /// Notes that the replies of a batch may depend on all that was logged of the held shards.
    #[inline]
    pub(super) fn note_seen(&self, batch: &mut Batch) {
        if self.inner.server.log.get().is_some() {
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
        let (on, worker, inner) = (self.dependence, cx.worker(), self.inner.clone());
        let Some(log) = inner.server.log.get() else { return Some(self) };
        if let Some(outcome) = log.verdict(on) {
            self.end_wait_for_log(outcome);
            return Some(self);
        }
        if let Some((waiter, outcome)) = log.wait(worker, on, self) {
            waiter.go_on(outcome, cx);
        }
        None
    }

    /// What could not be logged is not acknowledged: each reply becomes the error.
    fn end_wait_for_log(&mut self, outcome: Outcome) {
        if outcome == Outcome::Failed {
            let why = self.inner.log_error().unwrap_or_default();
            let mut errors = Reply::new(self.reply.protocol());
            for _ in 0..count_replies(self.reply.as_bytes()) {
                errors.error(refusal(&why).text());
            }
            self.reply = errors;
        }
    }
}

impl Waiter for Batch {
    fn go_on(mut self: Box<Self>, outcome: Outcome, cx: &mut Context) {
        self.end_wait_for_log(outcome);
        self.reply(cx);
    }
}
