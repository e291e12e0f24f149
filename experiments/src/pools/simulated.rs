//! The pools on virtual cores.

use super::crew::Crew;
use super::tally::Turn;
use super::work::Work;
use crate::ycsb::plan::Wrong;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use xtasking::platform::{Clocks, Costs, Simulation};
use xtasking::{Context, Pool, Promise, Runtime};

/// What was seen on virtual cores.
pub(super) struct Seen {
    /// Virtual nanoseconds until the last task was over.
    pub makespan: u64,
    /// Virtual nanoseconds in which each core was busy.
    pub busy: Vec<u64>,
    /// Times that a core took tasks over.
    pub steals: u64,
    /// Tasks dealt out to others.
    pub remote_spawns: u64,
}

/// What tasks on virtual cores have in common.
struct Run {
    clocks: Clocks,
    /// Tasks that have not come to their end; the last one says so.
    left: AtomicU64,
    promise: Mutex<Option<Promise<()>>>,
}

/// This runtime on virtual cores.
struct Virtual;

struct At<'a> {
    cx: &'a mut Context,
    run: Arc<Run>,
}

impl Crew for Virtual {
    type At<'a> = At<'a>;

    fn spawn(at: &mut At<'_>, body: impl FnOnce(At<'_>) + Send + 'static) {
        let run = at.run.clone();
        at.cx.task(()).spawn(move |(), cx| run.task(cx, body));
    }

    fn worker(at: &At<'_>) -> usize {
        at.cx.worker()
    }

    fn spend(at: &mut At<'_>, nanoseconds: u64) -> bool {
        at.run.clocks.spend(nanoseconds);
        true
    }
}

impl Run {
    fn task(self: Arc<Self>, cx: &mut Context, body: impl FnOnce(At<'_>)) {
        body(At { cx, run: self.clone() });
        // Relaxed: a simulation has one thread.
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            let promise = self.promise.lock().unwrap_or_else(PoisonError::into_inner).take();
            promise.expect("one is the last").fulfil(());
        }
    }
}

/// Does some work on so many virtual cores.
pub(super) fn simulate(
    pool: Pool,
    cores: usize,
    seed: u64,
    costs: Costs,
    work: &Work,
) -> Result<Seen, Wrong> {
    let turn = Turn::begin();
    let failed = |what: &dyn std::fmt::Display| Wrong::new(what.to_string());
    let (simulation, clocks) = Simulation::with_costs(cores, 1, seed, costs);
    let rt = Runtime::builder().pool(pool).platform(simulation).counters(true).build();
    let rt = rt.map_err(|error| failed(&error))?;
    let (promise, all) = rt.promise();
    let run = Arc::new(Run {
        clocks: clocks.clone(),
        left: AtomicU64::new(work.tasks()),
        promise: Mutex::new(Some(promise)),
    });
    let first = work.clone();
    rt.task(()).spawn(move |(), cx| run.task(cx, |at| first.begin::<Virtual>(at)));
    all.join().map_err(|error| failed(&error))?;
    work.check(&turn.total(cores))?;
    let counted = rt.counters().expect("they are on");
    Ok(Seen {
        makespan: clocks.makespan(),
        busy: clocks.cores().iter().map(|core| core.busy).collect(),
        steals: counted.steals,
        remote_spawns: counted.remote_spawns,
    })
}
