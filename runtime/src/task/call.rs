//! Calls: bodies that a thread outside, or a running task, runs itself if their objects are free.
//!
//! A task costs a thread two changes of threads: to the worker, and back with the result. That is
//! far more than most bodies take. An object with a latch can be entered on any thread, so a call
//! enters the objects itself, in the order of their addresses as a task does. It waits for each as
//! long as a change of threads takes. Then it leaves the ones before, and becomes a task. As no
//! call waits without end while it holds a latch, calls rule out deadlock in any place, also inside
//! a task that holds objects.
//!
//! The caller borrows the objects, so no epoch has to keep them. A link borrows nothing: a call
//! with one is a task.
//!
//! A running task gets a body back that would have to be a task, as it must not wait for one.

use super::access::{AccessSet, ObjectAccess, value_of};
use super::entry::{leave, mend, poison, try_enter};
use super::grant::Grant;
use super::handle::Handle;
use super::multi_object::{ObjectGrants, ObjectList, leave_first, mend_all, poison_all};
use super::{JoinError, Payload, TaskBuilder, catch, drop_quietly, throw};
use crate::object::{FreeWord, Header, Primitive};
use crate::scheduler::{Context, Runtime, RuntimeState};
use crate::sync::Backoff;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::type_name;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{self, Poll};

/// The result of [`TaskBuilder::call`]: [join](Self::join) or await it.
#[must_use = "a dropped call detaches its task"]
pub struct Call<R>(Progress<R>);

enum Progress<R> {
    /// The body ran in place. `None` once the result was taken.
    Done(Option<Result<R, JoinError>>),
    Submitted(Handle<R>),
}

impl<A: AccessSet> TaskBuilder<&Runtime, A> {
    /// Runs the body at once on the calling thread if its objects are free; else submits it as a
    /// task. Isolation is that of a task in both cases.
    ///
    /// For requests that touch a few objects for a moment. It saves the two changes of threads that
    /// a task takes, which cost some microseconds. The body gets no context, so it spawns nothing.
    ///
    /// It runs in place only if each object has a latch: pin
    /// [`SpinLatch`](crate::primitive::SpinLatch),
    /// [`ReaderWriterLatch`](crate::primitive::ReaderWriterLatch) or
    /// [`OptimisticLatched`](crate::primitive::OptimisticLatched). With a
    /// [sequenced](crate::Primitive::Sequencing) object, a link or no object, or in a simulation,
    /// it is submitted. So is a call that does not get an object within a few microseconds; it may
    /// be overtaken by later calls. Annotations apply to the task only. A body that runs in place
    /// is in no statistics.
    ///
    /// ```
    /// use xtasking::{Runtime, primitive::SpinLatch};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let accounts: Vec<_> = (0..10).map(|_| rt.plain(100).pin(SpinLatch).build()).collect();
    /// let transfer = |from: usize, to: usize, amount: i32| {
    ///     let both = (accounts[from].write(), accounts[to].write());
    ///     rt.task(both).call(move |(from, to)| {
    ///         *from -= amount;
    ///         *to += amount;
    ///         *to
    ///     })
    /// };
    /// assert_eq!(transfer(3, 4, 25).join()?, 125);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The result is that of a task: [`JoinError::Panicked`], [`JoinError::Poisoned`] and the
    /// others.
    ///
    /// # Panics
    ///
    /// If the same object is named twice, once for writing, or belongs to another runtime.
    pub fn call<F, R>(self, body: F) -> Call<R>
    where
        F: for<'v> FnOnce(A::View<'v>) -> R + Send + 'static,
        R: Send + 'static,
    {
        let (request, access, group) = self.into_parts();
        let rt = request.spawner;
        let outcome = match rt.is_shutting_down() {
            true => InPlace::Busy(body),
            false => access.call_in_place(rt.shared(), request.options.cost, body),
        };
        let outcome = match outcome {
            InPlace::Ran(outcome) => outcome.map_err(JoinError::panicked),
            InPlace::Refused(error, body) => {
                drop_quietly(body);
                Err(error)
            }
            InPlace::Busy(body) => {
                let task = TaskBuilder::from_parts(request, access, group);
                let handle = task.submit_named::<F, _, R>(move |view, _cx| body(view));
                return Call(Progress::Submitted(handle));
            }
        };
        Call(Progress::Done(Some(outcome.map_err(|error| error.of_task(type_name::<F>())))))
    }
}

