//! Being told when the best plan has changed.

use crate::adviser::{Advice, Adviser};
use crate::facts::Facts;
use crate::questions::NoPlan;
use crate::system::{System, Unreadable, Watch};
use std::fmt;
use std::panic;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A thread that looks at a system again and again and tells of better plans, for as long as this lives.
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use xtasking_knowledge::system::System;
/// use xtasking_knowledge::{Adviser, Bound, Knowledge, Patience, Request};
///
/// let system = System::here();
/// let request = Request::new(64 << 20, Bound::Memory);
/// let plan = Knowledge::new(system.facts()?).best_plan(&request, None)?;
/// let (tell, told) = mpsc::channel();
/// # if cfg!(target_os = "linux") {
/// let subscription = Adviser::new(request, plan, Patience::default())
///     .subscribe(&system, Duration::from_millis(250), move |news| drop(tell.send(news)))?;
/// // Now and then, or in a thread of its own:
/// for news in told.try_iter() {
///     match news {
///         Ok(advice) => println!("{} partitions from now on", advice.plan.partitions.len()),
///         Err(trouble) => eprintln!("{trouble}"),
///     }
/// }
/// drop(subscription); // nothing is told any more
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it is told of changes only as long as this lives"]
pub struct Subscription {
    /// Stops the thread when it is dropped.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why it is not known whether there is a better plan. It is told once, and looked again.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// The system does not tell what its CPUs do.
    Unreadable(Unreadable),
    /// Nothing obeys the request any more.
    NoPlan(NoPlan),
}

impl Adviser {
    /// Looks at `system` every so often, and calls `tell` with each better plan, which then counts as the present one, and
    /// with whatever keeps it from looking; the same trouble is told again only after it had passed.
    ///
    /// The load, the CPUs that are online and the limits of this process are looked at. How much memory is free stays as it
    /// was at the beginning: what the plan's own data takes is not taken from it. With the patience of
    /// [`Patience::default`](crate::Patience) and four looks a second, a change of load is told within 2 seconds.
    ///
    /// `tell` runs on the thread that looks. If it panics, whoever drops the subscription panics with the same.
    ///
    /// # Errors
    ///
    /// If the system does not tell of its CPUs or of their load at the beginning, or no thread can be started.
    pub fn subscribe(
        self,
        system: &System,
        every: Duration,
        tell: impl FnMut(Result<Advice, Trouble>) + Send + 'static,
    ) -> Result<Subscription, Unreadable> {
        let mut looks = Looks {
            adviser: self,
            facts: system.facts()?,
            watch: system.watch()?,
            system: system.clone(),
            began: Instant::now(),
            trouble: None,
            tell,
        };
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("xtasking-adviser".into()).spawn(move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                looks.look();
            }
        });
        let thread = thread
            .map_err(|error| Unreadable::new(format!("a thread that looks cannot be started: {error}")))?;
        Ok(Subscription { stop: Some(stop), thread: Some(thread) })
    }
}

/// What the thread has.
struct Looks<T> {
    adviser: Adviser,
    system: System,
    facts: Facts,
    watch: Watch,
    began: Instant,
    /// What was told last, if it has not passed.
    trouble: Option<Trouble>,
    tell: T,
}

impl<T: FnMut(Result<Advice, Trouble>)> Looks<T> {
    fn look(&mut self) {
        match self.advice() {
            Ok(advice) => {
                self.trouble = None;
                advice.into_iter().for_each(|advice| (self.tell)(Ok(advice)));
            }
            Err(trouble) => {
                if self.trouble.as_ref() != Some(&trouble) {
                    (self.tell)(Err(trouble.clone()));
                }
                self.trouble = Some(trouble);
            }
        }
    }

    fn advice(&mut self) -> Result<Option<Advice>, Trouble> {
        let free: Vec<_> = self.facts.nodes.iter().map(|node| (node.id, node.free)).collect();
        self.system.renew(&mut self.facts).map_err(Trouble::Unreadable)?;
        for (id, free) in free {
            self.facts.nodes.iter_mut().filter(|node| node.id == id).for_each(|node| node.free = free);
        }
        self.facts.load = Some(self.watch.load().map_err(Trouble::Unreadable)?);
        self.adviser.look(self.began.elapsed(), &self.facts).map_err(Trouble::NoPlan)
    }
}

impl Drop for Subscription {
    /// Waits for the thread to end, unless it is that thread that drops it.
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

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "the system cannot be looked at: {why}"),
            Self::NoPlan(why) => write!(f, "there is no plan any more: {why}"),
        }
    }
}

impl std::error::Error for Trouble {}
