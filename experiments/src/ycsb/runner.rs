//! The order in which things are built, loaded, run and verified.
//!
//! For every number of workers, all contenders are loaded, and then they take turns: A B C, A B C, … for every workload,
//! so that whatever else the machine is doing meets them all alike. All carry out the same plan. After a workload that
//! inserts, the next one begins with freshly loaded contenders.

use super::experiment::{Experiment, INSERT};
use super::plan::{Past, Plan, Wrong};
use super::workload::Workload;
use crate::contenders::{Contender, Entry};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::Measurement;
use std::sync::Arc;
use std::time::Duration;

const UNIT: &str = "Mops/s";

/// What all contenders do in turn.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// Begin anew with an empty instance, and load it.
    Load { measured: bool },
    /// Run a workload once. All results are checked in any case; an audit also looks at everything that is there.
    Run { workload: &'a Workload, audit: bool },
}

/// The steps for one number of workers, repetitions included.
fn schedule(experiment: &Experiment) -> Vec<Step<'_>> {
    let load = Step::Load { measured: experiment.measure_loads };
    let loads = if experiment.measure_loads { experiment.repetitions } else { 1 };
    let mut steps = vec![load; loads];
    let mut inserted = false;
    for workload in &experiment.workloads {
        if inserted {
            steps.push(Step::Load { measured: false });
        }
        // What only reads cannot lose anything: one audit after its last repetition is enough.
        steps.extend((1..=experiment.repetitions).map(|repetition| Step::Run {
            workload,
            audit: workload.writes() || repetition == experiment.repetitions,
        }));
        inserted = workload.inserts();
    }
    steps
}

/// How many steps of progress there are.
pub(super) fn steps(experiment: &Experiment) -> u64 {
    let turns = experiment.contenders.len() * experiment.worker_counts.len();
    (schedule(experiment).len() * turns) as u64
}

/// Runs everything, and gives the measurements by case, workers and contender.
pub(super) fn run(experiment: &Experiment, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
    let mut samples = Vec::new();
    for &workers in &experiment.worker_counts {
        let mut turn = Turn {
            experiment,
            progress,
            workers,
            instances: experiment
                .contenders
                .iter()
                .map(|entry| Instance { entry, contender: None })
                .collect(),
            past: Past { records: 0, next_sequence: 0 },
            samples: &mut samples,
        };
        for step in schedule(experiment) {
            match step {
                Step::Load { measured } => turn.load(measured)?,
                Step::Run { workload, audit } => turn.run(workload, audit)?,
            }
        }
    }
    Ok(summarise(experiment, samples))
}

/// One measurement of one repetition.
struct Sample {
    case: String,
    workers: usize,
    implementation: &'static str,
    mops: f64,
}

struct Instance {
    entry: &'static Entry,
    contender: Option<Box<dyn Contender>>,
}

/// All steps with one number of workers.
struct Turn<'a> {
    experiment: &'a Experiment,
    progress: &'a Progress,
    workers: usize,
    instances: Vec<Instance>,
    past: Past,
    samples: &'a mut Vec<Sample>,
}

impl Turn<'_> {
    fn load(&mut self, measured: bool) -> Result<(), Failure> {
        let plan = Arc::new(Plan::load(self.experiment.keyspace, self.experiment.records, self.workers));
        let settings = self.experiment.settings(self.workers);
        for place in 0..self.instances.len() {
            let entry = self.instances[place].entry;
            self.progress.begin(self.describe(entry, INSERT));
            // The old instance goes before the new one comes: they might not fit into memory together.
            self.instances[place].contender = None;
            let mut contender = (entry.build)(&settings);
            let time = contender.load(&plan).and_then(|time| contender.verify(&plan).map(|()| time));
            self.instances[place].contender = Some(contender);
            let time = self.checked(entry, INSERT, time)?;
            if measured && entry.abilities.inserts {
                self.record(entry, INSERT, &plan, time);
            }
            self.progress.advance();
        }
        self.past = plan.past();
        Ok(())
    }

    fn run(&mut self, workload: &Workload, audit: bool) -> Result<(), Failure> {
        self.progress.begin(format!("{}: preparing the requests", workload.name));
        let Experiment { keyspace, seed, .. } = *self.experiment;
        let operations = self.experiment.operations();
        let plan = Arc::new(Plan::run(keyspace, workload, operations, self.workers, self.past, seed));
        for place in 0..self.instances.len() {
            let Instance { entry, contender } = &mut self.instances[place];
            let (entry, contender) = (*entry, contender.as_mut().expect("every schedule begins with a load"));
            if entry.abilities.refuse(workload).is_none() {
                let name = &workload.name;
                self.progress.begin(describe(entry, name, self.workers));
                let mut time = contender.run(&plan);
                if audit {
                    time = time.and_then(|time| contender.verify(&plan).map(|()| time));
                }
                let time = self.checked(entry, name, time)?;
                self.record(entry, name, &plan, time);
            }
            self.progress.advance();
        }
        self.past = plan.past();
        Ok(())
    }

    fn checked(&self, entry: &Entry, case: &str, time: Result<Duration, Wrong>) -> Result<Duration, Failure> {
        time.map_err(|wrong| {
            let seed = self.experiment.seed;
            Failure::Wrong { context: format!("{}, seed {seed}", self.describe(entry, case)), wrong }
        })
    }

    fn record(&mut self, entry: &Entry, case: &str, plan: &Plan, time: Duration) {
        // Nothing takes no time at all, but a clock may be too coarse to tell.
        let microseconds = time.max(Duration::from_nanos(1)).as_secs_f64() * 1e6;
        let mops = plan.operations() as f64 / microseconds;
        self.progress.measured(&self.describe(entry, case), mops, UNIT);
        self.samples.push(Sample {
            case: case.to_string(),
            workers: self.workers,
            implementation: entry.name,
            mops,
        });
    }

    fn describe(&self, entry: &Entry, case: &str) -> String {
        describe(entry, case, self.workers)
    }
}

fn describe(entry: &Entry, case: &str, workers: usize) -> String {
    let noun = if workers == 1 { "worker" } else { "workers" };
    format!("{} on {case} with {workers} {noun}", entry.name)
}

/// Gathers the repetitions, and orders them as they are asked for.
fn summarise(experiment: &Experiment, samples: Vec<Sample>) -> Vec<Measurement> {
    let cases =
        std::iter::once(INSERT).chain(experiment.workloads.iter().map(|workload| workload.name.as_str()));
    let mut measurements = Vec::new();
    for case in cases {
        for &workers in &experiment.worker_counts {
            for entry in &experiment.contenders {
                let of_this = |sample: &&Sample| {
                    sample.case == case && sample.workers == workers && sample.implementation == entry.name
                };
                let mops: Vec<_> = samples.iter().filter(of_this).map(|sample| sample.mops).collect();
                if !mops.is_empty() {
                    measurements.push(Measurement::new(case.to_string(), entry.name, workers, UNIT, mops));
                }
            }
        }
    }
    measurements
}