impl<A: AccessSet> TaskBuilder<&mut Context, A> {
    /// Runs the body at once, as a part of the running task, if its objects are free; else gives it
    /// back. Isolation is that of a task.
    ///
    /// For a task that touches many objects, one after the other, each for a moment: it goes on
    /// without a follow-up for each of them. Where the body comes back, spawn a follow-up with this
    /// access, and go on there.
    ///
    /// Objects, waiting and annotations are those of a [call](TaskBuilder::call) of a thread. The
    /// body gets no context, so it spawns nothing while it is inside. In a simulation, and with
    /// objects that have no latch, it always comes back: such a program is a chain of tasks. So it
    /// does if an object is poisoned; the follow-up reports that. A simulation in virtual time can
    /// [run it in place](crate::platform::Simulation::calls_in_place), and then the annotated cost
    /// says how long it takes.
    ///
    /// ```
    /// use xtasking::{Context, Object, Plain, Runtime, primitive::SpinLatch};
    ///
    /// type Counters = Vec<Object<Plain<u64>>>;
    ///
    /// /// Adds 1 to the counters from `next` on, in order.
    /// fn count(counters: Counters, mut next: usize, cx: &mut Context) {
    ///     while let Some(counter) = counters.get(next) {
    ///         if cx.task(counter.write()).try_call(|counter| *counter += 1).is_err() {
    ///             let counter = counter.clone();
    ///             return cx.task(counter.write()).as_sibling().spawn(move |counter, cx| {
    ///                 *counter += 1;
    ///                 count(counters, next + 1, cx);
    ///             });
    ///         }
    ///         next += 1;
    ///     }
    /// }
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let counters: Counters = (0..100).map(|_| rt.plain(0).pin(SpinLatch).build()).collect();
    /// let group = rt.group();
    /// for _ in 0..3 {
    ///     let counters = counters.clone();
    ///     rt.task(()).of(&group).spawn(move |(), cx| count(counters, 0, cx));
    /// }
    /// let all: Vec<_> = counters.iter().map(|counter| counter.read()).collect();
    /// let sum = rt.task(all).after(group).submit(|all, _| all.into_iter().sum::<u64>());
    /// assert_eq!(sum.join()?, 300);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The body, if it has not run.
    ///
    /// # Panics
    ///
    /// If the body panics: then the running task does. Objects that it writes are poisoned, as
    /// after a task. And if the same object is named twice in a tuple, once for writing, or belongs
    /// to another runtime.
    #[inline]
    pub fn try_call<F, R>(self, body: F) -> Result<R, F>
    where
        F: for<'v> FnOnce(A::View<'v>) -> R,
    {
        let (request, access, _) = self.into_parts();
        match access.call_in_place(request.spawner.worker.shared(), request.options.cost, body) {
            InPlace::Ran(outcome) => Ok(outcome.unwrap_or_else(|payload| throw(payload))),
            InPlace::Refused(_, body) | InPlace::Busy(body) => Err(body),
        }
    }
}

impl<R> Call<R> {
    /// Returns true if the result is there.
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Progress::Done(_) => true,
            Progress::Submitted(handle) => handle.is_finished(),
        }
    }

    /// Returns the result; blocks this thread until it is there.
    ///
    /// # Errors
    ///
    /// As for [`Handle::join`].
    pub fn join(self) -> Result<R, JoinError> {
        match self.0 {
            Progress::Done(outcome) => outcome.unwrap_or(Err(JoinError::Abandoned)),
            Progress::Submitted(handle) => handle.join(),
        }
    }
}

impl<R> Future for Call<R> {
    type Output = Result<R, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Progress::Done(outcome) => Poll::Ready(outcome.take().unwrap_or(Err(JoinError::Abandoned))),
            Progress::Submitted(handle) => Pin::new(handle).poll(context),
        }
    }
}

impl<R> Unpin for Call<R> {}

impl<R> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}

/// What came of a body that was to run in place.
pub enum InPlace<R, F> {
    /// It ran, to its end or to a panic.
    Ran(Result<R, Payload>),
    /// It did not run: an object may not be used, for example as it is poisoned.
    Refused(JoinError, F),
    /// It did not run: it has to be a task.
    Busy(F),
}

/// Runs a body on the calling thread, inside its objects.
pub(super) fn call_in_place<G, F, R>(
    shared: &Arc<RuntimeState>,
    list: &G::List,
    cost: u16,
    body: F,
) -> InPlace<R, F>
where
    G: ObjectGrants,
    F: for<'v> FnOnce(G::View<'v>) -> R,
{
    let targets = list.targets();
    // All before the first is entered: that is a locked instruction, and no load overtakes it.
    targets.iter().for_each(|target| target.reference.prefetch(target.part));
    targets.iter().for_each(|target| target.check(shared));
    let is_task = |target: &ObjectAccess| target.runtime == 0 || target.reference.primitive().is_sequenced();
    if list.names_twice() || targets.iter().any(is_task) || !may_be_in_place(shared, targets, cost) {
        return InPlace::Busy(body);
    }
    // SAFETY: the caller borrows the objects, none of which is a link.
    match unsafe { enter_all(shared.free_word, list) } {
        Ok(true) => {}
        Ok(false) => return InPlace::Busy(body),
        Err(error) => return InPlace::Refused(error, body),
    }
    // SAFETY: alive, as the caller borrows them; entered in their modes until `leave_first`, and
    // different where written, as the list does not name them twice.
    unsafe {
        let mut locals = G::copy(targets);
        let outcome = catch(|| body(G::view(targets, &mut locals)));
        match &outcome {
            Ok(_) => {
                G::publish(targets, locals);
                mend_all(list);
            }
            Err(_) => poison_all::<G>(targets),
        }
        leave_first(list, list.different());
        InPlace::Ran(outcome)
    }
}

