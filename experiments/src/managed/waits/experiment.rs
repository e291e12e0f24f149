//! The experiment: options checked and completed, turns and conclusion.

use super::WaitsOptions;
use super::contenders::{self, Client, Entry, HasHandles};
use super::strategy::{Requests, Strategy};
use crate::piece::steps_per_microsecond;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;
use xtasking_harness::common::{Common, check_range};
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::machine::pin;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    requests: u64,
    services: Vec<u32>,
    slots: Vec<u32>,
    cases: Vec<Case>,
    lineup: Lineup<Client, HasHandles>,
}

/// What is measured in one turn.
#[derive(Clone, Copy)]
struct Case {
    /// The service time of a request in microseconds.
    service: u32,
    strategy: Strategy,
}

/// The numbers of requests that are possible.
const REQUESTS: RangeInclusive<u64> = 1..=10_000_000;
/// The service times that are possible, in microseconds.
const SERVICES: RangeInclusive<u32> = 0..=10_000;
/// The numbers of slots that are possible.
const SLOTS: RangeInclusive<u32> = 1..=100_000;
/// Requests before the measurement, to warm up threads and memory.
const WARM_UP: u64 = 200;

const UNIT: &str = "thousand/s";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &WaitsOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let requests = options.requests.unwrap_or(if common.quick { 500 } else { 20_000 });
        check_range("--requests", requests, &REQUESTS, "")?;
        options.slots.iter().try_for_each(|&slots| check_range("--slots", slots, &SLOTS, "").map(drop))?;
        let mut cases = Vec::new();
        for &service in &options.service {
            check_range("--service", service, &SERVICES, "µs")?;
            let strategies = Strategy::all(&options.slots).into_iter();
            cases.extend(strategies.map(|strategy| Case { service, strategy }));
        }
        let workers = Some(common.workers.clone().unwrap_or(vec![1, 2]));
        let lineup = Lineup::new(contenders::ALL, &[], &Common { workers, ..common.clone() })?;
        let strategies: Vec<_> = cases.iter().map(|case| case.strategy).collect();
        let lineup = lineup.with_rule(move |case, entry, _| entry.more || strategies[case].batch().is_some());
        Ok(Self { requests, services: options.service.clone(), slots: options.slots.clone(), cases, lineup })
    }
}

/// Runs one turn, and returns thousands of requests per second.
fn once(
    strategy: Strategy,
    requests: Requests,
    entry: &Entry,
    workers: usize,
    context: &str,
) -> Result<f64, Failure> {
    let client = (entry.start)(workers)?;
    let time = thread::scope(|scope| {
        // On a core that no worker has, if there is one.
        let client = scope.spawn(|| {
            pin(workers, workers + 1);
            client(strategy, Requests { count: WARM_UP, ..requests });
            requests.sum.store(0, Relaxed);
            settle();
            let began = Instant::now();
            client(strategy, requests);
            began.elapsed()
        });
        client.join().expect("a client does not panic")
    });
    let (sum, expected) = (requests.sum.load(Relaxed), requests.expected_sum());
    if sum != expected {
        let wrong = Wrong::new(format!("the sum after all waits is {sum} instead of {expected}"));
        return Err(Failure::Wrong { context: context.to_string(), wrong });
    }
    Ok(requests.count as f64 / time.as_secs_f64() / 1e3)
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "managed waits";
    const TITLE: &'static str = "Each pool serves this many thousand requests a second: more is better.";

    fn describe(&self) -> String {
        let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        format!(
            "managed waits: {} requests of {} µs; slots and periods {}\n{}",
            self.requests,
            list(&self.services),
            list(&self.slots),
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("requests", self.requests);
        self.lineup.add_to(&mut parameters);
        self.lineup.outline(parameters, self.cases.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let steps = steps_per_microsecond();
        // Never freed: requests refer to it without a count of references.
        let sum: &'static AtomicU64 = Box::leak(Box::default());
        let name = |Case { service, strategy }: &Case| format!("{service} µs, {strategy}");
        let names: Vec<_> = self.cases.iter().map(name).collect();
        let once = |case: usize, entry: &Entry, workers, context: &str| {
            let Case { service, strategy } = self.cases[case];
            let steps = (f64::from(service) * steps) as u64;
            once(strategy, Requests { count: self.requests, steps, sum }, entry, workers, context)
        };
        self.lineup.measure(progress, UNIT, &names, once)
    }

    fn notes(&self) -> Vec<String> {
        vec![
            "a thread that waits for a managed set runs its functions if no worker has begun them"
                .to_string(),
        ]
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("thousand/s: requests from the first submission to the end of the last wait, more is better; \
            after the last wait each request had run once"
            .to_string())
    }
}
