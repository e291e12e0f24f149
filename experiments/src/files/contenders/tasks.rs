//! A file system whose operations are tasks of this runtime, on threads or in virtual time.
//!
//! Another way to keep tasks apart is a file with a [`TaskTree`] and an entry.

use super::super::client::Client;
use super::super::contender::{Contender, RunResult, Settings, Stopwatch};
use super::super::contents::Contents;
use super::super::layout::Locations;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use xtasking::{Context, QueuePolicy, Runtime};
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::cannot_start;
use xtasking_harness::page;
use xtasking_virtual_time::{Clocks, VirtualTime, costs};

/// A file system whose operations are tasks.
pub(super) trait TaskTree: Send + Sync + Sized + 'static {
    /// Spawns the present operation of a client as a task of the running task's group. This notes
    /// the answer, and [proceeds](Turn::proceed).
    fn spawn(turn: &Arc<Turn<Self>>, client: Box<Client>, cx: &mut Context);

    /// Walks through the whole tree, while no operation runs.
    ///
    /// # Errors
    ///
    /// If the task that does so fails.
    fn contents(&self, rt: &Runtime) -> Result<Contents, Wrong>;
}

/// What the tasks of a turn share.
pub(super) struct Turn<T> {
    pub tree: T,
    pub locations: Arc<Locations>,
    ended: Mutex<Vec<Client>>,
}

/// The runtime with its file system, which is dropped before.
pub(super) struct OnRuntime<T> {
    turn: Arc<Turn<T>>,
    rt: Runtime,
    clocks: Option<Clocks>,
}

impl<T: TaskTree> Turn<T> {
    /// Continues with the next operation of a client, if it has one.
    pub fn proceed(self: &Arc<Self>, mut client: Box<Client>, cx: &mut Context) {
        if client.next() {
            T::spawn(self, client, cx);
        } else {
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(*client);
        }
    }
}

impl<T: TaskTree> OnRuntime<T> {
    /// Starts a runtime, and builds a file system on it.
    ///
    /// # Errors
    ///
    /// If the runtime cannot start.
    pub fn boxed(
        settings: Settings,
        build: impl FnOnce(&Runtime) -> T,
    ) -> Result<Box<dyn Contender>, Failure> {
        let (builder, workers) = (Runtime::builder().pool(QueuePolicy::WorkStealing), settings.workers);
        let (rt, clocks) = match settings.virtual_seed {
            None => (page::start(builder.workers(workers)), None),
            Some(seed) => {
                let (platform, clocks) = VirtualTime::new(workers, seed, costs());
                (builder.platform(platform).build(), Some(clocks))
            }
        };
        let rt = rt.map_err(|error| cannot_start("xtasking", workers, &error))?;
        let turn = Turn { tree: build(&rt), locations: settings.locations, ended: Mutex::default() };
        Ok(Box::new(Self { turn: Arc::new(turn), rt, clocks }))
    }
}

impl<T: TaskTree> Contender for OnRuntime<T> {
    fn run(&mut self, clients: Vec<Client>) -> Result<RunResult, Wrong> {
        let virtual_begin = self.clocks.as_ref().map(Clocks::makespan);
        let (stopwatch, count) = (Stopwatch::start(), clients.len());
        let group = self.rt.group();
        for client in clients {
            let turn = self.turn.clone();
            self.rt.task(()).of(&group).spawn(move |(), cx| turn.proceed(Box::new(client), cx));
        }
        group.wait().map_err(|error| Wrong::new(format!("a task failed: {error}")))?;
        let mut ended = self.turn.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let clients = std::mem::take(&mut *ended);
        if clients.len() != count {
            return Err(Wrong::new(format!("{} of {count} clients have ended", clients.len())));
        }
        let result = stopwatch.stop(clients);
        let Some((clocks, begin)) = self.clocks.as_ref().zip(virtual_begin) else { return Ok(result) };
        let time = Duration::from_nanos(clocks.makespan() - begin);
        Ok(RunResult { time, cpu_time: None, ..result })
    }

    fn contents(&mut self) -> Result<Contents, Wrong> {
        self.turn.tree.contents(&self.rt)
    }

    fn clocks(&self) -> Option<&Clocks> {
        self.clocks.as_ref()
    }
}
