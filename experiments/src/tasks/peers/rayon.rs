//! The cases on rayon. It has no annotations: a task moves to another worker only if that one
//! steals it.

use super::spin::spin_until;
use crate::tasks::stage::Stage;
use crate::tasks::tally::expect;
use rayon::Scope;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;

type Time = Result<Duration, Wrong>;

/// Tasks spawned at a time, as in the cases on XTasking.
const CHUNK: u64 = 128;

thread_local! {
    /// Number of tasks that ran on this thread.
    static RAN: Cell<u64> = const { Cell::new(0) };
}

/// Counts a task.
#[inline(always)]
fn count() {
    RAN.with(|ran| ran.set(ran.get() + 1));
}

/// Checks that all tasks have run.
fn counted(stage: &Stage, tasks: u64, time: Duration) -> Time {
    let ran = stage.rayon().broadcast(|_| RAN.take()).into_iter().sum();
    expect("tasks that ran", ran, tasks)?;
    Ok(time)
}

fn chunks(stage: &Stage, tasks: u64, chunk: u64) -> Time {
    let time = stage.rayon().install(|| {
        let began = Instant::now();
        let mut left = tasks;
        while left > 0 {
            let now = left.min(chunk);
            rayon::scope(|scope| (0..now).for_each(|_| scope.spawn(|_| count())));
            left -= now;
        }
        began.elapsed()
    });
    counted(stage, tasks, time)
}

/// One worker spawns and runs tasks, a chunk at a time.
pub(in crate::tasks) fn local(stage: &Stage, tasks: u64) -> Time {
    chunks(stage, tasks, CHUNK)
}

/// One worker spawns all tasks in one scope; other workers steal.
pub(in crate::tasks) fn deep(stage: &Stage, tasks: u64) -> Time {
    chunks(stage, tasks, tasks)
}

/// A chain of tasks, each of which spawns the next.
pub(in crate::tasks) fn chain(stage: &Stage, tasks: u64) -> Time {
    fn link(scope: &Scope<'_>, left: u64) {
        count();
        if left > 1 {
            scope.spawn(move |scope| link(scope, left - 1));
        }
    }
    let time = stage.rayon().install(|| {
        let began = Instant::now();
        rayon::scope(|scope| link(scope, tasks));
        began.elapsed()
    });
    counted(stage, tasks, time)
}

/// Two workers that steal a task from each other.
struct Rally {
    legs: u64,
    /// The number of the last task that has begun.
    begun: AtomicU64,
    /// The worker on which it began.
    worker: AtomicUsize,
    /// Tasks that ran on the worker that spawned them.
    misplaced: AtomicU64,
}

impl Rally {
    /// Spawns the next task and spins until another worker has stolen it.
    fn leg<'s>(&'s self, scope: &Scope<'s>, number: u64) {
        let worker = rayon::current_thread_index().unwrap_or(usize::MAX);
        if self.worker.swap(worker, Ordering::Relaxed) == worker {
            self.misplaced.fetch_add(1, Ordering::Relaxed);
        }
        self.begun.store(number, Ordering::Release);
        if number == self.legs {
            return;
        }
        scope.spawn(move |scope| self.leg(scope, number + 1));
        // Acquire pairs with the Release of the next task.
        spin_until(|| (self.begun.load(Ordering::Acquire) > number).then_some(()));
    }
}

/// Round trips to another worker and back, by two steals each.
pub(in crate::tasks) fn round_trip(stage: &Stage, trips: u64) -> Time {
    let (begun, misplaced) = (AtomicU64::new(0), AtomicU64::new(0));
    let rally = Rally { legs: 2 * trips, begun, worker: AtomicUsize::new(usize::MAX), misplaced };
    let time = stage.rayon().install(|| {
        let began = Instant::now();
        rayon::scope(|scope| rally.leg(scope, 1));
        began.elapsed()
    });
    expect("last leg", rally.begun.into_inner(), rally.legs)?;
    expect("tasks on the wrong worker", rally.misplaced.into_inner(), 0)?;
    Ok(time)
}

/// Tasks spawned by a thread outside the pool.
pub(in crate::tasks) fn external(stage: &Stage, tasks: u64) -> Time {
    let began = Instant::now();
    stage.rayon().in_place_scope(|scope| (0..tasks).for_each(|_| scope.spawn(|_| count())));
    let time = began.elapsed();
    counted(stage, tasks, time)
}

/// A thread outside the pool waits for each task before it spawns the next.
pub(in crate::tasks) fn install(stage: &Stage, tasks: u64) -> Time {
    let began = Instant::now();
    for index in 0..tasks {
        expect("result of a task", stage.rayon().install(move || index), index)?;
    }
    Ok(began.elapsed())
}
