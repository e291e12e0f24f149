//! Actors in virtual time: threads with inboxes, which own the top directories.

use super::super::super::client::Client;
use super::super::super::contender::{Contender, RunResult, Settings};
use super::super::super::contents::Contents;
use super::super::super::layout::{Name, WIDTH};
use super::super::super::operation::{Action, Answer};
use super::threads::{Tree, run_threads};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_virtual_time::{Clocks, Queue, VirtualTime, costs};

/// Starts actors, at most one for each top directory.
pub(in super::super) fn actors(settings: &Settings, seed: u64) -> Result<Box<dyn Contender>, Failure> {
    let (_, clocks) = VirtualTime::new(settings.workers, seed, costs());
    let inboxes = (0..settings.workers.min(WIDTH.into())).map(|_| Inbox::new(&clocks)).collect();
    let state = State { tree: Tree::new(settings), inboxes, clients: AtomicUsize::new(0) };
    Ok(Box::new(Actors { state: Arc::new(state), clocks }))
}

struct Actors {
    state: Arc<State>,
    clocks: Clocks,
}

/// What all actors share. Only its owner accesses a part of the tree.
struct State {
    tree: Tree,
    inboxes: Vec<Inbox>,
    /// Clients that have not ended.
    clients: AtomicUsize,
}

struct Inbox {
    messages: Mutex<VecDeque<Message>>,
    /// The owner, while there is no message.
    waiting: Queue,
}

enum Message {
    /// A client with its operation.
    Operate(Box<Client>),
    /// The same, with the directory that it moves.
    Arrive(Box<Client>, u32),
}

impl Inbox {
    fn new(clocks: &Clocks) -> Self {
        Self { messages: Mutex::default(), waiting: clocks.queue() }
    }

    fn send(&self, message: Message) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push_back(message);
        self.waiting.call_one();
    }

    fn next(&self) -> Option<Message> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl State {
    fn send(&self, top: Name, message: Message) {
        self.inboxes[usize::from(top) % self.inboxes.len()].send(message);
    }

    /// Sends the next operation of a client to its owner. Returns the client if it has none.
    fn proceed(&self, mut client: Box<Client>) -> Option<Client> {
        if client.next() {
            self.send(client.operation.target.names()[0], Message::Operate(client));
            return None;
        }
        if self.clients.fetch_sub(1, Relaxed) == 1 {
            self.inboxes.iter().for_each(|inbox| inbox.waiting.call_all());
        }
        Some(*client)
    }

    /// Serves an inbox until all clients have ended. Returns those that ended here.
    fn serve(&self, inbox: &Inbox) -> Vec<Client> {
        let mut ended = Vec::new();
        while self.clients.load(Relaxed) > 0 {
            let Some(message) = inbox.next() else {
                inbox.waiting.wait();
                continue;
            };
            let client = match message {
                Message::Arrive(client, directory) => Some(self.arrive(client, directory)),
                Message::Operate(client) if client.operation.action == Action::Move => self.depart(client),
                Message::Operate(mut client) => {
                    let answer = self.tree.perform(&client.operation, &client.body);
                    client.note(answer);
                    Some(client)
                }
            };
            ended.extend(client.and_then(|client| self.proceed(client)));
        }
        ended
    }

    /// Takes out a directory, and sends it to the owner of its new place. Returns the client if the
    /// directory is not there.
    fn depart(&self, mut client: Box<Client>) -> Option<Box<Client>> {
        let operation = client.operation;
        let taken = self.tree.lock().take(operation.from().path().number(), operation.name());
        let Some(directory) = taken else {
            client.note(Answer::Missed);
            return Some(client);
        };
        self.send(operation.to.top, Message::Arrive(client, directory));
        None
    }

    fn arrive(&self, mut client: Box<Client>, directory: u32) -> Box<Client> {
        client.body.compute(1);
        self.tree.lock().put(&client.operation, directory);
        client.note(Answer::Moved);
        client
    }
}

impl Contender for Actors {
    fn run(&mut self, clients: Vec<Client>) -> Result<RunResult, Wrong> {
        self.state.clients.store(clients.len(), Relaxed);
        let at_once = clients.into_iter().filter_map(|client| self.state.proceed(Box::new(client)));
        let mut all: Vec<Client> = at_once.collect();
        let bodies = (0..self.state.inboxes.len()).map(|index| {
            let state = self.state.clone();
            move || state.serve(&state.inboxes[index])
        });
        let (ended, time) = run_threads(&self.clocks, bodies)?;
        all.extend(ended.into_iter().flatten());
        Ok(RunResult { clients: all, time, cpu_time: None })
    }

    fn contents(&mut self) -> Result<Contents, Wrong> {
        Ok(self.state.tree.lock().contents())
    }

    fn clocks(&self) -> Option<&Clocks> {
        Some(&self.clocks)
    }
}
