//! One set: its functions, who takes them, and who waits.
//!
//! The functions are dealt to *lanes*, one for each worker that is to take part. In each lane goes a *runner*, a task that
//! takes one function, runs it, and spawns itself again; when its lane is empty it takes from the others', and so does a
//! thread that waits. A function is taken by one atomic addition to the counter of its lane, which mostly one worker
//! uses. What is over each runner counts for itself; whoever finds nothing more to take looks whether all is over, and
//! wakes who waits. Nothing is shared by all workers on the way of a function.

use crate::platform::this_thread;
use crate::scheduler::{Context, Runtime, Shared};
use crate::sync::{AtomicUsize, Padded, Relaxed, SeqCst, SpinMutex, UnsafeCell};
use crate::task::failure::FirstFailure;
use crate::task::{JoinError, Sink, Spawner, catch, quietly};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::take;
use core::task::Waker;

/// What is known of a set whose functions' type is not.
pub(super) trait Help: Send + Sync {
    /// Runs all functions that nobody has taken.
    fn help(&self);
    /// Waits for those that others have taken; `false` if the caller must not.
    fn wait(&self) -> bool;
    /// Whether all functions are over.
    fn is_over(&self) -> bool;
    /// What the set has failed with.
    fn take_failure(&self) -> Option<JoinError>;
}

pub(super) struct Set<F> {
    shared: Arc<Shared>,
    /// How urgent its functions are.
    rank: u16,
    bodies: Box<[UnsafeCell<Option<F>>]>,
    lanes: Box<[Padded<Lane>]>,
    /// Functions over that were run by those who wait.
    helped: AtomicUsize,
    /// Lanes whose runner is not refused.
    runners: AtomicUsize,
    failure: FirstFailure,
    sleepers: SpinMutex<Vec<Waker>>,
    /// The threads that run functions of the set while they wait.
    helpers: SpinMutex<Vec<usize>>,
}

/// Functions next to each other.
#[derive(Default)]
struct Lane {
    /// The next one that nobody has taken, or more than `end`.
    next: AtomicUsize,
    end: usize,
    /// Functions over that were run by the lane's runner, which alone writes this.
    over: AtomicUsize,
}

// SAFETY: a function is moved to the thread that takes it, and only to that; all else is shared by atomics and locks.
unsafe impl<F: Send> Sync for Set<F> {}

impl<F: FnOnce() + Send + 'static> Set<F> {
    pub fn new(bodies: impl IntoIterator<Item = F>, runtime: &Runtime, rank: u16) -> Arc<Self> {
        let bodies: Box<[_]> = bodies.into_iter().map(|body| UnsafeCell::new(Some(body))).collect();
        let (count, lanes) = (bodies.len(), runtime.workers().min(bodies.len()));
        let lane = |lane| {
            let begin = |lane: usize| count / lanes * lane + lane.min(count % lanes);
            Padded(Lane { next: AtomicUsize::new(begin(lane)), end: begin(lane + 1), ..Lane::default() })
        };
        Arc::new(Self {
            shared: runtime.shared().clone(),
            rank,
            bodies,
            lanes: (0..lanes).map(lane).collect(),
            helped: AtomicUsize::new(0),
            runners: AtomicUsize::new(lanes),
            failure: FirstFailure::default(),
            sleepers: SpinMutex::default(),
            helpers: SpinMutex::default(),
        })
    }

    /// Sends the runners on their way.
    pub fn send(set: &Arc<Self>, runtime: &Runtime) {
        for lane in 0..set.lanes.len() {
            runtime
                .task(())
                .rank(set.rank)
                .spawn_into(run_a_function_of_a_set, Runner { set: set.clone(), lane });
        }
    }

    /// Takes a function, from that lane if it has any.
    fn take(&self, lane: usize) -> Option<F> {
        let (before, from) = self.lanes.split_at(lane);
        let index = from.iter().chain(before).find_map(|Padded(lane)| {
            // Not only by the addition: the counter must not overflow.
            let may_have = lane.next.load(Relaxed) < lane.end;
            let take = || {
                if planted!("function-taken-twice") {
                    let index = lane.next.load(Relaxed);
                    lane.next.store(index + 1, Relaxed);
                    return index;
                }
                lane.next.fetch_add(1, Relaxed)
            };
            may_have.then(take).filter(|&index| index < lane.end)
        })?;
        // SAFETY: this index was handed out once, here. What the function owns was handed over with the set.
        self.bodies[index].with_mut(|body| unsafe { (*body).take() })
    }

    /// Whether a look finds something to take.
    fn has_more(&self, lane: usize) -> bool {
        let (before, from) = self.lanes.split_at(lane);
        from.iter().chain(before).any(|Padded(lane)| lane.next.load(Relaxed) < lane.end)
    }

    fn run(&self, body: F, worker: Option<usize>) {
        if let Err(payload) = catch(body) {
            self.failure.note(JoinError::panicked(payload), &self.shared, worker);
        }
    }

    /// Drops what nobody has taken.
    fn abandon(&self, lane: usize, why: fn() -> JoinError) {
        let mut dropped = 0;
        while let Some(body) = self.take(lane) {
            quietly(|| drop(body));
            if dropped == 0 {
                self.failure.note(why(), &self.shared, None);
            }
            dropped += 1;
        }
        // SeqCst: as in `look`.
        self.helped.fetch_add(dropped, SeqCst);
        self.look();
    }

    /// Wakes who waits if all is over. Who has counted something calls this afterwards, at the latest when there is
    /// nothing more to take.
    fn look(&self) {
        // SeqCst: of all who count and then look, the last to count sees what the others have counted.
        if self.is_over() {
            let sleepers = take(&mut *self.sleepers.lock());
            // A waker is not ours.
            sleepers.into_iter().for_each(|waker| quietly(|| waker.wake()));
        }
    }
}

