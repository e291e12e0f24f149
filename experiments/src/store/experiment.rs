//! The experiment: options checked and completed, turns and conclusion.

use super::StoreOptions;
use super::requests::RequestKind;
use super::servers::{Server, is_installed};
use super::turn::{Measured, Workload};
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

/// A contender, with the program that has to be installed.
type Entry = xtasking_harness::lineup::Entry<Server, Option<&'static str>>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "XTasking's store",
        is_parallel: true,
        start: Server::start_own,
        more: None,
    },
    Entry {
        name: "redis",
        about: "Redis, which uses one core",
        is_parallel: false,
        start: |workers| Server::start_installed("redis-server", workers),
        more: Some("redis-server"),
    },
    Entry {
        name: "valkey",
        about: "Valkey, which uses one core for commands",
        is_parallel: false,
        start: |workers| Server::start_installed("valkey-server", workers),
        more: Some("valkey-server"),
    },
];

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    workload: Workload,
    cases: Vec<(RequestKind, usize)>,
    lineup: Lineup<Server, Option<&'static str>>,
    /// The bytes a key of each contender, after loading.
    memory: RefCell<BTreeMap<&'static str, f64>>,
}

const KEYS: RangeInclusive<u64> = 1..=1_000_000_000;
const VALUES: RangeInclusive<u32> = 1..=1_000_000;
const CONNECTIONS: RangeInclusive<u32> = 1..=10_000;
const PIPELINES: RangeInclusive<u32> = 1..=10_000;
const TIMES: RangeInclusive<u32> = 1..=600_000;

const UNIT: &str = "thousand/s";
/// The detail that has a column.
const PER_CPU: &str = "per CPU-second";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &StoreOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let keys = options.keys.unwrap_or(if common.quick { 10_000 } else { 1_000_000 });
        check_range("--keys", keys, &KEYS, "")?;
        check_range("--value", options.value, &VALUES, "bytes")?;
        check_range("--connections", options.connections, &CONNECTIONS, "")?;
        let time = options.time.unwrap_or(if common.quick { 100 } else { 2000 });
        check_range("--time", time, &TIMES, "ms")?;
        for &pipeline in &options.pipeline {
            check_range("--pipeline", pipeline, &PIPELINES, "requests")?;
        }
        let workers = Some(common.workers.clone().unwrap_or(vec![1]));
        let pipelines =
            |&kind: &RequestKind| options.pipeline.iter().map(move |&pipeline| (kind, pipeline as usize));
        let common_here = Common { workers, ..common.clone() };
        Ok(Self {
            workload: Workload {
                keys,
                value_size: options.value as usize,
                connections: options.connections as usize,
                time: Duration::from_millis(time.into()),
                seed: common.seed,
            },
            cases: options.requests.iter().flat_map(pipelines).collect(),
            lineup: Lineup::with_default(ALL, &[], &common_here, |entry| {
                entry.more.is_none_or(is_installed)
            })?,
            memory: RefCell::default(),
        })
    }

    fn case((kind, pipeline): (RequestKind, usize)) -> String {
        format!("{}, {pipeline} at once", kind.name())
    }

    /// Measures one case with a server of its own.
    fn turn(&self, entry: &Entry, workers: usize, case: usize, context: &str) -> Result<Measured, Failure> {
        let server = (entry.start)(workers)?;
        let (kind, pipeline) = self.cases[case];
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        let measured = self.workload.turn(&server, workers, kind, pipeline).map_err(wrong)?;
        self.memory.borrow_mut().insert(entry.name, measured.bytes);
        Ok(measured)
    }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "store";
    const TITLE: &'static str = "A store answers this many requests a second (more is better).";
    const HAS_PAGE: bool = false;
    const COLUMNS: &'static [&'static str] = &[PER_CPU];

    fn describe(&self) -> String {
        let cases: Vec<_> = self.cases.iter().map(|&case| Self::case(case)).collect();
        let missing = ALL.iter().filter_map(|entry| entry.more).filter(|program| !is_installed(program));
        let mut text = format!(
            "store: {} keys with values of {} bytes, {} connections, turns of {:?}; {}\n{}",
            self.workload.keys,
            self.workload.value_size,
            self.workload.connections,
            self.workload.time,
            cases.join("; "),
            self.lineup.describe()
        );
        missing.for_each(|program| text += &format!("\n{program} is not installed, and not compared"));
        text
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("keys", self.workload.keys);
        parameters.add("value_bytes", self.workload.value_size);
        parameters.add("connections", self.workload.connections);
        parameters.add("time_ms", self.workload.time.as_millis() as u64);
        parameters.add("seed", self.workload.seed);
        self.lineup.add_to(&mut parameters);
        self.lineup.outline(parameters, self.cases.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let details = RefCell::new(BTreeMap::<_, Vec<f64>>::new());
        let cases: Vec<_> = self.cases.iter().map(|&case| Self::case(case)).collect();
        let mut results = self.lineup.measure(progress, UNIT, &cases, |case, entry, workers, context| {
            let Measured { by_clock, by_cpu, .. } = self.turn(entry, workers, case, context)?;
            let key = (cases[case].clone(), entry.name, workers);
            details.borrow_mut().entry(key).or_default().push(by_cpu / 1e3);
            Ok(by_clock / 1e3)
        })?;
        for result in &mut results {
            let entry = ALL.iter().find(|entry| entry.name == result.implementation);
            let name = entry.map_or("", |entry| entry.name);
            let turns = details.borrow_mut().remove(&(result.case.clone(), name, result.workers));
            let median = turns.map(|turns| Summary::of(turns).median);
            result.details = median.map(|median| (PER_CPU, median)).into_iter().collect();
        }
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        let note = |(name, bytes): (&&str, &f64)| {
            format!("{name}: {bytes:.0} bytes of resident memory a key, keys of 16 bytes and values included")
        };
        self.memory.borrow().iter().map(note).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("thousand/s: requests answered, by the clock and for each second of the server's CPU time, more \
            is better; every reply was checked"
            .to_string())
    }
}
