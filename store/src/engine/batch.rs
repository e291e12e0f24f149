//! The requests of one session under way.

use super::engine::Inner;
use super::plan::{Plan, plan};
use super::run::Body;
use crate::command::Command;
use crate::keyspace::HeldShards;
use crate::log::Dependence;
use crate::resp::{Reply, Requests};
use crate::session::Session;
use std::fmt;
use std::sync::Arc;
use xtasking::Context;
use xtasking::task::Spawner;

/// A session whose requests are done.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// The session, for the next requests.
    pub session: Session,
    /// The replies, in the order of the requests, as bytes to be sent.
    pub replies: Vec<u8>,
}

/// What is to happen when all requests are done.
pub(super) type Then = Box<dyn FnOnce(Finished, &mut Context) + Send>;

/// Requests of a session that are under way.
pub(super) struct Batch {
    pub(super) inner: Arc<Inner>,
    pub(super) session: Session,
    pub(super) requests: Requests,
    /// The first request that is not done.
    pub(super) next: usize,
    pub(super) reply: Reply,
    /// What the replies depend on in the log.
    pub(super) dependence: Dependence,
    then: Then,
}

impl Batch {
    pub(super) fn new(inner: Arc<Inner>, session: Session, requests: Requests, then: Then) -> Box<Self> {
        let reply = Reply::new(session.protocol);
        let dependence = Dependence::default();
        Box::new(Self { inner, session, requests, next: 0, reply, dependence, then })
    }

    /// Runs the next requests: at once as long as they need no shards, else in a task.
    pub(super) fn advance(mut self: Box<Self>, cx: &mut Context) {
        loop {
            if self.next == self.requests.len() || self.session.is_closing {
                return self.finish(cx);
            }
            let plan = self.plan();
            if !plan.shards.is_empty() {
                return self.spawn(plan, cx);
            }
            let inner = self.inner.clone();
            let mut body = Body::new(&inner, HeldShards::None, cx);
            let batch = body.run(self, &plan.commands);
            body.finish(cx);
            match batch {
                Some(batch) => self = batch,
                None => return,
            }
        }
    }

    /// Spawns the task of the next requests.
    pub(super) fn launch<S: Spawner>(self: Box<Self>, spawner: S) {
        let plan = self.plan();
        self.spawn(plan, spawner);
    }

    fn plan(&self) -> Plan {
        plan(&self.inner, &self.session, &self.requests, self.next)
    }

    fn spawn<S: Spawner>(self: Box<Self>, plan: Plan, spawner: S) {
        let (inner, commands) = (self.inner.clone(), plan.commands);
        match *plan.shards {
            [] => spawner.task(()).spawn(move |(), cx| self.advance(cx)),
            [(number, true)] => spawner.task(inner.shards[number].write()).spawn(move |shard, cx| {
                self.run_on(HeldShards::written(number, shard), &commands, cx);
            }),
            [(number, false)] => spawner.task(inner.shards[number].read()).spawn(move |shard, cx| {
                self.run_on(HeldShards::read(number, shard), &commands, cx);
            }),
            _ => inner.spawn_on(spawner, plan.shards, move |held, cx| self.run_on(held, &commands, cx)),
        }
    }

    /// Runs the next requests on shards that the task holds, serves sessions that waited for what
    /// was changed, and goes on.
    fn run_on(
        self: Box<Self>,
        held: HeldShards<'_>,
        commands: &[Option<&'static Command>],
        cx: &mut Context,
    ) {
        let inner = self.inner.clone();
        let mut body = Body::new(&inner, held, cx);
        let batch = body.run(self, commands);
        body.finish(cx);
        if let Some(batch) = batch {
            batch.advance(cx);
        }
    }

    fn finish(self: Box<Self>, cx: &mut Context) {
        if self.dependence.epoch > 0 { self.finish_logged(cx) } else { self.reply(cx) }
    }

    /// Passes the session and the replies on.
    pub(super) fn reply(self: Box<Self>, cx: &mut Context) {
        let Self { session, reply, then, .. } = *self;
        then(Finished { session, replies: reply.into_bytes() }, cx);
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("session", &self.session.id()).finish_non_exhaustive()
    }
}
