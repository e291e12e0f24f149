//! Tests of the experiment from its options to its measurements.

use super::contender::{Abilities, Contender, ContenderProfile, Entry};
use super::experiment::Experiment;
use super::{YcsbOptions, schedule};
use crate::peers;
use clap::Parser;
use std::sync::Arc;
use std::time::Duration;
use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::progress::Progress;
use xtasking_ycsb::plan::{Audit, Plan, WriteOrder};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: YcsbOptions,
}

fn experiment(arguments: &str, contenders: Vec<&'static Entry>) -> Experiment {
    let records = if arguments.contains("--records") { "" } else { " --records 500" };
    let line = format!("test {arguments} --operations 900 --repetitions 2{records}");
    let words = line.split(' ');
    let mut experiment = Experiment::new(&Arguments::parse_from(words).options).unwrap();
    experiment.lineup.contenders = contenders;
    experiment
}

fn results(experiment: &Experiment) -> Result<Vec<(String, usize, String)>, Failure> {
    let progress = Progress::new(schedule::steps(experiment), false);
    let results = schedule::run(experiment, &progress)?;
    assert_eq!(progress.position(), schedule::steps(experiment), "the bar is full at the end");
    Ok(results.into_iter().map(|result| (result.case, result.workers, result.implementation)).collect())
}

/// A contender with lookups only. The plans it gets must still follow upon each other.
static LOOKUPS: Entry = Entry {
    name: "lookups",
    more: ContenderProfile { abilities: Abilities::LOOKUPS, ..peers::btreemap::ENTRY.more },
    ..peers::btreemap::ENTRY
};

/// A contender that reports success but does nothing.
static IDLE: Entry = Entry { name: "idle", start: |_| Ok(Box::new(Idle)), ..peers::btreemap::ENTRY };

struct Idle;

impl Contender for Idle {
    fn run(&mut self, _: &Arc<Plan>) -> Result<Duration, Wrong> {
        Ok(Duration::ZERO)
    }

    fn verify(&mut self, plan: &Arc<Plan>) -> Result<(), Wrong> {
        Audit::new(plan, WriteOrder::Any).finish(0)
    }
}

#[test]
fn results_come_by_case_workers_and_contender() {
    let experiment = experiment("insert,c --workers 2,1", vec![&peers::btreemap::ENTRY, &peers::scc::ENTRY]);
    let mut expected = Vec::new();
    for case in ["insert", "C"] {
        for workers in [2, 1] {
            for implementation in ["btreemap", "scc"] {
                expected.push((case.to_string(), workers, implementation.to_string()));
            }
        }
    }
    assert_eq!(results(&experiment).unwrap(), expected);
}

#[test]
fn a_contender_skips_only_the_workloads_it_cannot_run() {
    let experiment = experiment("all --workers 2", vec![&peers::btreemap::ENTRY, &LOOKUPS]);
    let results = results(&experiment).unwrap();
    let of = |name: &str| -> Vec<_> {
        results.iter().filter(|result| result.2 == name).map(|result| result.0.as_str()).collect()
    };
    assert_eq!(of("btreemap"), ["insert", "A", "B", "C", "F", "D", "E"]);
    assert_eq!(of("lookups"), ["C"]);
    let skipped = "skipped: lookups on insert, D, E (it cannot insert); on A, B, F (it cannot write)";
    assert_eq!(experiment.notes(), [skipped]);
}

#[test]
fn contenders_are_loaded_again_after_a_workload_that_inserts() {
    let experiment = experiment("D,C,E,A --workers 1", vec![&peers::btreemap::ENTRY, &LOOKUPS]);
    assert_eq!(results(&experiment).unwrap().len(), 5);
}

#[test]
fn the_limit_is_measured_once_with_all_sizes_of_batches() {
    for arguments in ["C --workers 2", "C --workers 2 --limit-batch 1,32,5"] {
        let experiment = experiment(arguments, vec![&peers::threads::THREADS, &peers::threads::LIMIT]);
        let names: Vec<_> = results(&experiment).unwrap().into_iter().map(|result| result.2).collect();
        assert_eq!(names, ["threads", "limit"]);
    }
}

#[test]
fn a_wrong_result_names_contender_case_workers_and_seed() {
    let experiment = experiment("C --workers 3 --seed 77", vec![&peers::btreemap::ENTRY, &IDLE]);
    let failure = results(&experiment).unwrap_err();
    assert_eq!(format!("{:?}", failure.exit_code()), format!("{:?}", std::process::ExitCode::from(1)));
    let text = failure.to_string();
    for words in ["wrong result of idle on insert with 3 workers, seed 77: ", "0 of 500 keys are present"] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn a_run_that_does_not_fit_into_memory_is_refused() {
    let experiment = experiment("E --records 1M", vec![&peers::btreemap::ENTRY, &peers::scc::ENTRY]);
    let error = experiment.check_memory(64 << 20).unwrap_err();
    assert!(error.contains("only 0.1 GiB are available; lower --records (now 1000000)"), "{error}");
    assert_eq!(experiment.check_memory(256 << 20), Ok(()));
}
