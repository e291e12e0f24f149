//! The experiment: options checked and completed, turns, notes and conclusion.

use super::ManagedOptions;
use super::contenders::{self, Entry, Server, ServerProfile};
use super::load::{Load, LoadResult};
use super::simulated::simulate;
use crate::computation::rounds_of;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;
use xtasking::platform::Costs;
use xtasking::{metrics::Statistics, queues::RankOrder};
use xtasking_harness::common::{Common, check_range};
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::plural::counted;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    requests: usize,
    lengths: Vec<RequestLength>,
    cores: Vec<usize>,
    seed: u64,
    lineup: Lineup<Server, ServerProfile>,
}

/// The service time of a request, and the rounds of work that it takes.
struct RequestLength {
    time: Duration,
    rounds: u64,
}

/// The numbers of requests, whose times are all kept in memory.
const REQUESTS: RangeInclusive<u64> = 1..=10_000_000;
/// The factor by which there are more requests if they are empty, or take virtual time only.
const LONG_RUN_FACTOR: usize = 10;
/// Requests before the measurement, to warm up threads and heaps.
const WARM_UP_REQUESTS: usize = 200;
/// The service times of a request in microseconds.
const WORK_US: RangeInclusive<u32> = 1..=1_000_000;
/// The numbers of virtual cores.
const CORES: RangeInclusive<usize> = 1..=1_024;

/// The results of a turn.
struct TurnResult {
    served: LoadResult,
    /// The server's own statistics, which take precedence.
    statistics: Option<Statistics>,
    workers: usize,
}

impl TurnResult {
    /// Returns microseconds of the makespan per request.
    fn per_request(&self) -> f64 {
        micros(self.served.makespan) / self.served.order.len() as f64
    }

    /// Returns the percentage of all workers' time that was spent in requests.
    fn occupancy(&self) -> f64 {
        100.0 * self.served.busy.as_secs_f64() / (self.served.makespan.as_secs_f64() * self.workers as f64)
    }

    /// Returns a percentile of the time from the end of a request to the begin of its worker's next
    /// one, in nanoseconds. With a thread per request there is no next one: then it is the mean
    /// time outside requests.
    fn between(&self, percent: f64) -> f64 {
        match &self.served.between {
            Some(between) => between.percentile(percent).as_nanos() as f64,
            None => {
                let all = self.served.makespan.as_nanos() * self.workers as u128;
                all.saturating_sub(self.served.busy.as_nanos()) as f64 / self.served.order.len() as f64
            }
        }
    }

    /// Returns a percentile of the time from submission to begin, in microseconds.
    fn waiting(&self, percent: f64) -> f64 {
        micros(match &self.statistics {
            Some(statistics) => statistics.waiting.percentile(percent),
            None => self.served.waiting.percentile(percent),
        })
    }

