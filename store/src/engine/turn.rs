//! What one task does for a batch: requests one after the other, each on its shards.

use super::ahead::{Hashed, Known};
use super::batch::Batch;
use super::calls::Calls;
use super::cost;
use super::engine::Inner;
use super::plan::{Place, Request, runs_now};
use super::room::RoomShare;
use super::run::Body;
use super::serve::{Errand, Serve, serve_in_order, stop_waiting};
use crate::command::{Command, Effects, Run, caught, check_listening};
use crate::keyspace::{AccessClock, Entry, Garbage, HeldShards};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use xtasking::Context;

/// What outlives the shards that a task holds for one request: what it still has to tell and to do.
#[derive(Debug)]
pub(super) struct Turn<'i> {
    /// In ms since 1970.
    pub(super) now: u64,
    pub(super) worker: usize,
    /// What is noted of accesses.
    clock: AccessClock,
    /// Of the running command. Empty between commands.
    pub(super) effects: Effects,
    /// Batches that waited and were served. They go on when the shards are left.
    #[expect(clippy::vec_box, reason = "a batch goes from task to task in its box")]
    pub(super) served: Vec<Box<Batch>>,
    /// What other tasks have to do.
    pub(super) errands: Vec<Errand>,
    /// What is to be freed when the shards are left.
    pub(super) garbage: Vec<Garbage>,
    pub(super) calls: Calls,
    /// Up to when requests were measured.
    pub(super) measured_at: Instant,
    /// When other sessions are to have their turn; `None` in a simulation, which has no such time.
    pub(super) spent_at: Option<Instant>,
    /// Set once that was so when requests were measured. Those that may take long are measured one
    /// by one, so a turn is longer than it should be by one request.
    pub(super) is_spent: bool,
    /// The last command that was run or queued.
    pub(super) last_command: Option<&'static str>,
    /// The hash of the first argument of the next command, if it is known.
    pub(super) hash: Option<u64>,
    /// Errands that come before the session's next request.
    before_next: VecDeque<Serve>,
    /// Why the next request does not run now.
    delay: Option<Delay>,
    /// True once settings were changed that are still to have their effect.
    has_new_settings: bool,
    /// True once the shards are to be visited before the reply: for a setting, or orders of keys.
    is_visit_due: bool,
    /// The share of the room by which keys may grow. `None` without a limit.
    room: Option<RoomShare<'i>>,
}

/// Why a request does not run when its turn comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Delay {
    /// Too much waits to be written for a snapshot.
    PutOff,
    /// CLIENT PAUSE holds it.
    Paused,
}

impl<'i> Turn<'i> {
    pub(super) fn new(inner: &'i Inner, worker: usize) -> Self {
        let measured_at = Instant::now();
        Self {
            now: inner.now(),
            worker,
            clock: inner.versions.clock(),
            effects: inner.effects(),
            served: Vec::new(),
            errands: Vec::new(),
            garbage: Vec::new(),
            calls: Calls::default(),
            measured_at,
            spent_at: inner.turn_time.map(|time| measured_at + time),
            is_spent: false,
            last_command: None,
            hash: None,
            before_next: VecDeque::new(),
            delay: None,
            has_new_settings: false,
            is_visit_due: false,
            room: None,
        }
    }

