//! The turns: for every number of workers, in every repetition, all implementations of a case run one after another, so
//! that whatever else the machine is doing meets them all alike.

use super::cases::{Case, Run};
use super::experiment::Experiment;
use super::own;
use super::stage::Stage;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::Measurement;
use std::time::Duration;

const UNIT: &str = "ns";

/// All repetitions of one implementation of a case.
struct Row {
    case: &'static Case,
    run: &'static Run,
    workers: usize,
    nanoseconds: Vec<f64>,
}

/// What runs with a number of workers.
fn rows(experiment: &Experiment, workers: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in experiment.cases_for(workers) {
        // In the order asked for.
        for who in &experiment.implementations {
            let run = case.runs.iter().find(|run| run.who == *who);
            rows.extend(run.map(|run| Row { case, run, workers, nanoseconds: Vec::new() }));
        }
    }
    rows
}

/// How many steps of progress there are.
pub(super) fn steps(experiment: &Experiment) -> u64 {
    let rows: usize = experiment.worker_counts.iter().map(|&workers| rows(experiment, workers).len()).sum();
    (rows * experiment.repetitions) as u64
}

/// Runs everything, and gives the measurements by case, workers and implementation.
pub(super) fn run(experiment: &Experiment, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
    let mut all = Vec::new();
    for &workers in &experiment.worker_counts {
        let mut rows = rows(experiment, workers);
        for _ in 0..experiment.repetitions {
            for row in &mut rows {
                let noun = if workers == 1 { "worker" } else { "workers" };
                let name = row.run.who.name();
                let context = format!("{name} on {} with {workers} {noun}", row.case.name);
                progress.begin(context.clone());
                let tasks = row.run.tasks(experiment.tasks);
                // Its own runtime: what another case has left in the heaps makes a difference of some nanoseconds.
                let stage = Stage::new(workers, experiment.seed, &[row.run.who])?;
                // The first time, memory and caches are cold, and the pages of heaps are still to come.
                once(&stage, row.run, tasks, &context)?;
                let time = once(&stage, row.run, tasks, &context)?;
                let nanoseconds = time.as_secs_f64() * 1e9 / tasks as f64;
                progress.measured(&context, nanoseconds, UNIT);
                row.nanoseconds.push(nanoseconds);
                progress.advance();
            }
        }
        all.extend(rows);
    }
    Ok(summarise(experiment, all))
}

/// One turn.
fn once(stage: &Stage, run: &Run, tasks: u64, context: &str) -> Result<Duration, Failure> {
    stage.settle();
    let time = (run.body)(stage, tasks);
    let context = || format!("{context}, {tasks} tasks, seed {}", stage.seed);
    time.map_err(|wrong| Failure::Wrong { context: context(), wrong })
}

fn summarise(experiment: &Experiment, rows: Vec<Row>) -> Vec<Measurement> {
    let mut measurements = Vec::new();
    for case in &experiment.cases {
        for row in rows.iter().filter(|row| row.case.name == case.name) {
            measurements.push(Measurement::new(
                case.name,
                row.run.who.name(),
                row.workers,
                UNIT,
                row.nanoseconds.clone(),
            ));
        }
    }
    measurements
}

/// Says where descriptors came from, in a run of its own because counting is off in the others.
pub(super) fn descriptors(experiment: &Experiment) -> Result<String, Failure> {
    let wrong = |wrong| Failure::Wrong { context: "xtasking while counting".to_string(), wrong };
    own::descriptors(experiment.tasks).map_err(wrong)
}
