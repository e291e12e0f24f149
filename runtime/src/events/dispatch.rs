//! When a worker looks at its events and timers, and the task that handles what it finds.

use super::EventQueues;
use super::handlers::Handlers;
#[cfg(feature = "io")]
use super::outgoing::Outgoing;
use super::timers::{NEVER, Timers};
use crate::annotation::Priority;
use crate::scheduler::{Context, RuntimeHandle, RuntimeState};
use crate::sync::{AcqRel, Acquire, AtomicBool, Release};
use crate::task::drop_quietly;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// The sources and timers of all workers.
pub(crate) struct Outside {
    workers: Box<[WorkerOutside]>,
}

/// The sources and timers of one run queue, which its owner looks at.
struct WorkerOutside {
    handlers: Handlers,
    timers: Timers,
    #[cfg(feature = "io")]
    outgoing: Outgoing,
    /// A task that handles what is found has been spawned, and has not begun.
    is_dispatching: AtomicBool,
}

impl Outside {
    pub fn new(workers: usize) -> Self {
        let worker = |_| WorkerOutside {
            handlers: Handlers::new(),
            timers: Timers::new(),
            #[cfg(feature = "io")]
            outgoing: Outgoing::new(),
            is_dispatching: AtomicBool::new(false),
        };
        Self { workers: (0..workers).map(worker).collect() }
    }

    pub(super) fn timers(&self, worker: usize) -> &Timers {
        &self.workers[worker].timers
    }

    #[cfg(feature = "io")]
    pub(super) fn outgoing(&self, worker: usize) -> &Outgoing {
        &self.workers[worker].outgoing
    }

    pub(super) fn handlers(&self, worker: usize) -> &Handlers {
        &self.workers[worker].handlers
    }

    /// Drops timers and handlers, as a shutdown has begun.
    pub fn close(&self) {
        for worker in &self.workers {
            let (timers, handlers) = (worker.timers.close(), worker.handlers.close());
            timers.into_iter().for_each(drop_quietly);
            handlers.into_iter().for_each(drop_quietly);
        }
    }
}

impl RuntimeState {
    /// Returns when the owner of a run queue that falls asleep has to look at its timers, by the
    /// clock of the platform; `None` if there are none.
    pub(crate) fn next_timer(&self, queue: usize) -> Option<u64> {
        Some(self.outside.workers[queue].timers.next_for_sleep()).filter(|&next| next != NEVER)
    }

    /// Returns true if sources are registered with a run queue.
    pub(crate) fn has_sources(&self, queue: usize) -> bool {
        self.outside.workers[queue].handlers.has_sources()
    }

    /// Returns true if a source or timer of a run queue has something to handle. `looks` asks the
    /// system, for a queue of events in which the calling worker does not sleep.
    pub(crate) fn has_outside(&self, queue: usize, looks: bool) -> bool {
        // What a task is about to handle, and what is dropped, is no reason to be awake.
        if self.is_shutting_down() || self.outside.workers[queue].is_dispatching.load(Acquire) {
            return false;
        }
        let found =
            |events: &dyn EventQueues| if looks { events.poll(queue) } else { events.has_events(queue) };
        self.is_timer_due(queue) || self.platform.events().is_some_and(found)
    }

    /// Looks for events and due timers of a run queue. Returns true if there are some; a task will
    /// handle them.
    pub(crate) fn look_outside(self: &Arc<Self>, queue: usize) -> bool {
        let Some(dispatch) = self.begin_dispatch(queue) else { return false };
        let runtime = RuntimeHandle::new(self.clone());
        runtime.task(()).core(queue as u16).spawn(move |(), cx| dispatch.run(cx));
        true
    }

    /// Looks for events and due timers. Returns the body of a task that handles them, unless there
    /// are none or a task is about to.
    fn begin_dispatch(self: &Arc<Self>, queue: usize) -> Option<Dispatch> {
        let is_due = self.is_timer_due(queue);
        let has_events = self.platform.events().is_some_and(|events| events.poll(queue));
        // After the beginning of a shutdown all that is found is dropped.
        if !is_due && !has_events || self.is_shutting_down() {
            return None;
        }
        // AcqRel pairs with the Release of `Dispatch::drop`.
        let is_begun = self.outside.workers[queue].is_dispatching.swap(true, AcqRel);
        (!is_begun).then(|| Dispatch { shared: self.clone(), queue })
    }

    fn is_timer_due(&self, queue: usize) -> bool {
        let next = self.outside.workers[queue].timers.next();
        next != NEVER && next <= self.platform.now()
    }
}

impl Context {
    /// Looks for events and due timers at once. Returns true if it has spawned a task that handles
    /// them; false if there are none, or another task is about to handle them. The task is a
    /// follow-up of [normal priority](Priority::Normal), in an operation of its own.
    ///
    /// A busy worker looks by itself only after some hundred tasks. A task that goes on with long
    /// work in follow-ups, one after the other, calls this before it spawns the next one: then what
    /// has come meanwhile waits for one of them, and not for hundreds. If they have a
    /// [low priority](Priority::Low), it also comes before those that are already spawned.
    ///
    /// ```
    /// use xtasking::{Context, Priority, Promise, Runtime};
    ///
    /// fn add(from: u64, sum: u64, done: Promise<u64>, cx: &mut Context) {
    ///     let end = (from + 1000).min(100_000);
    ///     let sum = sum + (from..end).sum::<u64>();
    ///     if end == 100_000 {
    ///         return done.fulfil(sum);
    ///     }
    ///     cx.poll_events();
    ///     cx.task(()).priority(Priority::Low).spawn(move |(), cx| add(end, sum, done, cx));
    /// }
    ///
    /// let rt = Runtime::builder().workers(1).build()?;
    /// let (done, sum) = rt.promise();
    /// rt.task(()).spawn(move |(), cx| add(0, 0, done, cx));
    /// assert_eq!(sum.join()?, 4_999_950_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn poll_events(&mut self) -> bool {
        let queue = self.worker();
        let Some(dispatch) = self.worker.shared().begin_dispatch(queue) else { return false };
        let task = self.task(()).core(queue as u16).priority(Priority::Normal).begin_operation();
        task.spawn(move |(), cx| dispatch.run(cx));
        true
    }
}

/// The task that handles what was found. Wherever it ends, another one may be spawned.
struct Dispatch {
    shared: Arc<RuntimeState>,
    queue: usize,
}

impl Drop for Dispatch {
    fn drop(&mut self) {
        // Release pairs with the AcqRel of `begin_dispatch`.
        self.shared.outside.workers[self.queue].is_dispatching.store(false, Release);
    }
}

impl Dispatch {
    fn run(self, cx: &mut Context) {
        let (shared, queue) = (self.shared.clone(), self.queue);
        // Before looking: what comes later needs another task.
        drop(self);
        let outside = &shared.outside.workers[queue];
        for action in outside.timers.due(shared.platform.now()) {
            // In a task of its own: if it panics, the others go on.
            cx.task(()).core(queue as u16).spawn(move |(), cx| action(cx));
        }
        let Some(events) = shared.platform.events() else { return };
        events.take(queue, &mut |token, ready| {
            if let Some(handler) = outside.handlers.handler(token, ready) {
                handler.clone().handle(ready, cx);
                // Perhaps the last: its source may be closed by now.
                drop_quietly(handler);
            }
        });
    }
}
