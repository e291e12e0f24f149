//! The contenders: this runtime with each of its queue policies, and other libraries with spawned
//! tasks.

use super::executor::{Executor, Rayon, Spinning, Timed, Tokio, Xtasking};
use super::simulated::{self, SimulationResult};
use super::tally::CounterGuard;
use super::work::Work;
use std::time::{Duration, Instant};
use xtasking::platform::Costs;
use xtasking::{
    QueuePolicy, Runtime, Shutdown,
    queues::{RankOrder, Topology},
};
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{cannot_start, settle, start_rayon, start_tokio};
use xtasking_harness::page;

/// A kind and number of workers, which are started anew for each run.
pub(super) struct Team {
    kind: TeamKind,
    workers: usize,
}

enum TeamKind {
    Xtasking(QueuePolicy),
    Rayon,
    Tokio,
}

/// The loads of workers on threads.
pub(super) struct Observation {
    /// Nanoseconds that each worker was busy.
    pub busy: Vec<u64>,
    /// Wall-clock time of the run.
    pub time: Duration,
    /// Steals, and tasks spawned for other workers, if the runtime counts them.
    pub transfers: Option<(u64, u64)>,
}

/// The amount by which a contender does less, because its tasks are expensive.
pub(super) struct Reduction {
    /// The divisor of the number of tasks that the spawner spawns.
    pub tasks: u64,
    /// The amount by which the Fibonacci number is smaller.
    pub number: u32,
}

pub(super) type Entry = xtasking_harness::lineup::Entry<Team, Reduction>;

/// The reduction of most contenders.
pub(super) const NO_REDUCTION: Reduction = Reduction { tasks: 1, number: 0 };

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "stealing",
        about: "work stealing: a worker runs its newest task, thieves take the oldest",
        is_parallel: true,
        start: |workers| Ok(Team { kind: TeamKind::Xtasking(QueuePolicy::WorkStealing), workers }),
        more: NO_REDUCTION,
    },
    Entry {
        name: "xqueue",
        about: "XQueue, tasks are dealt out to the next worker",
        is_parallel: true,
        start: |workers| Ok(Team { kind: TeamKind::Xtasking(QueuePolicy::XQueue(Topology::Next)), workers }),
        more: NO_REDUCTION,
    },
    Entry {
        name: "xqueue-v2",
        about: "XQueue, tasks are dealt out to both neighbours",
        is_parallel: true,
        start: |workers| {
            Ok(Team { kind: TeamKind::Xtasking(QueuePolicy::XQueue(Topology::Neighbours)), workers })
        },
        more: NO_REDUCTION,
    },
    Entry {
        name: "xqueue-vn",
        about: "XQueue, tasks are dealt out to all workers",
        is_parallel: true,
        start: |workers| Ok(Team { kind: TeamKind::Xtasking(QueuePolicy::XQueue(Topology::All)), workers }),
        more: NO_REDUCTION,
    },
    Entry {
        name: "xqueue-kautz",
        about: "XQueue, tasks are dealt out to log₂ N of N workers, by a Kautz graph",
        is_parallel: true,
        start: |workers| Ok(Team { kind: TeamKind::Xtasking(QueuePolicy::XQueue(Topology::Kautz)), workers }),
        more: NO_REDUCTION,
    },
    Entry {
        name: "shared",
        about: "one queue that all workers share, in exact order of ranks",
        is_parallel: true,
        start: |workers| {
            Ok(Team { kind: TeamKind::Xtasking(QueuePolicy::Ranked(RankOrder::Exact)), workers })
        },
        more: Reduction { tasks: 10, number: 6 },
    },
    Entry {
        name: "local",
        about: "no load balancing: tasks stay on the worker that spawned them",
        is_parallel: true,
        start: |workers| Ok(Team { kind: TeamKind::Xtasking(QueuePolicy::Local), workers }),
        more: NO_REDUCTION,
    },
    Entry {
        name: "rayon",
        about: "rayon, spawns in one scope",
        is_parallel: true,
        start: |workers| Ok(Team { kind: TeamKind::Rayon, workers }),
        more: Reduction { tasks: 1, number: 3 },
    },
    Entry {
        name: "tokio",
        about: "tokio, a spawned future for each task",
        is_parallel: true,
        start: |workers| Ok(Team { kind: TeamKind::Tokio, workers }),
        more: Reduction { tasks: 10, number: 6 },
    },
];

/// Returns the body of the first task.
fn begin<C: Executor>(work: &Work) -> impl FnOnce(C::Cx<'_>) + Send + use<C> {
    let work = work.clone();
    move |at| work.begin::<C>(at)
}

/// Returns the body of the first task, with tasks that record how long they run.
fn begin_timed<C: Executor>(work: &Work) -> impl FnOnce(C::Cx<'_>) + Send + use<C> {
    let work = work.clone();
    move |at| Timed::<C>::run(at, |at| work.begin::<Timed<C>>(at))
}

impl Team {
    fn start_xtasking(&self, policy: QueuePolicy) -> Result<Runtime, Failure> {
        let builder = Runtime::builder().workers(self.workers).pool(policy).counters(true);
        page::start(builder).map_err(|error| cannot_start("xtasking", self.workers, &error))
    }

