//! What the page draws: the newest inspection beside an older one, as rates and shares.
//!
//! | file | what is in it |
//! |---|---|
//! | `build` | how a view is made of two inspections |
//! | `shares` | what a worker did in a span of time |
//! | `span` | histograms of a span of time, and their bars |
//! | `words` | times and names in sentences |

mod build;
pub(crate) mod shares;
mod span;
mod words;

use crate::findings::Finding;
use serde::Serialize;

pub(crate) use build::{build, finished};
pub(crate) use span::Spread;
pub(crate) use words::{label, quoted, ranges, time};

/// All that the page draws. Times are in nanoseconds, rates in a second, shares from 0 to 1.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct View {
    /// The name of the program.
    pub name: String,
    /// The age of the runtime.
    pub elapsed: u64,
    /// The span that rates, shares and histograms are of: the newest part of the time.
    pub window: u64,
    /// The time between two views.
    pub interval: u64,
    /// The cells of each strip, once it is full.
    pub cells: usize,
    pub findings: Vec<Finding>,
    pub totals: Totals,
    pub memory: Memory,
    pub epochs: Epochs,
    pub history: Strips,
    pub workers: Vec<Worker>,
    /// From spawn to start.
    pub waiting: Spread,
    /// From the start of each run to its end.
    pub running: Spread,
    pub objects: Vec<Object>,
    pub kinds: Vec<Kind>,
    pub claims: Vec<Claim>,
}

/// The runtime as a whole.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Totals {
    pub workers: usize,
    /// Workers that sleep now.
    pub asleep: usize,
    /// Tasks that have finished since the start, and messages of the runtime.
    pub finished: u64,
    /// Tasks that wait or run, and messages.
    pub open: u64,
    /// The load of run queues and inboxes: the cost of their tasks, one unit a task at least.
    pub load: u64,
    /// Tasks that finish in a second.
    pub rate: f64,
    /// The share of the workers' time that they are busy.
    pub busy: f64,
    /// How long tasks waited in each second, in seconds: as many wait at a time.
    pub waiting: f64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Memory {
    /// Bytes of pages.
    pub pages: u64,
    /// Those of them on huge pages.
    pub huge: u64,
    /// The limit in bytes, if there is one.
    pub limit: Option<u64>,
    /// Spawns that were refused for lack of memory, since the start.
    pub refused: u64,
    /// Those of them in the window.
    pub newly_refused: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Epochs {
    pub newest: u64,
    pub oldest: u64,
    /// Retired objects that wait to be freed.
    pub retired: u64,
    /// How long the oldest epoch has been the oldest, as far as it was looked at.
    pub held: u64,
}

/// One value for each interval, the oldest first.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Strips {
    pub rate: Vec<f64>,
    pub open: Vec<f64>,
    pub busy: Vec<f64>,
    pub memory: Vec<f64>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Worker {
    pub index: usize,
    /// `running`, `blocked`, `searching`, `asleep` or `parked`.
    pub state: String,
    /// The name of the task that it runs or that blocks, if it is known.
    pub task: Option<String>,
    /// The objects of that task, by name.
    pub objects: Vec<String>,
    /// How long that task has been running.
    pub since: Option<u64>,
    /// The load of its run queue and inbox, in the same unit.
    pub load: u64,
    pub busy: f64,
    pub rate: f64,
    pub steals: f64,
    /// For each interval the shares of time at work, blocked and searching.
    pub strip: Vec<[f32; 3]>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Object {
    /// The name, or the type and the address.
    pub name: String,
    #[serde(rename = "type")]
    pub data: String,
    pub primitive: String,
    /// The share of its tasks in the time that tasks waited.
    pub share: f64,
    /// How long tasks waited for it in the window, all together.
    pub waited: u64,
    /// How long a task waited on average.
    pub wait: u64,
    /// Tasks that wait for it now.
    pub queue: u64,
    /// Accesses in a second.
    pub rate: f64,
    /// Waits in a second.
    pub waits: f64,
}

/// Tasks of one name.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Kind {
    pub name: String,
    /// Its share of the time that tasks ran.
    pub share: f64,
    /// Runs in a second.
    pub rate: f64,
    pub wait50: u64,
    pub wait99: u64,
    pub run50: u64,
    pub run99: u64,
    /// Panics since the start, as far as recorded.
    pub panics: u64,
    /// Those of them in the window.
    pub new_panics: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Claim {
    pub task: String,
    /// What it waits for.
    pub wants: String,
    /// The tasks that hold it, as far as they are known.
    pub holder: String,
    /// How long it has been waiting; zero if that is not known.
    pub since: u64,
}

#[cfg(test)]
mod tests;
