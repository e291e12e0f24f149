//! Actors: each thread owns some top directories with all below them, and has an inbox.
//!
//! A client sends its operation to the owner of the target, which carries it out without any lock,
//! and sends the client's next operation to its owner. Of a directory that moves to another owner
//! neither has it while it is sent: what is for it then misses. (A sum of the whole tree would miss
//! it as well.) Handles are impossible, as only the path leads to an owner.

use super::super::body::Body;
use super::super::client::Client;
use super::super::contender::{Contender, Entry, Profile, RunResult, Stopwatch};
use super::super::contents::Contents;
use super::super::layout::{Locations, Name, Path, WIDTH, entries};
use super::super::operation::{Action, Answer, Operation, ROUND, Sum};
use super::simulated;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use xtasking_harness::failure::Wrong;
use xtasking_harness::machine::pin;

pub(super) const ENTRY: Entry = Entry {
    name: "actors",
    about: "a thread for each share of the top directories, with an inbox",
    is_parallel: true,
    start: |settings| match settings.virtual_seed {
        None => Ok(Box::new(Actors::new(settings.workers, &settings.locations))),
        Some(seed) => simulated::actors::actors(&settings, seed),
    },
    more: Profile { has_handles: false, is_atomic: true, clients: 4, is_virtual: true },
};

struct Actors {
    root: OwnedNode,
    workers: usize,
    locations: Arc<Locations>,
}

/// A node with all below it.
#[derive(Default)]
struct OwnedNode {
    entries: BTreeMap<Name, OwnedNode>,
    value: u64,
}

enum Message {
    /// A client with its operation.
    Operate(Box<Client>),
    /// The same, with the directory that it moves.
    Arrive(Box<Client>, OwnedNode),
    /// All clients have ended.
    Stop,
}

/// What an actor has while it runs.
struct Actor {
    tops: OwnedNode,
    inboxes: Vec<Sender<Message>>,
    ended: Sender<Box<Client>>,
    locations: Arc<Locations>,
}

impl OwnedNode {
    fn find(&mut self, path: &Path) -> Option<&mut Self> {
        path.names().iter().try_fold(self, |node, name| node.entries.get_mut(name))
    }

    fn sum(&self, sum: &mut Sum) {
        sum.visit(self.value);
        self.entries.values().for_each(|entry| entry.sum(sum));
    }

    /// Adds a round to a sub-tree, and returns its number of nodes.
    fn add(&mut self) -> u32 {
        self.value += ROUND;
        1 + self.entries.values_mut().map(Self::add).sum::<u32>()
    }

    fn walk(&self, path: Path, contents: &mut Contents) {
        contents.add(&path, self.value);
        self.entries.iter().for_each(|(&name, entry)| entry.walk(path.child(name), contents));
    }

    /// Carries out an operation that is no move. Returns `None` if the target is not there.
    fn operate(&mut self, operation: &Operation, body: &Body) -> Option<Answer> {
        let node = self.find(&operation.target)?;
        Some(match operation.action {
            Action::Read => {
                body.compute(1);
                Answer::Read(node.value)
            }
            Action::Write => {
                body.compute(1);
                node.value += 1;
                Answer::Written
            }
            Action::Sum => {
                let mut sum = Sum::default();
                node.sum(&mut sum);
                body.compute(sum.nodes);
                Answer::Sum(sum)
            }
            _ => {
                let nodes = node.add();
                body.compute(nodes);
                Answer::Added(nodes)
            }
        })
    }
}

impl Actor {
    /// Sends a message to the owner of a top directory.
    fn send(&self, top: Name, message: Message) {
        let owner = usize::from(top) % self.inboxes.len();
        self.inboxes[owner].send(message).expect("no actor ends before the last client");
    }

    /// Sends the next operation of a client to its owner.
    fn proceed(&self, mut client: Box<Client>) {
        if client.next() {
            self.send(client.operation.target.names()[0], Message::Operate(client));
        } else {
            self.ended.send(client).expect("the caller waits for all clients");
        }
    }

