//! Tasks without objects.

use super::{CHUNK, Gate, Stage, drive, failed};
use crate::tasks::tally::{self, expect};
use std::time::{Duration, Instant};
use xtasking::{Context, Promise};
use xtasking_harness::failure::Wrong;

type Time = Result<Duration, Wrong>;

/// Spawns a task that only counts itself.
#[inline(always)]
pub(super) fn empty(cx: &mut Context) {
    cx.task(()).spawn(|(), cx| tally::add(cx.worker(), 1));
}

fn counted(
    stage: &Stage,
    tasks: u64,
    chunk: u64,
    spawn: impl Fn(&mut Context, u64) + Clone + Send + 'static,
) -> Time {
    let outcome = drive(&stage.own, 1, tasks, chunk, spawn)?;
    expect("tasks that ran", outcome.tally, tasks)?;
    Ok(outcome.time)
}

/// One worker spawns and runs tasks, a chunk at a time.
pub(in crate::tasks) fn local(stage: &Stage, tasks: u64) -> Time {
    counted(stage, tasks, CHUNK, |cx, _| empty(cx))
}

/// One worker spawns all tasks before the first one runs.
pub(in crate::tasks) fn deep(stage: &Stage, tasks: u64) -> Time {
    counted(stage, tasks, tasks, |cx, _| empty(cx))
}

/// Tasks of one worker that capture 64 bytes, which needs the next size of descriptors.
pub(in crate::tasks) fn large(stage: &Stage, tasks: u64) -> Time {
    counted(stage, tasks, CHUNK, |cx, index| {
        let data = [index; 8];
        cx.task(()).spawn(move |(), cx| tally::add(cx.worker(), u64::from(data[0] == data[7])));
    })
}

/// Tasks of one worker, annotated with this worker.
pub(in crate::tasks) fn annotated(stage: &Stage, tasks: u64) -> Time {
    counted(stage, tasks, CHUNK, |cx, _| cx.task(()).core(0).spawn(|(), cx| tally::add(cx.worker(), 1)))
}

/// One worker spawns tasks for all workers in turn.
pub(in crate::tasks) fn spread(stage: &Stage, tasks: u64) -> Time {
    let workers = stage.workers as u64;
    counted(stage, tasks, CHUNK, move |cx, index| {
        cx.task(()).core((index % workers) as u16).spawn(|(), cx| tally::add(cx.worker(), 1));
    })
}

/// A chain of tasks, each of which spawns the next.
struct Chain {
    left: u32,
    /// Tasks that did not run on the worker they were annotated with.
    misplaced: u32,
    began: Instant,
    promise: Promise<(Duration, u32)>,
}

impl Chain {
    /// Continues on this worker.
    fn here(mut self, cx: &mut Context) {
        if self.left == 0 {
            return self.promise.fulfil((self.began.elapsed(), self.misplaced));
        }
        self.left -= 1;
        cx.task(()).spawn(move |(), cx| self.here(cx));
    }

    /// Continues on the other of two workers.
    fn across(mut self, cx: &mut Context) {
        self.misplaced += u32::from(cx.worker() as u32 != self.left % 2);
        if self.left == 0 {
            return self.promise.fulfil((self.began.elapsed(), self.misplaced));
        }
        self.left -= 1;
        cx.task(()).core((self.left % 2) as u16).spawn(move |(), cx| self.across(cx));
    }

    /// Runs a chain from worker 0, and returns its time.
    fn run(stage: &Stage, links: u64, begin: fn(Self, &mut Context)) -> Time {
        let (promise, handle) = stage.own.promise();
        let left = links as u32;
        stage.own.task(()).core(0).spawn(move |(), cx| {
            begin(Self { left, misplaced: 0, began: Instant::now(), promise }, cx);
        });
        let (time, misplaced) = handle.join().map_err(failed)?;
        expect("tasks on the wrong worker", misplaced.into(), 0)?;
        Ok(time)
    }
}

/// A chain of tasks on one worker.
pub(in crate::tasks) fn chain(stage: &Stage, tasks: u64) -> Time {
    Chain::run(stage, tasks, Chain::here)
}

/// A chain of tasks that alternates between two workers.
pub(in crate::tasks) fn round_trip(stage: &Stage, trips: u64) -> Time {
    Chain::run(stage, 2 * trips, Chain::across)
}

/// Tasks spawned by a thread outside the runtime.
pub(in crate::tasks) fn external(stage: &Stage, tasks: u64) -> Time {
    let rt = &stage.own;
    let (gate, handle) = Gate::new(rt, rt.workers());
    gate.begin();
    for _ in 0..tasks {
        rt.task(()).spawn(|(), cx| tally::add(cx.worker(), 1));
    }
    gate.close(|worker, gate| rt.task(()).core(worker).spawn(move |(), cx| gate.pass(cx)), rt.workers());
    let outcome = gate.wait(handle)?;
    expect("tasks that ran", outcome.tally, tasks)?;
    Ok(outcome.time)
}

/// A thread outside the runtime waits for each task before it spawns the next.
pub(in crate::tasks) fn submit_join(stage: &Stage, tasks: u64) -> Time {
    let began = Instant::now();
    for index in 0..tasks {
        let result = stage.own.task(()).submit(move |(), _| index).join().map_err(failed)?;
        expect("result of a task", result, index)?;
    }
    Ok(began.elapsed())
}
