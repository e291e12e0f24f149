//! A connection, from its first byte to its end.

use super::connections::Connections;
use super::parts::{LastReplies, Parts};
use super::socket::Socket;
use crate::engine::{Completion, Engine, Finished, SendEarly};
use crate::resp::{Limits, Parser, ProtocolError, Reply};
use crate::server::{ClientMemory, Setting, Unblock};
use crate::session::Session;
use std::sync::Arc;
use xtasking::events::{Buffered, Event, Filled, Handled, Ready, Registered, Source};
use xtasking::{Context, Object, Plain, Priority};

/// Replies that a client may leave unread before nothing more is read from it, in bytes.
const MOST_UNSENT: usize = 1 << 20;

/// Messages that a client may leave unread before it is closed, in bytes.
const MOST_UNREAD: usize = 32 << 20;

/// The bytes by which noted buffers grow or shrink at once, so that smaller ones cost nothing.
const NOTED_STEP: usize = 64 << 10;

/// A client's connection: an object at one worker.
pub(super) struct Connection<S: Source> {
    io: Buffered<S>,
    parser: Parser,
    engine: Engine,
    connections: Arc<Connections>,
    id: u64,
    /// `None` while requests are under way, and after the end.
    session: Option<Box<Session>>,
    /// Replies to the requests under way.
    parts: Parts,
    /// What the socket was ready for while nothing could be read.
    unread: Ready,
    /// When the client has last sent something, in ms since 1970.
    heard_at: u64,
    /// The connection ends once all replies are sent.
    is_ending: bool,
    /// The bytes of the requests under way.
    under_way: usize,
    /// The bytes of its buffers that the server knows of.
    noted: usize,
}

impl<S: Socket> Connection<S> {
    pub fn new(
        io: Registered<S>,
        engine: Engine,
        session: Box<Session>,
        connections: Arc<Connections>,
    ) -> Self {
        Self {
            io: Buffered::new(io),
            parser: Parser::default(),
            heard_at: engine.now(),
            id: session.id(),
            session: Some(session),
            parts: Parts::default(),
            unread: Ready::default(),
            is_ending: false,
            under_way: 0,
            noted: 0,
            engine,
            connections,
        }
    }

    /// Handles an event of the socket.
    pub fn handle(&mut self, event: Event<'_, Self>, cx: &mut Context) -> Handled {
        // At its end also if nothing is left: then it closes.
        if event.ready().is_writable() && (self.is_ending || self.io.unsent() > 0) {
            self.send(cx);
        }
        self.unread = self.unread | event.ready();
        if S::READS_WHEN_WRITABLE && event.ready().is_writable() {
            self.unread = self.unread | Ready::READABLE;
        }
        if self.session.is_none() && event.ready().is_closed() {
            self.stop_waiting(cx);
        }
        let handled = self.advance(event.object(), cx);
        // What was not read was noted, so that another event is not needed.
        if handled == Handled::Partly {
            self.go_on(event.object(), cx)
        }
        Handled::Fully
    }

    /// Reads and runs requests, unless some are under way or replies are left unread.
    fn advance(&mut self, this: &Object<Plain<Self>>, cx: &mut Context) -> Handled {
        if self.session.is_none() || self.is_ending || self.io.unsent() > MOST_UNSENT {
            return Handled::Fully;
        }
        let ready = std::mem::take(&mut self.unread);
        let filled = if ready.is_readable() { self.io.fill(ready) } else { Ok(Filled::Open) };
        let bytes = self.io.input().len();
        self.parser.input().extend_from_slice(self.io.input());
        self.io.consume(bytes);
        if bytes > 0 {
            self.heard_at = self.engine.now();
        }
        while self.run(this, cx) {}
        self.note_buffers();
        let is_cut = !planted!("cut-read-ends") && self.io.stream().get().is_some_and(S::is_cut);
        match filled {
            Ok(Filled::Open) if !is_cut => {}
            Ok(Filled::More | Filled::Open) => {
                // Also the end, if it has come: it is reported once.
                self.unread = self.unread | ready | Ready::READABLE;
                // Otherwise the rest is read when the session is back.
                if self.session.is_some() {
                    return Handled::Partly;
                }
            }
            Ok(Filled::Ended) | Err(_) => self.end(cx),
        }
        Handled::Fully
    }

