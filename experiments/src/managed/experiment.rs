//! The options, checked and completed, and what one turn is.

use super::Options;
use super::contenders::{self, Entry, Kind, Server};
use super::load::{Load, Served, rounds_of};
use super::simulated::simulate;
use crate::cli::Common;
use crate::failure::Failure;
use crate::lineup::Lineup;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::plan::Wrong;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;
use xtasking::platform::Costs;
use xtasking::{Ranking, Statistics};

/// An experiment that can be run.
pub(super) struct Experiment {
    requests: usize,
    lengths: Vec<Length>,
    cores: Vec<usize>,
    seed: u64,
    lineup: Lineup<Server, Kind>,
}

/// How long a request takes, and how many rounds of work that is.
struct Length {
    time: Duration,
    rounds: u64,
}

/// Requests and their times are kept.
const MOST: u64 = 10_000_000;
/// There are more requests where they do nothing, or take virtual time only.
const MORE: usize = 10;
/// Threads start and heaps are touched: by so many requests, before anything is measured.
const WARMING: usize = 200;
/// Nobody waits longer.
const LONGEST: u32 = 1_000_000;
/// Of virtual ones.
const MOST_CORES: usize = 1_024;

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

    /// Nanoseconds that `percent` of the workers' ways from a request to the next did not exceed. Who serves one alone has
    /// no such way: then it is what all time is more than that in requests, for each.
    fn between(&self, percent: f64) -> f64 {
        match &self.served.between {
            Some(between) => between.percentile(percent).as_nanos() as f64,
            None => {
                let all = self.served.makespan.as_nanos() * self.workers as u128;
                all.saturating_sub(self.served.busy.as_nanos()) as f64 / self.served.order.len() as f64
            }
        }
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

const OCCUPANCY: &str = "occupancy in %";

/// A question's name, and its answer.
type Case = (&'static str, fn(&Ended) -> f64);

/// What the requests of a turn do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Works {
    Nothing,
    /// What takes as long as asked for first.
    First,
    /// There is a turn for each length that was asked for.
    Each,
}

/// One turn answers some questions.
struct Turn {
    works: Works,
    /// All are submitted before the first is served, where that is possible.
    held: bool,
    unit: &'static str,
    cases: &'static [Case],
}

const TURNS: [Turn; 5] = [
    Turn {
        works: Works::Nothing,
        held: false,
        unit: "ns",
        cases: &[("nothing to do in ns", |ended| ended.per_request() * 1e3)],
    },
    Turn {
        works: Works::Nothing,
        held: true,
        unit: "ns",
        cases: &[("nothing to do, all there, in ns", |ended| ended.per_request() * 1e3)],
    },
    Turn { works: Works::Each, held: true, unit: "%", cases: &[(OCCUPANCY, Ended::occupancy)] },
    Turn {
        works: Works::First,
        held: true,
        unit: "ns",
        cases: &[("from one to the next, p50 in ns", |ended| ended.between(50.0))],
    },
    Turn {
        works: Works::First,
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
        if let Some(work) = options.work.iter().find(|work| !(1..=LONGEST).contains(*work)) {
            return Err(Failure::Usage(format!("--work is {work}; choose 1 to {LONGEST} µs")));
        }
        if let Some(cores) = options.cores.iter().find(|cores| !(1..=MOST_CORES).contains(*cores)) {
            return Err(Failure::Usage(format!("--cores is {cores}; choose 1 to {MOST_CORES}")));
        }
        let workers = common.workers.clone().or((!common.quick).then(|| WORKERS.to_vec()));
        let lineup = Lineup::new(contenders::ALL, &[], &Common { workers, ..common.clone() })?;
        let lengths = options.work.iter().map(|&work| {
            let time = Duration::from_micros(work.into());
            Length { time, rounds: rounds_of(time) }
        });
        let (lengths, cores) = (lengths.collect(), options.cores.clone());
        Ok(Self { requests: requests as usize, lengths, cores, seed: common.seed, lineup })
    }

    /// How long the requests of such turns take, each turn in its place; `None`: they do nothing.
    fn lengths_of(&self, turn: &Turn) -> Vec<Option<&Length>> {
        match turn.works {
            Works::Nothing => vec![None],
            Works::First => vec![self.lengths.first()],
            Works::Each => self.lengths.iter().map(Some).collect(),
        }
    }

    /// One turn.
    fn once(
        &self,
        turn: &Turn,
        length: Option<&Length>,
        entry: &Entry,
        workers: usize,
        context: &str,
    ) -> Result<Ended, Failure> {
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        let server = (entry.start)(workers)?;
        let run = |load: Load| load.run(entry.more.queues, &server.submit).map_err(wrong);
        if (server.statistics)().is_none() {
            run(Load::new(WARMING, 0, 0))?;
        }
        // Idle workers sleep, as they would where nothing has been asked for a while.
        thread::sleep(Duration::from_millis(2));
        let holds = if turn.held && entry.more.queues { workers } else { 0 };
        let (requests, rounds) = match length {
            Some(length) => (self.requests, length.rounds),
            None => (self.requests * MORE, 0),
        };
        let served = run(Load::new(requests, holds, rounds))?;
        if holds == 1 && entry.more.exact && !served.order.is_sorted() {
            return Err(wrong(Wrong::new("a request was begun before a more urgent one")));
        }
        Ok(Ended { served, statistics: (server.statistics)(), workers })
    }

    /// Those that run on virtual cores as well.
    fn simulated(&self) -> impl Iterator<Item = (&Entry, Ranking)> {
        self.lineup.contenders.iter().filter_map(|entry| Some((*entry, entry.more.simulated?)))
    }

    /// Occupancy on virtual cores.
    fn simulate(&self, progress: &Progress, results: &mut Vec<Measurement>) -> Result<(), Failure> {
        for length in &self.lengths {
            let case = named(&format!("virtual {OCCUPANCY}"), length);
            for &cores in &self.cores {
                for (entry, ranking) in self.simulated() {
                    let context = format!("{} on {case} with {cores} cores", entry.name);
                    progress.begin(context.clone());
                    let seen = simulate(ranking, cores, self.seed, self.requests * MORE, length.time);
                    let seen = seen.map_err(|wrong| Failure::Wrong { context: context.clone(), wrong })?;
                    progress.measured(&context, seen.occupancy, "%");
                    let percent = vec![seen.occupancy];
                    let found = Measurement::new(case.clone(), entry.name, cores, "%", percent);
                    let details = vec![("virtual_ns_between", seen.otherwise)];
                    results.push(Measurement { details, ..found });
                    progress.advance();
                }
            }
        }
        Ok(())
    }
}

/// A case with requests of one length among others.
fn named(case: &str, length: &Length) -> String {
    format!("{case}, {:?} each", length.time)
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "managed";

    fn describe(&self) -> String {
        let works = self.lengths.iter().map(|length| format!("{:?}", length.time)).collect::<Vec<_>>();
        let cores = self.cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        format!(
            "managed: {} requests of {}\non {cores} virtual cores: {} requests of half to one and a half of that\n{:?}\n{}",
            self.requests,
            works.join(", "),
            self.requests * MORE,
            Costs::default(),
            self.lineup.describe()
        )
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("requests", self.requests);
        let works = self.lengths.iter().map(|length| length.time.as_micros() as u64);
        parameters.add("work_us", works.collect::<Vec<_>>());
        parameters.add("cores", self.cores.clone());
        parameters.add("costs", format!("{:?}", Costs::default()));
        parameters.add("seed", self.seed);
        self.lineup.add_to(&mut parameters);
        parameters
    }

    fn steps(&self) -> u64 {
        let cases = TURNS.iter().map(|turn| turn.cases.len() * self.lengths_of(turn).len()).sum();
        let simulated = self.simulated().count() * self.cores.len() * self.lengths.len();
        self.lineup.steps(cases) + simulated as u64
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let mut results = Vec::new();
        let turns =
            TURNS.iter().flat_map(|turn| self.lengths_of(turn).into_iter().map(move |length| (turn, length)));
        for (turn, length) in turns {
            let name = |name: &str| match length.filter(|_| turn.works == Works::Each) {
                Some(length) => named(name, length),
                None => name.to_string(),
            };
            let cases: Vec<_> = turn.cases.iter().map(|(case, _)| name(case)).collect();
            // The first case has the turn taken, the others ask the same one.
            let ended = RefCell::new(BTreeMap::new());
            let once = |case: usize, entry: &Entry, workers, context: &str| {
                let mut ended = ended.borrow_mut();
                if case == 0 {
                    ended.insert((entry.name, workers), self.once(turn, length, entry, workers, context)?);
                }
                Ok((turn.cases[case].1)(&ended[&(entry.name, workers)]))
            };
            results.extend(self.lineup.measure(progress, turn.unit, &cases, once)?);
        }
        self.simulate(progress, &mut results)?;
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        vec![
            format!("nothing to do: {} requests; the time of the whole for each", self.requests * MORE),
            "all there, occupancy, from one to the next: what is in a queue was submitted before the first was served"
                .to_string(),
            "occupancy: the time in requests, of all workers' time until the last was done; more is better"
                .to_string(),
            "from one to the next: from a request's end to the beginning of its worker's next one; for threads the mean of what is lost"
                .to_string(),
            format!("virtual occupancy: of {} requests, where each worker has a core of its own", self.requests * MORE),
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
