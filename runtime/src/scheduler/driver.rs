//! A worker: what a platform drives.
//!
//! There are as many [pools](Context) as there can be workers, and each pool has a *keeper*, the worker that looks after
//! it. With all workers at work each keeps one pool, has it in its hands from beginning to end, and nobody else ever
//! sees it. When there are fewer (see [`Runtime::resize`](super::Runtime::resize)), a worker keeps several and goes from
//! one to the next; those that it has not in its hands *rest* at their seats, where whoever becomes their keeper finds
//! them.
//!
//! Whoever has a pool in its hands may run its tasks, and puts it down again between two of them. The rest follows from
//! three rules. Only what lies in a worker's hands is asleep, so a pool at rest has a keeper who is awake, or who is
//! called by the one that puts it down. Only a pool at rest gets another keeper, unless all workers are told to look who
//! keeps what. And no worker that has not looked falls asleep.

use super::shared::phase;
use super::{Context, Shared};
use crate::pool::Pool;
use crate::sync::{Relaxed, SeqCst, fence, under_model, yield_now};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A worker, ready to be driven by its platform: a thread calls [`run`](Self::run), a simulation
/// [`step`](Self::step). Whatever wants to know what each task takes and still has threads that sleep calls
/// [`step_at`](Self::step_at), and [`sleep`](Self::sleep) when there is nothing to run.
pub struct Driver {
    worker: usize,
    pub(super) shared: Arc<Shared>,
    /// The pool in its hands.
    pub(super) held: Option<Box<Context>>,
    /// The pools that it keeps, as of the plan of that number.
    pub(super) keeps: Vec<usize>,
    plan: u64,
    /// Which of them is next.
    turn: usize,
}

// SAFETY: the tasks in the pools are all `Send`, and descriptors belong to whoever runs them, on any thread; between two
// steps there is no join. (A context itself must not go anywhere: a task might exchange that of another runtime for its
// own.)
unsafe impl Send for Driver {}

/// What a worker did in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It ran tasks.
    Ran(usize),
    /// It found nothing to run.
    Idle,
    /// The worker is to return: the runtime is stopped, or has been [resized](crate::Runtime::resize) to fewer workers.
    Stopped,
}

/// Tasks that a thread runs between looks at the inbox.
const BURST: usize = 32;
/// An idle worker looks this often before it sleeps: some 20 µs, longer than a round trip, shorter than a time slice. (If nobody
/// else wants its core.)
const LOOKS: u32 = under_model(2000, 1) as u32;
/// The first of these looks follow each other at once: a reply that is on its way is worth it, and a pause is long.
const EAGER_LOOKS: u32 = under_model(500, 0) as u32;
/// So many of the others lie between two moments at which a thread that has work may go before: who spawns from outside, most often.
const BETWEEN_YIELDS: u32 = 256;
/// The number of no plan.
const UNKNOWN: u64 = u64::MAX;

impl Driver {
    pub(super) fn new(worker: usize, shared: Arc<Shared>) -> Self {
        let mut driver = Self { worker, shared, held: None, keeps: Vec::new(), plan: 0, turn: 0 };
        if !driver.learn_plan() {
            // The plan has changed meanwhile. It looks again, and goes, when it is there.
            driver.plan = UNKNOWN;
        }
        if let [pool] = driver.keeps[..] {
            driver.take_up(pool);
        }
        driver
    }

    /// Index of the worker.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// The core that the worker was [told](crate::Builder::placement) to run on, by the platform's own number.
    pub fn core(&self) -> Option<usize> {
        self.shared.placement.as_ref().map(|placement| placement.sites()[self.worker].cpu as usize)
    }

    /// Whether every task of the runtime that was spawned has run.
    pub(crate) fn finds_nothing_left(&self) -> bool {
        self.shared.epochs.is_quiescent(self.shared.ledgers())
    }

    /// Drives the worker until the runtime stops, or has no use for it any more.
    pub fn run(mut self) {
        let mut idle = 0;
        loop {
            match self.step(BURST) {
                Progress::Ran(_) => idle = 0,
                Progress::Stopped => return,
                Progress::Idle if idle < LOOKS && !self.shared.platform.is_oversubscribed() => {
                    idle += 1;
                    if idle > EAGER_LOOKS {
                        if idle.is_multiple_of(BETWEEN_YIELDS) {
                            yield_now();
                        }
                        core::hint::spin_loop();
                    }
                }
                Progress::Idle => {
                    idle = 0;
                    self.sleep();
                }
            }
        }
    }

