//! One set of functions: how they are taken, run and waited for.
//!
//! - The functions are dealt to *partitions*, one for each worker that is to take part.
//! - Each partition has a *runner*: a task that takes one function, runs it, and spawns itself
//!   again. When its partition is empty it takes from the others, and so does a thread that waits.
//! - A function is taken by one atomic addition to the counter of its partition, which mostly one
//!   worker uses.
//! - Each runner counts the functions that it has finished. A thread that finds no more to take
//!   reads all counters, and wakes the waiters if all functions are over.
//!
//! So no word is shared by all workers on the path of a function.

use crate::platform::this_thread;
use crate::scheduler::{Context, Runtime, RuntimeState, Worker};
use crate::sync::{AtomicUsize, Padded, Relaxed, SeqCst, SpinMutex, UnsafeCell};
use crate::task::failure::FirstFailure;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Sink, catch, quietly};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::take;
use core::task::Waker;

/// A set without the type of its functions.
pub(super) trait AnySet: Send + Sync {
    /// Runs all functions that no thread has taken.
    fn run_remaining(&self);
    /// Waits for the functions that other threads have taken. Returns false if the caller must not
    /// wait.
    fn wait(&self) -> bool;
    /// Returns true if all functions are over.
    fn is_over(&self) -> bool;
    /// Takes the first failure of the set.
    fn take_failure(&self) -> Option<JoinError>;
}

pub(super) struct Set<F> {
    shared: Arc<RuntimeState>,
    /// The rank of its functions.
    rank: u16,
    bodies: Box<[UnsafeCell<Option<F>>]>,
    partitions: Box<[Padded<Partition>]>,
    /// Functions that are over and were run by waiters, or dropped.
    over_by_helpers: AtomicUsize,
    /// Partitions whose runner was not refused.
    runners: AtomicUsize,
    failure: FirstFailure,
    waiters: SpinMutex<Vec<Waker>>,
    /// The threads that run functions of the set while they wait for it.
    helpers: SpinMutex<Vec<usize>>,
}

/// A range of the functions.
#[derive(Default)]
struct Partition {
    /// The next function that no thread has taken, or a number beyond `end`.
    next: AtomicUsize,
    end: usize,
    /// Functions that are over and were run by the partition's runner, which alone writes this.
    over: AtomicUsize,
}

// SAFETY: a function moves to the thread that takes it, and no other thread accesses it. All else
// is shared by atomics and locks.
unsafe impl<F: Send> Sync for Set<F> {}

impl<F: FnOnce() + Send + 'static> Set<F> {
    pub fn new(bodies: impl IntoIterator<Item = F>, runtime: &Runtime, rank: u16) -> Arc<Self> {
        let bodies: Box<[_]> = bodies.into_iter().map(|body| UnsafeCell::new(Some(body))).collect();
        let (count, partitions) = (bodies.len(), runtime.workers().min(bodies.len()));
        let partition = |partition| {
            let begin = |partition: usize| count / partitions * partition + partition.min(count % partitions);
            Padded(Partition {
                next: AtomicUsize::new(begin(partition)),
                end: begin(partition + 1),
                ..Partition::default()
            })
        };
        Arc::new(Self {
            shared: runtime.shared().clone(),
            rank,
            bodies,
            partitions: (0..partitions).map(partition).collect(),
            over_by_helpers: AtomicUsize::new(0),
            runners: AtomicUsize::new(partitions),
            failure: FirstFailure::default(),
            waiters: SpinMutex::default(),
            helpers: SpinMutex::default(),
        })
    }

    /// Spawns the runners.
    pub fn spawn_runners(set: &Arc<Self>, runtime: &Runtime) {
        for partition in 0..set.partitions.len() {
            runtime
                .task(())
                .rank(set.rank)
                .spawn_into(run_a_function_of_a_set, Runner { set: set.clone(), partition });
        }
    }

    /// Takes a function, from this partition if it has any, else from another.
    fn take(&self, partition: usize) -> Option<F> {
        let (before, from) = self.partitions.split_at(partition);
        let index = from.iter().chain(before).find_map(|Padded(partition)| {
            // Checked before the addition, so that the counter does not overflow.
            let may_have = partition.next.load(Relaxed) < partition.end;
            let take = || {
                if planted!("function-taken-twice") {
                    let index = partition.next.load(Relaxed);
                    partition.next.store(index + 1, Relaxed);
                    return index;
                }
                partition.next.fetch_add(1, Relaxed)
            };
            may_have.then(take).filter(|&index| index < partition.end)
        })?;
        // SAFETY: `fetch_add` hands each index out once. The functions were written before the set
        // was shared.
        self.bodies[index].with_mut(|body| unsafe { (*body).take() })
    }

    /// Returns true if a partition has functions that no thread has taken.
    fn has_more(&self, partition: usize) -> bool {
        let (before, from) = self.partitions.split_at(partition);
        from.iter().chain(before).any(|Padded(partition)| partition.next.load(Relaxed) < partition.end)
    }

    fn run(&self, body: F, worker: Option<usize>) {
        if let Err(payload) = catch(body) {
            self.failure.note(JoinError::panicked(payload), &self.shared, worker);
        }
    }

    /// Drops the functions that no thread has taken.
    fn abandon(&self, partition: usize, why: fn() -> JoinError) {
        let mut dropped = 0;
        while let Some(body) = self.take(partition) {
            quietly(|| drop(body));
            if dropped == 0 {
                self.failure.note(why(), &self.shared, None);
            }
            dropped += 1;
        }
        // SeqCst: as in `wake_if_over`.
        self.over_by_helpers.fetch_add(dropped, SeqCst);
        self.wake_if_over();
    }

    /// Wakes the waiters if all functions are over. A thread that has counted a function calls this
    /// afterwards, at the latest when it finds no more to take.
    fn wake_if_over(&self) {
        // SeqCst: each thread counts and then reads all counters; in the total order, the last one
        // to count reads all counts.
        if self.is_over() {
            let waiters = take(&mut *self.waiters.lock());
            // Quietly: a waker is user code.
            waiters.into_iter().for_each(|waker| quietly(|| waker.wake()));
        }
    }
}

