//! What a contender of the experiment does.

use super::client::Client;
use super::contents::Contents;
use super::layout::Locations;
use crate::cpu_time::cpu_time;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_virtual_time::Clocks;

/// A file system with the initial tree, and the threads or workers that access it.
pub(super) trait Contender {
    /// Carries out all operations of some clients, which have one in flight each.
    ///
    /// # Errors
    ///
    /// If the contender fails.
    fn run(&mut self, clients: Vec<Client>) -> Result<RunResult, Wrong>;

    /// Walks through the whole tree.
    ///
    /// # Errors
    ///
    /// If the contender fails.
    fn contents(&mut self) -> Result<Contents, Wrong>;

    /// Returns the clocks, if the contender runs in virtual time.
    fn clocks(&self) -> Option<&Clocks> {
        None
    }
}

/// The clients after their last operation, and the time that the operations took.
pub(super) struct RunResult {
    pub clients: Vec<Client>,
    /// By the wall clock, or in virtual time.
    pub time: Duration,
    /// The CPU time of the process; `None` in virtual time.
    pub cpu_time: Option<Duration>,
}

/// Measures a run.
pub(super) struct Stopwatch {
    began: Instant,
    cpu_time: Option<Duration>,
}

/// What a contender needs to know before it starts.
#[derive(Clone)]
pub(super) struct Settings {
    /// The number of threads or workers.
    pub workers: usize,
    /// Where the directories are. The contender keeps them up to date.
    pub locations: Arc<Locations>,
    /// The seed of virtual time; `None` on threads.
    pub virtual_seed: Option<u64>,
}

/// Properties of a contender.
pub(super) struct Profile {
    /// Whether operations may name nodes by a handle.
    pub has_handles: bool,
    /// Whether sums are of one moment, and additions concern all nodes of one moment.
    pub is_atomic: bool,
    /// Operations in flight for each worker.
    pub clients: usize,
    /// Whether it also runs in virtual time.
    pub is_virtual: bool,
}

pub(super) type Entry = xtasking_harness::lineup::Entry<Box<dyn Contender>, Profile, Settings>;

pub(super) type Lineup = xtasking_harness::lineup::Lineup<Box<dyn Contender>, Profile, Settings>;

impl Stopwatch {
    /// Starts measuring.
    pub fn start() -> Self {
        Self { began: Instant::now(), cpu_time: cpu_time() }
    }

    /// Ends the run of these clients.
    pub fn stop(self, clients: Vec<Client>) -> RunResult {
        let time = self.began.elapsed();
        let cpu_time = cpu_time().zip(self.cpu_time).map(|(now, began)| now.saturating_sub(began));
        RunResult { clients, time, cpu_time }
    }
}
