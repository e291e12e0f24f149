//! How long requests take.
//!
//! To read a clock for each request of a pipeline would take a tenth of its time. So those that
//! are quick are measured together, up to the end of the turn or the next one that is not, and
//! each has the same share of the time. A client that waits for each reply sees exact times.

use super::batch::Batch;
use super::engine::Inner;
use super::turn::Turn;
use crate::command::{Command, note_time, resolve};
use crate::resp::Args;
use crate::server::{Reason, Setting};
use crate::session::Session;
use std::time::Instant;

/// A request whose arguments and reply have more bytes is measured by itself.
const MANY_BYTES: usize = 16 << 10;
/// A request with more arguments is, too.
const MANY_ARGS: usize = 16;

impl Turn<'_> {
    /// Returns the nanoseconds since it was last called, or since the turn began.
    pub(super) fn lap(&mut self) -> u64 {
        let now = Instant::now();
        let elapsed = now.saturating_duration_since(self.measured_at);
        self.measured_at = now;
        self.is_spent |= self.spent_at.is_some_and(|spent_at| now >= spent_at);
        u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Begins a request. Those before are measured if it is measured by itself.
    #[inline]
    pub(super) fn begin_request(&mut self, command: &Command) {
        if !command.is_quick {
            self.measure_before();
        }
    }

    #[cold]
    #[inline(never)]
    fn measure_before(&mut self) {
        self.measure();
    }

    /// Says how long the requests took that were not measured yet: each the same. Returns it in
    /// nanoseconds.
    pub(super) fn measure(&mut self) -> u64 {
        let elapsed = self.lap();
        self.calls.measure(elapsed)
    }

    /// Ends a request that reads a value. `written` is the length of its reply in bytes.
    #[inline]
    pub(super) fn end_read(
        &mut self,
        inner: &Inner,
        session: &Session,
        command: &'static Command,
        args: Args<'_>,
        written: usize,
    ) {
        if !command.is_quick || written > MANY_BYTES {
            self.end_measured(inner, session, command, args);
        }
    }

    /// Ends the next request of a batch, given its number of arguments, and the bytes of those and
    /// of the reply.
    #[inline]
    pub(super) fn end_request(
        &mut self,
        inner: &Inner,
        batch: &Batch,
        command: &'static Command,
        args: usize,
        bytes: usize,
    ) {
        let is_large = bytes > MANY_BYTES || args > MANY_ARGS;
        if !command.is_quick || is_large || inner.server.attention.has(Reason::EXACT_TIMES) {
            self.end_next(inner, batch, command);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_next(&mut self, inner: &Inner, batch: &Batch, command: &'static Command) {
        self.end_measured(inner, &batch.session, command, batch.requests.args(batch.next));
    }

    #[cold]
    #[inline(never)]
    fn end_measured(&mut self, inner: &Inner, session: &Session, command: &'static Command, args: Args<'_>) {
        let nanoseconds = self.measure();
        note_time(&inner.server, &session.client, command, args, self.now, nanoseconds);
    }

    /// Ends the first run of a request that waits.
    #[cold]
    pub(super) fn end_begun(&mut self) {
        let elapsed = self.lap();
        self.calls.measure_begun(elapsed);
    }

    /// Ends the run of a request that has waited: it was counted before.
    #[cold]
    pub(super) fn end_waited(&mut self, inner: &Inner, batch: &Batch, command: &'static Command) {
        let nanoseconds = self.lap();
        self.calls.add_time(command.name, nanoseconds);
        let (client, args) = (&batch.session.client, batch.requests.args(batch.next));
        note_time(&inner.server, client, command, args, self.now, nanoseconds);
    }

    /// Measures the last requests of a turn.
    #[inline]
    pub(super) fn end_turn(&mut self, inner: &Inner, batch: &Batch) {
        let nanoseconds = self.measure();
        // The monitor takes no less than a millisecond, and so does the slow log here.
        if nanoseconds >= 1_000_000 {
            self.note_last(inner, batch, nanoseconds);
        }
    }

    #[cold]
    fn note_last(&self, inner: &Inner, batch: &Batch, nanoseconds: u64) {
        let Some(last) = batch.next.checked_sub(1) else { return };
        let args = batch.requests.args(last);
        if let Ok(command) = resolve(args) {
            note_time(&inner.server, &batch.session.client, command, args, self.now, nanoseconds);
        }
    }

    /// Returns true if the times of commands are kept.
    pub(super) fn keeps_times(inner: &Inner) -> bool {
        inner.server.settings.number(Setting::LatencyTracking) != 0
    }
}
