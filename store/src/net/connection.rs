//! A connection, from its first byte to its end.

use super::connections::Connections;
use super::socket::Socket;
use crate::dialogue::{Dialogue, Host, News, Phase};
use std::sync::Arc;
use xtasking::events::{Buffered, Event, Filled, Handled, Ready, Registered, Source};
use xtasking::task::Spawner;
use xtasking::{Context, Object, Plain, Priority};

/// A client's connection: an object at one worker.
pub(super) struct Connection<S: Source> {
    io: Buffered<S>,
    dialogue: Dialogue,
    connections: Arc<Connections>,
    /// What the socket was ready for while nothing could be read.
    unread: Ready,
}

impl<S: Socket> Host for Object<Plain<Connection<S>>> {
    fn bring<P: Spawner>(&self, spawner: P, news: News) {
        let this = self.clone();
        // The last of the requests may have given way to others.
        spawner.task(self.write()).priority(Priority::Normal).spawn(move |connection, cx| {
            connection.take(news, &this, cx);
        });
    }
}

impl<S: Socket> Connection<S> {
    pub fn new(io: Registered<S>, dialogue: Dialogue, connections: Arc<Connections>) -> Self {
        Self { io: Buffered::new(io), dialogue, connections, unread: Ready::default() }
    }

    /// Handles an event of the socket.
    pub fn handle(&mut self, event: Event<'_, Self>, cx: &mut Context) -> Handled {
        // At its end also if nothing is left: then it closes.
        let is_ending = self.dialogue.phase() == Phase::Ending;
        if event.ready().is_writable() && (is_ending || self.io.unsent() > 0) {
            self.send(cx);
        }
        self.unread = self.unread | event.ready();
        if S::READS_WHEN_WRITABLE && event.ready().is_writable() {
            self.unread = self.unread | Ready::READABLE;
        }
        if self.dialogue.is_busy() && event.ready().is_closed() {
            self.dialogue.stop_waiting(cx);
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
        let unsent = self.io.unsent();
        if self.dialogue.wants_run(unsent) {
            self.dialogue.run(this, self.io.output(), unsent, cx);
            self.send_more_than(unsent, cx);
            return Handled::Partly;
        }
        if !self.dialogue.wants_input(self.io.unsent()) {
            return Handled::Fully;
        }
        let ready = std::mem::take(&mut self.unread);
        let filled = if ready.is_readable() { self.io.fill(ready) } else { Ok(Filled::Open) };
        let bytes = self.io.input().len();
        if bytes > 0 {
            self.dialogue.input().extend_from_slice(self.io.input());
            self.io.consume(bytes);
        }
        let unsent = self.io.unsent();
        self.dialogue.run(this, self.io.output(), unsent, cx);
        self.send_more_than(unsent, cx);
        let is_cut = !planted!("cut-read-ends") && self.io.stream().get().is_some_and(S::is_cut);
        let is_more = match filled {
            Ok(Filled::Open) if !is_cut => false,
            Ok(Filled::More | Filled::Open) => {
                // Also the end, if it has come: it is reported once.
                self.unread = self.unread | ready | Ready::READABLE;
                true
            }
            Ok(Filled::Ended) | Err(_) => {
                self.end(cx);
                false
            }
        };
        // Otherwise the rest is read when the session is back, or run when replies are sent.
        if is_more && !self.dialogue.is_busy() || self.dialogue.wants_run(self.io.unsent()) {
            Handled::Partly
        } else {
            Handled::Fully
        }
    }

    /// Takes replies and other news. After the last replies it reads more.
    fn take(&mut self, news: News, this: &Object<Plain<Self>>, cx: &mut Context) {
        #[cfg(feature = "tls")]
        if news.is_end_of_handshake() && !self.io.stream().get().is_some_and(S::is_handshaking) {
            return;
        }
        let unsent = self.io.unsent();
        let is_done = self.dialogue.take(news, self.io.output(), unsent, cx);
        self.send_more_than(unsent, cx);
        if is_done && self.advance(this, cx) == Handled::Partly {
            self.go_on(this, cx);
        }
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

    /// Sends the output if there is more than before. Closes, if that is due.
    fn send_more_than(&mut self, unsent: usize, cx: &mut Context) {
        match self.dialogue.phase() {
            Phase::Open if self.io.unsent() == unsent => {}
            Phase::Open | Phase::Ending => self.send(cx),
            Phase::Broken => self.close(cx),
            Phase::Closed => {}
        }
    }

    /// Sends the output, as far as the client takes it now.
    fn send(&mut self, cx: &mut Context) {
        // At its end a connection is closed once the system has taken all.
        let ends = self.dialogue.phase() == Phase::Ending && !self.dialogue.is_busy();
        let unsent = self.io.unsent();
        match if ends { self.io.flush() } else { S::send(&mut self.io, cx) } {
            Ok(true) if ends => self.close(cx),
            Ok(_) => {}
            Err(_) => self.close(cx),
        }
        if self.io.unsent() < unsent {
            self.dialogue.note_sent();
        }
        self.dialogue.note_buffers(self.io.output().capacity());
    }

    /// Ends the connection once its requests are done and their replies sent.
    fn end(&mut self, cx: &mut Context) {
        self.dialogue.end(cx);
        if !self.dialogue.is_busy() {
            self.send(cx);
        }
    }

    /// Ends the connection now.
    fn close(&mut self, cx: &mut Context) {
        if self.io.is_closed() {
            return;
        }
        self.io.close();
        self.connections.dialogues.remove(self.dialogue.id());
        self.dialogue.close(cx);
    }
}
