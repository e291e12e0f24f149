//! Checks and completes the options, and runs one turn of a case.

use super::bookings::{Bookings, COLUMNS};
use super::chunks::Chunks;
use super::contenders::{self, Contender, Entry};
use super::database::{Server as _, TurnResult};
use super::findings::Findings;
use super::oracle::Oracle;
use super::requests::{Batch, QueryMix, Turn};
use super::{ScanOptions, UNIT, describe_means};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::Lineup;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment that can be run.
pub(super) struct Experiment {
    bookings: Bookings,
    cases: Vec<Case>,
    lineup: Lineup<Contender>,
    chunks: Chunks,
    findings: RefCell<Findings>,
}

/// A mix of requests in batches of one size.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) mix: QueryMix,
    /// Requests of a batch, including the changes.
    pub(super) requests: usize,
    pub(super) changes: usize,
    /// Batches of a turn.
    batches: usize,
}

impl Case {
    pub(super) fn name(&self) -> String {
        match self.changes {
            0 => format!("{}, {}", self.mix.name(), self.requests),
            changes => format!("{}, {} with {changes}", self.mix.name(), self.requests),
        }
    }

    /// Returns the turn of the given number, whose first new booking is `first`.
    fn turn(&self, number: u64, first: u64) -> Turn {
        let Self { mix, requests, changes, batches } = *self;
        Turn { number, first, mix, batches, requests, changes }
    }
}

/// Turns with small batches have more of them, until this many requests are served, so that their
/// time can be measured.
const MIN_REQUESTS: usize = 1024;
/// Upper bound for the factor by which batches are multiplied.
const MAX_FACTOR: usize = 16;
/// Numbers of batches.
const BATCHES: RangeInclusive<usize> = 1..=100_000;

/// State that turns change: the tables of all contenders, which are equal at the begin of each
/// turn.
struct State<'a> {
    bookings: &'a Bookings,
    oracle: Oracle,
    started: BTreeMap<(&'static str, usize), Started>,
    /// The turn served as a warm-up before measurements.
    warm_up: Expected,
    /// The current turn, if there is one. All contenders have completed all turns before it.
    current: Option<Expected>,
}

struct Started {
    contender: Contender,
    /// Number of completed turns.
    turns: u64,
}

/// A turn and its expected result.
struct Expected {
    turn: Turn,
    batches: Vec<Batch>,
    result: TurnResult,
    /// The number of the first booking of the next turn.
    next: u64,
}

impl Expected {
    fn of(turn: Turn, bookings: &Bookings, oracle: &mut Oracle) -> Result<Self, String> {
        let (batches, next) = turn.batches(bookings);
        let result = oracle.run_turn(&batches)?;
        Ok(Self { turn, batches, result, next })
    }

    /// Lets a contender run the turn, and compares its result with the expected one.
    fn run_on(&self, contender: &mut Contender) -> Result<TurnResult, String> {
        let result = contender.run_turn(&self.turn, &self.batches)?;
        let count = |digests: &[Vec<u64>]| digests.iter().map(Vec::len).collect::<Vec<_>>();
        if count(&result.digests) != count(&self.result.digests)
            || result.nanoseconds.len() != self.batches.len()
        {
            return Err("not every query of every batch was answered".to_string());
        }
        let batches = self.batches.iter().zip(result.digests.iter().zip(&self.result.digests));
        for (number, (batch, (result, expected))) in batches.enumerate() {
            let wrong = batch
                .queries
                .iter()
                .zip(result.iter().zip(expected))
                .find(|(_, (result, expected))| result != expected);
            if let Some((query, _)) = wrong {
                return Err(format!("batch {number}: {query:?} returns wrong rows"));
            }
        }
        if result.sums != self.result.sums {
            let (result, expected) = (&result.sums, &self.result.sums);
            return Err(format!(
                "after the turn the table's row count and sums are {result:?}; expected {expected:?}"
            ));
        }
        Ok(result)
    }
}

impl<'a> State<'a> {
    /// Creates the state before any contender has started.
    fn new(bookings: &'a Bookings, warm_up: Turn) -> Result<Self, String> {
        let mut oracle = Oracle::default();
        oracle.load(bookings)?;
        let warm_up = Expected::of(warm_up, bookings, &mut oracle)?;
        Ok(Self { bookings, oracle, started: BTreeMap::new(), warm_up, current: None })
    }

