//! Virtual time: which core goes next, and what time it is there.
//!
//! Each core has a clock. The core with the least clock goes next, and its step advances its clock
//! by the [`Costs`]. What a core sends to others arrives when the sending task ends or comes to a
//! join; so a core takes from its inbox only what had arrived by its own clock. The polls of an
//! idle core are not simulated one by one: its clock stands still until something arrives for it,
//! and then jumps to the first poll after that.
//!
//! ```text
//!             next()               end(): more tasks
//!  Due ───────────────> Running ───────────────────────> Due
//!   ^                      │ end(): none                  (Progress::Stopped: Gone)
//!   │ an arrival, a job    v
//!   └──────────────────── Idle
//! ```

use super::lock::VirtualLock;
use super::random::Random;
use super::virtual_core::{CoreState, VirtualCore};
use super::{Costs, StepCounts};
use crate::fork::Sight;
use crate::pool::{QueuePolicy, Ranked};
use crate::scheduler::{Driver, Progress, RuntimeState};
use alloc::collections::{BTreeMap, BinaryHeap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;

pub(super) struct Timeline {
    pub costs: Costs,
    random: Random,
    /// The runtime that the cores work for, until it stops.
    shared: Option<Arc<RuntimeState>>,
    cores: Vec<VirtualCore>,
    /// For each core, the cores to which it deals out unbound tasks.
    links: Vec<Vec<usize>>,
    /// Due cores, with the time of their next step and a number from the seed that decides between
    /// equals.
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    /// Cores in the midst of a step, innermost last: each but the last is inside a join that lets
    /// the next one go on.
    pub running: Vec<usize>,
    /// The time of threads outside the simulation.
    outside_clock: u64,
    /// The latest end of a task so far.
    makespan: u64,
    /// Steps since an idle core had a turn, and the core whose turn was last.
    steps_since_turn: u32,
    last_turn: usize,
    /// Since when each half can be stolen, by its address.
    job_starts: BTreeMap<usize, u64>,
    /// The end of each stolen half, by its address, until its owner has it back.
    job_ends: BTreeMap<usize, u64>,
    /// The locks of the shared queue, one for each heap.
    heap_locks: Vec<VirtualLock>,
    /// Since when the shared queue has not been empty.
    filled_since: Option<u64>,
}

/// Steps between two turns of idle cores for which nothing has arrived: an epoch advances only when
/// all cores take part.
const STEPS_PER_IDLE_TURN: u32 = 8;

impl Timeline {
    pub fn new(costs: Costs, seed: u64) -> Self {
        Self {
            costs,
            random: Random::new(seed),
            shared: None,
            cores: Vec::new(),
            links: Vec::new(),
            due: BinaryHeap::new(),
            running: Vec::new(),
            outside_clock: 0,
            makespan: 0,
            steps_since_turn: 0,
            last_turn: 0,
            job_starts: BTreeMap::new(),
            job_ends: BTreeMap::new(),
            heap_locks: Vec::new(),
            filled_since: None,
        }
    }

    /// Adds a core for this worker, or revives the one that an earlier worker of that number had.
    pub fn add(&mut self, worker: &Driver) {
        let shared = self.shared.get_or_insert_with(|| worker.shared().clone());
        let (core, workers) = (worker.worker(), shared.slots.len());
        if core < self.cores.len() {
            // The runtime has grown again.
            return self.set_due(core, self.now());
        }
        self.links.push(match shared.policy {
            QueuePolicy::XQueue(links) => links.from(core, workers),
            _ => Vec::new(),
        });
        self.cores.push(VirtualCore {
            clock: 0,
            busy: 0,
            called: false,
            victim: None,
            state: CoreState::Idle,
            before: StepCounts::default(),
            arrivals: VecDeque::new(),
            waiting: 0,
        });
        self.set_due(core, 0);
    }

    /// Ends the simulation. Returns the runtime, for the caller to drop.
    pub fn close(&mut self) -> Option<Arc<RuntimeState>> {
        self.shared.take()
    }

    pub fn now(&self) -> u64 {
        self.running.last().map_or(self.outside_clock, |&core| self.cores[core].clock)
    }

    /// Sets the time of threads outside, if that is later. No core runs.
    pub fn advance(&mut self, until: u64) {
        self.outside_clock = self.outside_clock.max(until);
    }

    pub fn makespan(&self) -> u64 {
        self.makespan
    }

    pub fn busy(&self) -> impl Iterator<Item = u64> {
        self.cores.iter().map(|core| core.busy)
    }

    /// Adds `nanoseconds` of work to the running core's clock.
    pub fn spend(&mut self, nanoseconds: u64) {
        if let Some(&core) = self.running.last() {
            let core = &mut self.cores[core];
            core.clock = core.clock.saturating_add(nanoseconds);
            core.busy = core.busy.saturating_add(nanoseconds);
        }
    }

    /// Adds the time of a further task of annotated cost `cost` that the running core has run
    /// within its step.
    pub fn record_task(&mut self, cost: u64) {
        let body = self.costs.unit.saturating_mul(cost);
        self.spend(self.costs.task.saturating_add(body));
    }

    /// Removes the core to go on next from the due cores, and returns it.
    pub fn next(&mut self) -> Option<usize> {
        if self.steps_since_turn >= STEPS_PER_IDLE_TURN && !self.due.is_empty() {
            self.steps_since_turn = 0;
            self.last_turn = (self.last_turn + 1) % self.cores.len();
            if self.cores[self.last_turn].state == CoreState::Idle {
                return Some(self.last_turn);
            }
        }
        self.due.pop().map(|Reverse((_, _, core))| core)
    }

    /// Returns all idle cores, from one on that the seed chooses. For when no core is due.
    pub fn idle_cores(&mut self) -> Vec<usize> {
        let count = self.cores.len();
        let start = self.random.below(count.max(1));
        let around = (0..count).map(|offset| (start + offset) % count);
        around.filter(|&core| self.cores[core].state == CoreState::Idle).collect()
    }

    /// Within a join, removes and returns a due core whose clock is not ahead of any running
    /// core's.
    pub fn next_behind(&mut self) -> Option<usize> {
        let min_clock = self.running.iter().map(|&core| self.cores[core].clock).min()?;
        let &Reverse((when, _, core)) = self.due.peek()?;
        (when <= min_clock).then(|| {
            self.due.pop();
            core
        })
    }

    /// Within a join, returns the idle core that steals the running core's oldest half, if it has
    /// one.
    pub fn thief(&mut self) -> Option<usize> {
        let (&owner, slots) = (self.running.last()?, &self.shared.as_ref()?.slots);
        if slots[owner].forks.sight() != Sight::Public {
            return None;
        }
        let (now, count) = (self.cores[owner].clock, self.cores.len());
        let since = self.job_starts.get(&slots[owner].forks.oldest_address()).map_or(now, |&since| since);
        // A core that has just found nothing is about to poll again.
        let soon = now.saturating_add(self.costs.fall_idle());
        let is_there = |core: &VirtualCore| core.state == CoreState::Idle && core.clock <= soon;
        // The core that has been idle for the shortest time: clocks of cores that wait in joins may
        // be far behind.
        let start = self.random.below(count);
        let around = (0..count).map(|offset| (start + offset) % count);
        let there = around.filter(|&core| is_there(&self.cores[core]));
        let thief = there.max_by_key(|&core| self.cores[core].clock)?;
        self.cores[thief].clock = self.next_poll(thief, since);
        self.cores[thief].victim = Some(owner);
        Some(thief)
    }

    /// Begins a step of a core. Returns how many tasks it may take from its inbox.
    pub fn begin(&mut self, core: usize, counted: StepCounts) -> usize {
        if self.is_idle(core) && self.queue_len() > 0 {
            // A turn, not a call: it finds a task that was put while its clock stood still.
            self.cores[core].clock = self.next_poll(core, self.min_clock());
        }
        let it = &mut self.cores[core];
        (it.state, it.before, it.called) = (CoreState::Running, counted, false);
        let mut arrived = 0;
        while let Some(&(when, count)) = it.arrivals.front()
            && when <= it.clock
        {
            it.arrivals.pop_front();
            arrived += count;
        }
        it.waiting -= arrived;
        self.running.push(core);
        arrived
    }

    /// Ends the step of the core that began last. `was_idle`: it had no work before.
    pub fn end(&mut self, worker: &Driver, was_idle: bool, progress: Progress) {
        let Some(&core) = self.running.last() else { return };
        if let Progress::Ran(_) = progress {
            self.spend(worker.cost_since(&self.cores[core].before, progress, &self.costs));
            self.record_arrivals();
            self.notify_idle(core);
            self.steps_since_turn += 1;
            self.makespan = self.makespan.max(self.cores[core].clock);
            if self.running.len() == 1 {
                self.outside_clock = self.outside_clock.max(self.cores[core].clock);
            }
        }
        self.running.pop();
        let it = &mut self.cores[core];
        it.victim = None;
        if progress == Progress::Stopped {
            it.state = CoreState::Gone;
        } else if worker.has_ready_tasks() {
            self.set_due(core, self.cores[core].clock);
        } else {
            it.state = CoreState::Idle;
            if !was_idle || progress != Progress::Idle {
                it.clock = it.clock.saturating_add(self.costs.fall_idle());
            }
            if let Some(&(when, _)) = it.arrivals.front() {
                self.set_due(core, self.next_poll(core, when));
            }
        }
    }

    /// Makes idle cores due that can take the unbound tasks which this core has just made
    /// available. (A busy core may take one too early, by at most the length of a task.)
    fn notify_idle(&mut self, core: usize) {
        let (Some(shared), now) = (self.shared.clone(), self.cores[core].clock) else { return };
        let idle = |cores: &[VirtualCore], other: usize| cores[other].state == CoreState::Idle;
        for at in 0..self.links[core].len() {
            let other = self.links[core][at];
            if idle(&self.cores, other) && shared.slots[other].incoming.iter().any(|ring| ring.has_hint()) {
                self.set_due(other, self.next_poll(other, now));
            }
        }
        if !shared.slots[core].steal_batch.is_empty() {
            let (count, start) = (self.cores.len(), self.random.below(self.cores.len()));
            let around = (0..count).map(|offset| (start + offset) % count);
            let thief =
                around.filter(|&other| idle(&self.cores, other)).min_by_key(|&other| self.cores[other].clock);
            if let Some(thief) = thief {
                self.set_due(thief, self.next_poll(thief, now));
            }
        }
    }

    /// Records that the running core has taken a task out of the shared queue. If the queue was
    /// empty at its clock, the core has polled until it was not.
    pub fn take_from_queue(&mut self, heap: usize) {
        if let (Some(&core), Some(filled_since)) = (self.running.last(), self.filled_since) {
            self.cores[core].clock = self.next_poll(core, filled_since);
        }
        if self.queue_len() == 0 {
            self.filled_since = None;
        }
        self.hold_queue_lock(heap);
    }

    /// Holds the lock of a heap of the shared queue for one put or take by the running core.
    pub fn hold_queue_lock(&mut self, heap: usize) {
        let Some(&core) = self.running.last() else { return };
        if heap >= self.heap_locks.len() {
            self.heap_locks.resize_with(heap + 1, VirtualLock::default);
        }
        let (now, past) = (self.cores[core].clock, self.min_clock());
        let until = self.heap_locks[heap].hold(now, self.costs.queue, past);
        self.spend(until.saturating_sub(now));
    }

    /// Returns the number of tasks in the shared queue.
    fn queue_len(&self) -> usize {
        let queue = self.shared.as_ref().and_then(|shared| shared.ranked.as_ref());
        queue.filter(|queue| queue.has_tasks()).map_or(0, Ranked::len)
    }

    /// Makes as many idle cores due as there are tasks in the shared queue: those whose next poll
    /// comes first. (A busy core may still be faster.)
    fn call_idle_cores(&mut self, now: u64) {
        if self.queue_len() > 0 {
            self.filled_since.get_or_insert(now);
        }
        if !self.cores.iter().any(|core| core.state == CoreState::Idle) {
            return;
        }
        let called = self.cores.iter().filter(|core| core.called).count();
        for _ in called..self.queue_len() {
            let count = self.cores.len();
            let start = self.random.below(count);
            let around = (0..count).map(|offset| (start + offset) % count);
            let idle = around.filter(|&core| self.is_idle(core));
            let Some(core) = idle.min_by_key(|&core| self.next_poll(core, now)) else { return };
            self.set_due(core, self.next_poll(core, now));
            self.cores[core].called = true;
        }
    }

    /// Returns the least clock of all cores with work: nothing can happen before it.
    pub fn min_clock(&self) -> u64 {
        let due = self.due.peek().map(|&Reverse((when, _, _))| when);
        let running = self.running.iter().map(|&core| self.cores[core].clock);
        running.chain(due).min().unwrap_or(self.outside_clock)
    }

    /// Returns true if a core has no work.
    pub fn is_idle(&self, core: usize) -> bool {
        self.cores[core].state == CoreState::Idle
    }

    /// Records the arrival, now, of everything that is in an inbox and not yet known.
    pub fn record_arrivals(&mut self) {
        let (Some(shared), now) = (self.shared.clone(), self.now()) else { return };
        for (core, slot) in shared.slots.iter().enumerate().take(self.cores.len()) {
            let waiting = slot.inbox.len();
            let it = &mut self.cores[core];
            if waiting > it.waiting {
                it.arrivals.push_back((now, waiting - it.waiting));
                it.waiting = waiting;
                if it.state == CoreState::Idle {
                    self.set_due(core, self.next_poll(core, now));
                }
            } else {
                it.forget(waiting);
            }
        }
        if shared.ranked.is_some() {
            self.call_idle_cores(now);
        }
    }

    /// Returns true if the running core may steal from `victim`: it was chosen as its thief.
    pub fn may_steal_from(&self, victim: usize) -> bool {
        self.running.last().is_some_and(|&core| self.cores[core].victim == Some(victim))
    }

    /// Records that the running core has made a half that others may steal.
    pub fn job_made(&mut self, job: usize) {
        let now = self.now();
        self.job_starts.entry(job).or_insert(now);
    }

    /// Records that the running core has run a half that it took from another core.
    pub fn job_done(&mut self, job: usize) {
        self.spend(self.costs.steal);
        self.job_starts.remove(&job);
        self.job_ends.insert(job, self.now());
    }

    /// Records that the running core has a half back. If a thief ran it, the core's clock is no
    /// earlier than the thief's end.
    pub fn job_back(&mut self, job: usize) {
        self.job_starts.remove(&job);
        if let (Some(done), Some(&core)) = (self.job_ends.remove(&job), self.running.last()) {
            let core = &mut self.cores[core];
            core.clock = core.clock.max(done);
        }
    }

    /// Returns the time of an idle core's first poll at or after `moment`.
    fn next_poll(&self, core: usize, moment: u64) -> u64 {
        let (clock, poll) = (self.cores[core].clock, self.costs.poll.max(1));
        let polls = moment.saturating_sub(clock).div_ceil(poll);
        clock.saturating_add(polls.saturating_mul(poll))
    }

    fn set_due(&mut self, core: usize, when: u64) {
        (self.cores[core].clock, self.cores[core].state) = (when, CoreState::Due);
        self.due.push(Reverse((when, self.random.next(), core)));
    }
}
