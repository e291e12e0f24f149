//! The options, checked and completed, and what one turn is.

use super::Options;
use super::bookings::{Bookings, COLUMNS};
use super::chunks::Chunks;
use super::contenders::{self, Contender, Entry};
use super::database::{Server as _, Taken};
use super::findings::Findings;
use super::oracle::Oracle;
use super::requests::{Batch, Mix, Turn};
use crate::failure::Failure;
use crate::lineup::Lineup;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::plan::Wrong;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// An experiment that can be run.
pub(super) struct Experiment {
    bookings: Bookings,
    cases: Vec<Case>,
    lineup: Lineup<Contender>,
    chunks: Chunks,
    findings: RefCell<Findings>,
}

/// What is asked for, in batches of one size.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) mix: Mix,
    /// Of a batch, the changes included.
    pub(super) requests: usize,
    pub(super) changes: usize,
    /// Of a turn.
    batches: usize,
}

impl Case {
    pub(super) fn name(&self) -> String {
        match self.changes {
            0 => format!("{}, {}", self.mix.name(), self.requests),
            changes => format!("{}, {} with {changes}", self.mix.name(), self.requests),
        }
    }

    /// Batches of it, of a kind of chance.
    fn turn(&self, number: u64, first: u64) -> Turn {
        let Self { mix, requests, changes, batches } = *self;
        Turn { number, first, mix, batches, requests, changes }
    }
}

/// Small batches are served until as many requests as one of this size has are served, so that their time can be told.
const ENOUGH: usize = 1024;
/// By so many times there are more of them at the most.
const MORE: usize = 16;

const UNIT: &str = "requests/s";

/// Everything that turns change: the tables of all that take part, which are the same at the beginning of each turn.
struct State<'a> {
    bookings: &'a Bookings,
    oracle: Oracle,
    started: BTreeMap<(&'static str, usize), Started>,
    /// What is served before anything is measured.
    warming: Expected,
    /// The turn that is being taken, if one is. Everybody has taken all before it.
    current: Option<Expected>,
}

struct Started {
    contender: Contender,
    /// How many turns it has taken.
    turns: u64,
}

/// A turn, and what everybody has to find in it.
struct Expected {
    turn: Turn,
    batches: Vec<Batch>,
    taken: Taken,
    /// The number of the first booking of the next turn.
    next: u64,
}

impl Expected {
    fn of(turn: Turn, bookings: &Bookings, oracle: &mut Oracle) -> Result<Self, String> {
        let (batches, next) = turn.batches(bookings);
        let taken = oracle.take_turn(&batches)?;
        Ok(Self { turn, batches, taken, next })
    }

    /// Has a contender take the turn, and compares what it finds with what is right.
    fn taken_by(&self, contender: &mut Contender) -> Result<Taken, String> {
        let found = contender.take_turn(&self.turn, &self.batches)?;
        let count = |digests: &[Vec<u64>]| digests.iter().map(Vec::len).collect::<Vec<_>>();
        if count(&found.digests) != count(&self.taken.digests)
            || found.nanoseconds.len() != self.batches.len()
        {
            return Err("not every query of every batch was answered".to_string());
        }
        let batches = self.batches.iter().zip(found.digests.iter().zip(&self.taken.digests));
        for (number, (batch, (found, right))) in batches.enumerate() {
            let wrong =
                batch.queries.iter().zip(found.iter().zip(right)).find(|(_, (found, right))| found != right);
            if let Some((query, _)) = wrong {
                return Err(format!("batch {number}: the rows that {query:?} gives are others"));
            }
        }
        if found.sums != self.taken.sums {
            let (found, right) = (&found.sums, &self.taken.sums);
            return Err(format!(
                "after the turn the table's rows and sums are {found:?} instead of {right:?}"
            ));
        }
        Ok(found)
    }
}

impl<'a> State<'a> {
    /// Nobody has started.
    fn new(bookings: &'a Bookings, warming: Turn) -> Result<Self, String> {
        let mut oracle = Oracle::default();
        oracle.load(bookings)?;
        let warming = Expected::of(warming, bookings, &mut oracle)?;
        Ok(Self { bookings, oracle, started: BTreeMap::new(), warming, current: None })
    }

