//! The watchdog: reports tasks that run too long, while they run.
//!
//! A watcher beside the workers (see [`Platform::watch`]) reads all [posts](Posts) periodically and
//! reports tasks over the bound: once at the bound, and again each time that the reported time has
//! doubled. The hook is called without a lock.

use super::posts::{Posts, Running};
use crate::object::Primitive;
use crate::platform::{Platform, RuntimeWait};
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
    /// The name of the object, if it has [one](crate::ObjectBuilder::name).
    pub name: Option<&'static str>,
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
        let Self { name, data, address, primitive, write } = self;
        let mode = if *write { "writes" } else { "reads" };
        write!(f, "{mode} {data}")?;
        if let Some(name) = name {
            write!(f, " `{name}`")?;
        }
        write!(f, " at {address:#x} ({primitive:?})")
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

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.task)?;
        for (index, object) in self.objects.iter().flatten().enumerate() {
            write!(f, "{} {object}", if index == 0 { "; it" } else { " and" })?;
        }
        Ok(())
    }
}

/// Reports tasks that run too long; see the module's documentation.
pub(crate) struct Watchdog {
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
    pub fn new(bound: Duration, hook: Hook) -> Self {
        Self { bound: u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX), hook }
    }

    /// Returns the time between two checks.
    pub fn period(&self) -> Duration {
        (Duration::from_nanos(self.bound) / CHECKS_PER_BOUND).clamp(MIN_PERIOD, MAX_PERIOD)
    }

    /// Reads all posts and reports what has been running for too long.
    pub fn check(&self, posts: &Posts, platform: &dyn Platform) {
        for (worker, post) in posts.0.iter().enumerate() {
            let mut running = post.0.lock();
            let overdue = running.as_mut().and_then(|running| running.overdue(self.bound, platform.now()));
            drop(running);
            if let Some((task, time)) = overdue {
                // A panic of the hook must not end the watch; it is discarded, as there is no place
                // to report it.
                let waits = platform.runtime_wait(worker);
                quietly(|| (self.hook)(task.running(worker, time, waits)));
            }
        }
    }
}

impl Running {
    /// Returns the task and its time if a report is due, and counts the report as made.
    fn overdue(&mut self, bound: u64, now: u64) -> Option<(Description, u64)> {
        let time = now.saturating_sub(self.since);
        let allowed = if self.reported == 0 { bound } else { self.reported.saturating_mul(2) };
        if time <= allowed {
            return None;
        }
        self.reported = time;
        Some((self.task, time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Running {
        let task = Description::new("a task", core::iter::empty());
        Running { task, since: 1000, reported: 0 }
    }

    #[test]
    fn a_report_comes_at_the_bound_and_at_each_doubling() {
        let mut running = running();
        let reported: Vec<_> =
            (900..2000).filter_map(|now| running.overdue(100, now)).map(|(_, time)| time).collect();
        assert_eq!(reported, [101, 203, 407, 815]);
    }

    #[test]
    fn an_infinite_bound_is_never_reached() {
        let never = Watchdog::new(Duration::MAX, Box::new(|_| ()));
        assert_eq!(never.period(), MAX_PERIOD);
        assert!(running().overdue(never.bound, u64::MAX).is_none());
        let always = Watchdog::new(Duration::ZERO, Box::new(|_| ()));
        assert_eq!(always.period(), MIN_PERIOD);
        assert!(running().overdue(always.bound, 1001).is_some());
    }

    #[test]
    fn an_overrun_is_one_line_of_text() {
        let primitive = Primitive::SpinLatch;
        let object = Touched { name: None, data: "u64", address: 0x1240, primitive, write: true };
        let mut overrun = Overrun {
            task: "bank::transfer",
            worker: 3,
            running: Duration::from_micros(1234),
            objects: Vec::new(),
            waits: None,
        };
        let said = "task bank::transfer has been running on worker 3 for 1.2ms";
        assert_eq!(alloc::format!("{overrun}"), said);
        let named = Touched { name: Some("open"), data: "bool", write: false, ..object };
        overrun.objects = [object, named].into();
        assert_eq!(
            alloc::format!("{overrun}"),
            alloc::format!(
                "{said}; it writes u64 at 0x1240 (SpinLatch) and reads bool `open` at 0x1240 (SpinLatch)"
            )
        );
    }
}
