//! A dialogue, from its first byte to its end.

use super::news::{Host, Kind, News};
use super::parts::{LastReplies, Parts};
use super::rest::Rest;
use super::way_back::WayBack;
use crate::engine::{Engine, Finished, MOST_REPLIES};
use crate::resp::{Limits, Parser, ProtocolError, Reply, Requests};
use crate::server::{ClientMemory, Setting, Unblock};
use crate::session::Session;
use std::fmt;
use xtasking::Context;

/// Messages that a client may leave unread before its dialogue breaks, in bytes.
const MOST_UNREAD: usize = 32 << 20;

/// The bytes by which noted buffers grow or shrink at once, so that smaller ones cost nothing.
const NOTED_STEP: usize = 64 << 10;

/// A client's requests and replies. The object that carries their bytes has it.
///
/// Methods with an `output` append to it what is to be sent. Their argument `unsent` is the number
/// of bytes that were to be sent before, and were not taken by the client.
pub struct Dialogue {
    parser: Parser,
    engine: Engine,
    id: u64,
    /// `None` while requests are under way, and after the end.
    session: Option<Box<Session>>,
    /// Replies to the requests under way.
    parts: Parts,
    /// Requests that wait until the client has taken the replies to earlier ones.
    rest: Option<Rest>,
    /// When the client has last sent something, taken something or got a reply, in ms since 1970.
    active_at: u64,
    phase: Phase,
    /// The bytes of the requests that are not done.
    under_way: usize,
    /// The bytes of its buffers that the server knows of.
    noted: usize,
}

/// How far a dialogue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Requests are accepted.
    Open,
    /// No more requests are accepted. Once [none is under way](Dialogue::is_busy) and the output is
    /// sent, the carrier is to close: [`Dialogue::wants_close`] says when.
    Ending,
    /// The carrier is to close now.
    Broken,
    /// [It is closed](Dialogue::close).
    Closed,
}

impl Dialogue {
    pub(super) fn new(engine: Engine, mut session: Box<Session>) -> Self {
        session.is_in_dialogue = true;
        Self {
            parser: Parser::default(),
            active_at: engine.now(),
            id: session.id(),
            session: Some(session),
            parts: Parts::default(),
            rest: None,
            phase: Phase::Open,
            under_way: 0,
            noted: 0,
            engine,
        }
    }

    /// Returns the number of its session.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns how far it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns true until all requests that were run are done.
    pub fn is_busy(&self) -> bool {
        self.session.is_none() || self.rest.is_some()
    }

    /// Returns true if requests wait until replies to earlier ones are sent, and enough are:
    /// [`run`](Self::run) goes on with them. The carrier is to ask each time that it has sent some.
    pub fn wants_run(&self, unsent: usize) -> bool {
        let may_run = matches!(self.phase, Phase::Open | Phase::Ending);
        may_run && self.rest.is_some() && self.session.is_some() && unsent <= MOST_REPLIES
    }

    /// Notes that the client has taken bytes of the output, so that it is not idle.
    pub fn note_sent(&mut self) {
        self.active_at = self.engine.now();
    }

    /// Returns true if what comes is to be read now. While requests are under way, or the client
    /// has left many replies unread, it should stay where it is.
    pub fn wants_input(&self, unsent: usize) -> bool {
        self.phase == Phase::Open && !self.is_busy() && unsent <= MOST_REPLIES
    }

    /// Returns true if the carrier is to close now.
    pub fn wants_close(&self, unsent: usize) -> bool {
        match self.phase {
            Phase::Ending => !self.is_busy() && unsent == 0,
            Phase::Broken => true,
            Phase::Open | Phase::Closed => false,
        }
    }

    /// Returns the buffer to which what has come is to be appended.
    pub fn input(&mut self) -> &mut Vec<u8> {
        self.active_at = self.engine.now();
        self.parser.input()
    }

    /// Runs the requests that have come as a whole, unless others are under way. If their replies
    /// are many, the last ones [wait](Self::wants_run) until those are sent.
    pub fn run(&mut self, host: &impl Host, output: &mut Vec<u8>, unsent: usize, cx: &mut Context) {
        if self.wants_run(unsent)
            && let Some(Rest { requests, error }) = self.rest.take()
        {
            self.pass(requests, error, host, output, unsent, cx);
        }
        // As the client may have authenticated, more may be acceptable after each call.
        while self.phase == Phase::Open && !self.is_busy() && self.run_some(host, output, unsent, cx) {}
        self.note_buffers(output.capacity());
    }

