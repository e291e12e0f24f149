//! Two pieces of work, perhaps at the same time.

use super::Top;
use super::job::{Half, Job};
use crate::scheduler::Context;
use crate::task::{Payload, TaskBuilder, quietly};
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// A point in a task at which its work can be divided; made by [`Context::fork`] and [`Runtime::run`], and passed on by
/// value.
///
/// [`Runtime::run`]: crate::Runtime::run
pub struct Fork<'a> {
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
        Fork { top: forks.begin(self), cx: PhantomData }
    }
}

impl Fork<'_> {
    /// In the midst of a join.
    ///
    /// # Safety
    ///
    /// All jobs below `top`, and no others, are on the worker's stack as long as this is there; that is not its end; and
    /// nobody else uses the context.
    #[inline(always)]
    pub(super) unsafe fn at(top: Top) -> Self {
        Self { top, cx: PhantomData }
    }

    /// Where on the stack this is.
    pub(super) fn place(&mut self) -> Top {
        self.top
    }

    /// The same, for a while.
    pub(super) fn reborrow(&mut self) -> Fork<'_> {
        Fork { top: self.top, cx: PhantomData }
    }

    #[inline(always)]
    fn context(&self) -> &Context {
        // SAFETY: there is one fork that can be used, and it borrows the context.
        unsafe { &*self.top.forks().context() }
    }

    #[inline(always)]
    fn context_mut(&mut self) -> &mut Context {
        // SAFETY: as above.
        unsafe { &mut *self.top.forks().context() }
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
        self.join_with(first, second, |first, second| (first, second))
    }

    /// As [`join`](Self::join), and returns what a third function makes of both results.
    ///
    /// Where a function that calls itself ends with this, it may be compiled as a loop of which the second half is the next
    /// turn, if plain calls would be: then a join costs less than a call.
    ///
    /// ```
    /// use xtasking::{Fork, Runtime};
    ///
    /// fn fibonacci(n: u32, mut cx: Fork<'_>) -> u64 {
    ///     if n < 2 {
    ///         return n.into();
    ///     }
    ///     cx.join_with(move |cx| fibonacci(n - 1, cx), move |cx| fibonacci(n - 2, cx), |a, b| a + b)
    /// }
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// assert_eq!(rt.run(|cx| fibonacci(20, cx))?, 6765);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As for [`join`](Self::join), and if the third function does.
    #[inline(always)]
    pub fn join_with<RA, RB: Send, R>(
        &mut self,
        first: impl FnOnce(Fork<'_>) -> RA,
        second: impl FnOnce(Fork<'_>) -> RB + Send,
        combine: impl FnOnce(RA, RB) -> R,
    ) -> R {
        let at = self.top.anew();
        let mut frame = MaybeUninit::uninit();
        // SAFETY: a free place in the stack of this worker, which is not its end.
        let second = unsafe { Half::write(at.slot(), second, &mut frame) };
        if at.is_unusual() {
            return join_unusually(at, first, second, combine);
        }
        // SAFETY: the job is on top, and not in the last slot.
        unsafe { join_on(at, first, second, combine) }
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

/// A join whose second half stands at `at`. Each way out of it is one by itself: where they met, the second half would not be
/// the last that a function calls.
///
/// # Safety
///
/// It is on top of the worker's stack, not in the last slot, and the caller does not use the context meanwhile.
#[inline(always)]
unsafe fn join_on<RA, RB, R, B: FnOnce(Fork<'_>) -> RB>(
    at: Top,
    first: impl FnOnce(Fork<'_>) -> RA,
    second: Half<B, RB>,
    combine: impl FnOnce(RA, RB) -> R,
) -> R {
    // SAFETY: by the caller's promise. What follows the slot is not the end, and our job is the topmost one; then it is ours,
    // off the stack, with its body, or else it is lent, and stood where we are.
    unsafe {
        let first = run_first(at, first, second);
        if Job::is_own(second.job()) {
            combine(first, second.take_body()(Fork::at(at)))
        } else {
            settle_and_combine(at, first, second, combine)
        }
    }
}

/// Runs the first half. If it panics the second must not be left to a thief, as it may use what goes with the frame.
///
/// # Safety
///
/// As for [`join_on`].
#[cfg(feature = "std")]
#[inline(always)]
unsafe fn run_first<RA, RB, B: FnOnce(Fork<'_>) -> RB>(
    at: Top,
    first: impl FnOnce(Fork<'_>) -> RA,
    second: Half<B, RB>,
) -> RA {
    // SAFETY: by the caller's promise.
    let outcome = crate::task::catch(|| first(unsafe { Fork::at(at.next()) }));
    // SAFETY: the half stood where we are. (By a guard that is dropped it would cost a register in every join.)
    outcome.unwrap_or_else(|payload| unsafe { give_up(at, second, payload) })
}

/// The first half has panicked.
///
/// # Safety
///
/// As for [`abandon`].
#[cfg(feature = "std")]
#[cold]
#[inline(never)]
unsafe fn give_up<R, B: FnOnce(Fork<'_>) -> R>(at: Top, half: Half<B, R>, payload: Payload) -> ! {
    // SAFETY: by the caller's promise.
    unsafe { abandon(at, half) };
    throw(payload)
}

/// The same where nothing is caught here, but perhaps by those whose program this is a part of.
///
/// # Safety
///
/// As for [`join_on`].
#[cfg(not(feature = "std"))]
#[inline(always)]
unsafe fn run_first<RA, RB, B: FnOnce(Fork<'_>) -> RB>(
    at: Top,
    first: impl FnOnce(Fork<'_>) -> RA,
    second: Half<B, RB>,
) -> RA {
    struct Unwinding<R, B: FnOnce(Fork<'_>) -> R>(Top, Half<B, R>);
    impl<R, B: FnOnce(Fork<'_>) -> R> Drop for Unwinding<R, B> {
        fn drop(&mut self) {
            // SAFETY: only while unwinding; the half stood where we are.
            unsafe { abandon(self.0, self.1) };
        }
    }
    let unwinding = Unwinding(at, second);
    // SAFETY: by the caller's promise.
    let first = first(unsafe { Fork::at(at.next()) });
    core::mem::forget(unwinding);
    first
}

/// A join where somebody has asked for work, or where there is no room. (All of it, so that the usual one has to keep nothing
/// for after a call.)
#[cold]
#[inline(never)]
fn join_unusually<RA, RB, R, B: FnOnce(Fork<'_>) -> RB>(
    at: Top,
    first: impl FnOnce(Fork<'_>) -> RA,
    second: Half<B, RB>,
    combine: impl FnOnce(RA, RB) -> R,
) -> R {
    // SAFETY: we are in a join of this worker, at that place, and do not use the context meanwhile. The last slot is always
    // free, so what was written there must not stay, and is not lent.
    unsafe {
        if at.is_last() {
            (*at.forks().context()).feed(at);
            let second = second.take_body();
            let first = first(Fork::at(at));
            combine(first, second(Fork::at(at)))
        } else {
            (*at.forks().context()).feed(at.next());
            join_on(at, first, second, combine)
        }
    }
}

/// The end of a join whose second half was lent.
///
/// # Safety
///
/// It stood at `at`, where the caller is now.
#[cold]
#[inline(never)]
unsafe fn settle_and_combine<RA, RB, R, B: FnOnce(Fork<'_>) -> RB>(
    at: Top,
    first: RA,
    second: Half<B, RB>,
    combine: impl FnOnce(RA, RB) -> R,
) -> R {
    // SAFETY: by the caller's promise; then the job is ours, with its body, or else it is done, with its result.
    let second = unsafe {
        if (*at.forks().context()).take_back(second.job(), at, true) {
            second.take_body()(Fork::at(at))
        } else {
            second.take_result().unwrap_or_else(|payload| throw(payload))
        }
    };
    combine(first, second)
}

/// Drops a second half that was not begun, or waits until it is over.
///
/// # Safety
///
/// It stood at `at`, where the caller is now.
#[cold]
#[inline(never)]
unsafe fn abandon<R, B: FnOnce(Fork<'_>) -> R>(at: Top, half: Half<B, R>) {
    // SAFETY: by the caller's promise; then the job is ours, with its body, or else it is done, with its result.
    unsafe {
        if Job::is_own(half.job()) || (*at.forks().context()).take_back(half.job(), at, false) {
            quietly(|| drop(half.take_body()));
        } else {
            quietly(|| drop(half.take_result()));
        }
    }
}

/// Goes on with a panic that was caught.
#[cold]
pub(super) fn throw(payload: Payload) -> ! {
    #[cfg(feature = "std")]
    std::panic::resume_unwind(payload);
    // Without `std` nothing is caught, so there is nothing to throw.
    #[cfg(not(feature = "std"))]
    unreachable!("{:?}", payload.type_id())
}