    /// Runs up to `most` tasks.
    pub fn step(&mut self, most: usize) -> Progress {
        if self.shared.staff.plan() != self.plan && !self.look_at_plan() {
            return Progress::Stopped;
        }
        let progress = match &mut self.held {
            Some(cx) if self.keeps.len() == 1 => match cx.work(most) {
                0 => cx.idle(),
                ran => return Progress::Ran(ran),
            },
            _ => self.step_round(most),
        };
        if progress == Progress::Idle && self.take_over() { Progress::Ran(0) } else { progress }
    }

    /// Takes over a whole pool that waits for a keeper who is at work elsewhere, where pools may be stolen.
    fn take_over(&mut self) -> bool {
        if self.shared.pool != Pool::WorkStealing || !self.shared.staff.is_short() {
            return false;
        }
        let Some(pool) = self.shared.find_waiting(self.worker) else { return false };
        let Some(mut taken) = self.shared.become_keeper(pool, self.worker) else { return false };
        if let Some(mut held) = self.held.take() {
            held.pass_on_hunger(&mut taken);
            self.put_down(held);
        }
        taken.holder = self.worker;
        taken.counters().steals.add(1);
        self.held = Some(taken);
        true
    }

    /// Goes from pool to pool until one has tasks.
    fn step_round(&mut self, most: usize) -> Progress {
        for _ in 0..self.keeps.len() {
            self.turn = (self.turn + 1) % self.keeps.len();
            if let Some(cx) = self.take_up(self.keeps[self.turn]) {
                let ran = cx.work(most);
                if ran > 0 {
                    return Progress::Ran(ran);
                }
            }
        }
        // So that the last one is not always the same.
        self.turn += 1;
        match &mut self.held {
            Some(cx) => cx.idle(),
            None if self.shared.phase.load(Relaxed) == phase::STOPPED => Progress::Stopped,
            None => Progress::Idle,
        }
    }

    /// Takes a pool into its hands in place of the one there. `None` if it is in the hands of somebody else.
    fn take_up(&mut self, pool: usize) -> Option<&mut Context> {
        if self.held.as_ref().is_none_or(|held| held.index != pool) {
            let mut taken = self.take_from_rest(pool)?;
            if let Some(mut held) = self.held.take() {
                held.pass_on_hunger(&mut taken);
                self.put_down(held);
            }
            self.held = Some(taken);
        }
        self.held.as_deref_mut()
    }

    fn take_from_rest(&self, pool: usize) -> Option<Box<Context>> {
        let mut taken = self.shared.take_from_rest(pool)?;
        taken.holder = self.worker;
        Some(taken)
    }

    /// Puts a pool to rest, and tells its keeper if that is another worker.
    fn put_down(&self, mut cx: Box<Context>) {
        let pool = cx.index;
        // Whoever takes it up says anew what has arrived.
        cx.arrived = None;
        cx.say_idle(false);
        cx.say_hungry(false);
        let has_tasks = cx.has_tasks();
        let may_be_stolen = self.shared.pool == Pool::WorkStealing;
        // SeqCst, with `Shared::push`: who pushes sees this, or is seen below.
        cx.seat().asleep.0.store(may_be_stolen, SeqCst);
        self.shared.put_to_rest(cx);
        let keeper = self.shared.keeper(pool);
        if keeper != self.worker {
            self.shared.platform.wake(keeper);
        }
        if may_be_stolen && (has_tasks || self.shared.seats[pool].inbox.seems_to_have_tasks()) {
            // Somebody may take it over.
            self.shared.wake_for_work(pool);
        }
    }

    /// Learns what it keeps. Whether there is any use for it.
    fn learn_plan(&mut self) -> bool {
        let (plan, wanted) = self.shared.staff.look(self.worker);
        self.plan = plan;
        self.keeps.clear();
        if wanted {
            let pools = 0..self.shared.seats.len();
            self.keeps.extend(pools.filter(|&pool| self.shared.keeper(pool) == self.worker));
        }
        wanted
    }

    /// Learns what it keeps, and lets go of the rest. `false`: there is no use for it any more.
    #[cold]
    fn look_at_plan(&mut self) -> bool {
        let wanted = self.learn_plan();
        if let Some(held) = self.held.take() {
            if self.keeps.contains(&held.index) {
                self.held = Some(held);
            } else {
                self.put_down(held);
            }
        }
        // Its pools are with their keepers, so that it can go. Perhaps it is wanted again meanwhile.
        wanted || !self.shared.staff.leave(self.worker)
    }

