//! The options, checked and completed, and what one turn is.

use super::Options;
use super::contenders::{self, Entry, Kind, Server};
use super::load::{Load, Served, rounds_of};
use crate::cli::Common;
use crate::failure::Failure;
use crate::lineup::Lineup;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::plan::Wrong;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xtasking::Statistics;

/// An experiment that can be run.
pub(super) struct Experiment {
    requests: usize,
    work: Duration,
    rounds: u64,
    lineup: Lineup<Server, Kind>,
}

/// Requests and their times are kept.
const MOST: u64 = 10_000_000;
/// There are more requests where they do nothing.
const MORE: usize = 10;
/// Threads start and heaps are touched: by so many requests, before anything is measured.
const WARMING: usize = 200;
/// Nobody waits longer.
const LONGEST: u32 = 1_000_000;

/// What is known when a turn is over.
struct Ended {
    served: Served,
    /// What the server tells of itself, if it does; then it has the last word.
    statistics: Option<Statistics>,
    workers: usize,
}

impl Ended {
    /// Microseconds of the makespan for each request.
    fn per_request(&self) -> f64 {
        micros(self.served.makespan) / self.served.order.len() as f64
    }

    /// How much of all workers' time was spent in requests.
    fn occupancy(&self) -> f64 {
        100.0 * self.served.busy.as_secs_f64() / (self.served.makespan.as_secs_f64() * self.workers as f64)
    }

    /// Microseconds that `percent` of the requests did not wait longer than before they were begun.
    fn waiting(&self, percent: f64) -> f64 {
        micros(match &self.statistics {
            Some(statistics) => statistics.waiting.percentile(percent),
            None => self.served.waiting.percentile(percent),
        })
    }

    /// The same until they were done.
    fn completion(&self, percent: f64) -> f64 {
        micros(match &self.statistics {
            Some(statistics) => statistics.completion.percentile(percent),
            None => self.served.completion.percentile(percent),
        })
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A question's name, and its answer.
type Case = (&'static str, fn(&Ended) -> f64);

/// One turn answers some questions.
struct Turn {
    /// Requests do something.
    works: bool,
    /// All are submitted before the first is served, where that is possible.
    held: bool,
    unit: &'static str,
    cases: &'static [Case],
}

const TURNS: [Turn; 4] = [
    Turn {
        works: false,
        held: false,
        unit: "ns",
        cases: &[("nothing to do in ns", |ended| ended.per_request() * 1e3)],
    },
    Turn {
        works: false,
        held: true,
        unit: "ns",
        cases: &[("nothing to do, all there, in ns", |ended| ended.per_request() * 1e3)],
    },
    Turn { works: true, held: true, unit: "%", cases: &[("occupancy in %", Ended::occupancy)] },
    Turn {
        works: true,
        held: false,
        unit: "µs",
        cases: &[
            ("work in µs", Ended::per_request),
            ("until begun, p50 in µs", |ended| ended.waiting(50.0)),
            ("until begun, p99", |ended| ended.waiting(99.0)),
            ("until begun, max", |ended| ended.waiting(100.0)),
            ("until done, p50 in µs", |ended| ended.completion(50.0)),
            ("until done, p99", |ended| ended.completion(99.0)),
            ("until done, max", |ended| ended.completion(100.0)),
        ],
    },
];

/// The numbers of workers of a whole run, if none are asked for.
const WORKERS: [usize; 5] = [1, 4, 8, 16, 32];

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        let requests = options.requests.unwrap_or(if common.quick { 1_000 } else { 10_000 });
        if !(1..=MOST).contains(&requests) {
            return Err(Failure::Usage(format!("--requests is {requests}; choose 1 to {MOST}")));
        }
        if !(1..=LONGEST).contains(&options.work) {
            return Err(Failure::Usage(format!("--work is {}; choose 1 to {LONGEST} µs", options.work)));
        }
        let work = Duration::from_micros(options.work.into());
        let workers = common.workers.clone().or((!common.quick).then(|| WORKERS.to_vec()));
        let lineup = Lineup::new(contenders::ALL, &[], &Common { workers, ..common.clone() })?;
        Ok(Self { requests: requests as usize, work, rounds: rounds_of(work), lineup })
    }

    /// One turn.
    fn once(&self, turn: &Turn, entry: &Entry, workers: usize, context: &str) -> Result<Ended, Failure> {
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        let server = (entry.start)(workers)?;
        let run = |load: Load| {
            let load = Arc::new(load);
            load.run(entry.more.queues, |number| (server.submit)(&load, number)).map_err(wrong)
        };
        if (server.statistics)().is_none() {
            run(Load::new(WARMING, 0, 0))?;
        }
        // Idle workers sleep, as they would where nothing has been asked for a while.
        thread::sleep(Duration::from_millis(2));
        let holds = if turn.held && entry.more.queues { workers } else { 0 };
        let (requests, rounds) =
            if turn.works { (self.requests, self.rounds) } else { (self.requests * MORE, 0) };
        let served = run(Load::new(requests, holds, rounds))?;
        if holds == 1 && entry.more.exact && !served.order.is_sorted() {
            return Err(wrong(Wrong::new("a request was begun before a more urgent one")));
        }
        Ok(Ended { served, statistics: (server.statistics)(), workers })
    }
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "managed";

    fn describe(&self) -> String {
        format!("managed: {} requests of {:?}\n{}", self.requests, self.work, self.lineup.describe())
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("requests", self.requests);
        parameters.add("work_us", self.work.as_micros() as u64);
        self.lineup.add_to(&mut parameters);
        parameters
    }

    fn steps(&self) -> u64 {
        self.lineup.steps(TURNS.iter().map(|turn| turn.cases.len()).sum())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let mut results = Vec::new();
        for turn in &TURNS {
            let cases: Vec<_> = turn.cases.iter().map(|(name, _)| name.to_string()).collect();
            // The first case has the turn taken, the others ask the same one.
            let ended = RefCell::new(BTreeMap::new());
            let once = |case: usize, entry: &Entry, workers, context: &str| {
                let mut ended = ended.borrow_mut();
                if case == 0 {
                    ended.insert((entry.name, workers), self.once(turn, entry, workers, context)?);
                }
                Ok((turn.cases[case].1)(&ended[&(entry.name, workers)]))
            };
            results.extend(self.lineup.measure(progress, turn.unit, &cases, once)?);
        }
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        vec![
            format!("nothing to do: {} requests; the time of the whole for each", self.requests * MORE),
            "all there, occupancy: what is in a queue was submitted before the first was served".to_string(),
            "occupancy: the time in requests, of all workers' time until the last was done; more is better"
                .to_string(),
            "until begun, until done: from the submission of each; for threads from that of the first, since who submits waits"
                .to_string(),
            "xtasking-observed: these times are of the runtime's own statistics".to_string(),
        ]
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("every request was served once, with the right result; one worker with an exact queue kept the order"
            .to_string())
    }
}
