//! Single queries that come at a steady rate: how long each of them takes, and how many are refused.

use super::Options;
use super::bookings::Bookings;
use super::chunks::Chunks;
use super::database::Server as _;
use super::oracle::Oracle;
use super::own::Own;
use super::requests::{Batch, Mix, Query, Turn};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::plan::Wrong;
use arrow_array::RecordBatch;
use std::cell::RefCell;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use xtasking::Handle;
use xtasking_columns::{Failure as Unanswered, Terms};

/// An experiment that can be run.
pub(super) struct Served {
    bookings: Bookings,
    mix: Mix,
    /// The most queries of a batch.
    most: usize,
    workers: usize,
    repetitions: usize,
    /// How many of 100 queries that could be answered are handed in.
    percent: u64,
    promise: Duration,
    chunks: Chunks,
    /// For how long.
    time: Duration,
    notes: RefCell<Vec<String>>,
}

/// Different queries, which come again and again.
const QUERIES: usize = 1 << 14;
/// All of them are handed in so often at once, to see how many can be answered.
const AT_ONCE: usize = 4;
/// One answer in so many is compared with what is right, as to look at each would keep the workers from their CPUs.
const CHECKED: usize = 16;
/// Whoever hands in sleeps for so long, and then hands in all that is due.
const PAUSE: Duration = Duration::from_millis(1);

type Answer = Handle<Result<RecordBatch, Unanswered>>;

/// What came of queries.
#[derive(Default)]
struct Outcome {
    /// Of those that were answered, in milliseconds, in order.
    latencies: Vec<f64>,
    refused: usize,
}

impl Outcome {
    fn percentile(&self, percent: usize) -> f64 {
        let place = (self.latencies.len() * percent).div_ceil(100).max(1) - 1;
        self.latencies.get(place).copied().unwrap_or(f64::NAN)
    }
}

fn wrong(context: &str, text: impl ToString) -> Failure {
    Failure::Wrong { context: context.to_string(), wrong: Wrong::new(text.to_string()) }
}

impl Served {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options, percent: u64) -> Result<Self, Failure> {
        let common = &options.common;
        let usage = |text: String| Err(Failure::Usage(text));
        if !(1..=1000).contains(&percent) {
            return usage(format!("--load is {percent}; choose 1 to 1000, in percent"));
        }
        if options.promise == 0 {
            return usage("--promise: nothing is answered in 0 ms; choose 1 or more".to_string());
        }
        if common.against.is_some() {
            return usage("--load measures the column store alone: there is nobody to name".to_string());
        }
        let rows = options.row_count()?;
        let most = options.batch.as_ref().and_then(|sizes| sizes.last()).copied().unwrap_or(4096);
        options.check_size(most)?;
        common.check_outputs()?;
        Ok(Self {
            bookings: Bookings::new(rows, common.seed),
            mix: options.mix.as_ref().and_then(|mixes| mixes.first()).copied().unwrap_or(Mix::Mixed),
            most,
            workers: common.worker_counts()?.into_iter().max().unwrap_or(1),
            repetitions: common.repetition_count()?,
            percent,
            promise: Duration::from_millis(options.promise),
            chunks: Chunks::here(),
            time: Duration::from_secs(if common.quick { 1 } else { 5 }),
            notes: RefCell::default(),
        })
    }

    fn case(&self) -> String {
        format!("{}, {} % of what can be answered", self.mix.name(), self.percent)
    }

    /// How many queries are answered in a second, if all are there from the beginning.
    fn capacity(&self, own: &Own, queries: &[Query]) -> Result<f64, Failure> {
        let desk = own.open(Terms::default().most(self.most))?;
        let began = Instant::now();
        let all: Vec<_> =
            (0..AT_ONCE).flat_map(|_| queries.iter().map(|query| Own::ask(&desk, query))).collect();
        let count = all.len();
        for answer in all {
            answer
                .join()
                .map_err(|error| wrong("capacity", error))?
                .map_err(|error| wrong("capacity", error))?;
        }
        Ok(count as f64 / began.elapsed().as_secs_f64())
    }

    /// Hands queries in at a rate, so many a second, whether earlier ones are answered or not.
    fn serve(&self, own: &Own, queries: &[Query], right: &[u64], rate: f64) -> Result<Outcome, Failure> {
        let desk = own.open(Terms::default().most(self.most).promise(self.promise))?;
        let (sent, answers) = mpsc::channel::<(usize, Instant, Answer)>();
        thread::scope(|scope| {
            let told = scope.spawn(move || {
                let mut outcome = Outcome::default();
                // Batches are answered in order, so that who waits for the oldest misses nothing.
                for (number, came, answer) in answers {
                    let answer = answer.join().map_err(|error| wrong("an answer", error))?;
                    let latency = came.elapsed();
                    match answer {
                        Ok(rows) => {
                            outcome.latencies.push(latency.as_secs_f64() * 1e3);
                            let place = number % queries.len();
                            if number.is_multiple_of(CHECKED) && Own::digest(&rows) != right[place] {
                                return Err(wrong(
                                    "an answer",
                                    format!("{:?} gives other rows", queries[place]),
                                ));
                            }
                        }
                        Err(Unanswered::Refused { .. }) => outcome.refused += 1,
                        Err(error) => return Err(wrong("an answer", error)),
                    }
                }
                outcome.latencies.sort_by(f64::total_cmp);
                Ok(outcome)
            });
            let began = Instant::now();
            let mut number = 0;
            while began.elapsed() < self.time && !told.is_finished() {
                let due = (began.elapsed().as_secs_f64() * rate) as usize;
                while number < due {
                    let answer = Own::ask(&desk, &queries[number % queries.len()]);
                    // If nobody listens any more, why not is told below.
                    let _ = sent.send((number, Instant::now(), answer));
                    number += 1;
                }
                thread::sleep(PAUSE);
            }
            drop(sent);
            told.join().expect("it waits and does not panic")
        })
    }
}

