//! The experiment: options checked and completed, turns and conclusion.

use super::OpenLoopOptions;
use super::contenders::{self, Entry, Server};
use super::requests::Records;
use super::schedule::{Schedule, Workload};
use crate::managed::times::Times;
use crate::piece::steps_per_microsecond;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;
use xtasking_harness::common::{Common, check_range};
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::machine::cores;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters, Summary};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    workloads: Vec<Workload>,
    time: Duration,
    seed: u64,
    lineup: Lineup<Server>,
}

/// The mean service times that are possible, in microseconds.
const SERVICES: RangeInclusive<u32> = 1..=10_000;
/// The loads that are possible, in percent.
const LOADS: RangeInclusive<u32> = 1..=99;
/// The times of a turn that are possible, in milliseconds.
const TIMES: RangeInclusive<u32> = 1..=60_000;
/// The default numbers of workers.
const WORKERS: [usize; 2] = [1, 2];
/// The load before the measurement, to warm up threads and memory.
const WARM_UP: (Workload, Duration) = (Workload { service: 5, load: 50 }, Duration::from_millis(2));

/// The percentile that is compared.
const UNIT: &str = "p99 in µs";
/// The names of the percentiles beside it, each with its number.
const BESIDE: [(&str, f64); 2] = [("p50", 50.0), ("p99.9", 99.9)];

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &OpenLoopOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let time = options.time.unwrap_or(if common.quick { 10 } else { 1000 });
        check_range("--time", time, &TIMES, "ms")?;
        let mut workloads = Vec::new();
        for &service in &options.service {
            check_range("--service", service, &SERVICES, "µs")?;
            for &load in &options.load {
                check_range("--load", load, &LOADS, "%")?;
                workloads.push(Workload { service, load });
            }
        }
        let workers = Some(common.workers.clone().unwrap_or(WORKERS.to_vec()));
        let lineup = Lineup::new(contenders::ALL, &[], &Common { workers, ..common.clone() })?;
        Ok(Self { workloads, time: Duration::from_millis(time.into()), seed: common.seed, lineup })
    }

    /// Allocates records for every turn.
    fn records(&self) -> Records {
        let most = *self.lineup.worker_counts().iter().max().expect("at least one number of workers");
        let counts = self.workloads.iter().map(|workload| workload.requests(most, self.time));
        Records::new(counts.chain([WARM_UP.0.requests(most, WARM_UP.1)]).max().unwrap_or_default())
    }

    /// Runs one turn, and returns the latencies.
    fn once(
        &self,
        workload: Workload,
        entry: &Entry,
        workers: usize,
        records: Records,
        steps_per_microsecond: f64,
    ) -> Result<Result<Times, Wrong>, Failure> {
        let schedule = |(workload, time)| Schedule::draw(workload, workers, time, self.seed);
        let measured = schedule((workload, self.time));
        Ok(match (entry.start)(workers)? {
            Server::Ideal => Ok(Times::of(measured.ideal(workers))),
            Server::Running(submit) => {
                let run = |schedule| records.run(schedule, steps_per_microsecond, workers, &*submit);
                run(&schedule(WARM_UP)).and_then(|_| {
                    settle();
                    run(&measured).map(Times::of)
                })
            }
        })
    }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "managed open-loop";
    const TITLE: &'static str =
        "Each pool takes this long for requests that come at random moments: less is better.";
    const COLUMNS: &'static [&'static str] = &[BESIDE[0].0, BESIDE[1].0];

    fn describe(&self) -> String {
        let workloads: Vec<_> = self.workloads.iter().map(Workload::to_string).collect();
        let mut lines = vec![
            format!("managed open-loop: requests of {} for {:?}", workloads.join(", "), self.time),
            self.lineup.describe(),
        ];
        if self.lineup.worker_counts().iter().any(|&workers| workers >= cores()) {
            lines.push(
                "with as many workers as cores or more, the submitting thread shares a core".to_string(),
            );
        }
        lines.join("\n")
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("time_ms", self.time.as_millis() as u64);
        parameters.add("seed", self.seed);
        self.lineup.add_to(&mut parameters);
        self.lineup.outline(parameters, self.workloads.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let (records, steps) = (self.records(), steps_per_microsecond());
        let mut results = Vec::new();
        for &workload in &self.workloads {
            let beside = RefCell::new(BTreeMap::<_, Vec<_>>::new());
            let once = |_, entry: &Entry, workers, context: &str| {
                let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
                let times = self.once(workload, entry, workers, records, steps)?.map_err(wrong)?;
                let micros = |percent| times.percentile(percent).as_secs_f64() * 1e6;
                let percentiles = BESIDE.map(|(_, percent)| micros(percent));
                beside.borrow_mut().entry((entry.name, workers)).or_default().push(percentiles);
                Ok(micros(99.0))
            };
            let mut measured = self.lineup.measure(progress, UNIT, &[workload.to_string()], once)?;
            for result in &mut measured {
                let turns = &beside.borrow()[&(&*result.implementation, result.workers)];
                let median = |at: usize| Summary::of(turns.iter().map(|turn| turn[at]).collect()).median;
                result.details =
                    BESIDE.iter().enumerate().map(|(at, (name, _))| (*name, median(at))).collect();
            }
            results.extend(measured);
        }
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        vec![
            "loads: of the workers' capacity, which is their number ÷ the mean service time".to_string(),
            "arrivals: a Poisson process; service times: a Pareto distribution of shape 1.5, bounded to \
             a hundred times the shortest, which is 0.37 of the mean"
                .to_string(),
        ]
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("percentiles of the time from the moment when a request was due to its end: µs, less is better; \
            every request was served once"
            .to_string())
    }
}
