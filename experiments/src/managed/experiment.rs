//! The options, checked and completed, and what one turn is.

use super::Options;
use super::contenders::{self, Entry, Kind, Submit};
use super::load::{Load, Served, rounds_of};
use crate::failure::Failure;
use crate::lineup::Lineup;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::plan::Wrong;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// An experiment that can be run.
pub(super) struct Experiment {
    requests: usize,
    work: Duration,
    rounds: u64,
    lineup: Lineup<Submit, Kind>,
}

/// Requests and their times are kept.
const MOST: u64 = 10_000_000;
/// There are more requests where they do nothing.
const MORE: usize = 10;
/// Threads start and heaps are touched: by so many requests, before anything is measured.
const WARMING: usize = 200;
/// Nobody waits longer.
const LONGEST: u32 = 1_000_000;

/// A case: what is asked, in which unit, and what of a load's end is the answer.
struct Case {
    name: &'static str,
    unit: &'static str,
    /// Requests do something.
    works: bool,
    /// All are submitted before the first is served, where that is possible.
    held: bool,
    answer: fn(&Served, usize) -> f64,
}

/// Nanoseconds of the makespan for each request.
fn per_request(served: &Served, _: usize) -> f64 {
    served.makespan.as_secs_f64() * 1e9 / served.order.len() as f64
}

fn occupancy(served: &Served, workers: usize) -> f64 {
    100.0 * served.busy.as_secs_f64() / (served.makespan.as_secs_f64() * workers as f64)
}

const CASES: [Case; 6] = [
    Case { name: "nothing to do in ns", unit: "ns", works: false, held: false, answer: per_request },
    Case {
        name: "nothing to do, all there, in ns",
        unit: "ns",
        works: false,
        held: true,
        answer: per_request,
    },
    Case { name: "work in ns", unit: "ns", works: true, held: false, answer: per_request },
    Case { name: "occupancy in %", unit: "%", works: true, held: true, answer: occupancy },
    Case {
        name: "until begun in µs",
        unit: "µs",
        works: true,
        held: false,
        answer: |served, _| served.waiting / 1e3,
    },
    Case {
        name: "until done in µs",
        unit: "µs",
        works: true,
        held: false,
        answer: |served, _| served.completion / 1e3,
    },
];

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
        let lineup = Lineup::new(contenders::ALL, &[], common)?;
        Ok(Self { requests: requests as usize, work, rounds: rounds_of(work), lineup })
    }

    /// One turn.
    fn once(&self, case: &Case, entry: &Entry, workers: usize, context: &str) -> Result<f64, Failure> {
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        let submit = (entry.start)(workers)?;
        let run = |load: Load| {
            let load = Arc::new(load);
            load.run(|number| submit(&load, number)).map_err(wrong)
        };
        run(Load::new(WARMING, 0, 0))?;
        // Idle workers sleep, as they would where nothing has been asked for a while.
        thread::sleep(Duration::from_millis(2));
        let holds = if case.held && entry.more.queues { workers } else { 0 };
        let (requests, rounds) =
            if case.works { (self.requests, self.rounds) } else { (self.requests * MORE, 0) };
        let served = run(Load::new(requests, holds, rounds))?;
        if holds == 1 && entry.more.exact && !served.order.is_sorted() {
            return Err(wrong(Wrong::new("a request was begun before a more urgent one")));
        }
        Ok((case.answer)(&served, workers))
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
        self.lineup.steps(CASES.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let mut results = Vec::new();
        for case in &CASES {
            let once = |_, entry: &Entry, workers, context: &str| self.once(case, entry, workers, context);
            results.extend(self.lineup.measure(progress, case.unit, &[case.name.to_string()], once)?);
        }
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        vec![
            format!("nothing to do: {} requests; the time of the whole for each", self.requests * MORE),
            "all there, occupancy: what is in a queue was submitted before the first was served".to_string(),
            "occupancy: the time in requests, of all workers' time until the last was done; more is better"
                .to_string(),
            "until begun, until done: from the submission of each, in the mean; who submits to threads waits for them"
                .to_string(),
        ]
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("every request was served once, with the right result; one worker with an exact queue kept the order"
            .to_string())
    }
}
