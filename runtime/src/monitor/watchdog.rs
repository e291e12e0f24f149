//! The watchdog: reports tasks that run too long, while they run.
//!
//! Each worker has a *post*. Before it runs a task it writes there what runs and since when;
//! afterwards it clears the post. A watcher beside the workers (see [`Platform::watch`]) reads all
//! posts periodically and reports tasks over the bound: once at the bound, and again each time that
//! the reported time has doubled.
//!
//! A post is only accessed under its lock, which is held only to copy a description. The
//! description names types and addresses and borrows nothing, so that it stays valid when the task
//! has ended meanwhile. The hook is called without a lock.

use crate::object::Primitive;
use crate::platform::{Platform, RuntimeWait};
use crate::sync::{Padded, SpinMutex};
use crate::task::{MOST_OBJECTS, quietly};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// A task that has been running for too long; passed to the hook of
/// [`Builder::watchdog`](crate::Builder::watchdog).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overrun {
    /// The path of the task's body: of the function or type that was spawned, or `….::{{closure}}`
    /// of the function that contains the closure.
    pub task: &'static str,
    /// Index of the worker that runs it.
    pub worker: usize,
    /// How long it has been running so far. Waiting at latches counts, waiting in a queue does not.
    pub running: Duration,
    /// The objects that it was spawned with, in the order of its annotation. For a walk: the node
    /// at which it was last queued.
    pub objects: Vec<Touched>,
    /// The other runtime that it waits for at this moment, if it does and the platform knows.
    pub waits: Option<RuntimeWait>,
}

/// An object of a running task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Touched {
    /// The path of the data's type.
    pub data: &'static str,
    /// The address of the object: that of [`Object::address`](crate::Object::address) or
    /// [`Link::address`](crate::arena::Link::address).
    pub address: usize,
    /// The primitive that keeps the object's tasks apart.
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
        match self.waits {
            Some(wait) => write!(f, "; {wait}"),
            None => Ok(()),
        }
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

/// The task that runs, or nothing.
type Post = SpinMutex<Option<Running>>;

/// Reports tasks that run too long; see the module's documentation.
pub(crate) struct Watchdog {
    posts: Box<[Padded<Post>]>,
    bound: u64,
    hook: Hook,
}

/// The function that receives the reports.
pub(crate) type Hook = Box<dyn Fn(Overrun) + Send + Sync>;

/// Checks within each bound, so that a report is late by at most a quarter of it…
const CHECKS_PER_BOUND: u32 = 4;
/// …but no more often than this, because a check takes time,
const MIN_PERIOD: Duration = Duration::from_millis(1);
/// and at least this often, because the watcher notices the end of the runtime at a check.
const MAX_PERIOD: Duration = Duration::from_secs(1);

impl Watchdog {
    pub fn new(workers: usize, bound: Duration, hook: Hook) -> Self {
        let bound = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        Self { posts: (0..workers).map(|_| Padded::default()).collect(), bound, hook }
    }

    /// Returns the time between two checks.
    pub fn period(&self) -> Duration {
        (Duration::from_nanos(self.bound) / CHECKS_PER_BOUND).clamp(MIN_PERIOD, MAX_PERIOD)
    }

    /// Records that a worker begins to run a task.
    pub fn begin(&self, worker: usize, task: Description, now: u64) {
        *self.posts[worker].0.lock() = Some(Running { task, since: now, allowed: self.bound });
    }

    /// Records that a worker has run its task.
    pub fn end(&self, worker: usize) {
        *self.posts[worker].0.lock() = None;
    }

    /// Reads all posts and reports what has been running for too long.
    pub fn check(&self, platform: &dyn Platform) {
        for (worker, post) in self.posts.iter().enumerate() {
            let overdue = post.0.lock().as_mut().and_then(|running| running.overdue(platform.now()));
            if let Some((task, running)) = overdue {
                let overrun = Overrun {
                    task: task.task,
                    worker,
                    running: Duration::from_nanos(running),
                    objects: task.objects.into_iter().flatten().collect(),
                    waits: platform.runtime_wait(worker),
                };
                // A panic of the hook must not end the watch; it is discarded, as there is no place
                // to report it.
                quietly(|| (self.hook)(overrun));
            }
        }
    }
}

impl Running {
    /// Returns the task and its time if a report is due, and counts the report as made.
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
    fn a_report_comes_at_the_bound_and_at_each_doubling() {
        let mut running = running(100);
        let reported: Vec<_> =
            (900..2000).filter_map(|now| running.overdue(now)).map(|(_, time)| time).collect();
        assert_eq!(reported, [101, 203, 407, 815]);
    }

    #[test]
    fn an_infinite_bound_is_never_reached() {
        let never = Watchdog::new(1, Duration::MAX, Box::new(|_| ()));
        assert_eq!(never.period(), MAX_PERIOD);
        assert!(running(never.bound).overdue(u64::MAX).is_none());
        let always = Watchdog::new(1, Duration::ZERO, Box::new(|_| ()));
        assert_eq!(always.period(), MIN_PERIOD);
        assert!(running(always.bound).overdue(1001).is_some());
    }

    #[test]
    fn an_overrun_is_one_line_of_text() {
        let object = Touched { data: "u64", address: 0x1240, primitive: Primitive::SpinLatch, write: true };
        let mut overrun = Overrun {
            task: "bank::transfer",
            worker: 3,
            running: Duration::from_micros(1234),
            objects: Vec::new(),
            waits: None,
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
