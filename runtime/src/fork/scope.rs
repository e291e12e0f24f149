//! Scopes: any number of pieces of work that end before the scope does.

use super::half::Half;
use super::job::RunFn;
use super::{Fork, Job, Top};
use crate::scheduler::Runtime;
use crate::task::{JoinError, Payload, discard, quietly, throw};
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Spawns pieces of work that may borrow from outside the scope; made by [`Fork::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    /// The place of the scope's first job. The next one goes to `top`.
    start: Top,
    top: Top,
    /// The payload of the first piece that panicked.
    panic: Option<Payload>,
    /// Invariant, as in [`std::thread::Scope`]: pieces may borrow what outlives the scope, and
    /// nothing that its body owns.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// A piece without room in a job.
type Boxed<'scope> = Box<dyn FnOnce(Fork<'_>) + Send + 'scope>;

impl Fork<'_> {
    /// Calls a function that spawns pieces of work, and waits until all of them are over.
    ///
    /// Pieces run when the function has returned, the youngest first. An idle worker may take one
    /// before, the oldest first. A piece may borrow what was borrowed before the scope began, and
    /// may divide its own work, also by a scope. When more than 8189 pieces wait on a worker, a
    /// further one runs at once.
    ///
    /// ```
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let (mut small, mut large) = (vec![3, 1, 2], (0..1000).rev().collect::<Vec<_>>());
    /// rt.run(|mut cx| {
    ///     cx.scope(|scope| {
    ///         scope.spawn(|_| small.sort());
    ///         scope.spawn(|_| large.sort());
    ///     });
    /// })?;
    /// assert!(small.is_sorted() && large.is_sorted());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the function or a piece does, after all that was begun is over. If the function
    /// panics, pieces that were not begun are dropped. A panic of a piece does not keep others from
    /// running.
    pub fn scope<'env, R>(&mut self, body: impl for<'scope> FnOnce(&mut Scope<'scope, 'env>) -> R) -> R {
        let top = self.place();
        let mut scope = Scope { start: top, top, panic: None, lifetimes: PhantomData };
        let result = body(&mut scope);
        scope.finish();
        match scope.panic.take() {
            None => result,
            Some(payload) => throw(payload),
        }
    }
}

impl Runtime {
    /// Runs a scope as [`Fork::scope`] does, from a thread outside: a [`run`](Self::run) with a
    /// scope.
    ///
    /// # Errors
    ///
    /// Fails as [`run`](Self::run) does.
    pub fn scope<'env, R: Send>(
        &self,
        body: impl for<'scope> FnOnce(&mut Scope<'scope, 'env>) -> R + Send,
    ) -> Result<R, JoinError> {
        self.run(|mut cx| cx.scope(body))
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a piece of work.
    pub fn spawn(&mut self, piece: impl FnOnce(Fork<'_>) + Send + 'scope) {
        if fits(&piece) {
            self.push(piece);
        } else {
            self.push(Box::new(piece) as Boxed<'scope>);
        }
    }

    /// Returns a point at which the work of the scope's own function can be divided.
    pub fn fork(&mut self) -> Fork<'_> {
        // SAFETY: `top` is the top of the worker's stack: the scope's pieces are below it.
        unsafe { Fork::at(self.top) }
    }

    fn push<B: FnOnce(Fork<'_>) + Send + 'scope>(&mut self, piece: B) {
        debug_assert!(fits(&piece), "a large piece is in a box");
        let at = self.top;
        // SAFETY: `at` is a free slot in this worker's stack, which is not its end. The piece fits,
        // so the frame is not used.
        let piece = unsafe { Half::<B, ()>::write(at.slot(), piece, &mut MaybeUninit::uninit()) };
        if at.is_last() {
            // The last slot must stay vacant, but thieves may want jobs below it.
            // SAFETY: thieves leave that slot alone, so the job is this worker's own, and `at` is
            // the top of the stack.
            unsafe {
                (*at.forks().context()).serve_requests(at);
                let run = Job::run_fn(piece.job());
                Job::pop(piece.job());
                run(piece.job(), Some(Fork::at(at)));
            }
            // SAFETY: the piece has run, fits in a job and returns nothing.
            return self.keep_panic(unsafe { Job::take_unit(piece.job()) });
        }
        // SAFETY: not the last slot, so the next one is within the stack. With the piece pushed, it
        // is the top.
        unsafe {
            self.top = at.next();
            if at.leaves_fast_path() {
                (*at.forks().context()).serve_requests(self.top);
            }
        }
    }

    /// Pops the youngest piece. Returns its place, and its function if it is still to be run.
    fn pop(&mut self, may_help: bool) -> Option<(Top, Option<RunFn>)> {
        if self.top == self.start {
            return None;
        }
        // SAFETY: above `start`, and so not the lowest slot. The piece is in the slot below.
        unsafe {
            self.top = self.top.previous();
            let at = self.top;
            let worker = at.forks().context();
            if at.leaves_fast_path() {
                // Where pieces are small, idle workers get some without a barrier.
                (*worker).serve_requests_before_pop(at);
            }
            let run = Job::run_fn(at.slot());
            let is_left = Job::pop(at.slot()) || (*worker).take_back(at, run, may_help);
            Some((at, is_left.then_some(run)))
        }
    }

    /// Keeps the payload of the first panic.
    fn keep_panic(&mut self, result: Result<(), Payload>) {
        match result {
            Err(payload) if self.panic.is_none() => self.panic = Some(payload),
            Err(payload) => discard(payload),
            Ok(()) => {}
        }
    }

    /// Runs the pieces that were not taken, and waits for the others.
    fn finish(&mut self) {
        while let Some((at, run)) = self.pop(true) {
            // SAFETY: the job is this worker's, with its body or, if it has run, with its result.
            let result = unsafe {
                if let Some(run) = run {
                    run(at.slot(), Some(Fork::at(at)));
                }
                Job::take_unit(at.slot())
            };
            self.keep_panic(result);
        }
    }
}

impl Drop for Scope<'_, '_> {
    /// Ends the pieces. There are none left unless the scope's own function unwinds.
    fn drop(&mut self) {
        while let Some((at, run)) = self.pop(false) {
            // SAFETY: the job is this worker's, with its body or, if it has run, with its result.
            unsafe {
                if let Some(run) = run {
                    quietly(|| run(at.slot(), None));
                } else if let Err(payload) = Job::take_unit(at.slot()) {
                    discard(payload);
                }
            }
        }
        if let Some(payload) = self.panic.take() {
            discard(payload);
        }
    }
}

/// Returns true if a piece has room in a job.
fn fits<B: FnOnce(Fork<'_>)>(_: &B) -> bool {
    Half::<B, ()>::FITS
}
