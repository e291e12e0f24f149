//! A file system that plain threads share, each of which is a client.

use super::super::body::Body;
use super::super::client::Client;
use super::super::contender::{Contender, RunResult, Stopwatch};
use super::super::contents::Contents;
use super::super::operation::{Answer, Operation};
use std::sync::Arc;
use std::thread;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::machine::pin;

/// A file system that threads share.
pub(super) trait SharedTree: Send + Sync + 'static {
    /// Carries out an operation, and computes `body` inside it.
    fn perform(&self, operation: &Operation, body: &Body) -> Answer;

    /// Walks through the whole tree, while no thread accesses it.
    fn contents(&self) -> Contents;
}

/// A shared file system, with a thread for each client.
pub(super) struct OnThreads<T>(Arc<T>);

impl<T: SharedTree> OnThreads<T> {
    /// Returns the contender with this file system.
    pub fn boxed(tree: T) -> Result<Box<dyn Contender>, Failure> {
        Ok(Box::new(Self(Arc::new(tree))))
    }
}

/// Carries out the operations of a client.
fn serve(tree: &impl SharedTree, mut client: Client) -> Client {
    while client.next() {
        let answer = tree.perform(&client.operation, &client.body);
        client.note(answer);
    }
    client
}

impl<T: SharedTree> Contender for OnThreads<T> {
    fn run(&mut self, clients: Vec<Client>) -> Result<RunResult, Wrong> {
        let (stopwatch, count) = (Stopwatch::start(), clients.len());
        let threads: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(index, client)| {
                let tree = self.0.clone();
                thread::spawn(move || {
                    pin(index, count);
                    serve(&*tree, client)
                })
            })
            .collect();
        let clients: Result<_, _> = threads.into_iter().map(thread::JoinHandle::join).collect();
        let clients = clients.map_err(|_| Wrong::new("a thread panicked"))?;
        Ok(stopwatch.stop(clients))
    }

    fn contents(&mut self) -> Result<Contents, Wrong> {
        Ok(self.0.contents())
    }
}
