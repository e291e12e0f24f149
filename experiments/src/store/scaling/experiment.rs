//! Options checked and completed, turns and conclusion.

use super::super::StoreOptions;
use super::super::load::{Load, RequestKind};
use super::super::options::VirtualTimes;
use super::super::stage::{check_load, pairs, turn_length};
use super::connection::REQUESTS_OF_STEP;
use super::simulation::VirtualStore;
use std::ops::RangeInclusive;
use xtasking::platform::Costs;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::plural::counted;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::Measurement;

/// An experiment whose options have been checked and completed.
pub(in crate::store) struct Scaling {
    load: Load,
    cores: Vec<usize>,
    cases: Vec<(RequestKind, u32)>,
    times: VirtualTimes,
    /// The virtual nanoseconds of a turn.
    time: u64,
    context: String,
}

const CORES: RangeInclusive<usize> = 1..=1_024;
const MOST_SHARDS: usize = 1 << 17;
const PIPELINES: RangeInclusive<u32> = 1..=10_000;
/// The detail that has a column.
const TIMES_ONE: &str = "times the first";

impl Scaling {
    /// Checks and completes the options.
    pub fn new(options: &StoreOptions) -> Result<Self, Failure> {
        let time = options.time.or(options.stage.common.quick.then_some(2));
        let time = turn_length(time, 20, &options.stage.common)?;
        for &pipeline in &options.pipeline {
            check_range("--pipeline", pipeline, &PIPELINES, "requests")?;
        }
        if let Some(shards) = options.times.shards
            && !(shards.is_power_of_two() && shards <= MOST_SHARDS)
        {
            let text = format!(
                "--shards: {shards} shards are not possible; choose a power of two up to {MOST_SHARDS}"
            );
            return Err(Failure::Usage(text));
        }
        let cores = options.virtual_cores.clone().unwrap_or_default();
        for &cores in &cores {
            check_range("--virtual", cores, &CORES, "cores")?;
        }
        let load = check_load(&options.stage, 100_000)?;
        let cases = pairs(&options.requests, &options.pipeline);
        let context = format!("seed {}", load.seed);
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self { load, cores, cases, times: options.times, time, context })
    }

    fn failure(&self, what: &str, wrong: Wrong) -> Failure {
        Failure::Wrong { context: format!("{what}, {}", self.context), wrong }
    }
}

impl xtasking_harness::experiment::Experiment for Scaling {
    const NAME: &'static str = "store";
    const TITLE: &'static str =
        "A store answers this many requests a second on virtual cores (more is better).";
    const HAS_PAGE: bool = false;
    const COLUMNS: &'static [&'static str] = &[TIMES_ONE];

    fn describe(&self) -> String {
        let Load { keys, value_size, connections, popularity, seed } = self.load;
        let VirtualTimes { system, request, transfer, shards } = self.times;
        let shards = shards.map(|shards| format!("; {shards} shards")).unwrap_or_default();
        format!(
            "store in virtual time: turns of {} ms in closed loop; {keys} keys of 16 bytes with values of \
             {value_size} bytes, {connections} connections, keys chosen {}, seed {seed}\n\
             the system takes {system} ns for a pipeline, a request {request} ns outside of shards; \
             inside it takes the engine's own annotated costs, of {} ns a unit\n\
             a latch that another core had takes {transfer} ns to come; a core that meets another in \
             a shard waits\n\
             a step of a core runs up to {REQUESTS_OF_STEP} requests; memory and the network cost \
             nothing more{shards}",
            self.time / 1_000_000,
            popularity.describe(),
            Costs::default().unit,
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = self.load.parameters();
        parameters.add("times", format!("{:?}", self.times));
        parameters.add("costs", format!("{:?}", Costs::default()));
        let steps = self.cores.len() * self.cases.len();
        let legend = vec![("xtasking".to_string(), "XTasking's store".to_string())];
        Outline { parameters, legend, steps: steps as u64 }
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let mut rates: Vec<_> = self.cases.iter().map(|_| Vec::new()).collect();
        for &cores in &self.cores {
            let on = counted(cores, "virtual core");
            progress.begin(format!("loads the store on {on}"));
            let store = VirtualStore::new(self.load, self.times, cores);
            let store = store.map_err(|wrong| self.failure(&on, wrong))?;
            for ((kind, pipeline), rates) in self.cases.iter().zip(&mut rates) {
                let what = format!("{}, {pipeline} at once, on {on}", kind.name());
                progress.begin(what.clone());
                let turn = store.turn(kind, *pipeline as usize, self.time);
                let turn = turn.map_err(|wrong| self.failure(&what, wrong))?;
                progress.show_measurement(&what, turn.rate / 1e3, "thousand/s");
                rates.push(turn);
                progress.advance();
            }
        }
        let mut results = Vec::new();
        for ((kind, pipeline), rates) in self.cases.iter().zip(rates) {
            let first = rates.first().map_or(1.0, |turn| turn.rate);
            for (&cores, turn) in self.cores.iter().zip(&rates) {
                let case = format!("{}, {pipeline} at once", kind.name());
                let numbers = vec![turn.rate / 1e3];
                let measurement = Measurement::new(case, "xtasking", cores, "thousand/s", numbers);
                let details = vec![(TIMES_ONE, turn.rate / first), ("late", turn.late)];
                results.push(Measurement { details, ..measurement });
            }
        }
        Ok(results)
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("thousand/s: requests answered in virtual time, more is better; every reply was checked"
            .to_string())
    }
}
