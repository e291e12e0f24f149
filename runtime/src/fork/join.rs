//! Joins: two pieces of work, possibly in parallel.

use super::half::Half;
use super::{Job, Top};
use crate::scheduler::{Context, Runtime, Worker};
use crate::task::{TaskBuilder, drop_quietly, throw};
use alloc::sync::Arc;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// A point in a task at which its work can be divided. Made by [`Context::fork`] and
/// [`Runtime::run`], and passed on by value.
///
/// Each function that may run on another worker gets a fork of its own. That of its caller stays
/// behind:
///
/// ```compile_fail,E0277
/// # fn example(mut outer: xtasking::Fork<'_>) {
/// outer.join(|_| (), |_| outer.join(|_| (), |_| ()));
/// # }
/// ```
///
/// ```
/// # fn example(mut outer: xtasking::Fork<'_>) {
/// outer.join(|_| (), |mut own| own.join(|_| (), |_| ()));
/// # }
/// ```
pub struct Fork<'a> {
    top: PlaceOfFork,
    cx: PhantomData<&'a mut EachHalfHasAForkOfItsOwn>,
}

/// The place of a fork, which stays on its worker for the reason that the compiler is to report.
#[derive(Clone, Copy)]
struct PlaceOfFork(Top);

// SAFETY: it is in a `Fork` only, which is not `Send`.
unsafe impl Send for PlaceOfFork {}
// SAFETY: it is in a `Fork` only, which is not `Sync`.
unsafe impl Sync for PlaceOfFork {}

/// Keeps a fork on its worker. A compiler's message names this type where a function that may run
/// on another worker uses the fork of its caller.
struct EachHalfHasAForkOfItsOwn {
    _not_sync: *mut (),
}

impl<'a> Fork<'a> {
    /// Divides the work of a task on its worker.
    #[inline(always)]
    pub(crate) fn begin(worker: &'a mut Worker) -> Self {
        let forks = worker.forks;
        worker.nested |= Worker::IN_JOIN;
        // A task does not run inside another task's join, so its stack has no jobs of its own.
        let (meta, group) = (worker.current, worker.groups.current());
        Self { top: PlaceOfFork(forks.begin(worker, meta, group)), cx: PhantomData }
    }
}