impl<F: FnOnce() + Send + 'static> AnySet for Set<F> {
    fn run_remaining(&self) {
        let Some(last) = self.partitions.len().checked_sub(1) else { return };
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
        // SeqCst: as in `wake_if_over`.
        self.over_by_helpers.fetch_add(ran, SeqCst);
        self.wake_if_over();
    }

    fn wait(&self) -> bool {
        if self.is_over() {
            return true;
        }
        // This thread runs a function of the set, which would wait for itself.
        if self.helpers.lock().contains(&this_thread()) {
            return false;
        }
        let waited = self.shared.platform.block(&mut |waker| {
            if !self.is_over() {
                let mut waiters = self.waiters.lock();
                if !waiters.iter().any(|known| known.will_wake(waker)) {
                    waiters.push(waker.clone());
                }
            }
            // Read again: a function that ended before the waker was pushed did not wake it.
            self.is_over()
        });
        waited.is_ok()
    }

    fn is_over(&self) -> bool {
        let partitions = self.partitions.iter().map(|Padded(partition)| partition.over.load(SeqCst));
        partitions.sum::<usize>() + self.over_by_helpers.load(SeqCst) == self.bodies.len()
    }

    fn take_failure(&self) -> Option<JoinError> {
        self.failure.take()
    }
}

impl<F> Drop for Set<F> {
    fn drop(&mut self) {
        if let Some(error) = self.failure.take() {
            // Nothing has waited for the set.
            self.shared.report(error, None);
        }
    }
}

/// The body of a runner. The work is done by its sink, because a sink is returned if there is no
/// memory to spawn the next task.
fn run_a_function_of_a_set((): (), _: &mut Context) {}

/// A task that takes one function, runs it, and spawns itself again.
struct Runner<F> {
    set: Arc<Set<F>>,
    partition: usize,
}

impl<F: FnOnce() + Send + 'static> Runner<F> {
    /// Runs one function. Returns true if there are more.
    fn step(&self, worker: usize) -> bool {
        let Self { set, partition } = self;
        let body = set.take(*partition);
        let found = body.is_some();
        if let Some(body) = body {
            set.run(body, Some(worker));
            let over = &set.partitions[*partition].0.over;
            // SeqCst: as in `wake_if_over`. Its Release pairs with the loads of `is_over`: a waiter
            // sees what the function did.
            let order = if planted!("set-over-early") { Relaxed } else { SeqCst };
            over.store(over.load(Relaxed) + 1, order);
        }
        let has_more = found && set.has_more(*partition);
        if !has_more && !planted!("set-wakes-none") {
            set.wake_if_over();
        }
        has_more
    }
}

impl<F: FnOnce() + Send + 'static> Sink<()> for Runner<F> {
    fn start(&self, _: &mut Worker) -> Result<(), JoinError> {
        Ok(())
    }

    fn complete(self, outcome: Result<(), JoinError>, cx: &mut Worker) {
        if outcome.is_err() {
            self.set.abandon(self.partition, || JoinError::Cancelled);
        } else if self.step(cx.index()) {
            // The next function uses nothing that this one has read.
            let rank = self.set.rank;
            Context::of(cx).task(()).rank(rank).begin_operation().spawn_into(run_a_function_of_a_set, self);
        }
    }

    fn refuse(self, origin: &impl Origin) {
        match origin.on_worker() {
            // No memory for the next task: continues in this one.
            Some(worker) => while self.step(worker) {},
            // When the last runner is refused, no task is left to run the functions.
            None if self.set.runners.fetch_sub(1, Relaxed) == 1 => {
                self.set.abandon(self.partition, || JoinError::OutOfMemory);
            }
            None => {}
        }
    }
}
