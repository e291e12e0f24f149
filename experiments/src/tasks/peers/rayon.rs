//! Rayon. It has no annotations: a task goes to another worker when that one steals it.

use crate::tasks::stage::Stage;
use crate::tasks::tally::expect;
use crate::ycsb::plan::Wrong;
use rayon::Scope;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Time = Result<Duration, Wrong>;

/// Tasks that wait at once, as many as in the case of this runtime.
const CHUNK: u64 = 128;

thread_local! {
    /// Tasks that have run on this thread.
    static RAN: Cell<u64> = const { Cell::new(0) };
}

/// A task leaves its trace.
#[inline(always)]
fn trace() {
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
            rayon::scope(|scope| (0..now).for_each(|_| scope.spawn(|_| trace())));
            left -= now;
        }
        began.elapsed()
    });
    counted(stage, tasks, time)
}

/// Tasks of one worker, a chunk at a time.
pub(in crate::tasks) fn local(stage: &Stage, tasks: u64) -> Time {
    chunks(stage, tasks, CHUNK)
}

/// Tasks of one worker, all in one scope; others steal.
pub(in crate::tasks) fn deep(stage: &Stage, tasks: u64) -> Time {
    chunks(stage, tasks, tasks)
}

/// One task after another.
pub(in crate::tasks) fn chain(stage: &Stage, tasks: u64) -> Time {
    fn link(scope: &Scope<'_>, left: u64) {
        trace();
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

/// Where two workers steal a task from each other.
struct Rally {
    legs: u64,
    /// The last leg that has begun.
    begun: AtomicU64,
    /// The worker that it began on.
    worker: AtomicUsize,
    /// How often a leg stayed where it was.
    astray: AtomicU64,
}

impl Rally {
    /// A leg spawns the next one and leaves that to a thief: until it is gone, the worker takes nothing else.
    fn leg<'s>(&'s self, scope: &Scope<'s>, number: u64) {
        let worker = rayon::current_thread_index().unwrap_or(usize::MAX);
        if self.worker.swap(worker, Ordering::Relaxed) == worker {
            self.astray.fetch_add(1, Ordering::Relaxed);
        }
        self.begun.store(number, Ordering::Release);
        if number == self.legs {
            return;
        }
        scope.spawn(move |scope| self.leg(scope, number + 1));
        let mut looks = 0u32;
        while self.begun.load(Ordering::Acquire) <= number {
            looks += 1;
            std::hint::spin_loop();
            // The thief may have lost its core.
            if looks.is_multiple_of(1 << 14) {
                thread::yield_now();
            }
        }
    }
}

/// To another worker and back, which are two thefts.
pub(in crate::tasks) fn round_trip(stage: &Stage, trips: u64) -> Time {
    let (begun, astray) = (AtomicU64::new(0), AtomicU64::new(0));
    let rally = Rally { legs: 2 * trips, begun, worker: AtomicUsize::new(usize::MAX), astray };
    let time = stage.rayon().install(|| {
        let began = Instant::now();
        rayon::scope(|scope| rally.leg(scope, 1));
        began.elapsed()
    });
    expect("last leg", rally.begun.into_inner(), rally.legs)?;
    expect("tasks on the wrong worker", rally.astray.into_inner(), 0)?;
    Ok(time)
}

/// Tasks spawned by a thread that is no worker.
pub(in crate::tasks) fn external(stage: &Stage, tasks: u64) -> Time {
    let began = Instant::now();
    stage.rayon().in_place_scope(|scope| (0..tasks).for_each(|_| scope.spawn(|_| trace())));
    let time = began.elapsed();
    counted(stage, tasks, time)
}

/// A thread that is no worker waits for each task before it spawns the next.
pub(in crate::tasks) fn install(stage: &Stage, tasks: u64) -> Time {
    let began = Instant::now();
    for index in 0..tasks {
        expect("result of a task", stage.rayon().install(move || index), index)?;
    }
    Ok(began.elapsed())
}