    /// Sleeps until somebody sends a task, offers work, or calls: as often as it takes, it has itself
    /// [put to sleep](crate::platform::Platform::park), as [`run`](Self::run) does after some looks in vain. If it does not
    /// have itself put to sleep at all, something has come already, or it has to look again when others have gone on.
    pub fn sleep(&mut self) {
        let mut pools: Vec<_> = self.held.take().into_iter().collect();
        for &pool in &self.keeps {
            pools.extend(self.take_from_rest(pool));
        }
        let mut found_something = false;
        for cx in &mut pools {
            found_something |= cx.fall_asleep();
        }
        // Pairs with the one in `Shared::put_to_rest`: either a pool of this worker's is seen to be at rest, or whoever
        // puts it there sees who keeps it, and wakes that one.
        fence(SeqCst);
        if found_something || self.is_called(pools.len()) {
            // Others have to finish first: with more workers than cores they need this one's.
            yield_now();
        } else {
            while pools.iter().all(|cx| cx.is_asleep()) && !self.is_called(pools.len()) {
                self.shared.platform.park(self.worker);
            }
        }
        for cx in &mut pools {
            cx.wake_up();
        }
        let kept = pools.pop();
        pools.into_iter().for_each(|cx| self.put_down(cx));
        self.held = kept;
    }

    /// Whether a worker that holds so many pools has to look at something else than these.
    fn is_called(&self, holds: usize) -> bool {
        let at_rest = || self.keeps.iter().any(|&pool| !self.shared.seats[pool].rest.is_empty());
        let stopped = || self.shared.phase() == phase::STOPPED;
        self.shared.staff.plan() != self.plan
            || holds < self.keeps.len() && at_rest()
            || holds == 0 && stopped()
    }
}

impl Context {
    /// Does what is done before sleeping, and says that this pool is asleep. Whether something has come meanwhile.
    fn fall_asleep(&mut self) -> bool {
        self.leave_garbage();
        if self.refused != 0 {
            // Memory has been short before: while this worker sleeps, others can use what it has.
            self.heap.flush();
        }
        self.say_idle(false);
        self.say_hungry(true);
        self.shared.epochs.go_offline(&self.ledger.0);
        self.epoch = crate::memory::OFFLINE;
        // SeqCst, with `Shared::push`: of its change to the inbox and its look at the flag on one side, and this
        // store and look at the inbox on the other, one side's second sees the other's first.
        self.seat().asleep.0.store(true, SeqCst);
        // The last to fall asleep takes care of what the others left, or what was dropped outside meanwhile.
        let last = self.shared.awake.fetch_sub(1, SeqCst) == 1;
        let garbage = last && self.shared.has_orphans.load(SeqCst);
        // SAFETY: this is the inbox's worker.
        let tasks = !planted!("sleep-without-second-look") && unsafe { self.inbox().may_have_tasks() };
        // With the one in `Context::offer`.
        fence(SeqCst);
        self.collect(true);
        let work = self.sees_offer() || self.sees_parcel();
        if self.shared.phase() != phase::OPEN {
            // Of the workers that finish last, each having counted its tasks before its fence, one sees all the counts.
            fence(SeqCst);
            self.shared.tell_if_drained();
        }
        // From lanes, or from another keeper who had not run all of them.
        let left = self.has_tasks() && !planted!("sleep-with-tasks-left");
        let found_something = garbage || tasks || left || work || self.shared.phase() == phase::STOPPED;
        if !found_something {
            self.counters.0.sleeps.add(1);
            self.observe_sleep();
        }
        found_something
    }

    /// Whether nobody has woken this pool since it fell asleep.
    fn is_asleep(&self) -> bool {
        self.seat().asleep.0.load(SeqCst)
    }

    fn wake_up(&mut self) {
        self.observe_waking();
        self.seat().asleep.0.store(false, SeqCst);
        self.shared.awake.fetch_add(1, SeqCst);
    }
}

impl Drop for Driver {
    /// A worker that could not be started may hold a pool, which others will look after. And between the end of a runtime
    /// and that of its workers a pool may be put to rest of which its keeper knew nothing.
    fn drop(&mut self) {
        if let Some(cx) = self.held.take() {
            self.shared.put_to_rest(cx);
        }
        if self.shared.phase() == phase::STOPPED {
            self.shared.clear_rest();
        }
    }
}
