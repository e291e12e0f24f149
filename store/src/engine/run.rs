//! What a task does while it holds shards: it runs one request.

use super::batch::Batch;
use super::blocked::Parked;
use super::engine::Inner;
use super::plan::runs_now;
use super::room::check_room;
use super::serve::{Errand, serve_ready};
use super::turn::{Delay, Turn};
use crate::command::{
    Block, Call, Command, CommandError, Executed, Flags, KeyPositions, check_access, check_listening,
    check_rights, execute, find_named, resolve,
};
use crate::keyspace::{HeldShards, Keys, Waiting};
use crate::resp::{Args, Reply};
use crate::server::CommandCounts;
use crate::session::Session;
use std::sync::Arc;

/// A task that holds shards, or none, for a request.
pub(super) struct Body<'v, 'i> {
    pub(super) inner: &'v Arc<Inner>,
    pub(super) keys: Keys<'v>,
    pub(super) turn: &'v mut Turn<'i>,
}

/// How the next request of a batch has ended.
enum RequestOutcome {
    /// It has its reply.
    Done,
    /// It waits for keys.
    Blocked(Block),
    /// It did not run, as CLIENT PAUSE holds it.
    Held,
}

impl<'v, 'i> Body<'v, 'i> {
    #[inline]
    pub(super) fn new(inner: &'v Arc<Inner>, turn: &'v mut Turn<'i>, held: HeldShards<'v>) -> Self {
        let mut keys = Keys::new(&inner.layout, &inner.versions, held);
        if turn.effects.records_insertions() {
            keys.note_insertions();
        }
        Self { inner, keys, turn }
    }

    /// Runs the next request of a batch, and serves the sessions that waited for what it has
    /// changed. Returns the batch, unless it was parked.
    pub(super) fn run(
        &mut self,
        mut batch: Box<Batch>,
        command: Option<&'static Command>,
    ) -> Option<Box<Batch>> {
        let is_crowded = self.keys.version_word().is_crowded() && !planted!("writers-never-put-off");
        if is_crowded && self.keys.may_write_any() {
            // Room is looked for again then.
            batch.lacks_memory = false;
            self.turn.delay(Delay::PutOff);
            return Some(batch);
        }
        match self.run_next(command, &mut batch) {
            RequestOutcome::Held => {
                self.turn.delay(Delay::Paused);
                return Some(batch);
            }
            RequestOutcome::Blocked(block) => {
                self.note_seen(&mut batch);
                self.park(batch, block);
                return None;
            }
            RequestOutcome::Done => {
                batch.next += 1;
                batch.waits_for_room = 0;
            }
        }
        serve_ready(self);
        self.note_seen(&mut batch);
        Some(batch)
    }

    fn count_refusal(&self, args: Args<'_>) {
        let Some(command) = find_named(args) else { return };
        let counts = CommandCounts { rejected: 1, ..CommandCounts::default() };
        self.inner.server.statistics.count(self.turn.worker, command.name, counts);
    }

    /// Runs, queues or refuses the next request of a batch. Its command was found, unless it is
    /// refused.
    fn run_next(&mut self, command: Option<&'static Command>, batch: &mut Batch) -> RequestOutcome {
        let lacks_memory = batch.lacks_memory;
        if lacks_memory {
            batch.lacks_memory = false;
        }
        let checked = batch.checked.take();
        let Batch { session, requests, next, reply, .. } = batch;
        let args = requests.args(*next);
        let (arg_count, arg_bytes) = (args.len(), args.extent());
        let found = command.map_or_else(|| resolve(args), Ok).and_then(|command| {
            match checked {
                Some(Err(refusal)) => return Err(refusal),
                // Rights may have changed before its shards were taken.
                Some(Ok(())) if session.login.is_current() || planted!("checked-rights-kept") => {}
                _ => {
                    check_access(command, session.is_authenticated)?;
                    check_rights(command, args, session, &self.inner.server, self.turn.now)?;
                }
            }
            check_listening(command, session)?;
            if command.flags.has(Flags::NO_MULTI) && !runs_now(command, session) {
                return Err(CommandError::NOT_IN_TRANSACTION);
            }
            if lacks_memory {
                check_room(command, session)?;
            }
            if self.keys.version_word().is_suspect() {
                self.inner.check_saving(command, session)?;
            }
            self.inner.check_writable(command, session)?;
            Ok(command)
        });
        if let (Ok(command), false) = (&found, self.inner.server.attention.is_calm()) {
            if self.inner.is_held(command, session, self.turn.now) {
                return RequestOutcome::Held;
            }
            self.keys.keep_expired(self.inner.keeps_expired(command, session, self.turn.now));
        }
        if session.tracking.is_some() && !planted!("messages-after-new-value") {
            session.write_messages(reply);
        }
        let before = reply.len();
        let block = match found {
            Err(error) => {
                if let Some(transaction) = &mut session.transaction {
                    transaction.is_aborted = true;
                }
                self.count_refusal(args);
                reply.error(error.text());
                self.inner.server.statistics.count_error(self.turn.worker, error.text());
                None
            }
            Ok(command) if !runs_now(command, session) => {
                self.turn.last_command = Some(command.name);
                queue(command, session, args, reply);
                None
            }
            // It is neither counted nor measured.
            Ok(command) if session.is_leaving => self.execute(command, batch, None).block,
            Ok(command) => {
                self.turn.last_command = Some(command.name);
                self.turn.begin_request(command);
                let executed = self.execute(command, batch, None);
                self.turn.calls.add(command.name, executed.has_failed);
                if executed.block.is_some() {
                    self.turn.end_begun();
                } else {
                    let bytes = arg_bytes + batch.reply.len() - before;
                    self.turn.end_request(self.inner, batch, command, arg_count, bytes);
                }
                executed.block
            }
        };
        if block.is_none() && !batch.session.replies.are_wanted() {
            let is_message = command.is_some_and(Command::changes_listening);
            batch.session.replies.apply(&mut batch.reply, before, is_message);
        }
        if block.is_none() && batch.session.tracking.is_some() {
            batch.session.end_tracked(&mut batch.reply, command);
        }
        block.map_or(RequestOutcome::Done, RequestOutcome::Blocked)
    }