    /// Passes the requests that are complete to the engine. Returns true if there were some and
    /// they are done: as the client may have authenticated, more may be acceptable now.
    fn run(&mut self, this: &Object<Plain<Self>>, cx: &mut Context) -> bool {
        let Some(session) = &self.session else { return false };
        let settings = &self.engine.server().settings;
        let most_buffered = settings.number(Setting::ClientQueryBufferLimit) as u64;
        let longest_arg = usize::try_from(settings.number(Setting::ProtoMaxBulkLen)).unwrap_or(usize::MAX);
        self.parser.set_limits(Limits { longest_arg, is_authenticated: session.is_authenticated });
        let (requests, error) = self.parser.parse();
        if let Some(error) = &error {
            self.is_ending = true;
            if requests.is_empty() {
                let mut reply = Reply::new(session.protocol);
                reply.error(error.text());
                self.reply(&reply.into_bytes(), cx);
            }
        }
        if self.parser.buffered() as u64 > most_buffered {
            self.close(cx);
            return false;
        }
        if requests.is_empty() {
            return false;
        }
        let Some(mut session) = self.session.take() else { return false };
        session.memory = ClientMemory {
            query: self.parser.buffered(),
            query_room: self.parser.room(),
            reply_room: self.io.output().capacity(),
            unsent: self.io.unsent(),
            ..ClientMemory::default()
        };
        self.under_way = requests.memory();
        let (engine, connection) = (self.engine.share(), Some(this.clone()));
        let way_back = WayBack { engine, connection, error: error.clone(), parts: 0 };
        let Some(finished) = self.engine.run(cx, session, requests, way_back) else { return false };
        self.take_back(finished, error, cx);
        self.session.is_some() && !self.is_ending
    }

    /// Sends what has come of the replies to requests that were under way in other tasks. After the
    /// last ones it goes on.
    fn take_parts(&mut self, this: &Object<Plain<Self>>, cx: &mut Context) {
        while let Some(replies) = self.parts.take() {
            if !self.io.is_closed() {
                self.reply(&replies, cx);
            }
        }
        let Some(LastReplies { finished, error, .. }) = self.parts.take_end() else { return };
        self.take_back(finished, error, cx);
        if self.advance(this, cx) == Handled::Partly {
            self.go_on(this, cx);
        }
    }

    /// Sends the replies of requests that are done.
    fn take_back(&mut self, finished: Finished, error: Option<ProtocolError>, cx: &mut Context) {
        let Finished { session, mut replies, requests, .. } = finished;
        self.parser.recycle(requests);
        self.under_way = 0;
        if let Some(error) = error {
            let mut reply = Reply::new(session.protocol);
            reply.error(error.text());
            replies.extend_from_slice(reply.as_bytes());
        }
        self.is_ending |= session.is_closing;
        self.session = Some(session);
        if self.io.is_closed() {
            self.note_buffers();
            return self.leave(cx);
        }
        self.reply(&replies, cx);
        self.deliver(cx);
    }

    /// Reads more, after other tasks had their turn; not while the runtime ends.
    fn go_on(&self, this: &Object<Plain<Self>>, cx: &mut Context) {
        if cx.is_shutting_down() {
            return;
        }
        let connection = this.clone();
        cx.task(this.write()).spawn(move |this, cx| {
            if this.advance(&connection, cx) == Handled::Partly {
                this.go_on(&connection, cx);
            }
        });
    }

    /// Ends the wait for a key, now or when it begins, as the client has gone.
    fn stop_waiting(&self, cx: &mut Context) {
        self.engine.unblock(&*cx.handle(), self.id, Unblock::Close);
    }

    /// Sends the messages of channels. While requests are under way they wait: their replies come
    /// first, among them that to SUBSCRIBE.
    pub fn deliver(&mut self, cx: &mut Context) {
        let Some(session) = &mut self.session else { return };
        let messages = session.take_messages();
        if self.io.is_closed() || messages.is_empty() {
            return;
        }
        if self.io.unsent() > MOST_UNREAD {
            return self.close(cx);
        }
        self.reply(&messages, cx);
    }

    /// Sends bytes, as far as the client takes them now.
    fn reply(&mut self, bytes: &[u8], cx: &mut Context) {
        self.io.output().extend_from_slice(bytes);
        self.send(cx);
    }

