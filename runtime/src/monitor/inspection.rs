//! What an inspected runtime looks like at one moment.

use super::{Allocation, Counters, Histogram};
use crate::object::Primitive;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use core::time::Duration;

/// A runtime as an [`Inspector`](crate::metrics::Inspector) sees it at one moment: plain data.
///
/// Numbers that only a [`Recording`](crate::metrics::Recording) keeps say so; they stand still
/// while none is active. Those of workers and `kinds` add up over all recordings; `objects` are of
/// the last session only, which is the recordings that overlap.
///
/// Parts are read one after another while the workers go on. So a task may be in one number, and
/// not yet in another.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Inspection {
    /// The age of the runtime.
    pub elapsed: Duration,
    /// The number of workers that are to run at the moment. They also own the run queues of the
    /// others.
    pub size: usize,
    /// Tasks that were spawned, from anywhere, including the runtime's own messages.
    pub spawned: u64,
    /// Tasks that have finished: run, cancelled or failed; including the runtime's own messages.
    pub finished: u64,
    /// The counters, if [`Builder::counters`](crate::Builder::counters) is on.
    pub counters: Option<Counters>,
    /// Memory of tasks.
    pub memory: Allocation,
    /// Whether a recording is active.
    pub is_recording: bool,
    /// How long recordings were active so far, all together. Time in which two overlap counts once.
    pub recorded: Duration,
    /// How long the last recording has been active, with those that overlap it.
    pub session: Duration,
    /// Each worker, with its run queue.
    pub workers: Vec<WorkerInspection>,
    /// The kinds of tasks that ran while recorded, by name; the most frequent first.
    pub kinds: Vec<TaskKind>,
    /// The objects that tasks waited for longest during the session, then those that were accessed
    /// most. At most [`MAX_OBJECTS`](Self::MAX_OBJECTS).
    pub objects: Vec<ObjectUse>,
    /// The largest number of accesses during the session that an object can have without being in
    /// `objects`.
    pub object_error: u64,
    /// Claims that wait for granules; at most [`MAX_CLAIMS`](Self::MAX_CLAIMS).
    pub claims: Vec<WaitingClaim>,
    /// The epochs in which tasks run.
    pub epochs: EpochLag,
}

impl Inspection {
    /// The largest number of `objects`.
    pub const MAX_OBJECTS: usize = 64;
    /// The largest number of `claims`.
    pub const MAX_CLAIMS: usize = 64;
    /// The largest number of `kinds` that a worker keeps apart. Further ones are one kind, with the
    /// name [`OTHER_KINDS`](Self::OTHER_KINDS).
    pub const MAX_KINDS: usize = 128;
    /// The name of all kinds beyond [`MAX_KINDS`](Self::MAX_KINDS).
    pub const OTHER_KINDS: &'static str = "(other tasks)";

    /// Returns the number of tasks that wait or run.
    pub fn occupancy(&self) -> u64 {
        self.spawned.saturating_sub(self.finished)
    }
}

/// A worker at one moment, and its run queue.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct WorkerInspection {
    /// Index of the run queue, and of the worker that has it unless the runtime was resized.
    pub worker: usize,
    /// Index of the worker that owns the run queue now.
    pub owner: usize,
    /// What it does.
    pub activity: Activity,
    /// The tasks that it runs or has suspended in
    /// [`block_in_place`](crate::Context::block_in_place), as far as they are recorded.
    pub running: Vec<RunningInspection>,
    /// The load of its run queue, as it has published it last: the cost of its tasks, one unit a
    /// task at least.
    pub queue: u64,
    /// Tasks in its inbox, which other threads have sent.
    pub inbox: u64,
    /// Unbound tasks that other workers may steal from it.
    pub unbound: u64,
    /// How often it has run a task, while recorded. A run that ends after the recording counts, and
    /// so does a turn that only defers its task.
    pub tasks: u64,
    /// Time at work, while recorded: without time in which its task blocks in place, and only up to
    /// the end of the recording. A worker that learns late of a recording counts from then.
    pub busy: Duration,
    /// Time asleep, while recorded.
    pub asleep: Duration,
    /// Halves of joins and run queues that it took from others.
    pub steals: u64,
    /// Times that it went to sleep.
    pub sleeps: u64,
}

