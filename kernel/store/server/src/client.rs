//! A client's connection: an object of the network, with a dialogue.

use crate::Store;
use crate::output::Output;
use std::sync::Arc;
use xkernel::network::{Connection, Service, SessionObject};
use xtasking::task::Spawner;
use xtasking::{Context, Priority};
use xtasking_store::dialogue::{DENIED, Dialogue, Host, News, Phase, TOO_MANY, has_protected_mode};

/// What the object of a connection has besides the connection.
pub struct Client {
    store: Arc<Store>,
    /// `None` before the first call, and if the client was refused.
    dialogue: Option<Dialogue>,
    has_begun: bool,
    output: Output,
}

/// Where a dialogue is.
#[derive(Clone)]
struct Place(SessionObject<Client>);

impl Host for Place {
    fn bring<S: Spawner>(&self, spawner: S, news: News) {
        let this = self.clone();
        spawner.task(self.0.write()).priority(Priority::Normal).spawn(move |session, cx| {
            session.service.take(news, &mut session.connection, &this, cx);
        });
    }
}

impl Service for Client {
    fn serve(&mut self, connection: &mut Connection, this: &SessionObject<Self>, cx: &mut Context) {
        let this = Place(this.clone());
        if !std::mem::replace(&mut self.has_begun, true) {
            self.begin(connection, &this, cx);
        }
        self.send(connection, cx);
        self.advance(connection, &this, cx);
    }
}

impl Client {
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, dialogue: None, has_begun: false, output: Output::default() }
    }

    /// Opens the dialogue, or refuses the client.
    fn begin(&mut self, connection: &mut Connection, this: &Place, cx: &mut Context) {
        let Store { engine, dialogues, address } = &*self.store;
        // This machine has no clients of its own: all are elsewhere.
        let is_denied = has_protected_mode(engine);
        if !is_denied {
            self.dialogue = dialogues.open(engine, &connection.peer().to_string(), address);
        }
        match &self.dialogue {
            Some(dialogue) => dialogues.insert(&cx.handle(), dialogue.id(), this.clone()),
            None => {
                connection.write(if is_denied { DENIED } else { TOO_MANY }, cx);
                connection.close(cx);
            }
        }
    }

    /// Reads and runs requests, unless some are under way or replies are left unread.
    fn advance(&mut self, connection: &mut Connection, this: &Place, cx: &mut Context) {
        let Some(dialogue) = &mut self.dialogue else { return };
        let unsent = self.output.unsent();
        if dialogue.wants_input(unsent) {
            let bytes = connection.input().len();
            if bytes > 0 {
                dialogue.input().extend_from_slice(connection.input());
                connection.consume(bytes, cx);
            }
            dialogue.run(this, self.output.buffer(), unsent, cx);
        }
        self.run_rest(connection, this, cx);
        let Some(dialogue) = &mut self.dialogue else { return };
        if connection.has_ended() && dialogue.phase() != Phase::Closed {
            match connection.input().is_empty() {
                true => dialogue.end(cx),
                // Other requests come first.
                false => dialogue.stop_waiting(cx),
            }
        }
        self.settle(connection, cx);
    }

    /// Runs requests that wait until replies to earlier ones are sent.
    fn run_rest(&mut self, connection: &mut Connection, this: &Place, cx: &mut Context) {
        loop {
            self.send(connection, cx);
            let (Some(dialogue), unsent) = (&mut self.dialogue, self.output.unsent()) else { return };
            if !dialogue.wants_run(unsent) {
                return;
            }
            dialogue.run(this, self.output.buffer(), unsent, cx);
        }
    }

    /// Takes replies and other news. After the last replies it reads more.
    fn take(&mut self, news: News, connection: &mut Connection, this: &Place, cx: &mut Context) {
        let Some(dialogue) = &mut self.dialogue else { return };
        let unsent = self.output.unsent();
        match dialogue.take(news, self.output.buffer(), unsent, cx) {
            true => self.advance(connection, this, cx),
            false => self.settle(connection, cx),
        }
    }

    /// Sends as much of the output as there is room for.
    fn send(&mut self, connection: &mut Connection, cx: &mut Context) {
        let unsent = self.output.unsent();
        self.output.send(connection, cx);
        if self.output.unsent() < unsent
            && let Some(dialogue) = &mut self.dialogue
        {
            dialogue.note_sent();
        }
    }

    /// Sends the output. Closes, if that is due.
    fn settle(&mut self, connection: &mut Connection, cx: &mut Context) {
        self.send(connection, cx);
        let Some(dialogue) = &mut self.dialogue else { return };
        dialogue.note_buffers(self.output.buffer().capacity());
        let is_gone = connection.is_closed() && dialogue.phase() != Phase::Closed;
        if is_gone || dialogue.wants_close(self.output.unsent()) {
            connection.close(cx);
            self.output = Output::default();
            self.store.dialogues.remove(dialogue.id());
            dialogue.close(cx);
        }
    }
}