    /// Runs the next request of a batch if its shards are free. Returns false if they are not. The
    /// batch is gone if it was parked.
    pub(super) fn try_run(
        &mut self,
        inner: &'i Arc<Inner>,
        request: &Request,
        batch: &mut Option<Box<Batch>>,
        cx: &mut Context,
    ) -> bool {
        let command = request.command;
        self.hash = None;
        if planted!("reads-noted-before-hold")
            && let (Some(batch), Some(command)) = (&batch, command)
            && batch.session.notes_reads()
        {
            batch.session.note_reads(&inner.server, command, batch.requests.args(batch.next));
        }
        match &request.place {
            Place::Nowhere => {
                self.run(inner, HeldShards::None, command, batch);
                // It may have taken time.
                self.now = inner.now();
                true
            }
            &Place::Shard { number, writes, hash } => {
                self.hash = hash;
                let shard = &inner.shards[number];
                if writes {
                    let run =
                        |shard: &mut _| self.run(inner, HeldShards::written(number, shard), command, batch);
                    cx.task(shard.write()).cost(cost::WRITE).try_call(run).is_ok()
                } else {
                    let run = |shard: &_| self.run(inner, HeldShards::read(number, shard), command, batch);
                    cx.task(shard.read()).cost(cost::READ).try_call(run).is_ok()
                }
            }
            Place::Shards(shards) => cx
                .task(inner.accesses(shards))
                .cost(cost::of_shards(shards))
                .try_call(|views| self.run(inner, HeldShards::of(shards, views), command, batch))
                .is_ok(),
        }
    }

    /// Runs the next request of a batch if it only reads one value and its shard is free. Returns
    /// false if that is not so.
    pub(super) fn try_read(
        &mut self,
        inner: &Inner,
        known: &Known,
        batch: &mut Batch,
        cx: &mut Context,
    ) -> bool {
        let Batch { session, requests, next, reply, dependence, .. } = batch;
        let &Known { command: Some(command), key: Some(Hashed { hash, shard }) } = known else {
            return false;
        };
        let Run::Read(read) = command.run else { return false };
        let is_plain = inner.server.attention.is_calm()
            && session.replies.are_wanted()
            && !self.effects.records_misses()
            && session.tracking.is_none()
            && runs_now(command, session)
            && session.has_all_rights()
            && check_listening(command, session).is_ok();
        if !is_plain {
            return false;
        }
        self.begin_request(command);
        let (args, before, clock, now) = (requests.args(*next), reply.len(), self.clock, self.now);
        let shard = cx.task(inner.shards[shard].read()).cost(cost::READ);
        let outcome = shard.try_call(|shard| {
            dependence.see(shard.last_epoch());
            let entry = shard.get(session.database, hash, args.at(1), clock, now);
            (entry.is_some(), caught::read(read, entry.map(Entry::value), args, reply))
        });
        let Ok((is_hit, outcome)) = outcome else { return false };
        *next += 1;
        self.calls.add_lookup(is_hit);
        self.calls.add(command.name, outcome.is_err());
        self.last_command = Some(command.name);
        if let Err(error) = outcome {
            reply.truncate(before);
            reply.error(error.text());
            inner.server.statistics.count_error(session.lane, error.text());
        }
        self.end_read(inner, session, command, args, reply.len() - before);
        true
    }

    /// Runs the next request of a batch on shards that are held, and serves the sessions that
    /// waited for what it has changed.
    pub(super) fn run(
        &mut self,
        inner: &Arc<Inner>,
        held: HeldShards<'_>,
        command: Option<&'static Command>,
        batch: &mut Option<Box<Batch>>,
    ) {
        let mut body = Body::new(inner, self, held);
        if let Some(own) = batch.take() {
            *batch = body.run(own, command);
        }
    }

    /// Lets the batches that were served go on, and spawns tasks for errands, but for those that
    /// come before the session's next request. The shards of the request were left, or are left
    /// when this task ends.
    #[inline]
    pub(super) fn settle(&mut self, inner: &'i Arc<Inner>, cx: &mut Context) {
        if self.has_new_settings {
            self.apply_settings(inner);
        }
        if !self.errands.is_empty() || !self.served.is_empty() {
            for errand in self.errands.drain(..) {
                match errand {
                    Errand::Serve(serve) => self.before_next.push_back(serve),
                    Errand::Save { request, waits } => {
                        if let Some(waits) = waits {
                            inner.serve_saved(request, waits);
                        }
                        inner.start_snapshot(request.kind(), &mut *cx);
                    }
                    Errand::Send(part) => inner.send_part(part, cx),
                    Errand::EndPause => inner.end_pause(&*inner.runtime),
                    Errand::StopWaiting { database, key, ticket } => {
                        stop_waiting(inner, database, key, ticket, cx);
                    }
                }
            }
            for batch in self.served.drain(..) {
                batch.go_on(cx);
            }
        }
        if !self.garbage.is_empty() {
            inner.free_later(std::mem::take(&mut self.garbage), cx);
        }
        for ended in inner.server.clients.take_unblocked() {
            inner.finish_ended(&mut *cx, ended);
        }
    }

