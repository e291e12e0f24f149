//! The requests of one session under way.

use super::ahead::Ahead;
use super::cost;
use super::engine::{Inner, InnerHandle};
use super::part::{EarlyReplies, SendEarly};
use super::plan::{Request, Shards};
use super::sweep::Sweep;
use super::turn::Turn;
use crate::command::{Command, CommandError, check_access, check_rights, note_refused};
use crate::keyspace::HeldShards;
use crate::log::Dependence;
use crate::resp::{Reply, Requests};
use crate::session::Session;
use std::fmt;
use std::sync::Arc;
use xtasking::task::Spawner;
use xtasking::{Context, Priority};

/// The most requests that one task runs, so that it is not long. It runs fewer if they take much
/// time, see [`Turn::is_spent`].
const MOST_REQUESTS: usize = 256;

/// The bytes of replies after which a batch of a dialogue ends early, and that a client may leave
/// unread before the next one begins.
pub(crate) const MOST_REPLIES: usize = 1 << 20;

/// The bytes for which there is room at first, for each request, and for all of them.
const BYTES_OF_REPLY: usize = 16;
const LEAST_BYTES: usize = 64;

/// A session whose requests are done.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// The session, for the next requests.
    pub session: Box<Session>,
    /// The replies, in the order of the requests, as bytes to be sent.
    pub replies: Vec<u8>,
    /// The requests, whose memory a [parser can use again](crate::resp::Parser::recycle).
    pub requests: Requests,
    /// How many of them were run: fewer than all if one has ended the session, or if it is that of
    /// a [dialogue](crate::dialogue) and its replies are many.
    pub done: usize,
}

/// What happens when the requests of a session are done: a function, or more.
pub trait Completion: Send + 'static {
    /// Takes the session with the replies. It is called in a task, perhaps inside of shards: it
    /// should only hand the replies over.
    fn complete(self: Box<Self>, finished: Finished, cx: &mut Context);

    /// Is called instead if [`Engine::run`](super::Engine::run) has returned the session.
    fn dismiss(self: Box<Self>) {}

    /// Returns what takes the replies so far, when a request waits; `None` if they are to
    /// come with the others. It may be called several times, and the functions in any order.
    fn early(&mut self) -> Option<SendEarly> {
        None
    }
}

impl<F: FnOnce(Finished, &mut Context) + Send + 'static> Completion for F {
    fn complete(self: Box<Self>, finished: Finished, cx: &mut Context) {
        self(finished, cx);
    }
}

/// Requests of a session that are under way.
pub(super) struct Batch {
    pub(super) inner: InnerHandle,
    pub(super) session: Box<Session>,
    pub(super) requests: Requests,
    /// The first request that is not done.
    pub(super) next: usize,
    pub(super) reply: Reply,
    /// What the replies depend on in the log.
    pub(super) dependence: Dependence,
    /// Whether the session may run the next request, if that was found out before its shards are
    /// taken.
    pub(super) checked: Option<Result<(), CommandError>>,
    /// Set if there is no memory for the next request.
    pub(super) lacks_memory: bool,
    /// How often the next request was put off as others had reserved the room.
    pub(super) waits_for_room: u32,
    /// Set if all shards are to be visited before the next request, and before the replies.
    pub(super) is_visit_due: bool,
    /// Set if events are to be looked for first, as the last request has taken long.
    is_poll_due: bool,
    /// What is known of the shards, if keys are being evicted for the next request.
    sweep: Option<Box<Sweep>>,
    then: Box<dyn Completion>,
}

/// How a turn of a batch ended.
enum Turned {
    /// All requests are done.
    Done(Box<Batch>),
    /// Other tasks have their turn first.
    Paused(Box<Batch>),
    /// Other tasks evict keys first.
    Evicting(Box<Batch>, Box<Sweep>),
    /// The shards of the next request are not free.
    Refused(Box<Batch>, Option<&'static Command>, Shards),
    /// The next request was parked.
    Parked,
}

impl Batch {
    pub(super) fn new(
        inner: InnerHandle,
        mut session: Box<Session>,
        requests: Requests,
        then: Box<dyn Completion>,
    ) -> Box<Self> {
        if !session.is_authenticated {
            // Here alone, as the shards of a request are chosen before it is checked.
            session.is_authenticated = inner.server.acl.is_open();
        }
        let bytes = (requests.len() * BYTES_OF_REPLY).max(LEAST_BYTES);
        let reply = Reply::with_room(session.protocol, bytes);
        let dependence = Dependence::default();
        Box::new(Self {
            inner,
            session,
            requests,
            next: 0,
            reply,
            dependence,
            checked: None,
            lacks_memory: false,
            waits_for_room: 0,
            is_visit_due: false,
            is_poll_due: false,
            sweep: None,
            then,
        })
    }

