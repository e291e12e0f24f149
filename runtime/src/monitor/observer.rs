//! What is recorded of each task and each worker of an observed runtime.
//!
//! Nothing of this exists unless it is requested. Then blocks for descriptors have a lead (see
//! `memory::chunk`), in which a task carries the time of its spawn. The code that puts a task into
//! a run queue writes it. Each worker counts in a record of its own, which any thread may read.

use super::histogram::Buckets;
use super::timeline::Events;
use super::{Counter, Observation, Sessions};
use crate::annotation::CACHE_LINE;
use crate::platform::{Clock, Platform};
use crate::sync::{AtomicU64, Padded, Relaxed, SpinMutex};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// Bytes before each descriptor of an observed runtime.
pub(crate) const LEAD: usize = CACHE_LINE;

/// What a task carries in its block's lead, in ticks of the observer's clock.
#[repr(C)]
pub(crate) struct Lead {
    /// When the task was spawned.
    pub spawned: u64,
    /// When it was queued where it waits now; 0 while it runs.
    pub queued: u64,
    /// The worker that spawned it, or [`OUTSIDE`].
    pub by: u32,
    /// Whether it has begun to run before.
    pub has_run: bool,
}

const _: () = assert!(size_of::<Lead>() <= LEAD && align_of::<Lead>() <= LEAD);

/// Events of each worker that a recording keeps at most.
pub(crate) const RECORDED_EVENTS: usize = 1 << 15;

/// The number of a spawner outside the runtime.
pub(crate) const OUTSIDE: u32 = u32::MAX;

impl Lead {
    /// Returns the lead of a task.
    ///
    /// # Safety
    ///
    /// The task belongs to an observed runtime and exclusively to the caller, for `'a`, and was
    /// [stamped](Observer::stamp).
    pub unsafe fn of<'a>(task: NonNull<Task>) -> &'a mut Self {
        // SAFETY: by the contract the block has a lead, which was written, and which belongs to the
        // owner of the task.
        unsafe { task.byte_sub(LEAD).cast::<Self>().as_mut() }
    }
}

/// The counts of one worker, in ticks of the observer's clock. Only this worker writes, except for
/// `given`.
#[derive(Default)]
pub(crate) struct Record {
    /// Tasks that it has spawned.
    pub spawned: Counter,
    /// Tasks that came into its run queue.
    pub queued: Counter,
    /// Tasks of its run queue that other workers took over, which write this.
    pub given: AtomicU64,
    /// Time in tasks, and in halves of joins that it has taken from others while it had no task.
    pub busy: Counter,
    /// Time asleep.
    pub asleep: Counter,
    /// Since when it has been busy, or 0.
    pub busy_since: AtomicU64,
    /// Since when it has been asleep, or 0.
    pub asleep_since: AtomicU64,
    /// From the spawn of a task to its first run.
    pub waiting: Buckets,
    /// From the beginning of a run to its end.
    pub running: Buckets,
    /// From the spawn of a task to its end.
    pub completion: Buckets,
    /// Its last events, while they are kept.
    pub events: SpinMutex<Events>,
}

/// Records times of tasks and workers; see the module's documentation.
pub(crate) struct Observer {
    pub clock: Clock,
    pub records: Box<[Arc<Padded<Record>>]>,
    /// Tasks that were spawned by threads outside the runtime.
    pub spawned_outside: AtomicU64,
    /// When tasks are recorded on demand, if they are.
    pub sessions: Option<Sessions>,
    pub asked: Observation,
}

impl Observer {
    /// Creates an observer, if anything is to be observed.
    pub fn new(workers: usize, platform: &Arc<dyn Platform>, asked: Observation) -> Option<Self> {
        if !asked.is_constant() && !asked.inspection {
            return None;
        }
        let capacity = if asked.events > 0 { asked.events } else { RECORDED_EVENTS };
        let events = || SpinMutex::new(Events::new(capacity, asked.events));
        let record = |_| Record { events: events(), ..Record::default() };
        Some(Self {
            clock: Clock::new(platform.clone()),
            records: (0..workers).map(record).map(Padded).map(Arc::new).collect(),
            spawned_outside: AtomicU64::new(0),
            sessions: asked.inspection.then(Sessions::default),
            asked,
        })
    }

    /// Records that a task is put into a run queue, or sent to one. Returns true if this is the
    /// first time.
    ///
    /// # Safety
    ///
    /// The task belongs to this runtime and exclusively to the caller, and is no message of the
    /// runtime.
    #[inline]
    pub unsafe fn stamp(&self, mut task: NonNull<Task>, by: u32) -> bool {
        let now = || self.clock.now().max(1);
        // SAFETY: by the contract the task is the caller's, and its block has a lead.
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

    /// Stamps a task that comes into an inbox. A worker that spawned it has stamped it already.
    ///
    /// # Safety
    ///
    /// As for [`stamp`](Self::stamp), but the task may be a message of the runtime.
    pub unsafe fn stamp_on_arrival(&self, task: NonNull<Task>) {
        // SAFETY: by the contract the task is the caller's; messages are excluded here.
        unsafe {
            if !task.as_ref().meta.is_protocol() {
                self.stamp_outside(task);
            }
        }
    }

    /// Stamps a task for a thread outside the runtime.
    ///
    /// # Safety
    ///
    /// As for [`stamp`](Self::stamp).
    pub unsafe fn stamp_outside(&self, task: NonNull<Task>) {
        // SAFETY: this function's contract.
        if unsafe { self.stamp(task, OUTSIDE) } {
            self.spawned_outside.fetch_add(1, Relaxed);
        }
    }
}
