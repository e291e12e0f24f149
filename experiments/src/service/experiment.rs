//! The experiment: options checked and completed, turns and conclusion.

use super::ServiceOptions;
use super::loads::{Load, Pattern};
use super::process::{Server, Setup};
use super::turn::{Measured, Workload};
use crate::piece::steps_per_microsecond;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;
use xtasking_harness::common::{Common, check_range};
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::Lineup;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters, Summary};

type Entry = xtasking_harness::lineup::Entry<Server, (), Setup>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    entry("calls", "XTasking, calls at latched snapshots", |setup| Server::start("calls", setup)),
    entry("tasks", "XTasking, tasks at sequenced snapshots, of which a bounded number waits", |setup| {
        Server::start("tasks", setup)
    }),
    entry("sharded", "64 shards in mutexes of parking_lot", |setup| Server::start("sharded", setup)),
    entry("async", "a mutex of tokio for each account", |setup| Server::start("async", setup)),
];

const fn entry(
    name: &'static str,
    about: &'static str,
    start: fn(Setup) -> Result<Server, Failure>,
) -> Entry {
    Entry { name, about, is_parallel: true, start, more: () }
}

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    workload: Workload,
    closed: Vec<Load>,
    open: Vec<Load>,
    lineup: Lineup<Server, (), Setup>,
    /// What failed transfers have left behind, for the notes.
    traces: RefCell<BTreeMap<&'static str, Traces>>,
}

/// What the failed transfers of a contender have left behind.
#[derive(Default)]
struct Traces {
    failed: u64,
    halves: u64,
    disabled: u64,
}

impl Traces {
    fn add(&mut self, measured: &Measured) {
        self.failed += measured.counts.failed;
        self.halves += measured.halves;
        self.disabled += measured.counts.disabled;
    }
}

const ACCOUNTS: RangeInclusive<u64> = 2..=10_000_000;
const CONNECTIONS: RangeInclusive<u32> = 1..=10_000;
const SERVICES: RangeInclusive<u32> = 1..=100_000;
const LOADS: RangeInclusive<u32> = 1..=10_000;
/// The times of a turn that are possible, in milliseconds.
const TIMES: RangeInclusive<u32> = 1..=600_000;

const CLOSED_UNIT: &str = "thousand/s";
const OPEN_UNIT: &str = "p99 in µs";
/// The details that have columns.
const PER_CPU: &str = "per CPU-second";
const MEDIAN: &str = "p50";
const EXTREME: &str = "p99.9";
const REFUSED: &str = "% refused";
const GROWN: &str = "MiB grown";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &ServiceOptions) -> Result<Self, Failure> {
        let common = &options.common;
        check_range("--accounts", options.accounts, &ACCOUNTS, "")?;
        check_range("--connections", options.connections, &CONNECTIONS, "")?;
        check_range("--service", options.service, &SERVICES, "µs")?;
        let time = options.time.unwrap_or(if common.quick { 100 } else { 2000 });
        check_range("--time", time, &TIMES, "ms")?;
        for &load in &options.load {
            check_range("--load", load, &LOADS, "%")?;
        }
        let workers = Some(common.workers.clone().unwrap_or(vec![1]));
        let open = |&percent: &u32| Load::Open { micros: options.service, percent };
        Ok(Self {
            workload: Workload {
                accounts: options.accounts as usize,
                connections: options.connections as usize,
                time: Duration::from_millis(time.into()),
                seed: common.seed,
                page: xtasking_harness::page::address(common)?,
            },
            closed: [Pattern::Uniform, Pattern::Hot, Pattern::Panics].map(Load::Closed).into(),
            open: options.load.iter().map(open).collect(),
            lineup: Lineup::new(ALL, &[], &Common { workers, ..common.clone() })?,
            traces: RefCell::default(),
        })
    }

    /// Measures all contenders under some loads. `select` takes the number that is compared, and
    /// the details.
    fn measure_loads(
        &self,
        progress: &Progress,
        unit: &'static str,
        loads: &[Load],
        select: impl Fn(&Measured) -> (f64, Vec<(&'static str, f64)>),
    ) -> Result<Vec<Measurement>, Failure> {
        let steps = steps_per_microsecond();
        let mut results = Vec::new();
        for &load in loads {
            let details = RefCell::new(BTreeMap::<_, Vec<_>>::new());
            let once = |_, entry: &Entry, workers, context: &str| {
                let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
                let server = (entry.start)(self.workload.setup(load, workers))?;
                let measured = self.workload.turn(&server, load, workers, steps).map_err(wrong)?;
                self.traces.borrow_mut().entry(entry.name).or_default().add(&measured);
                let (compared, beside) = select(&measured);
                details.borrow_mut().entry((entry.name, workers)).or_default().push(beside);
                Ok(compared)
            };
            let mut measured = self.lineup.measure(progress, unit, &[load.to_string()], once)?;
            for result in &mut measured {
                let turns = &details.borrow()[&(&*result.implementation, result.workers)];
                let median = |at: usize| Summary::of(turns.iter().map(|turn| turn[at].1).collect()).median;
                result.details = (0..turns[0].len()).map(|at| (turns[0][at].0, median(at))).collect();
            }
            results.extend(measured);
        }
        Ok(results)
    }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "service";
    const TITLE: &'static str = "A web service serves this many transfers a second (more is better), \
         and takes this long for each (less is better).";
    const HAS_PAGE: bool = false;
    const COLUMNS: &'static [&'static str] = &[PER_CPU, MEDIAN, EXTREME, REFUSED, GROWN];

    fn describe(&self) -> String {
        let loads: Vec<_> = self.closed.iter().chain(&self.open).map(Load::to_string).collect();
        format!(
            "service: {} accounts, {} connections, turns of {:?}; {}\n{}",
            self.workload.accounts,
            self.workload.connections,
            self.workload.time,
            loads.join(", "),
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("accounts", self.workload.accounts);
        parameters.add("connections", self.workload.connections);
        parameters.add("time_ms", self.workload.time.as_millis() as u64);
        parameters.add("seed", self.workload.seed);
        self.lineup.add_to(&mut parameters);
        self.lineup.outline(parameters, self.closed.len() + self.open.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let throughput = |measured: &Measured| {
            (measured.per_second() / 1e3, vec![(PER_CPU, measured.per_cpu_second() / 1e3)])
        };
        let latency = |measured: &Measured| {
            let at = |percent| measured.percentile(percent);
            let beside = vec![
                (MEDIAN, at(50.0)),
                (EXTREME, at(99.9)),
                (REFUSED, measured.refused() * 100.0),
                (GROWN, measured.grown as f64 / f64::from(1 << 20)),
            ];
            (at(99.0), beside)
        };
        let mut results = self.measure_loads(progress, CLOSED_UNIT, &self.closed, throughput)?;
        results.extend(self.measure_loads(progress, OPEN_UNIT, &self.open, latency)?);
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        let note = |(name, traces): (&&str, &Traces)| {
            let Traces { failed, halves, disabled } = traces;
            let left = format!("of {failed} transfers that panicked, {halves} left a half behind");
            format!("{name}: {left}; {disabled} met a disabled account")
        };
        self.traces.borrow().iter().map(note).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("thousand/s: transfers served, by the clock and for each second of the server's CPU time, more is \
            better; µs: from the moment when a transfer was due to its answer, less is better; every answer \
            and every account at the end was checked"
            .to_string())
    }
}