    fn is_done(&self) -> bool {
        self.next == self.requests.len() || self.session.is_closing || self.ends_early()
    }

    /// Returns true if the rest is not to be run now, or not at all.
    fn ends_early(&self) -> bool {
        let session = &self.session;
        session.is_in_dialogue
            && (self.reply.len() > MOST_REPLIES && !planted!("replies-without-bound")
                || session.client.is_killed() && !planted!("killed-pipeline-goes-on"))
    }

    /// Runs the next requests, as long as their shards are free. Returns the batch if all are done
    /// and the replies may be sent; else tasks go on with it.
    pub(super) fn advance(mut self: Box<Self>, cx: &mut Context) -> Option<Box<Self>> {
        self.session.lane = cx.worker();
        let inner = self.inner.clone();
        let mut turn = Turn::new(&inner, cx.worker());
        turn.reserve_room(&inner);
        let turned = self.take_turn(&inner, &mut turn, cx);
        turn.release_room();
        match turned {
            Turned::Done(batch) => {
                turn.publish(&inner, &batch);
                return batch.when_logged(cx);
            }
            Turned::Paused(batch) => {
                turn.publish(&inner, &batch);
                turn.pass_on(&inner, Some(batch), cx);
            }
            Turned::Evicting(mut batch, sweep) => {
                turn.publish(&inner, &batch);
                let then = move |sweep, cx: &mut Context| {
                    batch.sweep = Some(sweep);
                    batch.go_on(cx);
                };
                inner.go_on_after(sweep, then, cx);
            }
            Turned::Refused(batch, command, shards) => {
                turn.publish(&inner, &batch);
                batch.spawn_on(command, shards, cx);
            }
            Turned::Parked => {}
        }
        None
    }

    fn take_turn<'i>(
        mut self: Box<Self>,
        inner: &'i Arc<Inner>,
        turn: &mut Turn<'i>,
        cx: &mut Context,
    ) -> Turned {
        let mut ahead = Ahead::new(&inner.shards, &inner.layout, self.session.last_command);
        let end = self.next + MOST_REQUESTS;
        let mut sweep = self.sweep.take();
        // Of a request that was put off: there may be memory now.
        self.lacks_memory = false;
        while self.next < end && (!turn.is_spent || planted!("long-turns")) {
            if self.is_done() {
                return Turned::Done(self);
            }
            if planted!("transaction-by-parts") && self.split_transaction() {
                return Turned::Paused(self);
            }
            let known = ahead.get(&self.requests, self.next, self.session.database, cx);
            self.session.last_command = known.command;
            if turn.try_read(inner, &known, &mut self, cx) {
                continue;
            }
            self.check_session(inner, known.command, turn.now);
            let is_refused =
                matches!(self.checked, Some(Err(_))) && !planted!("refused-request-takes-shards");
            if turn.lacks_room()
                && !is_refused
                && let Some(sweep) = turn.make_room(inner, known.command, &mut self, sweep.take(), cx)
            {
                return Turned::Evicting(self, sweep);
            }
            let args = self.requests.args(self.next);
            let request = Request::of(&inner.layout, &self.session, args, &known, is_refused);
            let mut batch = Some(self);
            let is_run = turn.try_run(inner, &request, &mut batch, cx);
            turn.settle(inner, cx);
            match batch {
                Some(batch) if !is_run => {
                    return Turned::Refused(batch, known.command, request.into_shards());
                }
                Some(batch) if turn.has_to_wait() => return Turned::Paused(batch),
                Some(batch) => self = batch,
                None => return Turned::Parked,
            }
        }
        if self.is_done() {
            return Turned::Done(self);
        }
        // What has come meanwhile does not wait for the rest.
        inner.poll_events(cx);
        Turned::Paused(self)
    }

    /// Checks whether the session may run the next request. That needs no key, so one that is
    /// refused takes no shards, and no key is evicted for it.
    #[inline]
    fn check_session(&mut self, inner: &Inner, command: Option<&'static Command>, now: u64) {
        self.checked = None;
        if let Some(transaction) = &mut self.session.transaction
            && !planted!("refusals-kept")
        {
            // Of an EXEC that was put off: rights may have come back since.
            transaction.refused.clear();
        }
        if !self.session.has_all_rights() {
            self.checked = command.map(|command| self.find_refusal(inner, command, now));
        }
    }

    #[cold]
    fn find_refusal(
        &mut self,
        inner: &Inner,
        command: &'static Command,
        now: u64,
    ) -> Result<(), CommandError> {
        check_access(command, self.session.is_authenticated)?;
        check_rights(command, self.requests.args(self.next), &mut self.session, &inner.server, now)?;
        if command.name == "exec" {
            note_refused(&mut self.session);
        }
        Ok(())
    }

