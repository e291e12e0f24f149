//! A connection on a virtual core.

use super::super::load::{EmbeddedConnection, EmbeddedLoad};
use super::super::options::VirtualTimes;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xtasking::platform::Clocks;
use xtasking::{Context, Object, Plain, Promise};
use xtasking_harness::failure::Wrong;
use xtasking_store::Engine;
use xtasking_store::engine::Finished;
use xtasking_store::resp::Parser;
use xtasking_store::session::Session;

/// The most requests that a step of a core runs: what other cores do meanwhile is not known to it.
pub(super) const REQUESTS_OF_STEP: usize = 4;

/// What the connections of a turn share. A simulation has one thread, so no lock is contended.
pub(super) struct Turn {
    pub clocks: Clocks,
    pub times: VirtualTimes,
    pub load: Arc<Mutex<EmbeddedLoad>>,
    pub pipeline: usize,
    pub connections: usize,
    /// What is answered from `from` to `until` counts: commands, and transactions as a whole.
    pub from: u64,
    pub until: u64,
    pub counted: AtomicU64,
    /// Requests that the engine got, each command of a transaction one.
    pub requests: AtomicU64,
    /// Those of them that did not run in place.
    pub late: AtomicU64,
    pub wrong: Mutex<Option<Wrong>>,
}

/// A connection, with its session between its requests.
pub(super) struct VirtualConnection {
    engine: Engine,
    parser: Parser,
    session: Option<Box<Session>>,
    number: usize,
    connection: EmbeddedConnection,
    /// The rest of the pipeline that was received, in pieces for a step each.
    pieces: VecDeque<Vec<u8>>,
    turn: Option<Arc<Turn>>,
    done: Option<Promise<()>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl VirtualConnection {
    pub fn new(engine: Engine, number: usize) -> Self {
        let session = Some(engine.session(""));
        let connection = EmbeddedConnection::new(number as u32);
        let (parser, pieces) = (Parser::default(), VecDeque::new());
        Self { engine, parser, session, number, connection, pieces, turn: None, done: None }
    }

    /// Begins a turn, and fulfils the promise at its end.
    pub fn begin(
        &mut self,
        turn: Arc<Turn>,
        done: Promise<()>,
        this: &Object<Plain<Self>>,
        cx: &mut Context,
    ) {
        // The first pipelines differ in length, so that the connections do not keep step.
        let first = 1 + (turn.pipeline - 1) * self.number / turn.connections;
        (self.turn, self.done) = (Some(turn), Some(done));
        self.send(first, this, cx);
    }

    /// Sends a pipeline, unless the turn has ended.
    fn send(&mut self, pipeline: usize, this: &Object<Plain<Self>>, cx: &mut Context) {
        let Some(turn) = self.turn.clone() else { return };
        if turn.clocks.now() >= turn.until || lock(&turn.wrong).is_some() {
            self.turn = None;
            return self.done.take().into_iter().for_each(|done| done.fulfil(()));
        }
        for first in (0..pipeline).step_by(REQUESTS_OF_STEP) {
            let (requests, mut bytes) = (REQUESTS_OF_STEP.min(pipeline - first), Vec::new());
            lock(&turn.load).send(&mut self.connection, requests, &mut bytes);
            self.pieces.push_back(bytes);
        }
        self.go_on(this, cx, |connection, this, cx| {
            let Some(turn) = connection.turn.clone() else { return };
            turn.clocks.spend(turn.times.system / 2);
            connection.run(this, cx);
        });
    }

    /// Goes on in a task of its own.
    fn go_on<F>(&self, this: &Object<Plain<Self>>, cx: &mut Context, next: F)
    where
        F: FnOnce(&mut Self, &Object<Plain<Self>>, &mut Context) + Send + 'static,
    {
        let own = this.clone();
        cx.task(this.write()).spawn(move |connection, cx| next(connection, &own, cx));
    }

    /// Runs the next requests.
    fn run(&mut self, this: &Object<Plain<Self>>, cx: &mut Context) {
        let (Some(turn), Some(bytes)) = (self.turn.clone(), self.pieces.pop_front()) else { return };
        self.parser.input().extend_from_slice(&bytes);
        let (requests, error) = self.parser.parse();
        let Some(session) = self.session.take().filter(|_| error.is_none()) else {
            return self.fail(&turn, Wrong::new("a request was not parsed"), this, cx);
        };
        let (own, count) = (this.clone(), requests.len() as u64);
        turn.clocks.spend(turn.times.request * count);
        turn.requests.fetch_add(count, Relaxed);
        let then = move |finished, cx: &mut Context| {
            let this = own.clone();
            cx.task(own.write()).spawn(move |connection: &mut Self, cx| {
                if let Some(turn) = &connection.turn {
                    turn.late.fetch_add(count, Relaxed);
                }
                connection.receive(finished, &this, cx);
            });
        };
        if let Some(finished) = self.engine.run(cx, session, requests, then) {
            self.receive(finished, this, cx);
        }
    }

    /// Checks replies.
    fn receive(&mut self, finished: Finished, this: &Object<Plain<Self>>, cx: &mut Context) {
        let Finished { session, replies, requests, .. } = finished;
        self.session = Some(session);
        self.parser.recycle(requests);
        let Some(turn) = self.turn.clone() else { return };
        let is_last = self.pieces.is_empty();
        if is_last {
            turn.clocks.spend(turn.times.system - turn.times.system / 2);
        }
        let received = lock(&turn.load).receive(&mut self.connection, &replies);
        match received {
            Ok(answered) if (turn.from..turn.until).contains(&turn.clocks.now()) => {
                turn.counted.fetch_add(answered, Relaxed);
            }
            Ok(_) => {}
            Err(wrong) => return self.fail(&turn, wrong, this, cx),
        }
        match is_last {
            true => self.send(turn.pipeline, this, cx),
            false => self.go_on(this, cx, Self::run),
        }
    }

    fn fail(&mut self, turn: &Turn, wrong: Wrong, this: &Object<Plain<Self>>, cx: &mut Context) {
        lock(&turn.wrong).get_or_insert(wrong);
        self.send(turn.pipeline, this, cx);
    }
}
