//! Who takes part: this runtime with each of its pools, and those whose users spawn tasks as well.

use super::crew::{Crew, Own, Rayon, Timed, Tokio};
use super::simulated::{self, Seen};
use super::tally::Turn;
use super::work::Work;
use crate::failure::Failure;
use crate::lineup::{cannot_start, start_rayon, start_tokio};
use crate::ycsb::plan::Wrong;
use std::thread;
use std::time::{Duration, Instant};
use xtasking::platform::Costs;
use xtasking::{Links, Pool, Runtime, Shutdown};

/// Workers, started anew for each piece of work.
pub(super) struct Team {
    kind: Kind,
    workers: usize,
}

enum Kind {
    Own(Pool),
    Rayon,
    Tokio,
}

/// What workers on threads were seen to do.
pub(super) struct Watched {
    /// How many nanoseconds each of them was busy.
    pub busy: Vec<u64>,
    pub time: Duration,
    /// Times that tasks were taken over, and tasks dealt out to others, as far as that is known.
    pub counted: Option<(u64, u64)>,
}

/// How much less a contender does, because a task costs it so much more.
pub(super) struct Less {
    /// So many times fewer tasks of a spawner.
    pub tasks: u64,
    /// A Fibonacci number that is so much smaller.
    pub number: u32,
}

pub(super) type Entry = crate::lineup::Entry<Team, Less>;

const ALL_OF_IT: Less = Less { tasks: 1, number: 0 };

/// All contenders. The first always takes part, and ratios are those to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "stealing",
        about: "work stealing: the youngest first, and others take the oldest",
        is_parallel: true,
        start: |workers| Ok(Team { kind: Kind::Own(Pool::WorkStealing), workers }),
        more: ALL_OF_IT,
    },
    Entry {
        name: "xqueue",
        about: "XQueue, dealing out to the next worker",
        is_parallel: true,
        start: |workers| Ok(Team { kind: Kind::Own(Pool::XQueue(Links::Next)), workers }),
        more: ALL_OF_IT,
    },
    Entry {
        name: "xqueue-v2",
        about: "XQueue, dealing out to the workers on either side",
        is_parallel: true,
        start: |workers| Ok(Team { kind: Kind::Own(Pool::XQueue(Links::Neighbours)), workers }),
        more: ALL_OF_IT,
    },
    Entry {
        name: "xqueue-vn",
        about: "XQueue, dealing out to all",
        is_parallel: true,
        start: |workers| Ok(Team { kind: Kind::Own(Pool::XQueue(Links::All)), workers }),
        more: ALL_OF_IT,
    },
    Entry {
        name: "xqueue-kautz",
        about: "XQueue, dealing out to log₂ N of N, by Kautz's graph",
        is_parallel: true,
        start: |workers| Ok(Team { kind: Kind::Own(Pool::XQueue(Links::Kautz)), workers }),
        more: ALL_OF_IT,
    },
    Entry {
        name: "local",
        about: "no task leaves the worker that has spawned it",
        is_parallel: true,
        start: |workers| Ok(Team { kind: Kind::Own(Pool::Local), workers }),
        more: ALL_OF_IT,
    },
    Entry {
        name: "rayon",
        about: "spawns of one scope",
        is_parallel: true,
        start: |workers| Ok(Team { kind: Kind::Rayon, workers }),
        more: Less { tasks: 1, number: 3 },
    },
    Entry {
        name: "tokio",
        about: "a spawned future for each task",
        is_parallel: true,
        start: |workers| Ok(Team { kind: Kind::Tokio, workers }),
        more: Less { tasks: 10, number: 6 },
    },
];

/// So long it takes until idle workers sleep, as they would where nobody has spawned for a while.
const REST: Duration = Duration::from_millis(2);

/// The body of the first task.
fn begin<C: Crew>(work: &Work) -> impl FnOnce(C::At<'_>) + Send + use<C> {
    let work = work.clone();
    move |at| work.begin::<C>(at)
}

