//! Handlers that write an object: one task for all events that have come until it runs.

use super::Ready;
use super::handlers::Handler;
use super::registered::Place;
use crate::annotation::Priority;
use crate::object::{Object, ObjectBuilder, Plain};
use crate::scheduler::{Context, RuntimeHandle};
use crate::sync::{AcqRel, AtomicU32};
use alloc::sync::Arc;
use core::fmt;

/// The events of a [registered](crate::Runtime::register) source, which are to be delivered. What
/// comes earlier waits. Dropping it drops the events, as long as the source is registered.
pub struct Events {
    place: Place,
    priority: Priority,
}

/// An event of a source: what it is ready for, and the object that is written.
pub struct Event<'a, T: Send + 'static> {
    ready: Ready,
    object: &'a Object<Plain<T>>,
}

impl<'a, T: Send + 'static> Event<'a, T> {
    /// Returns what the source is ready for.
    pub fn ready(&self) -> Ready {
        self.ready
    }

    /// Returns the object that the handler writes, for tasks that are to write it later: those that
    /// bring an answer. A handle that the object itself holds would keep it alive forever.
    pub fn object(&self) -> &'a Object<Plain<T>> {
        self.object
    }
}

impl<T: Send + 'static> fmt::Debug for Event<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("ready", &self.ready).finish_non_exhaustive()
    }
}

/// What a handler of events leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// Nothing: all that the source was ready for is done, until it would block.
    Fully,
    /// The source is ready for more. The handler is called again, after other tasks had their turn.
    Partly,
}

impl Events {
    pub(super) fn new(place: Place) -> Self {
        Self { place, priority: Priority::default() }
    }

    /// Gives the tasks of these events a priority: [high](Priority::High) for a device that drops
    /// what it has no room for. The default is [normal](Priority::Normal).
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Returns the worker that looks for the events.
    pub fn worker(&self) -> usize {
        self.place.worker
    }

    /// Makes an object at the worker of the events, and delivers them there: each starts a task
    /// that writes the object and calls `handler`. As a rule the object holds the source.
    ///
    /// While a task has not begun, further events join it. The events keep the object alive until
    /// the source is closed. If the handler panics, the object is poisoned, and its events end.
    pub fn deliver<T, F>(self, value: T, handler: F) -> Object<Plain<T>>
    where
        T: Send + 'static,
        F: Fn(&mut T, Event<'_, T>, &mut Context) -> Handled + Send + Sync + 'static,
    {
        let runtime = RuntimeHandle::new(self.place.shared.clone());
        let object = ObjectBuilder::new(&runtime, value).core(self.place.worker).build();
        self.deliver_to(&object, handler);
        object
    }

    /// Delivers the events to an object, as [`deliver`](Self::deliver) does.
    ///
    /// The tasks run where those of the object do: at its [home](Object::home), which best is the
    /// [worker](Self::worker) of the events.
    pub fn deliver_to<T, F>(self, object: &Object<Plain<T>>, handler: F)
    where
        T: Send + 'static,
        F: Fn(&mut T, Event<'_, T>, &mut Context) -> Handled + Send + Sync + 'static,
    {
        let Self { place, priority } = self;
        let delivery = Arc::new(Delivery {
            place: place.clone(),
            object: object.clone(),
            priority,
            handler,
            pending: AtomicU32::new(0),
        });
        let handlers = place.shared.outside.handlers(place.worker);
        // Without a source there is nothing to deliver.
        let Ok(early) = handlers.set(place.token, delivery.clone()) else { return };
        if !early.is_empty() {
            let runtime = RuntimeHandle::new(place.shared.clone());
            runtime.task(()).core(place.worker as u16).spawn(move |(), cx| delivery.handle(early, cx));
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("worker", &self.worker()).finish_non_exhaustive()
    }
}

struct Delivery<T: Send + 'static, F> {
    place: Place,
    object: Object<Plain<T>>,
    priority: Priority,
    handler: F,
    /// What the source is ready for, for the next task; and [`SPAWNED`].
    pending: AtomicU32,
}

/// The next task is spawned.
const SPAWNED: u32 = 1 << 8;

impl<T, F> Handler for Delivery<T, F>
where
    T: Send + 'static,
    F: Fn(&mut T, Event<'_, T>, &mut Context) -> Handled + Send + Sync + 'static,
{
    fn handle(self: Arc<Self>, ready: Ready, cx: &mut Context) {
        // AcqRel: the task that takes this sees what was before the event.
        if self.pending.fetch_or(ready.bits() | SPAWNED, AcqRel) & SPAWNED == 0 {
            let run = Run { delivery: self.clone(), has_ended: false };
            let task = cx.task(self.object.write()).priority(self.priority);
            task.spawn(move |value, cx| run.call(value, cx));
        }
    }
}

/// The task that calls a handler.
struct Run<T, F>
where
    T: Send + 'static,
    F: Fn(&mut T, Event<'_, T>, &mut Context) -> Handled + Send + Sync + 'static,
{
    delivery: Arc<Delivery<T, F>>,
    has_ended: bool,
}

impl<T, F> Run<T, F>
where
    T: Send + 'static,
    F: Fn(&mut T, Event<'_, T>, &mut Context) -> Handled + Send + Sync + 'static,
{
    fn call(mut self, value: &mut T, cx: &mut Context) {
        // AcqRel: what comes from now on needs another task.
        let ready = Ready::from_bits(self.delivery.pending.swap(0, AcqRel));
        let event = Event { ready, object: &self.delivery.object };
        let handled = (self.delivery.handler)(value, event, cx);
        self.has_ended = true;
        // After the beginning of a shutdown the runtime waits for tasks, and for no source.
        if handled == Handled::Partly && !cx.is_shutting_down() {
            self.delivery.clone().handle(ready, cx);
        }
    }
}

impl<T, F> Drop for Run<T, F>
where
    T: Send + 'static,
    F: Fn(&mut T, Event<'_, T>, &mut Context) -> Handled + Send + Sync + 'static,
{
    /// Ends the events if the handler has panicked, or was not called, as the object is poisoned:
    /// they would keep the object and its source forever.
    fn drop(&mut self) {
        if !self.has_ended && !planted!("events-outlive-panic") {
            self.delivery.place.forget();
        }
    }
}