    /// Notes whether a command has changed settings, and whether orders of keys are to be made or
    /// dropped before its reply.
    pub(super) fn note_settings(&mut self, are_new: bool, are_orders_due: bool) {
        self.has_new_settings |= are_new;
        self.is_visit_due |= are_orders_due;
    }

    /// Lets the settings that a command has changed have their effect.
    #[cold]
    fn apply_settings(&mut self, inner: &'i Inner) {
        self.has_new_settings = false;
        self.is_visit_due |= inner.apply_memory_settings();
        inner.server.bound_tracking();
        self.reserve_room(inner);
        self.clock = inner.versions.clock();
        self.effects = inner.effects();
    }

    /// Lets other tasks have their turn, and then the batch.
    pub(super) fn pass_on(&mut self, inner: &Arc<Inner>, batch: Option<Box<Batch>>, cx: &mut Context) {
        let next = self.take_before_next();
        match (self.delay, batch) {
            (Some(Delay::PutOff), Some(batch)) => inner.put_off(batch),
            (Some(Delay::Paused), Some(batch)) => inner.hold(batch, cx),
            (_, Some(mut batch)) => {
                batch.is_visit_due |= self.is_visit_due;
                serve_in_order(inner, next, move |cx| batch.go_on(cx), cx);
            }
            (_, None) => serve_in_order(inner, next, |_| {}, cx),
        }
    }

    pub(super) fn has_to_wait(&self) -> bool {
        !self.before_next.is_empty() || self.delay.is_some() || self.is_visit_due
    }

    /// Takes the errands that come before the session's next request.
    pub(super) fn take_before_next(&mut self) -> VecDeque<Serve> {
        std::mem::take(&mut self.before_next)
    }

    /// Notes that the next request does not run now.
    #[cold]
    pub(super) fn delay(&mut self, why: Delay) {
        self.delay = Some(why);
    }

    /// Returns true if keys have grown by more than the turn's share of the room.
    #[inline]
    pub(super) fn lacks_room(&self) -> bool {
        self.room.as_ref().is_some_and(RoomShare::is_exceeded)
    }

    /// Reserves a share of the room, by which the turn may let keys grow from now on.
    #[inline]
    pub(super) fn reserve_room(&mut self, inner: &'i Inner) {
        self.release_room();
        self.room = RoomShare::reserve(&inner.server.memory, self.worker);
    }

    /// Gives back what is left of the share.
    #[inline]
    pub(super) fn release_room(&mut self) {
        self.room = None;
    }

    /// Notes by how many bytes keys have grown. They are counted already.
    #[inline]
    pub(super) fn note_growth(&mut self, bytes: i64) {
        if let Some(room) = &mut self.room {
            room.note_growth(bytes);
        }
    }

    /// Tells the server what was done for no session in particular.
    pub(super) fn count(&mut self, inner: &Inner) {
        self.measure();
        self.calls.flush(&inner.server.statistics, self.worker, Self::keeps_times(inner));
    }

    /// Tells the server what the session has called, and other sessions what it has become.
    pub(super) fn publish(&mut self, inner: &Inner, batch: &Batch) {
        let Some(last_command) = self.last_command.take() else { return };
        self.end_turn(inner, batch);
        let session = &batch.session;
        self.calls.flush(&inner.server.statistics, self.worker, Self::keeps_times(inner));
        session.publish(last_command, self.now);
    }
}