/// What a worker does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Activity {
    /// It is inside a task, or between two.
    Running,
    /// Its task [blocks in place](crate::Context::block_in_place), and no other runs meanwhile.
    Blocked,
    /// It has no task, and looks for one.
    Searching,
    /// It sleeps until there is a task.
    #[default]
    Asleep,
    /// No worker holds the run queue: its owner is at another one.
    Parked,
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Searching => "searching",
            Self::Asleep => "asleep",
            Self::Parked => "parked",
        })
    }
}

/// A task that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct RunningInspection {
    /// Its name, or the path of its body.
    pub task: String,
    /// Since when it has been running.
    pub running: Duration,
    /// Whether it blocks in [`block_in_place`](crate::Context::block_in_place).
    pub is_blocked: bool,
    /// The objects that it was spawned with.
    pub objects: Vec<ObjectLabel>,
}

/// What an object is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ObjectLabel {
    /// The name of the object, if it has [one](crate::ObjectBuilder::name).
    pub name: Option<String>,
    /// The path of the data's type.
    pub data: String,
    /// The address of the object.
    pub address: usize,
    /// The primitive that keeps the object's tasks apart.
    pub primitive: Primitive,
}

impl fmt::Display for ObjectLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "{} at {:#x}", self.data, self.address),
        }
    }
}

/// Tasks of one name, as far as they ran while recorded, in all recordings so far.
///
/// A function that runs on a [set](crate::managed) shows as the runtime's task that runs it there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TaskKind {
    /// The name, or the path of the body.
    pub name: String,
    /// How many have finished: run, cancelled or failed.
    pub finished: u64,
    /// How often one ran. A walk, and a disturbed optimistic read, runs several times.
    pub runs: u64,
    /// How many panicked.
    pub panics: u64,
    /// From the spawn to the first turn, of tasks that were also spawned while recorded. A task
    /// that is deferred then, as its object is held, waits on: see [`ObjectUse::waited`].
    pub waiting: Histogram,
    /// From the beginning of each run to its end.
    pub running: Histogram,
}

/// An object, and what tasks did with it during a session of recordings.
///
/// Each worker keeps a bounded number of objects, by the algorithm *Space-Saving* (Metwally,
/// Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT
/// 2005). So `accesses` is too high by at most `error`, and too low by at most
/// [`object_error`](Inspection::object_error). `waits` and `waited` may be too low by what happened
/// before the object was kept. A task with several objects counts for each of them.
///
/// An object is seen from the first run of a task with it. One that was dropped has lost its name;
/// if a new object has its address, the counts of both are together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ObjectUse {
    /// What it is known by.
    pub object: ObjectLabel,
    /// Runs of tasks that were spawned with it.
    pub accesses: u64,
    /// By how much `accesses` may be too high.
    pub error: u64,
    /// Times that a task found it held although it was its turn: it had to wait at its latch, or
    /// was deferred. Tasks that only queue behind each other, as those of a sequenced object do,
    /// are not counted here, but in `waited` and `queued`.
    pub waits: u64,
    /// How long its tasks waited, all together: in queues until they ran, and at latches.
    pub waited: Duration,
    /// Tasks that wait for it now, of those spawned during the session. An upper bound: objects
    /// that share a cell of the table are counted together; and tasks that began to run before
    /// their worker had learned of the session still count.
    pub queued: u64,
}

/// A claim that waits for granules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct WaitingClaim {
    /// The name of its task, or the path of the body.
    pub task: String,
    /// The path of the type of the granules' data.
    pub data: String,
    /// The address of the granules, which tells two of the same data apart.
    pub address: usize,
    /// What it waits for, as ranges of granules, among the first 65,536.
    pub ranges: Vec<Range<u32>>,
    /// Whether it writes one of them.
    pub is_write: bool,
    /// The tasks that hold what it waits for, as far as they are known: tasks that run.
    pub holders: Vec<String>,
    /// Claims before it in the longest of its queues.
    pub ahead: u64,
    /// How long it has been waiting, if it has begun while recorded.
    pub waiting: Option<Duration>,
}

/// How far the epochs of a runtime lag: what a task of an old epoch may still reach is not freed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct EpochLag {
    /// The newest epoch.
    pub newest: u64,
    /// The oldest epoch in which a task or reader may still be.
    pub oldest: u64,
    /// Objects that were retired and wait for their epoch to end.
    pub retired: u64,
}

impl EpochLag {
    /// Returns how many epochs lie between the oldest and the newest. Up to two is usual.
    pub fn lag(&self) -> u64 {
        self.newest.saturating_sub(self.oldest)
    }
}
