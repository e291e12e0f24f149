//! The body of a task: commands on the shards that it holds.

use super::batch::Batch;
use super::blocked::Parked;
use super::calls::Calls;
use super::engine::Inner;
use super::plan::runs_now;
use super::serve::{Errand, serve_ready};
use crate::command::{
    Block, Call, Command, Effects, Executed, Flags, check_access, check_listening, execute, find_named,
    resolve,
};
use crate::keyspace::{HeldShards, Keys, Waiting};
use crate::resp::{Args, Reply};
use crate::server::CommandCounts;
use crate::session::Session;
use std::sync::Arc;
use xtasking::Context;

/// A task that holds shards, or none, and runs commands.
pub(super) struct Body<'v> {
    pub(super) inner: &'v Arc<Inner>,
    pub(super) keys: Keys<'v>,
    pub(super) now: u64,
    pub(super) worker: usize,
    /// Batches that waited and were served. They go on when the task has done its own.
    #[expect(clippy::vec_box, reason = "a batch goes from task to task in its box")]
    pub(super) served: Vec<Box<Batch>>,
    /// What other tasks have to do.
    pub(super) errands: Vec<Errand>,
    calls: Calls,
    /// The last command that was run or queued.
    last_command: Option<&'static str>,
}

impl<'v> Body<'v> {
    pub(super) fn new(inner: &'v Arc<Inner>, held: HeldShards<'v>, cx: &Context) -> Self {
        let keys = Keys::new(&inner.layout, held);
        Self {
            inner,
            keys,
            now: inner.now(),
            worker: cx.worker(),
            served: Vec::new(),
            errands: Vec::new(),
            calls: Calls::default(),
            last_command: None,
        }
    }

    /// Runs the next requests of a batch. Returns it, unless it was parked.
    pub(super) fn run(
        &mut self,
        mut batch: Box<Batch>,
        commands: &[Option<&'static Command>],
    ) -> Option<Box<Batch>> {
        let mut effects = self.inner.effects();
        for command in commands {
            let block = self.run_next(*command, &mut batch, &mut effects);
            if let Some(block) = block {
                self.note_seen(&mut batch);
                self.park(batch, block);
                return None;
            }
            batch.next += 1;
            serve_ready(self);
            // What waits for an errand comes before the session's later requests.
            let has_to_wait = self.errands.iter().any(|errand| matches!(errand, Errand::Serve { .. }));
            if batch.session.is_closing || has_to_wait {
                break;
            }
        }
        self.note_seen(&mut batch);
        self.publish(&batch.session);
        Some(batch)
    }

    /// Tells the server what the session has called, and other sessions what it has become.
    fn publish(&mut self, session: &Session) {
        let Some(last_command) = self.last_command.take() else { return };
        self.calls.flush(&self.inner.server.statistics, session.id());
        session.publish(last_command, self.now);
    }

    fn count_refusal(&self, session: u64, args: Args<'_>) {
        let Some(command) = find_named(args) else { return };
        let counts = CommandCounts { rejected: 1, ..CommandCounts::default() };
        self.inner.server.statistics.count(session, command.name, counts);
    }

    /// Runs, queues or refuses the next request of a batch. Its command was found, unless it is
    /// refused.
    fn run_next(
        &mut self,
        command: Option<&'static Command>,
        batch: &mut Batch,
        effects: &mut Effects,
    ) -> Option<Block> {
        let Batch { session, requests, next, reply, .. } = batch;
        let args = requests.args(*next);
        let found = command.map_or_else(|| resolve(args), Ok).and_then(|command| {
            check_access(command, session.is_authenticated)?;
            check_listening(command, session)?;
            self.inner.check_writable(command, session)?;
            Ok(command)
        });
        let before = reply.len();
        let block = match found {
            Err(error) => {
                if let Some(transaction) = &mut session.transaction {
                    transaction.is_aborted = true;
                }
                self.count_refusal(session.id(), args);
                reply.error(error.text());
                None
            }
            Ok(command) if !runs_now(command, session) => {
                self.last_command = Some(command.name);
                queue(command, session, args, reply);
                None
            }
            Ok(command) => {
                self.last_command = Some(command.name);
                let executed = self.execute(command, batch, None, effects);
                self.calls.add(command.name, executed.has_failed);
                executed.block
            }
        };
        if block.is_none() {
            let is_message = command.is_some_and(Command::changes_listening);
            batch.session.replies.apply(&mut batch.reply, before, is_message);
        }
        block
    }

    /// Runs the next request of a batch, which has a command, and reports its effects; `effects` is
    /// empty before and afterwards.
    pub(super) fn execute(
        &mut self,
        command: &'static Command,
        batch: &mut Batch,
        ready: Option<&[u8]>,
        effects: &mut Effects,
    ) -> Executed {
        let Batch { session, requests, next, reply, dependence, .. } = batch;
        self.keys.begin(session.database, self.now);
        let mut call = Call {
            args: requests.args(*next),
            keys: &mut self.keys,
            reply,
            session,
            server: &self.inner.server,
            effects,
            ready,
        };
        let executed = execute(command, &mut call);
        self.inner.report(effects);
        let appended = self.inner.record(self.worker, effects, &mut self.keys);
        appended.into_iter().for_each(|appended| dependence.write(appended));
        effects.clear();
        executed
    }

    /// Lets a batch wait for keys.
    fn park(&mut self, batch: Box<Batch>, block: Block) {
        self.publish(&batch.session);
        let database = batch.session.database;
        self.keys.begin(database, self.now);
        let ticket = self.inner.blocked.next_ticket();
        let waiting = Waiting { ticket, client: batch.session.id() };
        block.keys.iter().for_each(|key| self.keys.wait(key, waiting));
        // The task holds the shards: no other can find the session in them before it is parked.
        self.insert(Parked { batch, block, ticket, database });
    }

    /// Lets the batches that were served go on, and spawns tasks for the errands.
    pub(super) fn finish(self, cx: &mut Context) {
        let Self { inner, served, errands, .. } = self;
        for errand in errands {
            errand.spawn(inner, cx);
        }
        for batch in served {
            batch.advance(cx);
        }
        for ended in inner.server.clients.take_unblocked() {
            inner.finish_ended(&mut *cx, ended);
        }
    }
}

/// Queues a request in the session's transaction.
fn queue(command: &Command, session: &mut Session, args: Args<'_>, reply: &mut Reply) {
    let Some(transaction) = &mut session.transaction else { return };
    if command.flags.has(Flags::NO_MULTI) {
        transaction.is_aborted = true;
        return reply.error(b"ERR Command not allowed inside a transaction");
    }
    transaction.requests.push(args.iter());
    reply.simple("QUEUED");
}
