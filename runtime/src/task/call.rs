//! Calls: tasks that a thread outside runs itself, if their objects are free.
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

use super::access::{AccessSet, ObjectAccess};
use super::entry::try_enter;
use super::grant::Grant;
use super::handle::Handle;
use super::multi_object::{FixedList, ObjectGrants, ObjectList, leave_first, mend_all, poison_all};
use super::{JoinError, TaskBuilder, catch, quietly};
use crate::object::FreeWord;
use crate::scheduler::Runtime;
use crate::sync::Backoff;
use core::any::type_name;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

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
        match access.call_in_place(request.spawner, body) {
            Ok(outcome) => {
                Call(Progress::Done(Some(outcome.map_err(|error| error.of_task(type_name::<F>())))))
            }
            Err(body) => {
                let task = TaskBuilder::from_parts(request, access, group);
                Call(Progress::Submitted(task.submit_named::<F, _, R>(move |view, _cx| body(view))))
            }
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

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
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

/// Runs a body on the calling thread, inside its objects. Returns the body if it has to be a task.
pub(super) fn call_in_place<G, F, R>(rt: &Runtime, list: &G::List, body: F) -> Result<Result<R, JoinError>, F>
where
    G: ObjectGrants,
    F: for<'v> FnOnce(G::View<'v>) -> R,
{
    let targets = list.targets();
    targets.iter().for_each(|target| target.check(rt.shared()));
    let is_task = |target: &ObjectAccess| target.runtime == 0 || target.reference.primitive().is_sequenced();
    if rt.is_simulated() || rt.is_shutting_down() || list.names_twice() || targets.iter().any(is_task) {
        return Err(body);
    }
    // SAFETY: the caller borrows the objects, none of which is a link.
    match unsafe { enter_all(rt.shared().free_word, list) } {
        Ok(true) => {}
        Ok(false) => return Err(body),
        Err(error) => {
            quietly(|| drop(body));
            return Ok(Err(error));
        }
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
        Ok(outcome.map_err(JoinError::panicked))
    }
}

/// As [`call_in_place`], with one object.
pub(super) fn call_with_one<G, F, R>(
    rt: &Runtime,
    target: ObjectAccess,
    body: F,
) -> Result<Result<R, JoinError>, F>
where
    G: Grant,
    F: for<'v> FnOnce(G::View<'v>) -> R,
{
    let mut body = Some(body);
    let list = FixedList::new([target]);
    let outcome = call_in_place::<(G,), _, R>(rt, &list, |(view,)| {
        let body = body.take().expect("a body runs once");
        body(view)
    });
    match outcome {
        Ok(outcome) => {
            // It is still there if it was refused.
            quietly(|| drop(body.take()));
            Ok(outcome)
        }
        Err(_) => Err(body.take().expect("the body has not run")),
    }
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
            let header = target.reference.header();
            let mut backoff = Backoff::new();
            while !try_enter(header, target.reference.primitive(), target.write) {
                if backoff.is_at_milestone() {
                    leave_first(list, if planted!("call-keeps-latches") { 0 } else { nth });
                    return Ok(false);
                }
                backoff.wait();
            }
            match header.failure(free_word) {
                None => {}
                Some(JoinError::Poisoned) if target.reference.is_even_poisoned() => {}
                Some(error) => {
                    leave_first(list, nth + 1);
                    return Err(error);
                }
            }
        }
    }
    Ok(true)
}