impl<F: FnOnce() + Send + 'static> Help for Set<F> {
    fn help(&self) {
        let Some(last) = self.lanes.len().checked_sub(1) else { return };
        let this = this_thread();
        self.helpers.lock().push(this);
        let mut ran = 0;
        while let Some(body) = self.take(last) {
            self.run(body, None);
            ran += 1;
        }
        let mut helpers = self.helpers.lock();
        if let Some(at) = helpers.iter().rposition(|&helper| helper == this) {
            helpers.swap_remove(at);
        }
        drop(helpers);
        // SeqCst: as in `look`.
        self.helped.fetch_add(ran, SeqCst);
        self.look();
    }

    fn wait(&self) -> bool {
        if self.is_over() {
            return true;
        }
        // A function of the set, run by this thread, would wait for itself.
        if self.helpers.lock().contains(&this_thread()) {
            return false;
        }
        let waited = self.shared.platform.block(&mut |waker| {
            if !self.is_over() {
                let mut sleepers = self.sleepers.lock();
                if !sleepers.iter().any(|known| known.will_wake(waker)) {
                    sleepers.push(waker.clone());
                }
            }
            // Again: who looked before the waker was there has counted before that.
            self.is_over()
        });
        waited.is_ok()
    }

    fn is_over(&self) -> bool {
        let lanes = self.lanes.iter().map(|Padded(lane)| lane.over.load(SeqCst));
        lanes.sum::<usize>() + self.helped.load(SeqCst) == self.bodies.len()
    }

    fn take_failure(&self) -> Option<JoinError> {
        self.failure.take()
    }
}

impl<F> Drop for Set<F> {
    fn drop(&mut self) {
        if let Some(error) = self.failure.take() {
            // Nobody has waited.
            self.shared.report(error, None);
        }
    }
}

/// The body of a runner: what it has to do is done by its sink, which gets itself back if there is no memory to go on.
fn run_a_function_of_a_set((): (), _: &mut Context) {}

/// A task that runs one function after the other.
struct Runner<F> {
    set: Arc<Set<F>>,
    lane: usize,
}

impl<F: FnOnce() + Send + 'static> Runner<F> {
    /// Runs one function. Whether there is more.
    fn step(&self, worker: usize) -> bool {
        let Self { set, lane } = self;
        let body = set.take(*lane);
        let found = body.is_some();
        if let Some(body) = body {
            set.run(body, Some(worker));
            let over = &set.lanes[*lane].0.over;
            // SeqCst: as in `look`. Also Release, with the loads of `is_over`: who waits sees what the function did.
            let order = if planted!("set-over-early") { Relaxed } else { SeqCst };
            over.store(over.load(Relaxed) + 1, order);
        }
        let has_more = found && set.has_more(*lane);
        if !has_more && !planted!("set-wakes-nobody") {
            set.look();
        }
        has_more
    }
}

impl<F: FnOnce() + Send + 'static> Sink<()> for Runner<F> {
    fn start(&self, _: &mut Context) -> Result<(), JoinError> {
        Ok(())
    }

    fn complete(self, outcome: Result<(), JoinError>, cx: &mut Context) {
        if outcome.is_err() {
            self.set.abandon(self.lane, || JoinError::Cancelled);
        } else if self.step(cx.worker()) {
            // Nothing that a function has found is used by the next one.
            let rank = self.set.rank;
            cx.task(()).rank(rank).begin_operation().spawn_into(run_a_function_of_a_set, self);
        }
    }

    fn refuse(self, spawner: &impl Spawner) {
        match spawner.on_worker() {
            // Goes on in the same task.
            Some(worker) => while self.step(worker) {},
            // The last one that is refused leaves nobody.
            None if self.set.runners.fetch_sub(1, Relaxed) == 1 => {
                self.set.abandon(self.lane, || JoinError::OutOfMemory);
            }
            None => {}
        }
    }
}
