//! Runs a family of commands by tasks.

use super::script::{Expected, Family, Step};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use xtasking::{Context, Handle, Promise, Runtime};
use xtasking_store::Engine;
use xtasking_store::engine::Finished;
use xtasking_store::resp::{Parser, Requests};
use xtasking_store::session::Session;

/// The time before a command is repeated.
const PAUSE: Duration = Duration::from_millis(1);

/// The sessions that run a family. It moves from task to task, each on the next worker.
pub struct Actor {
    engine: Engine,
    family: Arc<Family>,
    next: usize,
    database: usize,
    worker: usize,
    sessions: BTreeMap<&'static str, Box<Session>>,
    /// What was not waited for, once it is done.
    late: Arc<Mutex<Option<Finished>>>,
    done: Promise<Result<(), String>>,
}

/// Returns requests that have come as bytes.
fn requests(text: &str) -> Requests {
    let mut parser = Parser::default();
    parser.input().extend_from_slice(text.as_bytes());
    parser.parse().0
}

impl Actor {
    /// Starts a family in a database. The result is the first wrong reply.
    pub fn start(
        rt: &Runtime,
        engine: &Engine,
        family: &Arc<Family>,
        database: usize,
    ) -> Handle<Result<(), String>> {
        let (done, handle) = rt.promise();
        let actor = Box::new(Self {
            engine: engine.clone(),
            family: family.clone(),
            next: 0,
            database,
            worker: database,
            sessions: BTreeMap::new(),
            late: Arc::default(),
            done,
        });
        rt.task(()).core(database as u16).spawn(|(), cx| actor.go_on(cx));
        handle
    }

    /// Returns the number of the next worker.
    fn next_worker(&mut self) -> u16 {
        self.worker = (self.worker + 1) % self.engine.runtime().workers();
        self.worker as u16
    }

    /// Runs the next step.
    fn go_on(mut self: Box<Self>, cx: &mut Context) {
        let family = self.family.clone();
        let Some(step) = family.steps.get(self.next) else { return self.end(Ok(()), cx) };
        if step.command.is_empty() {
            return self.take_late(cx);
        }
        let engine = self.engine.clone();
        let (session, requests) = self.prepare(step);
        if let Expected::Later = step.expected {
            let late = self.late.clone();
            engine.submit(&mut *cx, session, requests, move |finished, _| {
                *late.lock().unwrap_or_else(PoisonError::into_inner) = Some(finished);
            });
            self.next += 1;
            let worker = self.next_worker();
            cx.task(()).core(worker).spawn(|(), cx| self.go_on(cx));
            return;
        }
        engine.submit(cx, session, requests, |finished, cx| {
            let worker = self.next_worker();
            cx.task(()).core(worker).spawn(|(), cx| self.check(finished, cx));
        });
    }

    /// Returns the session of a step, and its requests. A new session selects the database first.
    fn prepare(&mut self, step: &Step) -> (Box<Session>, Requests) {
        let known = self.sessions.remove(step.session);
        let line = match known {
            Some(_) => format!("{}\r\n", step.command),
            None => format!("SELECT {}\r\n{}\r\n", self.database, step.command),
        };
        (known.unwrap_or_else(|| self.engine.session("actor")), requests(&line))
    }

    /// Waits for the reply to what was not waited for.
    fn take_late(self: Box<Self>, cx: &mut Context) {
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner).take();
        match late {
            Some(finished) => self.check(finished, cx),
            None => {
                cx.timer(PAUSE, |cx| self.go_on(cx));
            }
        }
    }

    /// Compares a reply with the one that it should be.
    fn check(mut self: Box<Self>, finished: Finished, cx: &mut Context) {
        let family = self.family.clone();
        let step = &family.steps[self.next];
        let selects = finished.requests.len() == 2;
        let reply = String::from_utf8_lossy(&finished.replies).replace("\r\n", " ");
        let reply = if selects { reply.strip_prefix("+OK ").unwrap_or(&reply) } else { &reply }.trim_end();
        self.sessions.insert(step.session, finished.session);
        match step.expected {
            Expected::Until(expected) if reply != expected => {
                cx.timer(PAUSE, |cx| self.go_on(cx));
            }
            Expected::Reply(expected) if reply != expected => {
                let Step { line, command, .. } = step;
                let wrong = format!("line {line}: {command} => {reply} instead of {expected}");
                self.end(Err(format!("{}, {wrong}", family.name)), cx);
            }
            _ => {
                self.next += 1;
                self.go_on(cx);
            }
        }
    }

    fn end(mut self, result: Result<(), String>, cx: &mut Context) {
        for session in std::mem::take(&mut self.sessions).into_values() {
            self.engine.close(&mut *cx, session);
        }
        self.done.fulfil(result);
    }
}