    /// Returns a percentile of the time from submission to end, in microseconds.
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

const OCCUPANCY: &str = "occupancy in %";

/// A case's name, and its number in the results of a turn.
type Case = (&'static str, fn(&TurnResult) -> f64);

/// The service times of requests in a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServiceTime {
    /// Requests are empty.
    Zero,
    /// The first value of `--work`.
    First,
    /// A turn for each value of `--work`.
    Each,
}

/// A turn, which measures one or more cases.
struct TurnPlan {
    work: ServiceTime,
    /// Whether all requests are submitted before the first is served, if there is a queue.
    holds_workers: bool,
    unit: &'static str,
    cases: &'static [Case],
}

const TURNS: [TurnPlan; 5] = [
    TurnPlan {
        work: ServiceTime::Zero,
        holds_workers: false,
        unit: "ns",
        cases: &[("empty requests in ns", |result| result.per_request() * 1e3)],
    },
    TurnPlan {
        work: ServiceTime::Zero,
        holds_workers: true,
        unit: "ns",
        cases: &[("empty requests, submitted first, in ns", |result| result.per_request() * 1e3)],
    },
    TurnPlan {
        work: ServiceTime::Each,
        holds_workers: true,
        unit: "%",
        cases: &[(OCCUPANCY, TurnResult::occupancy)],
    },
    TurnPlan {
        work: ServiceTime::First,
        holds_workers: true,
        unit: "ns",
        cases: &[("between requests, p50 in ns", |result| result.between(50.0))],
    },
    TurnPlan {
        work: ServiceTime::First,
        holds_workers: false,
        unit: "µs",
        cases: &[
            ("time per request in µs", TurnResult::per_request),
            ("until begin, p50 in µs", |result| result.waiting(50.0)),
            ("until begin, p99 in µs", |result| result.waiting(99.0)),
            ("until begin, max in µs", |result| result.waiting(100.0)),
            ("until end, p50 in µs", |result| result.completion(50.0)),
            ("until end, p99 in µs", |result| result.completion(99.0)),
            ("until end, max in µs", |result| result.completion(100.0)),
        ],
    },
];

/// The default numbers of workers of a full run.
const WORKERS: [usize; 5] = [1, 4, 8, 16, 32];

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &ManagedOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let requests = options.requests.unwrap_or(if common.quick { 1_000 } else { 10_000 });
        check_range("--requests", requests, &REQUESTS, "")?;
        options.work.iter().try_for_each(|&work| check_range("--work", work, &WORK_US, "µs").map(drop))?;
        options.cores.iter().try_for_each(|&cores| check_range("--cores", cores, &CORES, "").map(drop))?;
        let workers = common.workers.clone().or((!common.quick).then(|| WORKERS.to_vec()));
        let lineup = Lineup::new(contenders::ALL, &[], &Common { workers, ..common.clone() })?;
        let lengths = options.work.iter().map(|&work| {
            let time = Duration::from_micros(work.into());
            RequestLength { time, rounds: rounds_of(time) }
        });
        let (lengths, cores) = (lengths.collect(), options.cores.clone());
        Ok(Self { requests: requests as usize, lengths, cores, seed: common.seed, lineup })
    }

    /// Returns the request lengths of a turn, one for each time that it runs; `None` stands for
    /// empty requests.
    fn lengths_of(&self, turn: &TurnPlan) -> Vec<Option<&RequestLength>> {
        match turn.work {
            ServiceTime::Zero => vec![None],
            ServiceTime::First => vec![self.lengths.first()],
            ServiceTime::Each => self.lengths.iter().map(Some).collect(),
        }
    }

    /// Runs one turn.
    fn once(
        &self,
        turn: &TurnPlan,
        length: Option<&RequestLength>,
        entry: &Entry,
        workers: usize,
        context: &str,
    ) -> Result<TurnResult, Failure> {
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        let server = (entry.start)(workers)?;
        let run = |load: Load| load.run(entry.more.has_queue, &server.submit).map_err(wrong);
        if (server.statistics)().is_none() {
            run(Load::new(WARM_UP_REQUESTS, 0, 0))?;
        }
        settle();
        let holds = if turn.holds_workers && entry.more.has_queue { workers } else { 0 };
        let (requests, rounds) = match length {
            Some(length) => (self.requests, length.rounds),
            None => (self.requests * LONG_RUN_FACTOR, 0),
        };
        let served = run(Load::new(requests, holds, rounds))?;
        if holds == 1 && entry.more.is_exact && !served.order.is_sorted() {
            return Err(wrong(Wrong::new("a request began before a more urgent one")));
        }
        Ok(TurnResult { served, statistics: (server.statistics)(), workers })
    }

    /// Returns the contenders that also run on virtual cores.
    fn simulated(&self) -> impl Iterator<Item = (&Entry, RankOrder)> {
        self.lineup.contenders.iter().filter_map(|entry| Some((*entry, entry.more.simulated?)))
    }

    /// Computes occupancy on virtual cores.
    fn simulate(&self, progress: &Progress, results: &mut Vec<Measurement>) -> Result<(), Failure> {
        for length in &self.lengths {
            let case = named(&format!("virtual {OCCUPANCY}"), length);
            for &cores in &self.cores {
                for (entry, order) in self.simulated() {
                    let context = format!("{} on {case} with {}", entry.name, counted(cores, "core"));
                    progress.begin(context.clone());
                    let result =
                        simulate(order, cores, self.seed, self.requests * LONG_RUN_FACTOR, length.time);
                    let result =
                        result.map_err(|wrong| Failure::Wrong { context: context.clone(), wrong })?;
                    progress.show_measurement(&context, result.percent, "%");
                    let measurement =
                        Measurement::new(case.clone(), entry.name, cores, "%", vec![result.percent]);
                    let details = vec![("virtual_ns_between", result.overhead_ns)];
                    results.push(Measurement { details, ..measurement });
                    progress.advance();
                }
            }
        }
        Ok(())
    }
}