    /// Passes the requests that are complete to the engine. Returns true if there were some and
    /// they are done.
    fn run_some(&mut self, host: &impl Host, output: &mut Vec<u8>, unsent: usize, cx: &mut Context) -> bool {
        let Some(session) = &self.session else { return false };
        let settings = &self.engine.server().settings;
        let most_buffered = settings.number(Setting::ClientQueryBufferLimit) as u64;
        let longest_arg = usize::try_from(settings.number(Setting::ProtoMaxBulkLen)).unwrap_or(usize::MAX);
        self.parser.set_limits(Limits { longest_arg, is_authenticated: session.is_authenticated });
        let (requests, error) = self.parser.parse();
        if let Some(error) = &error {
            self.phase = Phase::Ending;
            if requests.is_empty() {
                append_error(error, session, output);
            }
        }
        if self.parser.buffered() as u64 > most_buffered {
            self.phase = Phase::Broken;
            return false;
        }
        if requests.is_empty() {
            return false;
        }
        self.pass(requests, error, host, output, unsent, cx)
    }

    /// Passes requests to the engine. Returns true if they are done.
    fn pass(
        &mut self,
        requests: Requests,
        error: Option<ProtocolError>,
        host: &impl Host,
        output: &mut Vec<u8>,
        unsent: usize,
        cx: &mut Context,
    ) -> bool {
        let Some(mut session) = self.session.take() else { return false };
        session.memory = ClientMemory {
            query: self.parser.buffered(),
            query_room: self.parser.room(),
            reply_room: output.capacity(),
            unsent,
            ..ClientMemory::default()
        };
        self.under_way = requests.memory();
        let (engine, host) = (self.engine.share(), Some(host.clone()));
        let way_back = WayBack { engine, host, error: error.clone(), parts: 0 };
        let Some(finished) = self.engine.run(cx, session, requests, way_back) else { return false };
        self.take_back(finished, error, output, unsent, cx);
        !self.is_busy()
    }

    /// Takes news that [`Host::bring`] has brought. Returns true if more requests can be run.
    pub fn take(&mut self, news: News, output: &mut Vec<u8>, unsent: usize, cx: &mut Context) -> bool {
        let mut is_done = false;
        match news.0 {
            Kind::Part(number, replies) => {
                self.parts.put(number, replies);
                is_done = self.take_parts(output, unsent, cx);
            }
            Kind::End(last) => {
                self.parts.put_end(*last);
                is_done = self.take_parts(output, unsent, cx);
            }
            Kind::Messages => self.take_messages(output, unsent),
            Kind::Lost => self.end_without_session(),
            Kind::Kill => self.break_off(),
            Kind::EndIfIdle(moment) if self.is_idle_since(moment) => self.break_off(),
            Kind::EndIfIdle(_) => {}
            Kind::Finish => self.end(cx),
            #[cfg(feature = "tls")]
            Kind::EndHandshake => self.break_off(),
        }
        self.note_buffers(output.capacity());
        is_done && (self.phase == Phase::Open || self.rest.is_some())
    }

    /// Returns true if nothing has passed since then, in ms since 1970. A client that listens or
    /// waits is not idle.
    fn is_idle_since(&self, moment: u64) -> bool {
        self.active_at < moment && self.session.as_ref().is_some_and(|session| !session.is_listening())
    }

    /// Appends what has come of the replies to requests that were under way in other tasks. Returns
    /// true if these were the last ones.
    fn take_parts(&mut self, output: &mut Vec<u8>, unsent: usize, cx: &mut Context) -> bool {
        while let Some(replies) = self.parts.take() {
            if self.phase != Phase::Closed {
                self.append(replies, output);
            }
        }
        let Some(LastReplies { finished, error, .. }) = self.parts.take_end() else { return false };
        self.take_back(finished, error, output, unsent, cx);
        true
    }

    fn append(&mut self, replies: Vec<u8>, output: &mut Vec<u8>) {
        self.active_at = self.engine.now();
        // Many are not copied.
        if output.is_empty() && replies.capacity() > output.capacity() {
            *output = replies;
        } else {
            output.extend_from_slice(&replies);
        }
    }

