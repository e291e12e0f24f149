//! The tasks that run requests.
//!
//! Without statistics a *runner* takes a request, runs it, and spawns itself again; there is at
//! most one for each run queue. So an enqueuer spawns a task only if a runner is idle. As long as
//! requests take less than a microsecond, a runner runs several in a row: [`Turns`]. With
//! statistics each request is a task of its own, so that it is counted and timed as one.

use super::SetId;
use super::cursor::Cursor;
use super::requests::Requests;
use crate::pool::QueuePolicy;
use crate::scheduler::{Context, Runtime, RuntimeState, Worker};
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Sink, Spawner};
use alloc::sync::Arc;

/// The body of a runner. The work is done by its sink, because a sink is returned if there is no
/// memory to spawn the next task.
fn run_requests((): (), _: &mut Context) {}

impl Requests {
    /// Gets a new request to run. A runner that was idle gets this rank.
    #[inline(always)]
    pub fn start(self: &Arc<Self>, id: SetId, rank: Option<u16>, runtime: &Runtime) {
        if self.shared.constant_observer().is_some() {
            let request = OneRequest { requests: self.clone(), id };
            runtime.task(()).rank_or_default(rank).spawn_into(run_requests, request);
        } else if self.runners.has_idle() {
            self.start_runner(rank, runtime);
        }
    }

    #[inline(never)]
    fn start_runner(self: &Arc<Self>, rank: Option<u16>, runtime: &Runtime) {
        let Some(index) = self.runners.claim_any(self.shared.next_for_task()) else { return };
        let (requests, turns) = (self.clone(), Turns::default());
        let runner = Runner { requests, index, rank, cursor: Cursor::default(), turns };
        runner.spawn(runtime);
    }
}

/// A task that takes one request, runs it, and spawns itself again.
struct Runner {
    requests: Arc<Requests>,
    index: usize,
    rank: Option<u16>,
    cursor: Cursor,
    turns: Turns,
}

/// How many requests a runner runs in a row.
#[derive(Default)]
struct Turns {
    /// The last turn was short: this one may have [`MOST_IN_TURN`] requests.
    is_brief: bool,
    /// When the last turn ended.
    ended: u64,
}

/// The most requests in a turn. Other tasks of the worker wait meanwhile.
const MOST_IN_TURN: u32 = 16;
/// Nanoseconds of a brief turn, for each request.
const BRIEF: u64 = 1000;

impl Turns {
    /// Returns the number of requests to run in this turn.
    fn next(&self, shared: &RuntimeState) -> u32 {
        // In a ranked queue another task may be more urgent after each request. The watchdog
        // measures each as a task. A runtime that ends may drop those that have not begun.
        let may_be_many =
            self.is_brief && shared.ranked.is_none() && shared.posts.is_none() && !shared.is_shutting_down();
        if may_be_many { MOST_IN_TURN } else { 1 }
    }

    /// Ends a turn with this many requests.
    fn end(&mut self, requests: u32, shared: &RuntimeState) {
        let now = shared.platform.now();
        self.is_brief = now.saturating_sub(self.ended) < u64::from(requests) * BRIEF;
        self.ended = now;
    }
}

impl Runner {
    /// Spawns the next turn.
    #[inline(always)]
    fn spawn(self, spawner: impl Spawner) {
        // The next request uses nothing that this one has read.
        let task = spawner.task(()).rank_or_default(self.rank).begin_operation();
        // Where no other worker can take a task, each runner has a run queue of its own. Else it
        // might wait behind another runner, in the queue of a worker that is busy for long, while a
        // second worker is idle.
        let is_movable =
            matches!(self.requests.shared.policy, QueuePolicy::WorkStealing | QueuePolicy::Ranked(_));
        let task = if is_movable { task } else { task.core(self.index as u16) };
        task.spawn_into(run_requests, self);
    }

    /// Runs the requests of one turn. Returns true if there are more, and false if the runner is
    /// idle now.
    #[inline(always)]
    fn turn(&mut self, worker: usize) -> bool {
        let requests = self.turns.next(&self.requests.shared);
        let has_more = (0..requests).all(|_| self.step(worker));
        if has_more {
            self.turns.end(requests, &self.requests.shared);
        }
        has_more
    }

    /// Runs one request. Returns true if there are more, and false if the runner became idle.
    #[inline(always)]
    fn step(&mut self, worker: usize) -> bool {
        let Self { requests, index, cursor, .. } = self;
        let ran = requests.run_next(cursor, worker);
        if ran && (requests.knows_more(cursor) || requests.has_more()) {
            return true;
        }
        requests.leave_block(cursor);
        requests.runners.release(*index);
        requests.has_more() && requests.runners.claim(*index)
    }
}

impl Sink<()> for Runner {
    fn start(&self, _: &mut Worker) -> Result<(), JoinError> {
        Ok(())
    }

    fn complete(mut self, outcome: Result<(), JoinError>, cx: &mut Worker) {
        if outcome.is_err() {
            self.requests.runners.release(self.index);
            self.requests.abandon_all(self.cursor, || JoinError::Cancelled);
        } else if self.turn(cx.index()) {
            self.spawn(Context::of(cx));
        }
    }

    fn refuse(mut self, origin: &impl Origin, why: JoinError) {
        match origin.on_worker() {
            // No memory for the next task: continues in this one.
            Some(worker) => while self.step(worker) {},
            None => {
                self.requests.runners.release(self.index);
                // If no runner is left, no task will run the requests.
                if self.requests.runners.are_all_idle(self.requests.shared.slots.len()) {
                    self.requests.abandon_all(self.cursor, why.repeated());
                }
            }
        }
    }
}

/// A task that runs one request.
struct OneRequest {
    requests: Arc<Requests>,
    id: SetId,
}

impl OneRequest {
    fn abandon(&self, why: JoinError) {
        let Self { requests, id } = self;
        requests.take_one(*id, |function| requests.abandon(*id, function, why));
    }
}

impl Sink<()> for OneRequest {
    fn start(&self, _: &mut Worker) -> Result<(), JoinError> {
        Ok(())
    }

    fn complete(self, outcome: Result<(), JoinError>, cx: &mut Worker) {
        let Self { requests, id } = &self;
        match outcome {
            Ok(()) => {
                let worker = Some(cx.index());
                requests.take_one(*id, |function| requests.run(*id, function, worker));
            }
            Err(why) => self.abandon(why),
        }
    }

    fn refuse(self, _: &impl Origin, why: JoinError) {
        self.abandon(why);
    }
}