    /// The fault of an EXEC that leaves its shards between two commands: makes them requests of
    /// their own. Returns true if the next request is such an EXEC.
    fn split_transaction(&mut self) -> bool {
        let is_exec = self.requests.args(self.next).is(0, "exec") && self.session.watched.is_empty();
        let transaction = self.session.transaction.take_if(|queued| is_exec && !queued.is_aborted);
        let Some(mut requests) = transaction.map(|queued| queued.requests) else { return false };
        self.reply.array(requests.len());
        for later in self.next + 1..self.requests.len() {
            requests.push(self.requests.args(later).iter());
        }
        (self.requests, self.next) = (requests, 0);
        true
    }

    /// Lets a task go on, after the requests of other sessions that are there already.
    pub(super) fn launch<S: Spawner>(mut self: Box<Self>, spawner: S) {
        // A request that was put off has nothing to do with how long the one before took.
        self.is_poll_due = false;
        let requests = (self.requests.len() - self.next).min(MOST_REQUESTS);
        let task = spawner.task(()).priority(Priority::Normal).cost(cost::of_requests(requests));
        task.spawn(move |(), cx| {
            if let Some(batch) = self.advance(cx) {
                batch.reply(cx);
            }
        });
    }

    /// Lets a task that holds the shards of the next request go on.
    fn spawn_on(mut self: Box<Self>, command: Option<&'static Command>, shards: Shards, cx: &mut Context) {
        let inner = self.inner.clone();
        // Rights may have changed when its turn comes.
        self.checked = None;
        match *shards {
            [(number, true)] => {
                let task = cx.task(inner.shards[number].write()).priority(Priority::Normal);
                task.cost(cost::WRITE).spawn(move |shard, cx| {
                    self.run_on(HeldShards::written(number, shard), command, cx);
                })
            }
            [(number, false)] => {
                let task = cx.task(inner.shards[number].read()).priority(Priority::Normal);
                task.cost(cost::READ).spawn(move |shard, cx| {
                    self.run_on(HeldShards::read(number, shard), command, cx);
                })
            }
            _ => inner.spawn_on(cx, shards, move |held, cx| self.run_on(held, command, cx)),
        }
    }

    /// Runs the next request on the shards that this task holds. Another task goes on, as this one
    /// should not hold them longer.
    fn run_on(
        mut self: Box<Self>,
        held: HeldShards<'_>,
        command: Option<&'static Command>,
        cx: &mut Context,
    ) {
        self.session.lane = cx.worker();
        let inner = self.inner.clone();
        let mut turn = Turn::new(&inner, cx.worker());
        turn.reserve_room(&inner);
        let has_room = !turn.has_to_look_for_room(&inner, command, &self);
        let mut batch = Some(self);
        if has_room {
            turn.run(&inner, held, command, &mut batch);
        }
        turn.settle(&inner, cx);
        // After that: new settings may have reserved room again.
        turn.release_room();
        match &mut batch {
            Some(batch) => {
                turn.publish(&inner, batch);
                batch.is_poll_due = turn.is_spent;
            }
            None if turn.is_spent => inner.poll_events_before(|_| {}, cx),
            None => {}
        }
        turn.pass_on(&inner, batch, cx);
    }

    /// Finishes the batch if all its requests are done, else lets a task go on. Shards that are to
    /// be visited are visited before. The caller may still hold shards.
    pub(super) fn go_on(mut self: Box<Self>, cx: &mut Context) {
        if std::mem::take(&mut self.is_poll_due) {
            let inner = self.inner.clone();
            inner.poll_events_before(move |cx| self.go_on(cx), cx);
        } else if std::mem::take(&mut self.is_visit_due) {
            let inner = self.inner.clone();
            inner.visit_shards(&*inner.runtime, move |cx| self.go_on(cx));
        } else if !self.is_done() {
            self.launch(cx);
        } else if let Some(batch) = self.when_logged(cx) {
            batch.reply(cx);
        }
    }

    /// Takes the replies so far, if they may be sent before the others.
    pub(super) fn take_part(&mut self) -> Option<EarlyReplies> {
        if self.reply.is_empty() {
            return None;
        }
        let send = self.then.early()?;
        let rest = Reply::new(self.reply.protocol());
        let reply = std::mem::replace(&mut self.reply, rest);
        Some(EarlyReplies { reply, dependence: self.dependence, send })
    }

    /// Passes the session and the replies on.
    pub(super) fn reply(self, cx: &mut Context) {
        let (finished, then) = self.into_finished();
        then.complete(finished, cx);
    }

    /// Returns the session with the replies, and what was to happen then.
    pub(super) fn into_finished(self) -> (Finished, Box<dyn Completion>) {
        let Self { mut session, reply, then, requests, next, .. } = self;
        session.is_closing |= session.is_in_dialogue && session.client.is_killed();
        (Finished { session, replies: reply.into_bytes(), requests, done: next }, then)
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("session", &self.session.id()).finish_non_exhaustive()
    }
}