    /// Appends the replies of requests that are done, and keeps those that are not.
    fn take_back(
        &mut self,
        finished: Finished,
        error: Option<ProtocolError>,
        output: &mut Vec<u8>,
        unsent: usize,
        cx: &mut Context,
    ) {
        let Finished { session, replies, mut requests, done, .. } = finished;
        self.under_way = 0;
        if self.phase == Phase::Closed {
            return self.engine.close(&*cx.handle(), session);
        }
        self.append(replies, output);
        if done < requests.len() && !session.is_closing {
            requests.remove_first(done);
            self.under_way = requests.memory();
            self.rest = Some(Rest { requests, error });
        } else {
            self.parser.recycle(requests);
            if let Some(error) = error
                && !session.is_closing
            {
                append_error(&error, &session, output);
            }
        }
        if session.is_closing && self.phase == Phase::Open {
            self.phase = Phase::Ending;
        }
        self.session = Some(session);
        self.take_messages(output, unsent);
    }

    /// Appends the messages of channels. While requests are under way they wait: their replies come
    /// first, among them that to SUBSCRIBE. None comes after the last reply of a dialogue that
    /// ends: its session may have lost the right to them.
    fn take_messages(&mut self, output: &mut Vec<u8>, unsent: usize) {
        let Some(session) = self.session.as_mut().filter(|_| self.phase == Phase::Open) else { return };
        let messages = session.take_messages();
        if messages.is_empty() {
            return;
        }
        match unsent > MOST_UNREAD {
            true => self.break_off(),
            false => output.extend_from_slice(&messages),
        }
    }

    /// Notes that nothing more comes: the dialogue ends once its requests are done. A
    /// wait for a key ends now, or when it begins.
    pub fn end(&mut self, cx: &mut Context) {
        if self.phase == Phase::Open {
            self.phase = Phase::Ending;
        }
        if self.is_busy() {
            self.stop_waiting(cx);
        }
    }

    /// Ends the wait for a key, now or when it begins, as the client has gone.
    pub fn stop_waiting(&self, cx: &mut Context) {
        self.engine.unblock(&*cx.handle(), self.id, Unblock::Close);
    }

    /// Ends the session, as the carrier is closed; if requests are under way, when it is back.
    pub fn close(&mut self, cx: &mut Context) {
        if self.phase == Phase::Closed {
            return;
        }
        self.phase = Phase::Closed;
        self.rest = None;
        self.stop_waiting(cx);
        if let Some(session) = self.session.take() {
            self.engine.close(&*cx.handle(), session);
        }
        self.note_buffers(0);
    }

    fn break_off(&mut self) {
        if self.phase != Phase::Closed {
            self.phase = Phase::Broken;
        }
    }

    /// Ends the dialogue of a session that was lost.
    fn end_without_session(&mut self) {
        let server = self.engine.server();
        server.clients.close(self.id);
        server.channels.forget(self.id);
        server.end_monitor(self.id);
        self.engine.end_tracking(self.id);
        self.under_way = 0;
        self.break_off();
    }

    /// Tells the server how large its buffers are, if they are: they are not the memory of keys.
    /// `room` is the capacity of the output; it is to be called when that has changed.
    pub fn note_buffers(&mut self, room: usize) {
        let own = match self.phase {
            Phase::Closed => 0,
            _ => self.parser.input().capacity() + room,
        };
        let bytes = own + self.under_way;
        let noted = bytes - bytes % NOTED_STEP;
        if noted != self.noted {
            self.engine.server().memory.add_buffers(noted as i64 - self.noted as i64);
            self.noted = noted;
        }
    }
}

/// Appends what was wrong with the bytes of a request, if the client wants replies.
fn append_error(error: &ProtocolError, session: &Session, output: &mut Vec<u8>) {
    if !session.replies.are_wanted() {
        return;
    }
    let mut reply = Reply::new(session.protocol);
    reply.error(error.text());
    output.extend_from_slice(reply.as_bytes());
}

impl fmt::Debug for Dialogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialogue").field("id", &self.id).field("phase", &self.phase).finish_non_exhaustive()
    }
}
