//! Tests of the experiment from its options to its measurements.

use super::experiment::Experiment;
use super::{Options, runner};
use crate::contenders::{Abilities, Contender, Entry};
use crate::experiment::Experiment as _;
use crate::failure::Failure;
use crate::peers;
use crate::progress::Progress;
use crate::ycsb::plan::{Plan, Wrong};
use clap::Parser;
use std::sync::Arc;
use std::time::Duration;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn experiment(arguments: &str, contenders: Vec<&'static Entry>) -> Experiment {
    let records = if arguments.contains("--records") { "" } else { " --records 500" };
    let line = format!("test {arguments} --operations 900 --repetitions 2{records}");
    let words = line.split(' ');
    let mut experiment = Experiment::new(&Arguments::parse_from(words).options).unwrap();
    experiment.contenders = contenders;
    experiment
}

fn results(experiment: &Experiment) -> Result<Vec<(String, usize, String)>, Failure> {
    let progress = Progress::new(runner::steps(experiment), false);
    let results = runner::run(experiment, &progress)?;
    assert_eq!(progress.position(), runner::steps(experiment), "the bar is full at the end");
    Ok(results.into_iter().map(|result| (result.case, result.workers, result.implementation)).collect())
}

/// A contender that only looks up; the plans that it is handed must fit together all the same.
static LOOKUPS: Entry = Entry { name: "lookups", abilities: Abilities::LOOKUPS, ..peers::btreemap::ENTRY };

/// A contender that does not do what it says.
static IDLE: Entry = Entry { name: "idle", build: |_| Box::new(Idle), ..peers::btreemap::ENTRY };

struct Idle;

impl Contender for Idle {
    fn run(&mut self, _: &Arc<Plan>) -> Result<Duration, Wrong> {
        Ok(Duration::ZERO)
    }

    fn verify(&mut self, plan: &Arc<Plan>) -> Result<(), Wrong> {
        crate::ycsb::plan::Audit::new(plan, crate::ycsb::plan::WriteOrder::Any).finish(0)
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
fn who_cannot_do_a_workload_is_left_out_of_it_only() {
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
fn whoever_comes_after_inserts_begins_anew() {
    let experiment = experiment("D,C,E,A --workers 1", vec![&peers::btreemap::ENTRY, &LOOKUPS]);
    assert_eq!(results(&experiment).unwrap().len(), 5);
}

#[test]
fn a_wrong_result_says_where_it_was() {
    let experiment = experiment("C --workers 3 --seed 77", vec![&peers::btreemap::ENTRY, &IDLE]);
    let failure = results(&experiment).unwrap_err();
    assert_eq!(format!("{:?}", failure.exit_code()), format!("{:?}", std::process::ExitCode::from(1)));
    let text = failure.to_string();
    for words in ["wrong result of idle on insert with 3 workers, seed 77: ", "0 of 500 keys are there"] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn what_does_not_fit_into_memory_is_refused() {
    let experiment = experiment("E --records 1M", vec![&peers::btreemap::ENTRY, &peers::scc::ENTRY]);
    let error = experiment.check_memory(64 << 20).unwrap_err();
    assert!(error.contains("only 0.1 GiB of memory are available; lower --records (now 1000000)"), "{error}");
    assert_eq!(experiment.check_memory(256 << 20), Ok(()));
}
