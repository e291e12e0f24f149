//! Clients as threads in virtual time, and the tree that they share.

use super::super::super::body::Body;
use super::super::super::client::Client;
use super::super::super::contender::{Contender, RunResult, Settings};
use super::super::super::contents::Contents;
use super::super::super::operation::{Action, Answer, Operation};
use super::super::plain::PlainTree;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_virtual_time::{Clocks, VirtualTime, costs};

/// What keeps operations apart.
pub(super) trait Scheme: Send + Sync + 'static {
    /// Carries out an operation, whose effect is [`Tree::perform`].
    fn perform(&self, tree: &Tree, operation: &Operation, body: &Body) -> Answer;
}

/// A plain tree. Its mutex is never held while a thread spends time or waits.
pub(super) struct Tree(Mutex<PlainTree>);

/// Clients as threads that share a tree by a scheme.
struct OnVirtualThreads<S> {
    tree: Arc<Tree>,
    scheme: Arc<S>,
    clocks: Clocks,
}

impl Tree {
    /// Creates the tree of a turn.
    pub fn new(settings: &Settings) -> Self {
        Self(Mutex::new(PlainTree::new(&settings.locations)))
    }

    /// Accesses the tree for a moment.
    pub fn lock(&self) -> MutexGuard<'_, PlainTree> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the target, computes, and has the effect of the operation.
    ///
    /// # Panics
    ///
    /// If another operation has changed the target meanwhile.
    pub fn perform(&self, operation: &Operation, body: &Body) -> Answer {
        let seen = self.look(operation);
        match seen {
            Answer::Missed => return Answer::Missed,
            Answer::Sum(sum) if operation.action != Action::Move => body.compute(sum.nodes),
            _ => body.compute(1),
        }
        // Below a directory that moves others may write, as this changes the directories above it.
        let has_moved = operation.action == Action::Move;
        assert!(has_moved || self.look(operation) == seen, "{operation:?} was disturbed");
        if operation.only_reads() { seen } else { self.lock().write(operation, &Body::Rounds(0)) }
    }

    /// Returns the target's value or sum.
    pub fn look(&self, operation: &Operation) -> Answer {
        let action = match operation.action {
            Action::Read | Action::Write => Action::Read,
            Action::Sum | Action::Add | Action::Move => Action::Sum,
        };
        self.lock().read(&Operation { action, ..*operation }, &Body::Rounds(0))
    }
}

/// Starts a contender in virtual time.
pub(super) fn start<S: Scheme>(
    settings: &Settings,
    seed: u64,
    scheme: impl FnOnce(&Clocks) -> S,
) -> Result<Box<dyn Contender>, Failure> {
    // No runtime is built, so that the platform has no cores.
    let (_, clocks) = VirtualTime::new(settings.workers, seed, costs());
    let (tree, scheme) = (Arc::new(Tree::new(settings)), Arc::new(scheme(&clocks)));
    Ok(Box::new(OnVirtualThreads { tree, scheme, clocks }))
}

/// Runs threads in virtual time, and returns their results and the time that they took.
pub(super) fn run_threads<T: Send + 'static, B: FnOnce() -> T + Send + 'static>(
    clocks: &Clocks,
    bodies: impl Iterator<Item = B>,
) -> Result<(Vec<T>, Duration), Wrong> {
    let began = clocks.now();
    let threads: Result<Vec<_>, _> = bodies.map(|body| clocks.submitter(body)).collect();
    let threads = threads.map_err(|error| Wrong::new(format!("a thread cannot start: {error}")))?;
    let results: Result<_, _> = threads.into_iter().map(|thread| thread.join()).collect();
    let results = results.map_err(|_| Wrong::new("a thread panicked"))?;
    Ok((results, Duration::from_nanos(clocks.now() - began)))
}

impl<S: Scheme> Contender for OnVirtualThreads<S> {
    fn run(&mut self, clients: Vec<Client>) -> Result<RunResult, Wrong> {
        let bodies = clients.into_iter().map(|mut client| {
            let (tree, scheme) = (self.tree.clone(), self.scheme.clone());
            move || {
                while client.next() {
                    let answer = scheme.perform(&tree, &client.operation, &client.body);
                    client.note(answer);
                }
                client
            }
        });
        let (clients, time) = run_threads(&self.clocks, bodies)?;
        Ok(RunResult { clients, time, cpu_time: None })
    }

    fn contents(&mut self) -> Result<Contents, Wrong> {
        Ok(self.tree.lock().contents())
    }

    fn clocks(&self) -> Option<&Clocks> {
        Some(&self.clocks)
    }
}
