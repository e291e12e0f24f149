//! The watchdog: tells of tasks that run too long, while they run.
//!
//! Each worker has a *post*. Before it runs a task it writes there what runs and since when, and after it that nothing
//! does. A watcher beside the workers (see [`Platform::watch`]) looks at all posts now and then and reports whoever has
//! been at work for too long: once at the bound, and again each time that the reported time has doubled.
//!
//! A post is reached under its lock alone, which is held for as long as it takes to copy a description. The description
//! names types and addresses and borrows nothing, so that it stays true when the task has ended meanwhile. The hook is
//! called with no lock held.

use crate::object::Primitive;
use crate::platform::Platform;
use crate::sync::{Padded, SpinMutex};
use crate::task::{MOST_OBJECTS, quietly};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// A task that has been running for too long; told to the hook of
/// [`Builder::watchdog`](crate::Builder::watchdog).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overrun {
    /// The path of the task's body: of the function or type that was spawned, or `….::{{closure}}` of the function that
    /// has the closure in it.
    pub task: &'static str,
    /// Index of the worker that runs it.
    pub worker: usize,
    /// How long it has been running so far. Waiting at latches counts, waiting for its turn does not.
    pub running: Duration,
    /// The objects it was spawned with, in the order of its annotation. Of a walk, the node where it was this time put
    /// into the pool.
    pub objects: Vec<Touched>,
}

/// An object of a running task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Touched {
    /// The path of the data's type.
    pub data: &'static str,
    /// Where the object lies: the same as [`Object::address`](crate::Object::address) and
    /// [`Link::address`](crate::Link::address).
    pub address: usize,
    /// What keeps the object's tasks apart.
    pub primitive: Primitive,
    /// Whether the task writes it.
    pub write: bool,
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, worker, running, .. } = self;
        write!(f, "task {task} has been running on worker {worker} for {running:.1?}")?;
        for (index, object) in self.objects.iter().enumerate() {
            write!(f, "{} {object}", if index == 0 { "; it" } else { " and" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Touched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { data, address, primitive, write } = self;
        let mode = if *write { "writes" } else { "reads" };
        write!(f, "{mode} {data} at {address:#x} ({primitive:?})")
    }
}

/// What a task says about itself before it runs.
#[derive(Clone, Copy)]
pub struct Description {
    pub(crate) task: &'static str,
    pub(crate) objects: [Option<Touched>; MOST_OBJECTS],
}

impl Description {
    pub fn new(task: &'static str, touched: impl Iterator<Item = Touched>) -> Self {
        let mut objects = [None; MOST_OBJECTS];
        objects.iter_mut().zip(touched).for_each(|(object, touched)| *object = Some(touched));
        Self { task, objects }
    }
}

/// What runs on a worker. Times are those of the platform's clock, in nanoseconds.
struct Running {
    task: Description,
    since: u64,
    /// How long it may run before the next report.
    allowed: u64,
}

/// Nothing, or the task that runs.
type Post = SpinMutex<Option<Running>>;

/// See the module's documentation.
pub(crate) struct Watchdog {
    posts: Box<[Padded<Post>]>,
    bound: u64,
    hook: Hook,
}

/// Who is told.
pub(crate) type Hook = Box<dyn Fn(Overrun) + Send + Sync>;

/// Looks for each span of the bound: so that a report is late by a quarter of it at most…
const LOOKS: u32 = 4;
/// …but no more often than this, because looking takes time,
const SHORTEST: Duration = Duration::from_millis(1);
/// and no more seldom than this, because with a look the watcher notices that the runtime has ended.
const LONGEST: Duration = Duration::from_secs(1);

impl Watchdog {
    pub fn new(workers: usize, bound: Duration, hook: Hook) -> Self {
        let bound = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        Self { posts: (0..workers).map(|_| Padded::default()).collect(), bound, hook }
    }

    /// The time between two looks.
    pub fn period(&self) -> Duration {
        (Duration::from_nanos(self.bound) / LOOKS).clamp(SHORTEST, LONGEST)
    }

    /// A worker begins to run a task.
    pub fn begin(&self, worker: usize, task: Description, now: u64) {
        *self.posts[worker].0.lock() = Some(Running { task, since: now, allowed: self.bound });
    }

    /// A worker has run its task.
    pub fn end(&self, worker: usize) {
        *self.posts[worker].0.lock() = None;
    }

    /// Looks at all posts and reports what has been running for too long.
    pub fn look(&self, platform: &dyn Platform) {
        for (worker, post) in self.posts.iter().enumerate() {
            let overdue = post.0.lock().as_mut().and_then(|running| running.overdue(platform.now()));
            if let Some((task, running)) = overdue {
                let overrun = Overrun {
                    task: task.task,
                    worker,
                    running: Duration::from_nanos(running),
                    objects: task.objects.into_iter().flatten().collect(),
                };
                // A panic of the hook must not end the watch; there is nobody left to tell.
                quietly(|| (self.hook)(overrun));
            }
        }
    }
}

impl Running {
    /// The task and its time, if that is worth a report, which is counted as made.
    fn overdue(&mut self, now: u64) -> Option<(Description, u64)> {
        let time = now.saturating_sub(self.since);
        if time <= self.allowed {
            return None;
        }
        self.allowed = time.saturating_mul(2);
        Some((self.task, time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(allowed: u64) -> Running {
        let task = Description::new("a task", core::iter::empty());
        Running { task, since: 1000, allowed }
    }

    #[test]
    fn a_report_comes_after_the_bound_and_whenever_the_time_has_doubled() {
        let mut running = running(100);
        let reported: Vec<_> =
            (900..2000).filter_map(|now| running.overdue(now)).map(|(_, time)| time).collect();
        assert_eq!(reported, [101, 203, 407, 815]);
    }

    #[test]
    fn a_bound_beyond_all_times_is_never_reached() {
        let never = Watchdog::new(1, Duration::MAX, Box::new(|_| ()));
        assert_eq!(never.period(), LONGEST);
        assert!(running(never.bound).overdue(u64::MAX).is_none());
        let always = Watchdog::new(1, Duration::ZERO, Box::new(|_| ()));
        assert_eq!(always.period(), SHORTEST);
        assert!(running(always.bound).overdue(1001).is_some());
    }

    #[test]
    fn an_overrun_is_told_in_one_line() {
        let object = Touched { data: "u64", address: 0x1240, primitive: Primitive::SpinLatch, write: true };
        let mut overrun = Overrun {
            task: "bank::transfer",
            worker: 3,
            running: Duration::from_micros(1234),
            objects: Vec::new(),
        };
        let said = "task bank::transfer has been running on worker 3 for 1.2ms";
        assert_eq!(alloc::format!("{overrun}"), said);
        overrun.objects = [object, Touched { data: "bool", write: false, ..object }].into();
        assert_eq!(
            alloc::format!("{overrun}"),
            alloc::format!(
                "{said}; it writes u64 at 0x1240 (SpinLatch) and reads bool at 0x1240 (SpinLatch)"
            )
        );
    }
}