    /// Serves until all clients have ended, and returns the directories.
    fn serve(mut self, inbox: &Receiver<Message>) -> OwnedNode {
        loop {
            match inbox.recv().expect("the sender of the end is there") {
                Message::Stop => return self.tops,
                Message::Arrive(client, directory) => self.arrive(client, directory),
                Message::Operate(client) if client.operation.action == Action::Move => self.depart(client),
                Message::Operate(mut client) => {
                    let answer = self.tops.operate(&client.operation, &client.body);
                    client.note(answer.unwrap_or(Answer::Missed));
                    self.proceed(client);
                }
            }
        }
    }

    /// Takes out a directory, and sends it to the owner of its new place.
    fn depart(&mut self, mut client: Box<Client>) {
        let operation = client.operation;
        let above = self.tops.find(&operation.from().path());
        match above.and_then(|above| above.entries.remove(&operation.name())) {
            None => {
                client.note(Answer::Missed);
                self.proceed(client);
            }
            Some(directory) => self.send(operation.to.top, Message::Arrive(client, directory)),
        }
    }

    /// Puts a directory into its new place.
    fn arrive(&mut self, mut client: Box<Client>, directory: OwnedNode) {
        let operation = client.operation;
        client.body.compute(1);
        let above = self.tops.find(&operation.to.path()).expect("middle directories do not move");
        above.entries.insert(operation.name(), directory);
        self.locations.set(operation.name(), operation.to);
        client.note(Answer::Moved);
        self.proceed(client);
    }
}

impl Actors {
    fn new(workers: usize, locations: &Arc<Locations>) -> Self {
        let (mut root, mut paths) = (OwnedNode::default(), vec![Path::new(&[])]);
        for (parent, name, _) in entries() {
            let above = paths[parent as usize];
            let directory = root.find(&above).expect("a directory comes before its entries");
            directory.entries.insert(name, OwnedNode::default());
            paths.push(above.child(name));
        }
        Self { root, workers, locations: locations.clone() }
    }

    /// Returns the top directories of each actor.
    fn shares(&mut self) -> Vec<OwnedNode> {
        let mut shares: Vec<_> = (0..self.workers.min(WIDTH.into())).map(|_| OwnedNode::default()).collect();
        let count = shares.len();
        for (name, top) in std::mem::take(&mut self.root.entries) {
            shares[usize::from(name) % count].entries.insert(name, top);
        }
        shares
    }
}

impl Contender for Actors {
    fn run(&mut self, clients: Vec<Client>) -> Result<RunResult, Wrong> {
        let (workers, count) = (self.workers, clients.len());
        let shares = self.shares();
        let stopwatch = Stopwatch::start();
        let (inboxes, receivers): (Vec<_>, Vec<_>) = shares.iter().map(|_| channel()).unzip();
        let (ended, all_ended) = channel();
        let actor = |tops| Actor {
            tops,
            inboxes: inboxes.clone(),
            ended: ended.clone(),
            locations: self.locations.clone(),
        };
        let first = actor(OwnedNode::default());
        clients.into_iter().for_each(|client| first.proceed(Box::new(client)));
        let threads: Vec<_> = shares
            .into_iter()
            .zip(receivers)
            .enumerate()
            .map(|(index, (tops, inbox))| {
                let actor = actor(tops);
                thread::spawn(move || {
                    pin(index, workers);
                    actor.serve(&inbox)
                })
            })
            .collect();
        // Only the actors keep this channel open, so that the wait ends if all have panicked.
        drop((first, ended));
        let clients: Vec<Client> = all_ended.iter().take(count).map(|client| *client).collect();
        inboxes.iter().for_each(|inbox| _ = inbox.send(Message::Stop));
        for thread in threads {
            let tops = thread.join().map_err(|_| Wrong::new("an actor panicked"))?;
            self.root.entries.extend(tops.entries);
        }
        Ok(stopwatch.stop(clients))
    }

    fn contents(&mut self) -> Result<Contents, Wrong> {
        let mut contents = Contents::new();
        self.root.walk(Path::new(&[]), &mut contents);
        Ok(contents)
    }
}
