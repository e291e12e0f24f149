//! What is recorded of each task and each worker of an observed runtime.
//!
//! Nothing of this exists unless it is requested. Then blocks for descriptors have a lead (see
//! `memory::chunk`), in which a task carries the time of its spawn. The code that puts a task into
//! a run queue writes it. Each worker counts in a record of its own, which any thread may read.
//!
//! A runtime that is only recorded on demand has no leads: the times are in a [table](Stamps), and
//! its workers have a recorder only during a session.

use super::details::Details;
use super::histogram::Buckets;
use super::queue_lengths::QueueLengths;
use super::stamps::{Stamp, Stamps};
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
    /// One tick after the moment since when it has been busy, or 0. If tasks are only recorded on
    /// demand, this and the next are on a clock that stands still between sessions.
    pub busy_since: AtomicU64,
    /// One tick after the moment since when it has been asleep, or 0.
    pub asleep_since: AtomicU64,
    /// From the spawn of a task to its first run.
    pub waiting: Buckets,
    /// From the beginning of a run to its end.
    pub running: Buckets,
    /// From the spawn of a task to its end.
    pub completion: Buckets,
    /// Its last events, while they are kept.
    pub events: SpinMutex<Events>,
    /// What is only recorded on demand.
    pub details: SpinMutex<Details>,
}

/// Records times of tasks and workers; see the module's documentation.
pub(crate) struct Observer {
    pub clock: Clock,
    pub records: Box<[Arc<Padded<Record>>]>,
    /// Tasks that were spawned by threads outside the runtime.
    pub spawned_outside: AtomicU64,
    /// Descriptors have leads: tasks are always recorded.
    has_leads: bool,
    /// What is recorded on demand, if anything is.
    pub demand: Option<OnDemand>,
    pub asked: Observation,
}

/// What the workers share that record on demand.
#[derive(Default)]
pub(crate) struct OnDemand {
    pub sessions: Sessions,
    pub stamps: Stamps,
    pub lengths: QueueLengths,
}