impl crate::experiment::Experiment for Served {
    const NAME: &'static str = "scan";

    fn describe(&self) -> String {
        format!(
            "scan of {} rows, {} · single queries at {} % of what can be answered, for {} s · promised: {} ms · \
             {} workers · {} repetitions · seed {}\n{}",
            self.bookings.row_count(),
            self.mix.name(),
            self.percent,
            self.time.as_secs(),
            self.promise.as_millis(),
            self.workers,
            self.repetitions,
            self.bookings.seed(),
            self.chunks
        )
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("rows", self.bookings.row_count());
        parameters.add("mix", self.mix.name());
        parameters.add("most", self.most);
        parameters.add("load_percent", self.percent);
        parameters.add("promise_ms", self.promise.as_millis() as u64);
        parameters.add("chunk_rows", self.chunks.rows);
        parameters.add("seconds", self.time.as_secs());
        parameters.add("repetitions", self.repetitions);
        parameters.add("seed", self.bookings.seed());
        parameters
    }

    fn steps(&self) -> u64 {
        self.repetitions as u64
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("loading".to_string());
        let mut own = Own::start(self.workers)?;
        own.load(&self.bookings).map_err(|error| wrong("loading", error))?;
        let mut oracle = Oracle::default();
        oracle.load(&self.bookings).map_err(|error| wrong("the oracle", error))?;
        let turn = Turn {
            number: 1,
            first: self.bookings.count(),
            mix: self.mix,
            batches: 1,
            requests: QUERIES,
            changes: 0,
        };
        let batches: Vec<Batch> = turn.batches(&self.bookings).0;
        let right = oracle.take_turn(&batches).map_err(|error| wrong("the oracle", error))?.digests.concat();
        let queries = &batches[0].queries;
        let (mut capacities, mut latencies) = (Vec::new(), Vec::new());
        for repetition in 1..=self.repetitions {
            progress.begin(format!("repetition {repetition}"));
            let capacity = self.capacity(&own, queries)?;
            let outcome = self.serve(&own, queries, &right, capacity * self.percent as f64 / 100.0)?;
            let [median, most] = [50, 99].map(|percent| outcome.percentile(percent));
            if outcome.latencies.is_empty() {
                return Err(wrong("queries", "all were refused; --promise asks for too much"));
            }
            self.notes.borrow_mut().push(format!(
                "{} answered: {median:.1} ms, 99 of 100 {most:.1}, the slowest {:.1} · {} refused",
                outcome.latencies.len(),
                outcome.percentile(100),
                outcome.refused
            ));
            progress.measured("99 of 100", most, "ms");
            capacities.push(capacity);
            latencies.push(most);
            progress.advance();
        }
        let result =
            |case: String, unit, numbers| Measurement::new(case, "xtasking", self.workers, unit, numbers);
        Ok(vec![
            result(format!("{}, all at once", self.mix.name()), "queries/s", capacities),
            result(self.case(), "ms, 99 of 100", latencies),
        ])
    }

    fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("milliseconds from when a query is handed in until its answer can be read; one answer in 16 was compared with that \
            of the oracle"
            .to_string())
    }
}
