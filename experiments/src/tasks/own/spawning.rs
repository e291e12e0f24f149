//! Tasks without objects.

use super::{CHUNK, Gate, Stage, drive, failed};
use crate::tasks::tally::{self, expect};
use crate::ycsb::plan::Wrong;
use std::time::{Duration, Instant};
use xtasking::{Context, Promise};

type Time = Result<Duration, Wrong>;

/// Spawns a task that does nothing but leave a trace.
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

/// Tasks of one worker, a chunk at a time.
pub(in crate::tasks) fn local(stage: &Stage, tasks: u64) -> Time {
    counted(stage, tasks, CHUNK, |cx, _| empty(cx))
}

/// Tasks of one worker, all of them waiting before the first one runs.
pub(in crate::tasks) fn deep(stage: &Stage, tasks: u64) -> Time {
    counted(stage, tasks, tasks, |cx, _| empty(cx))
}

/// Tasks of one worker that carry so much that their descriptors are of the next size.
pub(in crate::tasks) fn large(stage: &Stage, tasks: u64) -> Time {
    counted(stage, tasks, CHUNK, |cx, index| {
        let load = [index; 8];
        cx.task(()).spawn(move |(), cx| tally::add(cx.worker(), u64::from(load[0] == load[7])));
    })
}

/// Tasks of one worker that say on which worker they want to run: on this one.
pub(in crate::tasks) fn annotated(stage: &Stage, tasks: u64) -> Time {
    counted(stage, tasks, CHUNK, |cx, _| cx.task(()).core(0).spawn(|(), cx| tally::add(cx.worker(), 1)))
}

/// One worker spawns for all of them in turn.
pub(in crate::tasks) fn spread(stage: &Stage, tasks: u64) -> Time {
    let workers = stage.workers as u64;
    counted(stage, tasks, CHUNK, move |cx, index| {
        cx.task(()).core((index % workers) as u16).spawn(|(), cx| tally::add(cx.worker(), 1));
    })
}

/// A task that goes on as another one, again and again.
struct Chain {
    left: u32,
    /// How often it was not on the worker that it should have been on.
    astray: u32,
    began: Instant,
    promise: Promise<(Duration, u32)>,
}

impl Chain {
    /// Goes on here.
    fn here(mut self, cx: &mut Context) {
        if self.left == 0 {
            return self.promise.fulfil((self.began.elapsed(), self.astray));
        }
        self.left -= 1;
        cx.task(()).spawn(move |(), cx| self.here(cx));
    }

    /// Goes on at the other one of two workers.
    fn across(mut self, cx: &mut Context) {
        self.astray += u32::from(cx.worker() as u32 != self.left % 2);
        if self.left == 0 {
            return self.promise.fulfil((self.began.elapsed(), self.astray));
        }
        self.left -= 1;
        cx.task(()).core((self.left % 2) as u16).spawn(move |(), cx| self.across(cx));
    }

    /// Runs one from worker 0, and gives its time.
    fn run(stage: &Stage, links: u64, begin: fn(Self, &mut Context)) -> Time {
        let (promise, handle) = stage.own.promise();
        let left = links as u32;
        stage.own.task(()).core(0).spawn(move |(), cx| {
            begin(Self { left, astray: 0, began: Instant::now(), promise }, cx);
        });
        let (time, astray) = handle.join().map_err(failed)?;
        expect("tasks on the wrong worker", astray.into(), 0)?;
        Ok(time)
    }
}

/// One task after another.
pub(in crate::tasks) fn chain(stage: &Stage, tasks: u64) -> Time {
    Chain::run(stage, tasks, Chain::here)
}

/// To the other worker and back.
pub(in crate::tasks) fn round_trip(stage: &Stage, trips: u64) -> Time {
    Chain::run(stage, 2 * trips, Chain::across)
}

/// Tasks spawned by a thread that is no worker.
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

/// A thread that is no worker waits for each task before it spawns the next.
pub(in crate::tasks) fn submit_join(stage: &Stage, tasks: u64) -> Time {
    let began = Instant::now();
    for index in 0..tasks {
        let result = stage.own.task(()).submit(move |(), _| index).join().map_err(failed)?;
        expect("result of a task", result, index)?;
    }
    Ok(began.elapsed())
}