    /// Runs the next request of a batch, which has a command, and reports its effects.
    pub(super) fn execute(
        &mut self,
        command: &'static Command,
        batch: &mut Batch,
        ready: Option<&[u8]>,
    ) -> Executed {
        let Batch { session, requests, next, reply, dependence, .. } = batch;
        self.keys.begin(session.database, self.turn.now);
        let mut call = Call {
            command,
            args: requests.args(*next),
            keys: &mut self.keys,
            reply,
            session,
            server: &self.inner.server,
            effects: &mut self.turn.effects,
            ready,
            is_queued: false,
        };
        if let KeyPositions::Range { first, last: -1, step } = command.keys
            && call.args.len() > first + step
        {
            call.keys.fetch(call.args.skip(first).iter().step_by(step));
        }
        if let (Some(hash), Some(key)) = (self.turn.hash.take(), call.args.get(1)) {
            call.keys.note_hash(key, hash);
        }
        let executed = execute(&mut call);
        self.turn.calls.add_keys(self.keys.take_counts());
        let growth = self.inner.count_growth(self.turn.worker, &mut self.keys);
        self.turn.note_growth(growth);
        if self.keys.has_garbage() {
            self.turn.garbage.append(&mut self.keys.take_garbage());
        }
        if !self.turn.effects.is_untouched() {
            self.turn.calls.add_changes(self.turn.effects.changes());
            self.inner.report(&self.turn.effects);
            let appended = self.inner.record(self.turn.worker, &self.turn.effects, &mut self.keys);
            appended.into_iter().for_each(|appended| dependence.write(appended));
            if let Some(request) = self.turn.effects.snapshot() {
                self.turn.errands.push(Errand::Save { request, waits: None });
            }
            if self.turn.effects.ends_pause() {
                self.turn.errands.push(Errand::EndPause);
            }
            let effects = &self.turn.effects;
            let (are_new, are_orders_due) = (effects.has_new_settings(), effects.are_orders_due());
            self.turn.note_settings(are_new, are_orders_due);
            self.turn.effects.clear();
        }
        executed
    }

    /// Lets a batch wait for keys.
    fn park(&mut self, mut batch: Box<Batch>, block: Block) {
        self.turn.publish(self.inner, &batch);
        let database = batch.session.database;
        self.keys.begin(database, self.turn.now);
        let ticket = self.inner.blocked.next_ticket();
        let waiting = Waiting { ticket, client: batch.session.id(), heeds_removal: block.heeds_removal };
        block.keys.iter().for_each(|key| self.keys.wait(key, waiting));
        // A command that has asked for a snapshot waits for that.
        if let Some(Errand::Save { waits, .. }) = self.turn.errands.last_mut() {
            *waits = Some(waiting);
        }
        self.turn.errands.extend(batch.take_part().map(Errand::Send));
        // The task holds the shards: no other can find the session in them before it is parked.
        self.insert(Parked { batch, block, ticket, database });
    }
}

/// Queues a request in the session's transaction.
fn queue(command: &Command, session: &mut Session, args: Args<'_>, reply: &mut Reply) {
    let Some(transaction) = &mut session.transaction else { return };
    if command.flags.has(Flags::NO_MULTI) {
        transaction.is_aborted = true;
        return reply.error(CommandError::NOT_IN_TRANSACTION.text());
    }
    transaction.requests.push(args.iter());
    reply.simple("QUEUED");
}
