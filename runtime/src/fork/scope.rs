//! Any number of pieces of work, which all end before the scope does.

use super::job::Half;
use super::{Fork, Job, Top};
use crate::scheduler::Runtime;
use crate::task::{JoinError, Payload, discard, quietly};
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Where pieces of work are spawned that may use what lives longer; made by [`Fork::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    /// Where the first job of this scope is, and where the next one goes.
    start: Top,
    top: Top,
    /// What a piece has panicked with.
    panic: Option<Payload>,
    /// Invariant, as in [`std::thread::Scope`]: pieces may use what outlives the scope, and nothing that its body owns.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// A piece that has no room in a job.
type Boxed<'scope> = Box<dyn FnOnce(Fork<'_>) + Send + 'scope>;

impl Fork<'_> {
    /// Calls a function that spawns pieces of work, and waits until all of them are over.
    ///
    /// A piece runs when the function has returned, the youngest first, unless a worker that has nothing to do takes it
    /// before, the oldest first. It may use what was borrowed before the scope began, and divide its own work, by a scope
    /// of its own if it likes. Where more than 2046 pieces wait on a worker, a further one runs at once.
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
    /// If the function does, or a piece: when all that was begun is over. Pieces that were not begun when the function
    /// panicked are dropped; a piece that panics keeps no other from running.
    pub fn scope<'env, R>(&mut self, body: impl for<'scope> FnOnce(&mut Scope<'scope, 'env>) -> R) -> R {
        let top = self.place();
        let mut scope = Scope { start: top, top, panic: None, lifetimes: PhantomData };
        let result = body(&mut scope);
        scope.finish();
        match scope.panic.take() {
            None => result,
            Some(payload) => super::join::throw(payload),
        }
    }
}

impl Runtime {
    /// As [`Fork::scope`], from a thread outside: a [`run`](Self::run) with a scope.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
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

    /// A point at which the work of the scope's own function can be divided.
    pub fn fork(&mut self) -> Fork<'_> {
        // SAFETY: this is where we are.
        unsafe { Fork::at(self.top) }
    }

    fn push<B: FnOnce(Fork<'_>) + Send + 'scope>(&mut self, piece: B) {
        debug_assert!(fits(&piece), "a large piece is in a box");
        let at = self.top;
        // SAFETY: a free place in the stack of this worker, which is not its end; as the piece fits, the frame is not used.
        let piece = unsafe { Half::<B, ()>::write(at.slot(), piece, &mut MaybeUninit::uninit()) };
        if at.is_last() {
            // That slot must not be kept, but others may want what is below it.
            // SAFETY: the job is ours, and we are there.
            unsafe { (*at.forks().context()).feed(at) };
            // SAFETY: as above.
            unsafe { Job::run_body(piece.job(), Some(Fork::at(at))) };
            // SAFETY: it has run.
            return self.note(unsafe { Job::take_unit(piece.job()) });
        }
        // SAFETY: not the last one, so that the next is none behind the end; and that is where we are then.
        unsafe {
            self.top = at.next();
            if at.is_unusual() {
                (*at.forks().context()).feed(self.top);
            }
        }
    }

    /// Takes the youngest piece off the stack. Returns it, and whether it is still to be run.
    fn pop(&mut self, may_help: bool) -> Option<(Top, bool)> {
        if self.top == self.start {
            return None;
        }
        // SAFETY: above the start, and so not the lowest slot; the piece stood there.
        unsafe {
            self.top = self.top.previous();
            let at = self.top;
            let is_left =
                Job::is_own(at.slot()) || (*at.forks().context()).take_back(at.slot(), at, may_help);
            Some((at, is_left))
        }
    }

    /// Remembers the first panic.
    fn note(&mut self, result: Result<(), Payload>) {
        match result {
            Err(payload) if self.panic.is_none() => self.panic = Some(payload),
            Err(payload) => discard(payload),
            Ok(()) => {}
        }
    }

    /// Runs what nobody has taken, and waits for the rest.
    fn finish(&mut self) {
        while let Some((at, is_left)) = self.pop(true) {
            // SAFETY: the job is ours, with its body or, if it has run, its result.
            let result = unsafe {
                if is_left {
                    Job::run_body(at.slot(), Some(Fork::at(at)));
                }
                Job::take_unit(at.slot())
            };
            self.note(result);
        }
    }
}

impl Drop for Scope<'_, '_> {
    /// There is something to do only while unwinding from the scope's own function.
    fn drop(&mut self) {
        while let Some((at, is_left)) = self.pop(false) {
            // SAFETY: the job is ours, with its body or, if it has run, its result.
            unsafe {
                if is_left {
                    quietly(|| Job::run_body(at.slot(), None));
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

/// Whether a piece has room in a job.
fn fits<B: FnOnce(Fork<'_>)>(_: &B) -> bool {
    Half::<B, ()>::FITS
}