/// The same, where workers note how long they are busy.
fn begin_timed<C: Crew>(work: &Work) -> impl FnOnce(C::At<'_>) + Send + use<C> {
    let work = work.clone();
    move |at| Timed::<C>::run(at, |at| work.begin::<Timed<C>>(at))
}

impl Team {
    fn start_own(&self, pool: Pool) -> Result<Runtime, Failure> {
        let builder = Runtime::builder().workers(self.workers).pool(pool).counters(true);
        builder.build().map_err(|error| cannot_start("xtasking", self.workers, &error))
    }

    /// How long some work takes after some other that touches all there is. A wrong result is reported in a context.
    pub(super) fn time(&self, warming: &Work, work: &Work, context: &str) -> Result<Duration, Failure> {
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        // Both in the same way, but for the wait at the end of this runtime's: to wait for it to stop is to wait for all.
        let (time, total) = match &self.kind {
            Kind::Own(pool) => {
                let rt = self.start_own(*pool)?;
                let (first, second) = (begin::<Own>(warming), begin::<Own>(work));
                {
                    let turn = Turn::begin();
                    rt.task(()).spawn(move |(), cx| first(cx));
                    turn.wait_for(warming.tasks(), self.workers).map_err(wrong)?;
                }
                thread::sleep(REST);
                let (turn, began) = (Turn::begin(), Instant::now());
                rt.task(()).spawn(move |(), cx| second(cx));
                rt.shutdown(Shutdown::Drain);
                (began.elapsed(), turn.total(self.workers))
            }
            Kind::Rayon => {
                let pool = start_rayon(self.workers)?;
                pool.scope(begin::<Rayon>(warming));
                thread::sleep(REST);
                let (turn, began) = (Turn::begin(), Instant::now());
                pool.scope(begin::<Rayon>(work));
                (began.elapsed(), turn.total(self.workers))
            }
            Kind::Tokio => {
                let pool = start_tokio(self.workers)?;
                let (first, second) = (begin::<Tokio>(warming), begin::<Tokio>(work));
                {
                    let turn = Turn::begin();
                    pool.spawn(async move { first(()) });
                    turn.wait_for(warming.tasks(), self.workers).map_err(wrong)?;
                }
                thread::sleep(REST);
                let (turn, began) = (Turn::begin(), Instant::now());
                pool.spawn(async move { second(()) });
                turn.wait_for(work.tasks(), self.workers).map_err(wrong)?;
                (began.elapsed(), turn.total(self.workers))
            }
        };
        work.check(&total).map_err(wrong)?;
        Ok(time)
    }

    /// Does some work, whose tasks note how long they take.
    pub(super) fn watch(&self, work: &Work, context: &str) -> Result<Watched, Failure> {
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        let mut counted = None;
        let turn = Turn::begin();
        let began = Instant::now();
        match &self.kind {
            Kind::Own(pool) => {
                let rt = self.start_own(*pool)?;
                let first = begin_timed::<Own>(work);
                rt.task(()).spawn(move |(), cx| first(cx));
                turn.wait_for(work.tasks(), self.workers).map_err(wrong)?;
                counted = rt.counters().map(|counters| (counters.steals, counters.remote_spawns));
            }
            Kind::Rayon => start_rayon(self.workers)?.scope(begin_timed::<Rayon>(work)),
            Kind::Tokio => {
                let pool = start_tokio(self.workers)?;
                let first = begin_timed::<Tokio>(work);
                pool.spawn(async move { first(()) });
                turn.wait_for(work.tasks(), self.workers).map_err(wrong)?;
            }
        }
        // The pools have stopped: what the last task has noted is there.
        let (time, total) = (began.elapsed(), turn.total(self.workers));
        work.check(&total).map_err(wrong)?;
        Ok(Watched { busy: total.busy, time, counted })
    }

    /// Does some work on as many virtual cores as there are workers; `None` for those that cannot.
    pub(super) fn simulate(&self, work: &Work, costs: Costs, seed: u64) -> Option<Result<Seen, Wrong>> {
        match &self.kind {
            Kind::Own(pool) => Some(simulated::simulate(*pool, self.workers, seed, costs, work)),
            _ => None,
        }
    }
}
