//! The queue policies on virtual cores.

use super::executor::Executor;
use super::tally::CounterGuard;
use super::work::Work;
use crate::completion::Completion;
use std::sync::Arc;
use xtasking::platform::{Clocks, Costs, Simulation};
use xtasking::{Context, QueuePolicy, Runtime};
use xtasking_harness::failure::Wrong;

/// The result of a simulation.
pub(super) struct SimulationResult {
    /// Virtual nanoseconds until the last task ended.
    pub makespan: u64,
    /// Virtual nanoseconds that each core was busy.
    pub busy: Vec<u64>,
    /// The number of steals.
    pub steals: u64,
    /// Tasks spawned for other cores.
    pub remote_spawns: u64,
}

/// The state that all tasks of a simulation share.
struct SimulationRun {
    clocks: Clocks,
    completion: Completion<()>,
}

/// XTasking on virtual cores.
struct Virtual;

struct VirtualCx<'a> {
    cx: &'a mut Context,
    run: Arc<SimulationRun>,
}

impl Executor for Virtual {
    type Cx<'a> = VirtualCx<'a>;

    fn spawn(task: &mut VirtualCx<'_>, body: impl FnOnce(VirtualCx<'_>) + Send + 'static) {
        let run = task.run.clone();
        task.cx.task(()).spawn(move |(), cx| run.task(cx, body));
    }

    fn worker(task: &VirtualCx<'_>) -> usize {
        task.cx.worker()
    }

    fn spend(task: &mut VirtualCx<'_>, nanoseconds: u64) -> bool {
        task.run.clocks.spend(nanoseconds);
        true
    }
}

impl SimulationRun {
    fn task(self: Arc<Self>, cx: &mut Context, body: impl FnOnce(VirtualCx<'_>)) {
        body(VirtualCx { cx, run: self.clone() });
        if let Some(promise) = self.completion.end_one() {
            promise.fulfil(());
        }
    }
}

/// Runs work on a number of virtual cores.
///
/// # Errors
///
/// If a task fails or the result is wrong.
pub(super) fn simulate(
    policy: QueuePolicy,
    cores: usize,
    seed: u64,
    costs: Costs,
    work: &Work,
) -> Result<SimulationResult, Wrong> {
    let counters = CounterGuard::acquire();
    let failed = |what: &dyn std::fmt::Display| Wrong::new(what.to_string());
    let (simulation, clocks) = Simulation::with_costs(cores, 1, seed, costs);
    let rt = Runtime::builder().pool(policy).platform(simulation).counters(true).build();
    let rt = rt.map_err(|error| failed(&error))?;
    let (promise, all) = rt.promise();
    let run = Arc::new(SimulationRun {
        clocks: clocks.clone(),
        completion: Completion::new(work.tasks(), promise),
    });
    let first = work.clone();
    rt.task(()).spawn(move |(), cx| run.task(cx, |task| first.begin::<Virtual>(task)));
    all.join().map_err(|error| failed(&error))?;
    work.check(&counters.total(cores))?;
    let totals = rt.counters().expect("the runtime was built with counters");
    Ok(SimulationResult {
        makespan: clocks.makespan(),
        busy: clocks.cores().iter().map(|core| core.busy).collect(),
        steals: totals.steals,
        remote_spawns: totals.remote_spawns,
    })
}