/// Returns the name of a case with a request length.
fn named(case: &str, length: &RequestLength) -> String {
    format!("{case}, {:?} each", length.time)
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "managed";
    const TITLE: &'static str =
        "Each server runs requests from one queue by rank: less time and higher occupancy are better.";

    fn describe(&self) -> String {
        let times = self.lengths.iter().map(|length| format!("{:?}", length.time)).collect::<Vec<_>>();
        let cores = self.cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        format!(
            "managed: {} requests of {}\n\
            on {cores} virtual cores: {} requests of 0.5 to 1.5 times that\n{:?}\n{}",
            self.requests,
            times.join(", "),
            self.requests * LONG_RUN_FACTOR,
            Costs::default(),
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("requests", self.requests);
        let times = self.lengths.iter().map(|length| length.time.as_micros() as u64);
        parameters.add("work_us", times.collect::<Vec<_>>());
        parameters.add("cores", self.cores.clone());
        parameters.add("costs", format!("{:?}", Costs::default()));
        parameters.add("seed", self.seed);
        self.lineup.add_to(&mut parameters);
        let cases = TURNS.iter().map(|turn| turn.cases.len() * self.lengths_of(turn).len()).sum();
        let simulated = self.simulated().count() * self.cores.len() * self.lengths.len();
        let mut outline = self.lineup.outline(parameters, cases);
        outline.steps += simulated as u64;
        outline
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let mut results = Vec::new();
        let turns =
            TURNS.iter().flat_map(|turn| self.lengths_of(turn).into_iter().map(move |length| (turn, length)));
        for (turn, length) in turns {
            let name = |name: &str| match length.filter(|_| turn.work == ServiceTime::Each) {
                Some(length) => named(name, length),
                None => name.to_string(),
            };
            let cases: Vec<_> = turn.cases.iter().map(|(case, _)| name(case)).collect();
            // The first case runs the turn; the others read its results.
            let turn_results = RefCell::new(BTreeMap::new());
            let once = |case: usize, entry: &Entry, workers, context: &str| {
                let mut turn_results = turn_results.borrow_mut();
                if case == 0 {
                    let result = self.once(turn, length, entry, workers, context)?;
                    turn_results.insert((entry.name, workers), result);
                }
                Ok((turn.cases[case].1)(&turn_results[&(entry.name, workers)]))
            };
            results.extend(self.lineup.measure(progress, turn.unit, &cases, once)?);
        }
        self.simulate(progress, &mut results)?;
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        let requests = self.requests * LONG_RUN_FACTOR;
        vec![
            format!("empty requests: total time ÷ {requests} requests"),
            "submitted first, occupancy, between requests: all requests are submitted before the first is \
        served, except for threads"
                .to_string(),
            "occupancy: time in requests ÷ (workers × makespan); more is better".to_string(),
            "between requests: from the end of a request to the begin of its worker's next one; for threads \
        the mean time outside requests"
                .to_string(),
            format!("virtual occupancy: of {requests} requests, where each worker has a core of its own"),
            "until begin, until end: from the submission of the request; for threads from that of the first \
        one, as submitting blocks"
                .to_string(),
            "xtasking-observed: these times are from the runtime's own statistics".to_string(),
        ]
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("every request was served once, with the right result; \
        with one worker, exact queues kept the order"
            .to_string())
    }
}