    /// Runs `warm_up`, then measures the time of `work`.
    ///
    /// # Errors
    ///
    /// If the workers cannot be started, or the result is wrong; `context` describes the run.
    pub(super) fn time(&self, warm_up: &Work, work: &Work, context: &str) -> Result<Duration, Failure> {
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        // XTasking is measured until it has shut down, which waits for all tasks.
        let (time, total) = match &self.kind {
            TeamKind::Xtasking(policy) => {
                let rt = self.start_xtasking(*policy)?;
                let (first, second) = (begin::<Xtasking>(warm_up), begin::<Xtasking>(work));
                {
                    let counters = CounterGuard::acquire();
                    rt.task(()).spawn(move |(), cx| first(cx));
                    counters.wait_for(warm_up.tasks(), self.workers).map_err(wrong)?;
                }
                settle();
                let (counters, began) = (CounterGuard::acquire(), Instant::now());
                rt.task(()).spawn(move |(), cx| second(cx));
                rt.shutdown(Shutdown::Drain);
                (began.elapsed(), counters.total(self.workers))
            }
            TeamKind::Rayon => {
                let pool = start_rayon(self.workers)?;
                pool.scope(begin::<Rayon>(warm_up));
                settle();
                let (counters, began) = (CounterGuard::acquire(), Instant::now());
                pool.scope(begin::<Rayon>(work));
                (began.elapsed(), counters.total(self.workers))
            }
            TeamKind::Tokio => {
                let pool = start_tokio(self.workers)?;
                let (first, second) = (begin::<Tokio>(warm_up), begin::<Tokio>(work));
                {
                    let counters = CounterGuard::acquire();
                    pool.spawn(async move { first(()) });
                    counters.wait_for(warm_up.tasks(), self.workers).map_err(wrong)?;
                }
                settle();
                let (counters, began) = (CounterGuard::acquire(), Instant::now());
                pool.spawn(async move { second(()) });
                counters.wait_for(work.tasks(), self.workers).map_err(wrong)?;
                (began.elapsed(), counters.total(self.workers))
            }
        };
        work.check(&total).map_err(wrong)?;
        Ok(time)
    }

    /// Runs work whose tasks record how long they run.
    ///
    /// # Errors
    ///
    /// If the workers cannot be started, or the result is wrong; `context` describes the run.
    pub(super) fn watch(&self, work: &Work, context: &str) -> Result<Observation, Failure> {
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        let mut transfers = None;
        let counters = CounterGuard::acquire();
        // The clock starts when the workers have.
        let began;
        match &self.kind {
            TeamKind::Xtasking(policy) => {
                let rt = self.start_xtasking(*policy)?;
                began = Instant::now();
                let first = begin_timed::<Xtasking>(work);
                rt.task(()).spawn(move |(), cx| first(cx));
                counters.wait_for(work.tasks(), self.workers).map_err(wrong)?;
                transfers = rt.counters().map(|all| (all.steals, all.remote_spawns));
            }
            TeamKind::Rayon => {
                let pool = start_rayon(self.workers)?;
                began = Instant::now();
                pool.scope(begin_timed::<Rayon>(work));
            }
            TeamKind::Tokio => {
                let pool = start_tokio(self.workers)?;
                began = Instant::now();
                let first = begin_timed::<Tokio>(work);
                pool.spawn(async move { first(()) });
                counters.wait_for(work.tasks(), self.workers).map_err(wrong)?;
            }
        }
        // All workers have stopped, so the records of the last task are complete.
        let (time, total) = (began.elapsed(), counters.total(self.workers));
        work.check(&total).map_err(wrong)?;
        Ok(Observation { busy: total.busy, time, transfers })
    }

    /// Measures the time of work whose tasks spin as long as they would take on virtual cores;
    /// `None` if this kind has no simulation.
    pub(super) fn spin(&self, work: &Work) -> Option<Result<Duration, Failure>> {
        let TeamKind::Xtasking(policy) = &self.kind else { return None };
        Some(self.start_xtasking(*policy).and_then(|rt| {
            let first = begin::<Spinning>(work);
            settle();
            let (counters, began) = (CounterGuard::acquire(), Instant::now());
            rt.task(()).spawn(move |(), cx| first(cx));
            rt.shutdown(Shutdown::Drain);
            let time = began.elapsed();
            let checked = work.check(&counters.total(self.workers));
            checked.map(|()| time).map_err(|wrong| Failure::Wrong { context: "spinning tasks".into(), wrong })
        }))
    }

    /// Runs work on as many virtual cores as there are workers; `None` if this kind has no
    /// simulation.
    pub(super) fn simulate(
        &self,
        work: &Work,
        costs: Costs,
        seed: u64,
    ) -> Option<Result<SimulationResult, Wrong>> {
        match &self.kind {
            TeamKind::Xtasking(policy) => Some(simulated::simulate(*policy, self.workers, seed, costs, work)),
            _ => None,
        }
    }
}
