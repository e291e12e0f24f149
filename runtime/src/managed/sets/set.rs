//! One set of functions: how they are taken, run and waited for.
//!
//! - The functions are dealt to *partitions*, one for each worker that is to take part.
//! - Each partition has a *runner*: a task that takes one function, runs it, and spawns itself
//!   again. When its partition is empty it takes from the others, and so does a thread that waits.
//! - A function is taken by one atomic addition to the counter of its partition, which mostly one
//!   worker uses.
//! - Each runner counts the functions that it has finished. A thread that finds no more to take
//!   reads all counters, and ends the set if all functions are over.
//!
//! So no word is shared by all workers on the path of a function.

use super::SetId;
use super::requests::Requests;
use crate::scheduler::{Context, Runtime, Worker};
use crate::sync::{AtomicUsize, Padded, Relaxed, SeqCst, UnsafeCell};
use crate::task::failure::FirstFailure;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Sink, catch, drop_quietly};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::type_name;

/// A set without the type of its functions.
pub(super) trait AnySet: Send + Sync {
    /// Runs all functions that no thread has taken.
    fn run_remaining(&self);
    /// Takes the first failure of the set.
    fn take_failure(&self) -> Option<JoinError>;
}

pub(super) struct Set<F> {
    requests: Arc<Requests>,
    id: SetId,
    /// The rank of its functions.
    rank: u16,
    bodies: Box<[UnsafeCell<Option<F>>]>,
    partitions: Box<[Padded<Partition>]>,
    /// Functions that are over and were run by waiters, or dropped.
    over_by_helpers: AtomicUsize,
    /// Partitions whose runner was not refused.
    runners: AtomicUsize,
    failure: FirstFailure,
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
    /// Makes a set and gives it an id.
    pub fn new(
        bodies: impl IntoIterator<Item = F>,
        requests: &Arc<Requests>,
        rank: u16,
        is_awaited: bool,
    ) -> Arc<Self> {
        let bodies: Box<[_]> = bodies.into_iter().map(|body| UnsafeCell::new(Some(body))).collect();
        let (count, partitions) = (bodies.len(), requests.shared.slots.len().min(bodies.len()));
        let partition = |partition| {
            let begin = |partition: usize| count / partitions * partition + partition.min(count % partitions);
            Padded(Partition {
                next: AtomicUsize::new(begin(partition)),
                end: begin(partition + 1),
                ..Partition::default()
            })
        };
        let id = requests.reserve(is_awaited);
        let set = Arc::new(Self {
            requests: requests.clone(),
            id,
            rank,
            bodies,
            partitions: (0..partitions).map(partition).collect(),
            over_by_helpers: AtomicUsize::new(0),
            runners: AtomicUsize::new(partitions),
            failure: FirstFailure::default(),
        });
        requests.add_set(id, set.clone());
        set.end_if_over();
        set
    }

    pub fn id(&self) -> SetId {
        self.id
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
            let error = JoinError::panicked_in(type_name::<F>(), payload);
            self.failure.note(error, &self.requests.shared, worker);
        }
    }

    /// Drops the functions that no thread has taken.
    fn abandon(&self, partition: usize, why: fn() -> JoinError) {
        let mut dropped = 0;
        while let Some(body) = self.take(partition) {
            drop_quietly(body);
            if dropped == 0 {
                self.failure.note(why(), &self.requests.shared, None);
            }
            dropped += 1;
        }
        // SeqCst: as in `end_if_over`.
        self.over_by_helpers.fetch_add(dropped, SeqCst);
        self.end_if_over();
    }

    /// Ends the set if all functions are over. A thread that has counted a function calls this
    /// afterwards, at the latest when it finds no more to take.
    fn end_if_over(&self) {
        // SeqCst: each thread counts and then reads all counters; in the total order, the last one
        // to count reads all counts.
        let partitions = self.partitions.iter().map(|Padded(partition)| partition.over.load(SeqCst));
        if partitions.sum::<usize>() + self.over_by_helpers.load(SeqCst) == self.bodies.len() {
            self.requests.end_set(self.id);
        }
    }
}

impl<F: FnOnce() + Send + 'static> AnySet for Set<F> {
    fn run_remaining(&self) {
        let Some(last) = self.partitions.len().checked_sub(1) else { return };
        let mut ran = 0;
        while let Some(body) = self.take(last) {
            self.run(body, None);
            ran += 1;
        }
        // SeqCst: as in `end_if_over`.
        self.over_by_helpers.fetch_add(ran, SeqCst);
        self.end_if_over();
    }

    fn take_failure(&self) -> Option<JoinError> {
        self.failure.take()
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
            // SeqCst: as in `end_if_over`. Its Release pairs with the loads there: a waiter sees
            // what the function did.
            let order = if planted!("set-over-early") { Relaxed } else { SeqCst };
            over.store(over.load(Relaxed) + 1, order);
        }
        let has_more = found && set.has_more(*partition);
        if !has_more && !planted!("set-wakes-none") {
            set.end_if_over();
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

    fn refuse(self, origin: &impl Origin, why: JoinError) {
        match origin.on_worker() {
            // No memory for the next task: continues in this one.
            Some(worker) => while self.step(worker) {},
            // When the last runner is refused, no task is left to run the functions.
            None if self.set.runners.fetch_sub(1, Relaxed) == 1 => {
                self.set.abandon(self.partition, why.repeated());
            }
            None => {}
        }
    }
}
