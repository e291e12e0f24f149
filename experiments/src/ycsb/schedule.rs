//! The order in which contenders are built, loaded, run and verified.
//!
//! For every number of workers, all contenders are loaded. Then they take turns on every workload,
//! in the order A B C, A B C, …, so that other load on the machine affects all of them alike. All
//! carry out the same plans. After a workload that inserts, all contenders are loaded again.

use super::contender::{Contender, Entry};
use super::experiment::{Experiment, INSERT};
use std::sync::Arc;
use std::time::Duration;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::Turns;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::Measurement;
use xtasking_ycsb::plan::{Past, Plan};
use xtasking_ycsb::workload::Workload;

const UNIT: &str = "Mops/s";

/// The index of the case that loads the records; the workloads follow it.
const INSERT_CASE: usize = 0;

/// A step that all contenders take in turn.
#[derive(Clone, Copy)]
enum ScheduleStep {
    /// Builds an empty instance and loads it.
    Load { is_measured: bool },
    /// Runs the workload of an index once and checks all results. An audit also checks all stored
    /// entries.
    Run { workload: usize, has_audit: bool },
}

/// Returns the steps for one number of workers, including repetitions.
fn schedule(experiment: &Experiment) -> Vec<ScheduleStep> {
    let repetitions = experiment.lineup.repetitions();
    let load = ScheduleStep::Load { is_measured: experiment.measure_loads };
    let mut steps = vec![load; if experiment.measure_loads { repetitions } else { 1 }];
    let mut has_inserted = false;
    for (index, workload) in experiment.workloads.iter().enumerate() {
        if has_inserted {
            steps.push(ScheduleStep::Load { is_measured: false });
        }
        // A read-only workload changes no entries, so one audit after the last repetition suffices.
        steps.extend((1..=repetitions).map(|repetition| ScheduleStep::Run {
            workload: index,
            has_audit: workload.writes() || repetition == repetitions,
        }));
        has_inserted = workload.inserts();
    }
    steps
}

/// Returns the number of progress steps.
pub(super) fn steps(experiment: &Experiment) -> u64 {
    let turns = experiment.lineup.contenders.len() * experiment.lineup.worker_counts().len();
    (schedule(experiment).len() * turns) as u64
}

/// Runs all steps, and returns the measurements by case, workers and contender.
pub(super) fn run(experiment: &Experiment, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
    let workloads = experiment.workloads.iter().map(|workload| workload.name.clone());
    let cases: Vec<_> = [INSERT.to_string()].into_iter().chain(workloads).collect();
    let mut turns = experiment.lineup.turns(progress, UNIT, &cases);
    for &workers in experiment.lineup.worker_counts() {
        let mut instances = Instances::new(experiment, progress, workers);
        for step in schedule(experiment) {
            match step {
                ScheduleStep::Load { is_measured } => instances.load(&mut turns, is_measured)?,
                ScheduleStep::Run { workload, has_audit } => {
                    instances.run(&mut turns, workload, has_audit)?
                }
            }
        }
    }
    Ok(turns.measurements())
}

/// A contender and its loaded instance.
struct Instance {
    entry: &'static Entry,
    contender: Option<Box<dyn Contender>>,
}

/// The instances of all contenders with one number of workers.
struct Instances<'a> {
    experiment: &'a Experiment,
    progress: &'a Progress,
    workers: usize,
    all: Vec<Instance>,
    past: Past,
}

impl<'a> Instances<'a> {
    fn new(experiment: &'a Experiment, progress: &'a Progress, workers: usize) -> Self {
        let entries = experiment.lineup.contenders.iter();
        let all = entries.map(|&entry| Instance { entry, contender: None }).collect();
        Self { experiment, progress, workers, all, past: Past { records: 0, next_sequence: 0 } }
    }

    fn load(&mut self, turns: &mut Turns<'_>, is_measured: bool) -> Result<(), Failure> {
        let plan = Arc::new(Plan::load(self.experiment.keyspace, self.experiment.records, self.workers));
        for Instance { entry, contender } in &mut self.all {
            turns.turn(INSERT_CASE, entry, self.workers, |context| {
                // Drops the old instance first: both might not fit into memory.
                *contender = None;
                let new = contender.insert((entry.start)(self.experiment.settings(self.workers))?);
                let time = new.load(&plan).and_then(|time| new.verify(&plan).map(|()| time));
                let time = checked(self.experiment, context, time)?;
                Ok((is_measured && entry.more.abilities.can_insert).then(|| throughput(&plan, time)))
            })?;
        }
        self.past = plan.past();
        Ok(())
    }

    fn run(&mut self, turns: &mut Turns<'_>, workload: usize, has_audit: bool) -> Result<(), Failure> {
        let case = INSERT_CASE + 1 + workload;
        let workload: &Workload = &self.experiment.workloads[workload];
        self.progress.begin(format!("{}: preparing the requests", workload.name));
        let Experiment { keyspace, seed, .. } = *self.experiment;
        let operations = self.experiment.operations();
        let plan = Arc::new(Plan::run(keyspace, workload, operations, self.workers, self.past, seed));
        for Instance { entry, contender } in &mut self.all {
            if entry.more.abilities.refusal(workload).is_some() {
                turns.skip();
                continue;
            }
            let contender = contender.as_mut().expect("every schedule begins with a load");
            turns.turn(case, entry, self.workers, |context| {
                let mut time = contender.run(&plan);
                if has_audit {
                    time = time.and_then(|time| contender.verify(&plan).map(|()| time));
                }
                Ok(Some(throughput(&plan, checked(self.experiment, context, time)?)))
            })?;
        }
        self.past = plan.past();
        Ok(())
    }
}

/// Returns the time, or a failure that adds the context and the seed to a wrong result.
fn checked(
    experiment: &Experiment,
    context: &str,
    time: Result<Duration, Wrong>,
) -> Result<Duration, Failure> {
    let seed = experiment.seed;
    time.map_err(|wrong| Failure::Wrong { context: format!("{context}, seed {seed}"), wrong })
}

/// Returns millions of operations per second.
fn throughput(plan: &Plan, time: Duration) -> f64 {
    // A coarse clock may measure zero for a short plan.
    let microseconds = time.max(Duration::from_nanos(1)).as_secs_f64() * 1e6;
    plan.operations() as f64 / microseconds
}