    fn send(&mut self, cx: &mut Context) {
        // At its end a connection is closed once the system has taken all.
        let ends = self.is_ending && self.session.is_some();
        match if ends { self.io.flush() } else { S::send(&mut self.io, cx) } {
            Ok(true) if ends => self.close(cx),
            Ok(_) => {}
            Err(_) => self.close(cx),
        }
        self.note_buffers();
    }

    /// Tells the server how large its buffers are, if they are: they are not the memory of keys.
    fn note_buffers(&mut self) {
        let own = match self.io.is_closed() {
            true => 0,
            false => self.parser.input().capacity() + self.io.output().capacity(),
        };
        let bytes = own + self.under_way;
        let noted = bytes - bytes % NOTED_STEP;
        if noted != self.noted {
            self.engine.server().memory.add_buffers(noted as i64 - self.noted as i64);
            self.noted = noted;
        }
    }

    /// Ends the connection once its requests are done and their replies sent.
    fn end(&mut self, cx: &mut Context) {
        self.is_ending = true;
        if self.session.is_none() {
            self.stop_waiting(cx);
        } else {
            self.send(cx);
        }
    }

    /// Ends the connection now.
    pub fn close(&mut self, cx: &mut Context) {
        if self.io.is_closed() {
            return;
        }
        self.io.close();
        self.note_buffers();
        self.connections.remove(self.id);
        self.connections.leave();
        self.stop_waiting(cx);
        self.leave(cx);
    }

    /// Ends the connection if its client has sent nothing since a moment.
    pub fn close_if_idle(&mut self, moment: u64, cx: &mut Context) {
        if self.session.is_some() && self.heard_at < moment {
            self.close(cx);
        }
    }

    /// Ends the connection if its handshake is still under way.
    #[cfg(feature = "tls")]
    pub fn close_if_handshaking(&mut self, cx: &mut Context) {
        if self.io.stream().get().is_some_and(S::is_handshaking) {
            self.close(cx);
        }
    }

    /// Ends the session, unless requests are under way: then it ends when it is back.
    fn leave(&mut self, cx: &mut Context) {
        if let Some(session) = self.session.take() {
            self.engine.close(&*cx.handle(), session);
        }
    }

    /// Ends the connection of a session that was lost.
    fn close_without_session(&mut self, cx: &mut Context) {
        self.engine.server().clients.close(self.id);
        self.engine.server().channels.forget(self.id);
        self.engine.server().end_monitor(self.id);
        self.engine.end_tracking(self.id);
        self.under_way = 0;
        self.note_buffers();
        self.close(cx);
    }
}

/// The way of a session back to its connection. If the session is lost, as its task found no
/// memory, the connection is closed.
struct WayBack<S: Socket> {
    engine: Engine,
    /// `None` once the session is on its way.
    connection: Option<Object<Plain<Connection<S>>>>,
    /// What was wrong with the bytes after the requests.
    error: Option<ProtocolError>,
    /// How many parts of the replies were sent before.
    parts: u64,
}

impl<S: Socket> Completion for WayBack<S> {
    fn complete(mut self: Box<Self>, finished: Finished, cx: &mut Context) {
        let Some(connection) = self.connection.take() else { return };
        let (this, error, parts) = (connection.clone(), self.error.take(), self.parts);
        // The last of the requests may have given way to others.
        cx.task(connection.write()).priority(Priority::Normal).spawn(move |connection, cx| {
            connection.parts.put_end(LastReplies { finished, error, parts });
            connection.take_parts(&this, cx);
        });
    }

    fn early(&mut self) -> Option<SendEarly> {
        let (connection, number) = (self.connection.clone()?, self.parts);
        self.parts += 1;
        Some(Box::new(move |replies, cx| {
            let this = connection.clone();
            cx.task(connection.write()).priority(Priority::Normal).spawn(move |connection, cx| {
                connection.parts.put(number, replies);
                connection.take_parts(&this, cx);
            });
        }))
    }

    fn dismiss(mut self: Box<Self>) {
        self.connection = None;
    }
}

impl<S: Socket> Drop for WayBack<S> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && !self.engine.runtime().is_shutting_down()
        {
            self.engine.runtime().task(connection.write()).spawn(Connection::close_without_session);
        }
    }
}
