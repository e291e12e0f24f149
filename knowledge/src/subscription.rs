//! Notification when the best plan has changed.

use crate::adviser::{Advice, Adviser};
use crate::facts::Facts;
use crate::query::NoPlan;
use crate::system::{System, Unreadable, Watch};
use std::fmt;
use std::panic;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A thread that measures a system periodically and notifies of better plans. Dropping the
/// subscription stops it.
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use xtasking_knowledge::system::System;
/// use xtasking_knowledge::{AdvicePolicy, Adviser, Bound, Knowledge, Request};
///
/// let system = System::here();
/// let request = Request::new(64 << 20, Bound::Memory);
/// let plan = Knowledge::new(system.facts()?).best_plan(&request, None)?;
/// let (sender, receiver) = mpsc::channel();
/// # if cfg!(target_os = "linux") {
/// let subscription = Adviser::new(request, plan, AdvicePolicy::default())
///     .subscribe(&system, Duration::from_millis(250), move |news| drop(sender.send(news)))?;
/// // Regularly, or on a thread that receives:
/// for news in receiver.try_iter() {
///     match news {
///         Ok(advice) => println!("{} partitions from now on", advice.plan.partitions.len()),
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// drop(subscription); // stops the thread
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping a subscription ends it"]
pub struct Subscription {
    /// Dropping the sender stops the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why the adviser cannot notify whether there is a better plan. It is reported once, and the
/// thread keeps trying.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WatchError {
    /// The load of the CPUs cannot be read.
    Unreadable(Unreadable),
    /// No plan satisfies the request any more.
    NoPlan(NoPlan),
}

impl Adviser {
    /// Starts a thread that measures `system` every `every`, and calls `notify` with each better
    /// plan and each error. An advised plan counts as the current one from then on. An error is
    /// reported again only after a success.
    ///
    /// The thread reads the load, the online CPUs and the limits of this process. Free memory stays
    /// at its first value, so that the plan's own data does not count against it. With
    /// [`AdvicePolicy::default`](crate::AdvicePolicy) and four measurements a second, a change of
    /// load is reported within 2 seconds.
    ///
    /// `notify` runs on that thread. If it panics, dropping the subscription resumes the panic.
    ///
    /// # Errors
    ///
    /// If the CPUs or their load cannot be read at the start, or if the thread cannot be started.
    pub fn subscribe(
        self,
        system: &System,
        every: Duration,
        notify: impl FnMut(Result<Advice, WatchError>) + Send + 'static,
    ) -> Result<Subscription, Unreadable> {
        let mut watcher = Watcher {
            adviser: self,
            facts: system.facts()?,
            watch: system.watch()?,
            system: system.clone(),
            began: Instant::now(),
            error: None,
            notify,
        };
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("xtasking-adviser".into()).spawn(move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                watcher.measure();
            }
        });
        let thread = thread
            .map_err(|error| Unreadable::new(format!("the adviser's thread cannot be started: {error}")))?;
        Ok(Subscription { stop: Some(stop), thread: Some(thread) })
    }
}

/// The state of the thread.
struct Watcher<T> {
    adviser: Adviser,
    system: System,
    facts: Facts,
    watch: Watch,
    began: Instant,
    /// The error reported last, unless a success followed it.
    error: Option<WatchError>,
    notify: T,
}

impl<T: FnMut(Result<Advice, WatchError>)> Watcher<T> {
    fn measure(&mut self) {
        match self.advice() {
            Ok(advice) => {
                self.error = None;
                advice.into_iter().for_each(|advice| (self.notify)(Ok(advice)));
            }
            Err(error) => {
                if self.error.as_ref() != Some(&error) {
                    (self.notify)(Err(error.clone()));
                }
                self.error = Some(error);
            }
        }
    }

    fn advice(&mut self) -> Result<Option<Advice>, WatchError> {
        let free: Vec<_> = self.facts.nodes.iter().map(|node| (node.id, node.free)).collect();
        self.system.renew(&mut self.facts).map_err(WatchError::Unreadable)?;
        for (id, free) in free {
            self.facts.nodes.iter_mut().filter(|node| node.id == id).for_each(|node| node.free = free);
        }
        self.facts.load = Some(self.watch.load().map_err(WatchError::Unreadable)?);
        self.adviser.update(self.began.elapsed(), &self.facts).map_err(WatchError::NoPlan)
    }
}

impl Drop for Subscription {
    /// Joins the thread, unless it is the one that drops the subscription, and resumes its panic.
    fn drop(&mut self) {
        self.stop = None;
        let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id())
        else {
            return;
        };
        if let Err(panicked) = thread.join()
            && !thread::panicking()
        {
            panic::resume_unwind(panicked);
        }
    }
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "the system cannot be read: {why}"),
            Self::NoPlan(why) => write!(f, "no plan is possible any more: {why}"),
        }
    }
}

impl std::error::Error for WatchError {}