impl Fork<'_> {
    /// Makes a fork in the midst of a join.
    ///
    /// # Safety
    ///
    /// All jobs below `top`, and no others, are on the worker's stack while the fork exists; `top`
    /// is not the stack's end. No other code uses the context meanwhile.
    #[inline(always)]
    pub(super) unsafe fn at(top: Top) -> Self {
        Self { top: PlaceOfFork(top), cx: PhantomData }
    }

    /// Returns the place in the stack.
    pub(super) fn place(&mut self) -> Top {
        self.top.0
    }

    /// Makes a fork at the same place, for a shorter time.
    pub(super) fn reborrow(&mut self) -> Fork<'_> {
        Fork { top: self.top, cx: PhantomData }
    }

    #[inline(always)]
    fn context(&mut self) -> &mut Context {
        // SAFETY: a task has one usable fork at a time, which borrows the worker mutably.
        Context::of(unsafe { &mut *self.top.0.forks().context() })
    }

    #[inline(always)]
    fn at_worker(&self) -> &Worker {
        // SAFETY: a task has one usable fork at a time, which borrows the worker.
        unsafe { &*self.top.0.forks().context() }
    }

    /// Runs two functions, possibly in parallel, and returns both results.
    ///
    /// The first runs here. The second runs here afterwards, unless an idle worker takes it
    /// meanwhile; then this worker helps with it, or waits. Tasks that either function spawns are
    /// follow-ups of this task.
    ///
    /// A join costs little more than two calls, so dividing down to small pieces pays. It needs no
    /// more stack than two plain calls; joins nested more than 8189 deep always run here.
    ///
    /// The stack bounds the depth, as it does for calls: of a recursion that goes 100,000 joins
    /// deep, each level has some 80 bytes of 8 MiB. A stack overflow ends the process, with the
    /// name of the worker's thread. Divide into halves, whose depth is the logarithm of the number
    /// of pieces, or set a larger [stack](crate::platform::Threads::stack_size).
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
    /// Panics if either function does, after both are over; with the first one's payload if both
    /// panicked. If the first function panics before the second has begun, the second is dropped.
    #[inline(always)]
    pub fn join<RA, RB: Send>(
        &mut self,
        first: impl FnOnce(Fork<'_>) -> RA,
        second: impl FnOnce(Fork<'_>) -> RB + Send,
    ) -> (RA, RB) {
        self.join_with(first, second, |first, second| (first, second))
    }

    /// Runs two functions as [`join`](Self::join) does, and returns what a third function makes of
    /// both results.
    ///
    /// A recursive function that ends with this may be compiled as a loop over the second halves,
    /// where it would be with plain calls. Then a join costs less than a call.
    ///
    /// ```
    /// use xtasking::{Fork, Runtime};
    ///
    /// fn fibonacci(n: u32, mut cx: Fork<'_>) -> u64 {
    ///     if n < 2 {
    ///         return n.into();
    ///     }
    ///     cx.join_with(
    ///         move |cx| fibonacci(n - 1, cx),
    ///         move |cx| fibonacci(n - 2, cx),
    ///         |a, b| a + b,
    ///     )
    /// }
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// assert_eq!(rt.run(|cx| fibonacci(20, cx))?, 6765);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics as [`join`](Self::join) does, and if the third function panics.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn join_with<RA, RB: Send, R>(
        &mut self,
        first: impl FnOnce(Fork<'_>) -> RA,
        second: impl FnOnce(Fork<'_>) -> RB + Send,
        combine: impl FnOnce(RA, RB) -> R,
    ) -> R {
        let at = self.top.0.opaque();
        let mut frame = MaybeUninit::uninit();
        // SAFETY: `at` is a free slot in this worker's stack, which is not the stack's end.
        let second = unsafe { Half::write(at.slot(), second, &mut frame) };
        if at.leaves_fast_path() {
            if is_passed_in_registers(&first) {
                return join_slow(at, first, second, combine);
            }
            // Passes the address of a copy. A closure whose own address is passed would have to be
            // in memory on the usual path as well, where a load of several captures at once has to
            // wait for the stores of each.
            let mut copy = MaybeUninit::uninit();
            copy.write(first);
            // SAFETY: the copy was just written, and is taken once.
            let first = |cx: Fork<'_>| unsafe { copy.assume_init_read() }(cx);
            return join_slow(at, first, second, combine);
        }
        // SAFETY: the job is on top of the stack, and not in the last slot.
        unsafe { join_on(at, first, second, combine) }
    }

    /// Spawns a follow-up of the running task. `access` names the objects that it touches: `()`,
    /// one access, or a tuple of them.
    #[inline(always)]
    pub fn task<A>(&mut self, access: A) -> TaskBuilder<&mut Context, A> {
        self.context().task(access)
    }

    /// Returns the index of the worker.
    #[inline(always)]
    pub fn worker(&self) -> usize {
        self.at_worker().index()
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.at_worker().shared().slots.len()
    }

    /// Returns true if the task belongs to this runtime.
    pub fn belongs_to(&self, runtime: &Runtime) -> bool {
        Arc::ptr_eq(self.at_worker().shared(), runtime.shared())
    }

    /// Returns true if the runtime is shutting down.
    pub fn is_shutting_down(&self) -> bool {
        self.at_worker().shared().is_shutting_down()
    }
}

/// Returns true if a closure has at most two words, so that a call passes no address of it.
#[inline(always)]
fn is_passed_in_registers<F>(_: &F) -> bool {
    size_of::<F>() <= 2 * size_of::<usize>()
}

/// Joins, with a second half that is in the slot at `at`. Each way out is separate: where they met,
/// the second half would not be a tail call.
///
/// # Safety
///
/// The half is on top of the worker's stack and not in the last slot. The caller does not use the
/// context meanwhile.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn join_on<RA, RB, R, B: FnOnce(Fork<'_>) -> RB>(
    at: Top,
    first: impl FnOnce(Fork<'_>) -> RA,
    second: Half<B, RB>,
    combine: impl FnOnce(RA, RB) -> R,
) -> R {
    // SAFETY: the slot after the half is not the end of the stack, and the half is the topmost job.
    // After the first function it is popped: either it is the worker's own, with its body, or
    // thieves may have it.
    unsafe {
        let first = run_first(at, first, second);
        if Job::pop(second.job()) {
            combine(first, second.take_body()(Fork::at(at)))
        } else {
            settle_and_combine(at, first, second, combine)
        }
    }
}

/// Runs the first half. If it panics, the second half must not stay with a thief: it may borrow
/// from the unwinding frame.
///
/// # Safety
///
/// As for [`join_on`].
#[inline(always)]
unsafe fn run_first<RA, RB, B: FnOnce(Fork<'_>) -> RB>(
    at: Top,
    first: impl FnOnce(Fork<'_>) -> RA,
    second: Half<B, RB>,
) -> RA {
    // SAFETY: `join_on`'s contract: the slot after `at` is the top of the stack.
    let first = || first(unsafe { Fork::at(at.next()) });
    #[cfg(feature = "unwind")]
    {
        // SAFETY: the half was in the slot at `at`. (A guard that is dropped instead would cost a
        // register in every join.)
        crate::task::catch(first).unwrap_or_else(|payload| unsafe { give_up(at, second, payload) })
    }
    #[cfg(not(feature = "unwind"))]
    {
        let unwinding = Unwinding(at, second);
        let first = first();
        core::mem::forget(unwinding);
        first
    }
}

/// Continues the first half's panic, after the second half is over.
///
/// # Safety
///
/// As for [`abandon`].
#[cfg(feature = "unwind")]
#[cold]
#[inline(never)]
unsafe fn give_up<R, B: FnOnce(Fork<'_>) -> R>(
    at: Top,
    half: Half<B, R>,
    payload: crate::task::Payload,
) -> ! {
    // SAFETY: `abandon`'s contract is this function's own.
    unsafe { abandon(at, half) };
    throw(payload)
}

/// A second half while the first one runs, where no panic is caught here: the program around this
/// library may still catch one. The half was in the slot at this place, where the caller is when
/// this is dropped.
#[cfg(not(feature = "unwind"))]
struct Unwinding<R, B: FnOnce(Fork<'_>) -> R>(Top, Half<B, R>);

#[cfg(not(feature = "unwind"))]
impl<R, B: FnOnce(Fork<'_>) -> R> Drop for Unwinding<R, B> {
    fn drop(&mut self) {
        // SAFETY: dropped only while unwinding; the half was in the slot at `.0`, where the
        // caller is now.
        unsafe { abandon(self.0, self.1) };
    }
}

/// Joins where a steal request is pending or the stack has to grow. (The whole join is in here, so
/// that the usual one keeps nothing alive for after a call.)
#[cold]
#[inline(never)]
fn join_slow<RA, RB, R, B: FnOnce(Fork<'_>) -> RB>(
    at: Top,
    first: impl FnOnce(Fork<'_>) -> RA,
    second: Half<B, RB>,
    combine: impl FnOnce(RA, RB) -> R,
) -> R {
    if at.is_last() {
        // SAFETY: the caller is in a join of this worker, at `at`, and does not use the context
        // meanwhile. The last slot must stay vacant: a half written there is taken out at once,
        // and thieves leave that slot alone.
        unsafe {
            (*at.forks().context()).serve_requests(at);
            Job::pop(second.job());
            let second = second.take_body();
            let first = first(Fork::at(at));
            combine(first, second(Fork::at(at)))
        }
    } else {
        // SAFETY: the caller is in a join of this worker, with the half at `at`, and does not use
        // the context meanwhile.
        unsafe {
            (*at.forks().context()).serve_requests(at.next());
            join_on(at, first, second, combine)
        }
    }
}

/// Ends a join whose second half thieves may have.
///
/// # Safety
///
/// The half was popped from the slot at `at`, where the caller is now.
#[cold]
#[inline(never)]
unsafe fn settle_and_combine<RA, RB, R, B: FnOnce(Fork<'_>) -> RB>(
    at: Top,
    first: RA,
    second: Half<B, RB>,
    combine: impl FnOnce(RA, RB) -> R,
) -> R {
    // SAFETY: by this function's contract. After `take_back` the job is either the caller's own,
    // with its body, or done, with its result.
    let second = unsafe {
        if (*at.forks().context()).take_back(at, second.run_fn(), true) {
            second.take_body()(Fork::at(at))
        } else {
            second.take_result().unwrap_or_else(|payload| throw(payload))
        }
    };
    combine(first, second)
}

/// Drops a second half that was not begun, or else waits until it is over.
///
/// # Safety
///
/// The half was in the slot at `at`, where the caller is now.
#[cold]
#[inline(never)]
unsafe fn abandon<R, B: FnOnce(Fork<'_>) -> R>(at: Top, half: Half<B, R>) {
    // SAFETY: by this function's contract. The job is either the caller's own, with its body, or
    // done, with its result.
    unsafe {
        if Job::pop(half.job()) || (*at.forks().context()).take_back(at, half.run_fn(), false) {
            drop_quietly(half.take_body());
        } else {
            drop_quietly(half.take_result());
        }
    }
}
