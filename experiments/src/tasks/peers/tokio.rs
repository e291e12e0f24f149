//! The cases on tokio, whose tasks are futures.

use crate::tasks::stage::Stage;
use crate::tasks::tally::expect;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use tokio::task::yield_now;
use xtasking_harness::failure::Wrong;

type Time = Result<Duration, Wrong>;

/// Tasks spawned at a time, as in the cases on XTasking.
const CHUNK: u64 = 128;

/// A counter of pending tasks. All share it, as tokio has no cheaper way to learn of the last one.
struct Countdown {
    left: AtomicU64,
    began: Instant,
    ended: AtomicU64,
    waiting: Thread,
}

impl Countdown {
    fn new(tasks: u64) -> Arc<Self> {
        let (left, ended) = (AtomicU64::new(tasks), AtomicU64::new(0));
        Arc::new(Self { left, began: Instant::now(), ended, waiting: thread::current() })
    }

    /// Counts one task as done.
    fn count(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ended.store(self.began.elapsed().as_nanos() as u64, Ordering::Release);
            self.waiting.unpark();
        }
    }

    /// Waits for the last task, and returns the time from the start to its end.
    fn wait(&self) -> Time {
        loop {
            let ended = self.ended.load(Ordering::Acquire);
            if ended != 0 {
                expect("tasks that did not run", self.left.load(Ordering::Relaxed), 0)?;
                return Ok(Duration::from_nanos(ended));
            }
            thread::park();
        }
    }
}

fn chunks(stage: &Stage, tasks: u64, chunk: u64) -> Time {
    let countdown = Countdown::new(tasks);
    let spawner = countdown.clone();
    stage.tokio().spawn(async move {
        for index in 0..tasks {
            let countdown = spawner.clone();
            tokio::spawn(async move { countdown.count() });
            if (index + 1) % chunk == 0 {
                yield_now().await;
            }
        }
    });
    countdown.wait()
}

/// One worker spawns and runs tasks, a chunk at a time.
pub(in crate::tasks) fn local(stage: &Stage, tasks: u64) -> Time {
    chunks(stage, tasks, CHUNK)
}

/// One worker spawns all tasks at once; other workers steal.
pub(in crate::tasks) fn deep(stage: &Stage, tasks: u64) -> Time {
    chunks(stage, tasks, tasks)
}

/// A chain of tasks, each spawned and awaited.
pub(in crate::tasks) fn chain(stage: &Stage, tasks: u64) -> Time {
    let runtime = stage.tokio();
    let chain = runtime.spawn(async move {
        let (began, mut sum) = (Instant::now(), 0);
        for _ in 0..tasks {
            sum += tokio::spawn(async { 1 }).await.unwrap_or(0);
        }
        (began.elapsed(), sum)
    });
    let (time, sum) = runtime.block_on(chain).map_err(|error| Wrong::new(error.to_string()))?;
    expect("tasks that ran", sum, tasks)?;
    Ok(time)
}

/// Tasks spawned by a thread outside the runtime.
pub(in crate::tasks) fn external(stage: &Stage, tasks: u64) -> Time {
    let countdown = Countdown::new(tasks);
    for _ in 0..tasks {
        let countdown = countdown.clone();
        stage.tokio().spawn(async move { countdown.count() });
    }
    countdown.wait()
}

/// A thread outside the runtime waits for each task before it spawns the next.
pub(in crate::tasks) fn spawn_await(stage: &Stage, tasks: u64) -> Time {
    let runtime = stage.tokio();
    let began = Instant::now();
    for index in 0..tasks {
        let result = runtime.block_on(runtime.spawn(async move { index }));
        expect("result of a task", result.map_err(|error| Wrong::new(error.to_string()))?, index)?;
    }
    Ok(began.elapsed())
}
