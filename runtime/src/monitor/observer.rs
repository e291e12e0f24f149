//! What is known of each task and each worker of a runtime that is observed.
//!
//! Nothing of this is there unless it was asked for. Then blocks for descriptors have a lead (see `memory::chunk`), in
//! which a task takes along when it was spawned; whoever puts a task into a pool sees to that. Each worker counts in
//! a record of its own, which anybody may read.

use super::histogram::Buckets;
use super::timeline::Events;
use super::{Counter, Observation};
use crate::annotation::LINE;
use crate::platform::{Clock, Platform};
use crate::sync::{AtomicU64, Padded, Relaxed, SpinMutex};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// Bytes before each descriptor of a runtime that is observed.
pub(crate) const LEAD: usize = LINE;

/// What a task takes along, in ticks of the observer's clock: in its block's lead.
#[repr(C)]
pub(crate) struct Lead {
    /// When it was spawned.
    pub spawned: u64,
    /// When it was put where it waits now; 0 while it runs.
    pub queued: u64,
    /// The worker that spawned it, or [`OUTSIDE`].
    pub by: u32,
    /// It has begun to run, and is there for the second time at least.
    pub has_run: bool,
}

const _: () = assert!(size_of::<Lead>() <= LEAD && align_of::<Lead>() <= LEAD);

/// A spawner that is no worker.
pub(crate) const OUTSIDE: u32 = u32::MAX;

impl Lead {
    /// The lead of a task.
    ///
    /// # Safety
    ///
    /// The task is one of an observed runtime and the caller's alone, for `'a`, and was [stamped](Observer::stamp).
    pub unsafe fn of<'a>(task: NonNull<Task>) -> &'a mut Self {
        // SAFETY: by the caller's promise the block has a lead, which belongs to whoever the task belongs to, and which was
        // written.
        unsafe { task.byte_sub(LEAD).cast::<Self>().as_mut() }
    }
}

/// What one worker counts, in ticks of the observer's clock. It alone writes.
#[derive(Default)]
pub(crate) struct Record {
    /// Tasks that it has spawned.
    pub spawned: Counter,
    /// Tasks that came into its pool.
    pub queued: Counter,
    /// Tasks of its pool that others took over; they write it.
    pub given: AtomicU64,
    /// Time in tasks, and in halves of joins that it has taken from others while it had no task.
    pub busy: Counter,
    /// Time asleep.
    pub asleep: Counter,
    /// Since when it has been busy with what it does now, or 0.
    pub busy_since: AtomicU64,
    /// Since when it has been asleep, or 0.
    pub asleep_since: AtomicU64,
    /// From the spawn of a task to its first run.
    pub waiting: Buckets,
    /// From the beginning of a run to its end.
    pub running: Buckets,
    /// From the spawn of a task to its end.
    pub completion: Buckets,
    /// What it did last, if that is kept.
    pub events: Option<SpinMutex<Events>>,
}

/// See the module's documentation.
pub(crate) struct Observer {
    pub clock: Clock,
    pub records: Box<[Arc<Padded<Record>>]>,
    /// Tasks that were spawned by threads that are no workers.
    pub spawned_outside: AtomicU64,
    #[cfg(feature = "std")]
    pub asked: Observation,
}

impl Observer {
    /// An observer, if one is asked for.
    pub fn new(workers: usize, platform: &Arc<dyn Platform>, asked: Observation) -> Option<Self> {
        if !asked.is_any() {
            return None;
        }
        let events = |()| SpinMutex::new(Events::new(asked.events));
        let record = |_| Record { events: (asked.events > 0).then_some(()).map(events), ..Record::default() };
        Some(Self {
            clock: Clock::new(platform.clone()),
            records: (0..workers).map(record).map(Padded).map(Arc::new).collect(),
            spawned_outside: AtomicU64::new(0),
            #[cfg(feature = "std")]
            asked,
        })
    }

    /// Notes when a task is put somewhere: into a pool, or on its way to one. Returns whether that is the first time.
    ///
    /// # Safety
    ///
    /// The task is one of this runtime's, no message of its own, and the caller's alone.
    #[inline]
    pub unsafe fn stamp(&self, mut task: NonNull<Task>, by: u32) -> bool {
        let now = || self.clock.now().max(1);
        // SAFETY: by the caller's promise.
        unsafe {
            if !task.as_ref().meta.is_stamped() {
                let now = now();
                task.as_mut().meta.stamp();
                task.byte_sub(LEAD).cast().write(Lead { spawned: now, queued: now, by, has_run: false });
                return true;
            }
            let lead = Lead::of(task);
            if lead.queued == 0 {
                lead.queued = now();
            }
            false
        }
    }

    /// The same for a task that comes into an inbox: if it was spawned by a worker, that one has stamped it already.
    ///
    /// # Safety
    ///
    /// As for [`stamp`](Self::stamp), but it may be a message of the runtime's own.
    pub unsafe fn stamp_on_arrival(&self, task: NonNull<Task>) {
        // SAFETY: by the caller's promise.
        unsafe {
            if !task.as_ref().meta.is_protocol() {
                self.stamp_outside(task);
            }
        }
    }

    /// The same, by a thread that is no worker.
    ///
    /// # Safety
    ///
    /// As for [`stamp`](Self::stamp).
    pub unsafe fn stamp_outside(&self, task: NonNull<Task>) {
        // SAFETY: by the caller's promise.
        if unsafe { self.stamp(task, OUTSIDE) } {
            self.spawned_outside.fetch_add(1, Relaxed);
        }
    }
}