    /// Returns the expected result of turn `number`, which is the current one or the next.
    fn expected(&mut self, number: u64, case: &Case) -> Result<&Expected, String> {
        let before = self.current.take().filter(|current| current.turn.number <= number);
        let expected = match before {
            Some(current) if current.turn.number == number => current,
            before => {
                let next = before.as_ref().unwrap_or(&self.warm_up).next;
                Expected::of(case.turn(number, next), self.bookings, &mut self.oracle)?
            }
        };
        Ok(self.current.insert(expected))
    }
}

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &ScanOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let rows = options.row_count()?;
        let sizes: &[usize] =
            if common.quick { &[16, 256, 4096] } else { &[1, 16, 128, 512, 1024, 2048, 4096] };
        let sizes = options.batch.clone().unwrap_or_else(|| sizes.to_vec());
        sizes.iter().try_for_each(|&size| options.check_size(size))?;
        let batches = options.batches.unwrap_or(if common.quick { 2 } else { 8 });
        check_range("--batches", batches, &BATCHES, "")?;
        let mixes: &[QueryMix] = if common.quick {
            &[QueryMix::Mixed]
        } else {
            &[QueryMix::Mixed, QueryMix::Points, QueryMix::Ranges]
        };
        let mixes = options.mix.clone().unwrap_or_else(|| mixes.to_vec());
        let case = |mix, requests| Case {
            mix,
            requests,
            changes: requests.checked_div(options.updates).unwrap_or(0),
            batches: batches * (MIN_REQUESTS / requests).clamp(1, MAX_FACTOR),
        };
        let cases = mixes.iter().flat_map(|&mix| sizes.iter().map(move |&size| case(mix, size))).collect();
        let lineup = Lineup::new(contenders::ALL, contenders::OUTSIDE, common)?;
        let bookings = Bookings::new(rows, common.seed);
        Ok(Self { bookings, cases, lineup, chunks: Chunks::here(), findings: RefCell::default() })
    }

    /// Returns the warm-up: the first case's mix, in a batch of the greatest size.
    fn warm_up(&self) -> Turn {
        let largest =
            self.cases.iter().max_by_key(|case| case.requests).expect("an experiment has at least one case");
        Turn { batches: 1, ..Case { mix: self.cases[0].mix, ..*largest }.turn(0, self.bookings.count()) }
    }

    /// Runs one turn. Returns requests a second.
    fn once(
        &self,
        state: &mut State<'_>,
        case: usize,
        entry: &Entry,
        workers: usize,
        context: &str,
    ) -> Result<f64, Failure> {
        let wrong = |text| Failure::Wrong { context: context.to_string(), wrong: Wrong::new(text) };
        let key = (entry.name, workers);
        let mut started = match state.started.remove(&key) {
            Some(started) => started,
            None => {
                let mut contender = (entry.start)(workers)?;
                let loaded = contender.load(state.bookings).map_err(wrong)?;
                self.findings.borrow_mut().add_load(entry.name, workers, loaded);
                state.warm_up.run_on(&mut contender).map_err(wrong)?;
                Started { contender, turns: 0 }
            }
        };
        started.turns += 1;
        let expected = state.expected(started.turns, &self.cases[case]).map_err(wrong)?;
        let result = expected.run_on(&mut started.contender).map_err(wrong)?;
        let requests = expected.turn.requests * expected.turn.batches;
        state.started.insert(key, started);
        let nanoseconds = result.nanoseconds.iter().sum::<u64>().max(1);
        self.findings.borrow_mut().add_turn(case, entry.name, workers, result.nanoseconds);
        Ok(requests as f64 / (nanoseconds as f64 / 1e9))
    }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "scan";
    const TITLE: &'static str = "Throughput of batches of requests for bookings, by store";

    fn describe(&self) -> String {
        let cases = self.cases.iter().map(Case::name).collect::<Vec<_>>().join(" · ");
        format!(
            "scan of {} rows of {} columns, {} bookings · seed {}\n\
             requests of a batch, of which changes: {cases}\n{}",
            self.bookings.row_count(),
            COLUMNS.len(),
            self.bookings.count(),
            self.bookings.seed(),
            describe_means(&self.chunks, &self.lineup)
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("rows", self.bookings.row_count());
        parameters.add("cases", self.cases.iter().map(Case::name).collect::<Vec<_>>());
        parameters.add("batches", self.cases.iter().map(|case| case.batches).collect::<Vec<_>>());
        parameters.add("chunk_rows", self.chunks.rows);
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.bookings.seed());
        self.lineup.outline(parameters, self.cases.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("computing expected answers".to_string());
        let failed = |text| Failure::Wrong { context: "the oracle".to_string(), wrong: Wrong::new(text) };
        let state = RefCell::new(State::new(&self.bookings, self.warm_up()).map_err(failed)?);
        let cases: Vec<_> = self.cases.iter().map(Case::name).collect();
        let mut results = self.lineup.measure(progress, UNIT, &cases, |case, entry, workers, context| {
            self.once(&mut state.borrow_mut(), case, entry, workers, context)
        })?;
        self.findings.borrow_mut().complete(&self.cases, self.bookings.row_count(), &mut results);
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        self.findings.borrow().notes()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("requests a second, more is better; every answer, and every table after each turn, \
            was compared with those of the oracle"
            .to_string())
    }
}