/// How a task came to the run that begins, in ticks.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub spawned: u64,
    /// When it was queued; when the run begins if that is not known.
    pub queued: u64,
    pub by: u32,
    /// This is its first run, and its spawn was recorded.
    pub is_first: bool,
    /// It was queued in this session, and counts among the tasks that wait for its objects.
    pub was_queued: bool,
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
            has_leads: asked.is_constant(),
            demand: asked.inspection.then(OnDemand::default),
            asked,
        })
    }

    /// Returns true if tasks are stamped now.
    #[inline]
    pub fn is_stamping(&self) -> bool {
        self.has_leads || self.session() != 0
    }

    /// Returns the number of the session; 0 if nothing is recorded on demand.
    #[inline]
    pub fn session(&self) -> u32 {
        self.demand.as_ref().map_or(0, |demand| demand.sessions.current())
    }

    /// Records that a task is put into a run queue, or sent to one, in a session or none. Returns
    /// true if this is the first time, in a runtime that is always observed.
    ///
    /// # Safety
    ///
    /// The task belongs to this runtime and exclusively to the caller, and is no message of the
    /// runtime.
    #[inline]
    pub unsafe fn stamp(&self, mut task: NonNull<Task>, by: u32, session: u32) -> bool {
        let now = || self.clock.now().max(1);
        // SAFETY: by the contract the task is the caller's, and its block has a lead if any has.
        unsafe {
            if session != 0 {
                self.queue_in(task, by, session);
            }
            if !self.has_leads {
                return false;
            }
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

    /// Records on demand that a task begins to wait, unless it does already, or the session is over
    /// although this worker does not know that yet.
    ///
    /// # Safety
    ///
    /// As for [`stamp`](Self::stamp).
    #[inline(never)]
    unsafe fn queue_in(&self, mut task: NonNull<Task>, by: u32, session: u32) {
        let Some(demand) = &self.demand else { return };
        // SAFETY: by the contract the task is the caller's.
        let meta = unsafe { &mut task.as_mut().meta };
        let is_over = session != demand.sessions.current() && !planted!("stamped-after-session");
        if meta.is_queued_in(session) || is_over {
            return;
        }
        let again = meta.was_in(session);
        meta.queue_in(session);
        let stamp = Stamp { ticks: self.clock.now(), by, again };
        if !demand.stamps.put(task.addr().get(), stamp) {
            // What is not kept does not end.
            return;
        }
        // SAFETY: as above; a task that is put into a queue has its body.
        let description = unsafe { (task.as_ref().vtable.describe)(task) };
        description.objects.iter().flatten().for_each(|object| demand.lengths.add(object.address));
    }

    /// Records that a task begins to run, in a session or none.
    ///
    /// # Safety
    ///
    /// As for [`stamp`](Self::stamp). If the runtime has leads, the task was stamped.
    #[inline(always)]
    pub unsafe fn start(&self, task: NonNull<Task>, begin: u64, session: u32) -> Arrival {
        // SAFETY: by the contract the task is the caller's; and it was stamped if it has a lead.
        unsafe {
            if session != 0 || !self.has_leads {
                return self.start_in(task, begin, session);
            }
            self.start_by_lead(task)
        }
    }

    /// # Safety
    ///
    /// As for [`start`](Self::start), in a runtime with leads.
    #[inline(always)]
    unsafe fn start_by_lead(&self, task: NonNull<Task>) -> Arrival {
        // SAFETY: by the contract.
        let lead = unsafe { Lead::of(task) };
        let &mut Lead { spawned, queued, by, has_run } = lead;
        (lead.has_run, lead.queued) = (true, 0);
        Arrival { spawned, queued, by, is_first: !has_run, was_queued: false }
    }

    /// # Safety
    ///
    /// As for [`start`](Self::start).
    #[inline(never)]
    unsafe fn start_in(&self, mut task: NonNull<Task>, begin: u64, session: u32) -> Arrival {
        // SAFETY: by the contract the task is the caller's.
        let meta = unsafe { &mut task.as_mut().meta };
        let was_queued = session != 0 && meta.is_queued_in(session);
        meta.run_in(session);
        let stamps = self.demand.as_ref().map(|demand| &demand.stamps).filter(|_| was_queued);
        let stamp = stamps.and_then(|stamps| stamps.take(task.addr().get(), begin));
        let was_queued = stamp.is_some() || planted!("session-bits-trusted") && was_queued;
        if self.has_leads {
            // SAFETY: forwarded.
            return Arrival { was_queued, ..unsafe { self.start_by_lead(task) } };
        }
        match stamp {
            Some(Stamp { ticks, by, again }) => {
                let by = if again { OUTSIDE } else { by };
                Arrival { spawned: ticks, queued: ticks, by, is_first: !again, was_queued }
            }
            None => Arrival { spawned: begin, queued: begin, by: OUTSIDE, is_first: false, was_queued },
        }
    }

    /// Returns since when a task has been waiting that is in no run queue, if that was recorded.
    ///
    /// # Safety
    ///
    /// The task is of this runtime, and its owner does not access it meanwhile.
    pub unsafe fn waiting_since(&self, task: NonNull<Task>) -> Option<u64> {
        // SAFETY: by the contract; a task that was stamped has a lead if any has.
        unsafe {
            if self.has_leads {
                if !task.as_ref().meta.is_stamped() {
                    return None;
                }
                let queued = task.byte_sub(LEAD).cast::<Lead>().as_ref().queued;
                return (queued != 0).then_some(queued);
            }
        }
        let stamps = &self.demand.as_ref()?.stamps;
        stamps.get(task.addr().get(), self.clock.now()).map(|stamp| stamp.ticks)
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
        if unsafe { self.stamp(task, OUTSIDE, self.session()) } {
            self.spawned_outside.fetch_add(1, Relaxed);
        }
    }
}
