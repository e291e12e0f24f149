//! Virtual time: which core goes next, and what time it is there.
//!
//! Each core has a clock. The one whose clock is least goes next, and what it does moves its clock on by what the
//! [`Costs`] say. What it sends to others arrives when the task that sent it is over, or has come to a join: so a core takes
//! from its inbox only what had arrived by its own clock. An idle core is not driven through all of its looks: its clock
//! stands still until something comes for it, and then goes on to the first look after that.

use super::Costs;
use super::lock::Lock;
use super::random::Random;
use crate::pool::{Pool, Ranked};
use crate::scheduler::{Driver, Progress, Shared, Tally};
use alloc::collections::{BTreeMap, BinaryHeap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;

pub(super) struct Timeline {
    costs: Costs,
    random: Random,
    /// The runtime that the cores work for, as long as it is there.
    shared: Option<Arc<Shared>>,
    cores: Vec<Core>,
    /// To whom each of them deals out tasks.
    links: Vec<Vec<usize>>,
    /// Cores that go on at a known time, with that time, and a number from the seed that decides between equals.
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    /// Cores in the midst of a step: each but the last one lets the next one go on in a join of its own.
    running: Vec<usize>,
    /// The time of those who are no cores.
    outside: u64,
    /// When the last task so far was over.
    makespan: u64,
    /// Steps since an idle core had a turn, and whose it is next.
    since_turn: u32,
    turn: usize,
    /// When jobs were done that others wait for, or will.
    jobs: BTreeMap<usize, u64>,
    /// The locks of the queue that all share, one for each of its heaps.
    locks: Vec<Lock>,
    /// Since when that queue has not been empty.
    filled: Option<u64>,
}

struct Core {
    clock: u64,
    busy: u64,
    state: State,
    /// It is due since there is something for it in the queue that all share.
    called: bool,
    /// Since when it has been offering a job to others.
    offered: Option<u64>,
    /// What the worker had counted before its step.
    before: Tally,
    /// What is in the inbox, in its order: when it has arrived, and how many tasks.
    arrivals: VecDeque<(u64, usize)>,
    /// How many that are.
    waiting: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It goes on when its time has come.
    Due,
    /// It has nothing to do; its clock says when it has known that.
    Idle,
    /// It makes a step.
    Running,
    /// It has stopped.
    Gone,
}

/// So many steps are made until an idle core has a turn, without anything that came for it: epochs move on only when all
/// cores follow.
const TURN: u32 = 8;

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
            outside: 0,
            makespan: 0,
            since_turn: 0,
            turn: 0,
            jobs: BTreeMap::new(),
            locks: Vec::new(),
            filled: None,
        }
    }

    /// One more core, for this worker.
    pub fn add(&mut self, worker: &Driver) {
        let shared = self.shared.get_or_insert_with(|| worker.shared().clone());
        let (core, workers) = (worker.worker(), shared.seats.len());
        if core < self.cores.len() {
            // Its runtime has grown again.
            return self.set_due(core, self.now());
        }
        self.links.push(match shared.pool {
            Pool::XQueue(links) => links.from(core, workers),
            _ => Vec::new(),
        });
        self.cores.push(Core {
            clock: 0,
            busy: 0,
            called: false,
            offered: None,
            state: State::Idle,
            before: Tally::default(),
            arrivals: VecDeque::new(),
            waiting: 0,
        });
        self.set_due(core, 0);
    }

    /// The runtime has stopped; the caller lets go of it.
    pub fn close(&mut self) -> Option<Arc<Shared>> {
        self.shared.take()
    }

    pub fn now(&self) -> u64 {
        self.running.last().map_or(self.outside, |&core| self.cores[core].clock)
    }

    pub fn makespan(&self) -> u64 {
        self.makespan
    }

    pub fn busy(&self) -> impl Iterator<Item = u64> {
        self.cores.iter().map(|core| core.busy)
    }

    /// The core that runs is busy for so long.
    pub fn spend(&mut self, nanoseconds: u64) {
        if let Some(&core) = self.running.last() {
            let core = &mut self.cores[core];
            core.clock = core.clock.saturating_add(nanoseconds);
            core.busy = core.busy.saturating_add(nanoseconds);
        }
    }

    /// The core that runs has run a task within its step, of that annotated cost.
    pub fn ran_within(&mut self, cost: u64) {
        let body = self.costs.unit.saturating_mul(cost);
        self.spend(self.costs.task.saturating_add(body));
    }

    /// The core to go on next; it is taken out of those that are due.
    pub fn next(&mut self) -> Option<usize> {
        if self.since_turn >= TURN && !self.due.is_empty() {
            self.since_turn = 0;
            self.turn = (self.turn + 1) % self.cores.len();
            if self.cores[self.turn].state == State::Idle {
                return Some(self.turn);
            }
        }
        self.due.pop().map(|Reverse((_, _, core))| core)
    }

    /// When nothing is due: all cores that are idle, from one that the seed chooses on.
    pub fn idle_cores(&mut self) -> Vec<usize> {
        let count = self.cores.len();
        let start = self.random.below(count.max(1));
        let around = (0..count).map(|offset| (start + offset) % count);
        around.filter(|&core| self.cores[core].state == State::Idle).collect()
    }

    /// In a join: a core that is due, as its clock is not ahead of any that has to wait for this join or another one.
    pub fn next_behind(&mut self) -> Option<usize> {
        let least = self.running.iter().map(|&core| self.cores[core].clock).min()?;
        let &Reverse((when, _, core)) = self.due.peek()?;
        (when <= least).then(|| {
            self.due.pop();
            core
        })
    }

    /// In a join: an idle core that takes the job which the running one offers, if there is one.
    pub fn thief(&mut self) -> Option<usize> {
        let (&owner, seats) = (self.running.last()?, &self.shared.as_ref()?.seats);
        for &core in self.running.iter().filter(|&&core| seats[core].offer.is_empty()) {
            self.cores[core].offered = None;
        }
        if seats[owner].offer.is_empty() {
            return None;
        }
        let (now, count) = (self.cores[owner].clock, self.cores.len());
        self.cores[owner].offered.get_or_insert(now);
        // It may find another one's offer first.
        let offered = self.running.iter().filter_map(|&core| self.cores[core].offered).max()?;
        // Who has just found nothing is about to look again.
        let soon = now.saturating_add(self.costs.fall_idle());
        let is_there = |core: &Core| core.state == State::Idle && core.clock <= soon;
        // The one that has been idle for the shortest time, as those whose joins wait for this one may be long behind.
        let start = self.random.below(count);
        let around = (0..count).map(|offset| (start + offset) % count);
        let there = around.filter(|&core| is_there(&self.cores[core]));
        let thief = there.max_by_key(|&core| self.cores[core].clock)?;
        self.cores[thief].clock = self.next_look(thief, offered);
        Some(thief)
    }

    /// Has the running core come to [`interleave`](crate::platform::Platform::interleave) in its next join.
    pub fn ask(&self) {
        if let (Some(shared), Some(&core)) = (&self.shared, self.running.last()) {
            shared.seats[core].forks.ask();
        }
    }

    /// A core begins a step. Returns how many tasks it may take from its inbox.
    pub fn begin(&mut self, core: usize, counted: Tally) -> usize {
        if self.is_idle(core) && self.in_queue() > 0 {
            // It has a turn though nobody called it, and finds what was not there when its clock stood still.
            self.cores[core].clock = self.next_look(core, self.least());
        }
        let it = &mut self.cores[core];
        (it.state, it.before, it.called) = (State::Running, counted, false);
        let mut arrived = 0;
        while let Some(&(when, count)) = it.arrivals.front()
            && when <= it.clock
        {
            it.arrivals.pop_front();
            arrived += count;
        }
        it.waiting -= arrived;
        self.running.push(core);
        // Each join lets those go on that are behind.
        self.ask();
        arrived
    }

    /// The core that began its step last has made it; `was_idle`: it had nothing to do before.
    pub fn end(&mut self, worker: &Driver, was_idle: bool, progress: Progress) {
        let Some(&core) = self.running.last() else { return };
        if let Progress::Ran(_) = progress {
            self.spend(worker.cost_since(&self.cores[core].before, progress, &self.costs));
            self.arrive();
            self.tell_idle(core);
            self.since_turn += 1;
            self.makespan = self.makespan.max(self.cores[core].clock);
            if self.running.len() == 1 {
                self.outside = self.outside.max(self.cores[core].clock);
            }
        }
        self.running.pop();
        let it = &mut self.cores[core];
        if progress == Progress::Stopped {
            it.state = State::Gone;
        } else if worker.has_ready_tasks() {
            self.set_due(core, self.cores[core].clock);
        } else {
            it.state = State::Idle;
            if !was_idle || progress != Progress::Idle {
                it.clock = it.clock.saturating_add(self.costs.fall_idle());
            }
            if let Some(&(when, _)) = it.arrivals.front() {
                self.set_due(core, self.next_look(core, when));
            }
        }
    }

    /// Tasks that are bound to nothing lie where others find them: who has nothing to do looks there next. (Of those who are
    /// at work some may take them a little too early, by a part of a task.)
    fn tell_idle(&mut self, core: usize) {
        let (Some(shared), now) = (self.shared.clone(), self.cores[core].clock) else { return };
        let idle = |cores: &[Core], other: usize| cores[other].state == State::Idle;
        for at in 0..self.links[core].len() {
            let other = self.links[core][at];
            if idle(&self.cores, other) && shared.seats[other].lanes.iter().any(|lane| lane.has_hint()) {
                self.set_due(other, self.next_look(other, now));
            }
        }
        if !shared.seats[core].parcel.is_empty() {
            let (count, start) = (self.cores.len(), self.random.below(self.cores.len()));
            let around = (0..count).map(|offset| (start + offset) % count);
            let thief =
                around.filter(|&other| idle(&self.cores, other)).min_by_key(|&other| self.cores[other].clock);
            if let Some(thief) = thief {
                self.set_due(thief, self.next_look(thief, now));
            }
        }
    }

    /// The running core has taken a task out of the queue that all share. If there was none yet by its clock, it has looked
    /// until then.
    pub fn take_from_queue(&mut self, heap: usize) {
        if let (Some(&core), Some(filled)) = (self.running.last(), self.filled) {
            self.cores[core].clock = self.next_look(core, filled);
        }
        if self.in_queue() == 0 {
            self.filled = None;
        }
        self.use_queue(heap);
    }

    /// The running core puts a task into that queue, or takes one out of it.
    pub fn use_queue(&mut self, heap: usize) {
        let Some(&core) = self.running.last() else { return };
        if heap >= self.locks.len() {
            self.locks.resize_with(heap + 1, Lock::default);
        }
        let (now, past) = (self.cores[core].clock, self.least());
        let until = self.locks[heap].hold(now, self.costs.queue, past);
        self.spend(until.saturating_sub(now));
    }

    /// How many tasks are in that queue.
    fn in_queue(&self) -> usize {
        let queue = self.shared.as_ref().and_then(|shared| shared.ranked.as_ref());
        queue.filter(|queue| queue.has_tasks()).map_or(0, Ranked::len)
    }

    /// Calls as many idle cores as there are tasks in that queue: those that look first. (Who is at work may be there before
    /// them.)
    fn call_to_queue(&mut self, now: u64) {
        if self.in_queue() > 0 {
            self.filled.get_or_insert(now);
        }
        if !self.cores.iter().any(|core| core.state == State::Idle) {
            return;
        }
        let called = self.cores.iter().filter(|core| core.called).count();
        for _ in called..self.in_queue() {
            let count = self.cores.len();
            let start = self.random.below(count);
            let around = (0..count).map(|offset| (start + offset) % count);
            let idle = around.filter(|&core| self.is_idle(core));
            let Some(core) = idle.min_by_key(|&core| self.next_look(core, now)) else { return };
            self.set_due(core, self.next_look(core, now));
            self.cores[core].called = true;
        }
    }

    /// The least clock of those that have something to do: nobody does anything before that.
    fn least(&self) -> u64 {
        let due = self.due.peek().map(|&Reverse((when, _, _))| when);
        let running = self.running.iter().map(|&core| self.cores[core].clock);
        running.chain(due).min().unwrap_or(self.outside)
    }

    /// Whether a core has nothing to do.
    pub fn is_idle(&self, core: usize) -> bool {
        self.cores[core].state == State::Idle
    }

    /// Whatever was sent and is not known yet arrives now.
    pub fn arrive(&mut self) {
        let (Some(shared), now) = (self.shared.clone(), self.now()) else { return };
        for (core, seat) in shared.seats.iter().enumerate().take(self.cores.len()) {
            let waiting = seat.inbox.len();
            let it = &mut self.cores[core];
            if waiting > it.waiting {
                it.arrivals.push_back((now, waiting - it.waiting));
                it.waiting = waiting;
                if it.state == State::Idle {
                    self.set_due(core, self.next_look(core, now));
                }
            } else {
                it.forget(waiting);
            }
        }
        if shared.ranked.is_some() {
            self.call_to_queue(now);
        }
    }

    /// The running core has done a job that it took.
    pub fn job_done(&mut self, job: usize) {
        self.spend(self.costs.steal);
        self.jobs.insert(job, self.now());
    }

    /// The running core has a job back: if another one did it, then not before that was done.
    pub fn job_back(&mut self, job: usize) {
        let done = self.jobs.remove(&job);
        if let Some(&core) = self.running.last() {
            let core = &mut self.cores[core];
            match done {
                Some(done) => core.clock = core.clock.max(done),
                None => core.offered = None,
            }
        }
    }

    /// The first look of an idle core at or after a moment.
    fn next_look(&self, core: usize, moment: u64) -> u64 {
        let (clock, look) = (self.cores[core].clock, self.costs.look.max(1));
        let looks = moment.saturating_sub(clock).div_ceil(look);
        clock.saturating_add(looks.saturating_mul(look))
    }

    fn set_due(&mut self, core: usize, when: u64) {
        (self.cores[core].clock, self.cores[core].state) = (when, State::Due);
        self.due.push(Reverse((when, self.random.next(), core)));
    }
}

impl Core {
    /// The worker has taken tasks from its inbox in the midst of a task, so that only that many are there. It does not run
    /// them before they arrive.
    fn forget(&mut self, waiting: usize) {
        while self.waiting > waiting
            && let Some((when, count)) = self.arrivals.front_mut()
        {
            self.clock = self.clock.max(*when);
            let gone = (self.waiting - waiting).min(*count);
            *count -= gone;
            self.waiting -= gone;
            if *count == 0 {
                self.arrivals.pop_front();
            }
        }
    }
}