/// As [`call_in_place`], with one object.
#[inline]
pub(super) fn call_with_one<G, F, R>(
    shared: &Arc<RuntimeState>,
    target: ObjectAccess,
    cost: u16,
    body: F,
) -> InPlace<R, F>
where
    G: Grant,
    F: for<'v> FnOnce(G::View<'v>) -> R,
{
    let (reference, primitive) = (target.reference, target.reference.primitive());
    // Beside what the runtime is asked first.
    reference.prefetch(target.part);
    target.check(shared);
    if target.runtime == 0 || primitive.is_sequenced() || !may_be_in_place(shared, &[target], cost) {
        return InPlace::Busy(body);
    }
    // SAFETY: the caller borrows the object, which is no link: it is alive, and of its class. It is
    // entered in its mode until `leave`.
    unsafe {
        let header = reference.header();
        match enter_one(shared.free_word, header, &target) {
            Ok(true) => {}
            Ok(false) => return InPlace::Busy(body),
            Err(error) => return InPlace::Refused(error, body),
        }
        let value = value_of::<G::Class>(reference);
        let mut local = G::copy(value);
        let outcome = catch(|| body(G::view(value, &mut local)));
        match &outcome {
            Ok(_) if G::WRITE => {
                G::publish(value, local);
                mend(reference);
            }
            Ok(_) => {}
            Err(_) if G::IN_PLACE => poison(reference),
            Err(_) => {}
        }
        leave(header, primitive, G::WRITE);
        InPlace::Ran(outcome)
    }
}

/// Returns true if a body may run in place, of this cost beyond one unit: always in real time.
#[inline]
fn may_be_in_place(shared: &RuntimeState, targets: &[ObjectAccess], cost: u16) -> bool {
    !shared.is_simulated || may_in_virtual_time(shared, targets, cost)
}

#[cold]
fn may_in_virtual_time(shared: &RuntimeState, targets: &[ObjectAccess], cost: u16) -> bool {
    let Some(time) = shared.virtual_time() else { return false };
    let object = |target: &ObjectAccess| (target.reference.address() as usize, target.write);
    let objects: Vec<_> = targets.iter().map(object).collect();
    time.record_call(&objects, 1 + u64::from(cost))
}

/// Enters all objects, which have latches, in address order. Returns false, inside none, if one is
/// not free in time.
///
/// # Errors
///
/// If an object is poisoned and the call does not enter it even so. None is entered then.
///
/// # Safety
///
/// The objects are alive.
unsafe fn enter_all(free_word: FreeWord, list: &impl ObjectList) -> Result<bool, JoinError> {
    for nth in 0..list.different() {
        let target = list.targets()[list.nth(nth)];
        // SAFETY: alive by this function's contract; the objects before this one are entered.
        unsafe {
            let entered = enter_one(free_word, target.reference.header(), &target);
            if !matches!(entered, Ok(true)) {
                leave_first(list, if planted!("call-keeps-latches") { 0 } else { nth });
                return entered;
            }
        }
    }
    Ok(true)
}

/// Enters an object that has a latch. Returns false if it is not free in time.
///
/// # Errors
///
/// If it is poisoned and the call does not enter it even so. It is not entered then.
#[inline]
fn enter_one(free_word: FreeWord, header: &Header, target: &ObjectAccess) -> Result<bool, JoinError> {
    let primitive = target.reference.primitive();
    if !try_enter(header, primitive, target.write) && !wait_to_enter(header, primitive, target.write) {
        return Ok(false);
    }
    match header.failure(free_word) {
        None => Ok(true),
        Some(JoinError::Poisoned) if target.reference.is_even_poisoned() => Ok(true),
        Some(error) => {
            leave(header, primitive, target.write);
            Err(error)
        }
    }
}

/// Waits for an object as long as a change of threads takes. Returns true if it was entered.
#[cold]
fn wait_to_enter(header: &Header, primitive: Primitive, write: bool) -> bool {
    let mut backoff = Backoff::new();
    while !backoff.is_at_milestone() {
        backoff.wait();
        if try_enter(header, primitive, write) {
            return true;
        }
    }
    false
}