    /// What has to be found in the turn of that number, which is the one that is being taken or the next.
    fn expected(&mut self, number: u64, case: &Case) -> Result<&Expected, String> {
        let before = self.current.take().filter(|current| current.turn.number <= number);
        let expected = match before {
            Some(current) if current.turn.number == number => current,
            before => {
                let next = before.as_ref().unwrap_or(&self.warming).next;
                Expected::of(case.turn(number, next), self.bookings, &mut self.oracle)?
            }
        };
        Ok(self.current.insert(expected))
    }
}

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        let usage = |text: String| Err(Failure::Usage(text));
        let rows = options.row_count()?;
        let sizes: &[usize] =
            if common.quick { &[16, 256, 4096] } else { &[1, 16, 128, 512, 1024, 2048, 4096] };
        let sizes = options.batch.clone().unwrap_or_else(|| sizes.to_vec());
        sizes.iter().try_for_each(|&size| options.check_size(size))?;
        let batches = options.batches.unwrap_or(if common.quick { 2 } else { 8 });
        if batches == 0 {
            return usage("--batches: 0 would measure nothing; choose 1 or more".to_string());
        }
        let mixes: &[Mix] =
            if common.quick { &[Mix::Mixed] } else { &[Mix::Mixed, Mix::Points, Mix::Ranges] };
        let mixes = options.mix.clone().unwrap_or_else(|| mixes.to_vec());
        let case = |mix, requests| Case {
            mix,
            requests,
            changes: requests.checked_div(options.updates).unwrap_or(0),
            batches: batches * (ENOUGH / requests).clamp(1, MORE),
        };
        let cases = mixes.iter().flat_map(|&mix| sizes.iter().map(move |&size| case(mix, size))).collect();
        let lineup = Lineup::new(contenders::ALL, contenders::OUTSIDE, common)?;
        let bookings = Bookings::new(rows, common.seed);
        Ok(Self { bookings, cases, lineup, chunks: Chunks::here(), findings: RefCell::default() })
    }

    /// What is served before anything is measured: the first case's mix, in a batch of the greatest size.
    fn warming(&self) -> Turn {
        let largest = self.cases.iter().max_by_key(|case| case.requests).expect("there is a case");
        Turn { batches: 1, ..Case { mix: self.cases[0].mix, ..*largest }.turn(0, self.bookings.count()) }
    }

    /// One turn: requests a second.
    fn once(
        &self,
        state: &mut State<'_>,
        case: usize,
        entry: &Entry,
        workers: usize,
        context: &str,
    ) -> Result<f64, Failure> {
        let wrong = |text| Failure::Wrong { context: context.to_string(), wrong: Wrong::new(text) };
        let who = (entry.name, workers);
        let mut started = match state.started.remove(&who) {
            Some(started) => started,
            None => {
                let mut contender = (entry.start)(workers)?;
                let loaded = contender.load(state.bookings).map_err(wrong)?;
                self.findings.borrow_mut().loaded(entry.name, workers, loaded);
                state.warming.taken_by(&mut contender).map_err(wrong)?;
                Started { contender, turns: 0 }
            }
        };
        started.turns += 1;
        let expected = state.expected(started.turns, &self.cases[case]).map_err(wrong)?;
        let taken = expected.taken_by(&mut started.contender).map_err(wrong)?;
        let requests = expected.turn.requests * expected.turn.batches;
        state.started.insert(who, started);
        let nanoseconds = taken.nanoseconds.iter().sum::<u64>().max(1);
        self.findings.borrow_mut().taken(case, entry.name, workers, taken.nanoseconds);
        Ok(requests as f64 / (nanoseconds as f64 / 1e9))
    }
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "scan";

    fn describe(&self) -> String {
        let cases = self.cases.iter().map(Case::name).collect::<Vec<_>>().join(" · ");
        format!(
            "scan of {} rows of {} columns, {} bookings · seed {}\nrequests of a batch, of which changes: {cases}\n{}\n{}",
            self.bookings.row_count(),
            COLUMNS.len(),
            self.bookings.count(),
            self.bookings.seed(),
            self.chunks,
            self.lineup.describe()
        )
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("rows", self.bookings.row_count());
        parameters.add("cases", self.cases.iter().map(Case::name).collect::<Vec<_>>());
        parameters.add("batches", self.cases.iter().map(|case| case.batches).collect::<Vec<_>>());
        parameters.add("chunk_rows", self.chunks.rows);
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.bookings.seed());
        parameters
    }

    fn steps(&self) -> u64 {
        self.lineup.steps(self.cases.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("what is right".to_string());
        let failed = |text| Failure::Wrong { context: "the oracle".to_string(), wrong: Wrong::new(text) };
        let state = RefCell::new(State::new(&self.bookings, self.warming()).map_err(failed)?);
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
        Ok("requests a second: more is better; every answer, and every table after each turn, was compared with \
            those of the oracle"
            .to_string())
    }
}
