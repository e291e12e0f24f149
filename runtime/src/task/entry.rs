//! Entering and leaving an object, as its primitive requires.

use super::{JoinError, Meta, Task};
use crate::monitor::{Counter, WorkerCounters};
use crate::object::{Header, Primitive, Reference, Turn};
use crate::scheduler::Worker;
use crate::sync::Backoff;
use core::ptr::NonNull;

/// Enters an object: waits at its latch, or marks its version as being written. The task runs on
/// the right worker, and `header` is that of the object.
///
/// # Errors
///
/// If the object is poisoned and the task does not enter it even so; or if it was freed or belongs
/// to another runtime. The task is not inside then.
pub(crate) fn enter(
    header: &Header,
    target: Reference,
    write: bool,
    cx: &mut Worker,
) -> Result<(), JoinError> {
    let primitive = target.primitive();
    // At a sequenced object the task has had its turn, which includes this.
    if !primitive.is_sequenced() && !header.is_of(cx.free_word) {
        return Err(header.refusal());
    }
    let latch = &header.latch;
    // In a simulation the latch holder may be suspended mid-task: let it run before spinning.
    let wait = |backoff: &mut Backoff| {
        // The latch holder may be a task of this worker that blocks in place.
        cx.give_way();
        if !cx.shared().yield_to_others(true) {
            backoff.wait();
        }
    };
    let waited = match primitive {
        Primitive::Sequencing => Some(false),
        Primitive::SpinLatch => latch.lock(wait),
        Primitive::ReaderWriterLatch if write => latch.lock_exclusive(wait),
        Primitive::ReaderWriterLatch => latch.lock_shared(wait),
        Primitive::OptimisticSequenced => {
            if write {
                latch.begin_write();
            }
            Some(false)
        }
        Primitive::OptimisticLatched => {
            let waited = latch.lock(wait);
            if write && waited.is_some() {
                latch.begin_write();
            }
            waited
        }
    };
    let Some(waited) = waited else { return Err(JoinError::Freed) };
    cx.count_wait(waited);
    match header.failure(cx.free_word) {
        None => Ok(()),
        Some(JoinError::Poisoned) if target.is_even_poisoned() => Ok(()),
        Some(error) => {
            leave(header, primitive, write);
            Err(error)
        }
    }
}

/// Enters an object to read it, on any thread, if its primitive allows that and no writer is there.
pub(crate) fn try_enter_to_read(header: &Header, primitive: Primitive) -> bool {
    match primitive {
        Primitive::Sequencing | Primitive::OptimisticSequenced => false,
        Primitive::ReaderWriterLatch => header.latch.try_lock_shared(),
        Primitive::SpinLatch | Primitive::OptimisticLatched => header.latch.try_lock(),
    }
}

/// Enters an object on any thread, if its primitive allows that and no task is there that excludes
/// this access.
pub(crate) fn try_enter(header: &Header, primitive: Primitive, write: bool) -> bool {
    if !write {
        return try_enter_to_read(header, primitive);
    }
    match primitive {
        Primitive::Sequencing | Primitive::OptimisticSequenced => false,
        Primitive::ReaderWriterLatch => header.latch.try_lock_exclusive(),
        Primitive::SpinLatch => header.latch.try_lock(),
        Primitive::OptimisticLatched => {
            let entered = header.latch.try_lock();
            if entered {
                header.latch.begin_write();
            }
            entered
        }
    }
}

/// Leaves an object that [`enter`] or [`try_enter`] has entered.
pub(crate) fn leave(header: &Header, primitive: Primitive, write: bool) {
    let latch = &header.latch;
    match primitive {
        Primitive::Sequencing => {}
        Primitive::SpinLatch => latch.unlock(),
        Primitive::ReaderWriterLatch if write => latch.unlock_exclusive(),
        Primitive::ReaderWriterLatch => latch.unlock_shared(),
        Primitive::OptimisticSequenced | Primitive::OptimisticLatched if write => latch.end_write(),
        Primitive::OptimisticSequenced => {}
        Primitive::OptimisticLatched => latch.unlock(),
    }
}

/// Marks an object as left half-written by a panic, unless it keeps what is there.
///
/// # Safety
///
/// The object is alive, and entered for writing.
#[cold]
pub(crate) unsafe fn poison(target: Reference) {
    if (target.is_poisoned_by_panic() || planted!("keeping-object-poisoned")) && !planted!("poison-forgotten")
    {
        // SAFETY: alive by this function's contract.
        unsafe { target.header() }.latch.poison();
    }
}

/// Clears the poison after the body of a task that has entered the object even so.
///
/// # Safety
///
/// The object is alive, and entered for writing.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) unsafe fn mend(target: Reference) {
    if target.is_even_poisoned() && !planted!("object-not-mended") {
        // SAFETY: alive by this function's contract.
        unsafe { target.header() }.latch.clear_poison();
    }
}

/// An object that is entered to read: writers are excluded.
pub(crate) struct EnteredReader;

/// The outcome of [`enter_to_read`].
pub(crate) enum ReadEntry {
    Entered(EnteredReader),
    /// The task was deferred, sent or requeued; this worker does not own it any more.
    Gone,
    /// The task may not use the object: it is poisoned, was freed, or belongs to another runtime.
    Refused(JoinError),
}

impl EnteredReader {
    /// Leaves the object. Its version stays, because nothing was written.
    ///
    /// # Safety
    ///
    /// The object is alive, and was entered on this worker.
    pub unsafe fn leave(self, target: Reference, meta: Meta, cx: &mut Worker) {
        // SAFETY: alive by this function's contract.
        let header = unsafe { target.header() };
        leave(header, target.primitive(), false);
        if meta.has_grant_token() {
            // SAFETY: a task with the grant token runs at the object's home and holds the object.
            unsafe { cx.hand_on(header) };
        }
    }
}

/// Enters an object to read it.
///
/// At an optimistic object the task is requeued for a few more attempts first. A sequenced object
/// is entered at its home only: elsewhere the task is sent there.
///
/// # Safety
///
/// The task is running on this worker, and the object is alive.
pub(crate) unsafe fn enter_to_read(
    mut task: NonNull<Task>,
    target: Reference,
    cx: &mut Worker,
    retries: fn(&WorkerCounters) -> &Counter,
) -> ReadEntry {
    // SAFETY: phase running: the task is this worker's until it is requeued, sent or deferred. The
    // object is alive by this function's contract, and `turn` and `defer` are called at its home
    // only.
    unsafe {
        let meta = &mut task.as_mut().meta;
        let primitive = target.primitive();
        if primitive.is_optimistic() && meta.attempts() < Worker::OPTIMISTIC_ATTEMPTS {
            meta.count_attempt();
            retries(cx.counters()).add(1);
            cx.requeue(task);
            return ReadEntry::Gone;
        }
        if primitive.is_sequenced() {
            if cx.home_of(target) != cx.index() {
                cx.send_to(task, cx.home_of(target));
                return ReadEntry::Gone;
            }
            let header = target.header();
            if !meta.has_grant_token() {
                match header.turn(cx.free_word) {
                    Turn::Now => {}
                    Turn::Later => {
                        cx.defer(header, task);
                        return ReadEntry::Gone;
                    }
                    Turn::Never => return ReadEntry::Refused(header.refusal()),
                }
            }
        }
        match enter(target.header(), target, false, cx) {
            Ok(()) => ReadEntry::Entered(EnteredReader),
            Err(error) => {
                if meta.has_grant_token() {
                    meta.drop_grant_token();
                    cx.hand_on(target.header());
                }
                ReadEntry::Refused(error)
            }
        }
    }
}
