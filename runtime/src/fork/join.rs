//! Two pieces of work, perhaps at the same time.

use super::job::Half;
use super::{Forks, Top};
use crate::scheduler::Context;
use crate::task::{Payload, TaskBuilder};
use core::marker::PhantomData;
use core::mem::{MaybeUninit, forget};

/// A point in a task at which its work can be divided; made by [`Context::fork`] and [`Runtime::run`], and passed on by
/// value.
///
/// [`Runtime::run`]: crate::Runtime::run
pub struct Fork<'a> {
    forks: Forks,
    top: Top,
    cx: PhantomData<&'a mut Context>,
}

impl Context {
    /// A point at which this task's work can be divided.
    #[inline(always)]
    pub fn fork(&mut self) -> Fork<'_> {
        let forks = self.forks;
        self.nested |= Self::IN_JOIN;
        // A task runs in no join, so there are no jobs.
        Fork { top: forks.begin(self), forks, cx: PhantomData }
    }
}

impl Fork<'_> {
    /// In the midst of a join.
    ///
    /// # Safety
    ///
    /// All jobs below `top`, and no others, are on the worker's stack as long as this is there; and nobody else uses the
    /// context.
    #[inline(always)]
    pub(super) unsafe fn at(top: Top, forks: Forks) -> Self {
        Self { forks, top, cx: PhantomData }
    }

    /// The stack, and where on it this is.
    pub(super) fn place(&mut self) -> (Forks, Top) {
        (self.forks, self.top)
    }

    /// The same, for a while.
    pub(super) fn reborrow(&mut self) -> Fork<'_> {
        Fork { forks: self.forks, top: self.top, cx: PhantomData }
    }

    #[inline(always)]
    fn context(&self) -> &Context {
        // SAFETY: there is one fork that can be used, and it borrows the context.
        unsafe { &*self.forks.context() }
    }

    #[inline(always)]
    fn context_mut(&mut self) -> &mut Context {
        // SAFETY: as above.
        unsafe { &mut *self.forks.context() }
    }

    /// Runs two functions, perhaps at the same time, and returns what both return.
    ///
    /// The first runs here, and the second afterwards, unless a worker that has nothing to do takes it meanwhile; then
    /// this worker helps it to finish, or waits. What either of them spawns are follow-ups of this task.
    ///
    /// It costs little more than the two calls, so it pays to divide work far down. It needs no more stack than if
    /// everything ran here; joins that are nested more than 2046 deep run here.
    ///
    /// ```
    /// use xtasking::{Fork, Runtime};
    ///
    /// fn sum(numbers: &[u64], mut cx: Fork<'_>) -> u64 {
    ///     if numbers.len() <= 100 {
    ///         return numbers.iter().sum();
    ///     }
    ///     let (left, right) = numbers.split_at(numbers.len() / 2);
    ///     let (left, right) = cx.join(|cx| sum(left, cx), |cx| sum(right, cx));
    ///     left + right
    /// }
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let numbers: Vec<u64> = (0..10_000).collect();
    /// let total = rt.run(|cx| sum(&numbers, cx))?;
    /// assert_eq!(total, 49_995_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If one of them does: when both are over, and with the first one's payload if both did. A second function that was
    /// not begun when the first one panicked is dropped.
    #[inline(always)]
    pub fn join<RA, RB: Send>(
        &mut self,
        first: impl FnOnce(Fork<'_>) -> RA,
        second: impl FnOnce(Fork<'_>) -> RB + Send,
    ) -> (RA, RB) {
        let (at, forks) = (self.top, self.forks);
        let mut frame = MaybeUninit::uninit();
        // SAFETY: a free place in the stack of this worker, which is not its end.
        let (second, top) = unsafe { (Half::write(at.slot(), second, &mut frame), at.next()) };
        if forks.is_unusual(top) {
            return join_unusually(forks, at, first, second);
        }
        // SAFETY: the job is on top.
        unsafe { join_on(forks, at, first, second) }
    }

    /// A follow-up of the running task, with the objects it touches: `()`, one access, or a tuple of them.
    #[inline(always)]
    pub fn task<A>(&mut self, access: A) -> TaskBuilder<&mut Context, A> {
        self.context_mut().task(access)
    }

    /// Index of the worker.
    #[inline(always)]
    pub fn worker(&self) -> usize {
        self.context().worker()
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.context().workers()
    }

    /// Whether the runtime is shutting down.
    pub fn is_shutting_down(&self) -> bool {
        self.context().is_shutting_down()
    }
}

/// A join whose second half stands at `at`.
///
/// # Safety
///
/// It is on top of the worker's stack, and the caller does not use the context meanwhile.
#[inline(always)]
unsafe fn join_on<RA, RB, B: FnOnce(Fork<'_>) -> RB>(
    forks: Forks,
    at: Top,
    first: impl FnOnce(Fork<'_>) -> RA,
    second: Half<B, RB>,
) -> (RA, RB) {
    let unwinding = Unwinding { forks, half: second, at };
    // SAFETY: by the caller's promise the slot is not the end, and our job is the topmost one.
    let first = first(unsafe { Fork::at(at.next(), forks) });
    forget(unwinding);
    if forks.has(at) {
        // SAFETY: the job is off the stack and ours, with its body.
        (first, unsafe { second.take_body()(Fork::at(at, forks)) })
    } else {
        // SAFETY: it stood where we are.
        (first, unsafe { settle(forks, second, at) })
    }
}

/// The same where somebody has asked for work, or where there is no room. (All of the join, so that the usual one has to
/// keep nothing for after a call.)
#[cold]
#[inline(never)]
fn join_unusually<RA, RB, B: FnOnce(Fork<'_>) -> RB>(
    forks: Forks,
    at: Top,
    first: impl FnOnce(Fork<'_>) -> RA,
    second: Half<B, RB>,
) -> (RA, RB) {
    // SAFETY: we are in a join of this worker, at that place, and do not use the context meanwhile. The last slot is always
    // free, so what was written there must not stay, and is not lent.
    unsafe {
        if forks.is_last(at) {
            (*forks.context()).feed(at);
            let second = second.take_body();
            let first = first(Fork::at(at, forks));
            (first, second(Fork::at(at, forks)))
        } else {
            (*forks.context()).feed(at.next());
            join_on(forks, at, first, second)
        }
    }
}

/// The result of a second half that was lent.
///
/// # Safety
///
/// It stood at `at`, where the caller is now.
#[cold]
#[inline(never)]
unsafe fn settle<R, B: FnOnce(Fork<'_>) -> R>(forks: Forks, half: Half<B, R>, at: Top) -> R {
    // SAFETY: by the caller's promise; then the job is ours, with its body, or else it is done, with its result.
    unsafe {
        if (*forks.context()).take_back(half.job(), at, true) {
            half.take_body()(Fork::at(at, forks))
        } else {
            half.take_result().unwrap_or_else(|payload| throw(payload))
        }
    }
}

/// The first half panics: the second must not be left to a thief, as it may use what goes with the frame.
struct Unwinding<R, B: FnOnce(Fork<'_>) -> R> {
    forks: Forks,
    half: Half<B, R>,
    at: Top,
}

impl<R, B: FnOnce(Fork<'_>) -> R> Drop for Unwinding<R, B> {
    /// Only while unwinding: otherwise this is forgotten. Inline, so that its fields need not be in memory.
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the half stood where we are.
        unsafe { abandon(self.forks, self.half, self.at) };
    }
}

/// Drops a second half that was not begun, or waits until it is over.
///
/// # Safety
///
/// As for [`settle`].
#[cold]
#[inline(never)]
unsafe fn abandon<R, B: FnOnce(Fork<'_>) -> R>(forks: Forks, half: Half<B, R>, at: Top) {
    // SAFETY: as there.
    unsafe {
        if forks.has(at) || (*forks.context()).take_back(half.job(), at, false) {
            drop(half.take_body());
        } else {
            drop(half.take_result());
        }
    }
}

/// Goes on with a panic that was caught on another worker.
#[cold]
pub(super) fn throw(payload: Payload) -> ! {
    #[cfg(feature = "std")]
    std::panic::resume_unwind(payload);
    // Without `std` nothing is caught, so there is nothing to throw.
    #[cfg(not(feature = "std"))]
    unreachable!("{:?}", payload.type_id())
}
