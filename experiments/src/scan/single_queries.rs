//! Measures single queries that arrive at a steady rate: latency, and how many are refused.

use super::ScanOptions;
use super::bookings::Bookings;
use super::chunks::Chunks;
use super::column_store::ColumnStore;
use super::database::Server as _;
use super::oracle::Oracle;
use super::requests::{Batch, Query, QueryMix, Turn};
use arrow_array::RecordBatch;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use xtasking::Handle;
use xtasking_columns::{BatchPolicy, Failure as Unanswered};
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment that can be run.
pub(super) struct SingleQueries {
    bookings: Bookings,
    mix: QueryMix,
    /// Maximal number of queries of a batch.
    max_requests: usize,
    workers: usize,
    repetitions: usize,
    /// Rate of submission, in percent of the capacity.
    percent: u64,
    deadline: Duration,
    chunks: Chunks,
    /// How long queries are submitted.
    time: Duration,
    notes: RefCell<Vec<String>>,
}

/// Number of different queries, which are submitted over and over.
const QUERIES: usize = 1 << 14;
/// How often all queries are submitted at once to measure the capacity.
const CAPACITY_ROUNDS: usize = 4;
/// One answer in this many is compared with the oracle's, as comparing all would keep the workers
/// from their CPUs.
const CHECK_INTERVAL: usize = 16;
/// Pause of the submitting thread before it submits all queries that are due.
const PAUSE: Duration = Duration::from_millis(1);
/// Up to an hour.
const DEADLINES_MS: RangeInclusive<u64> = 1..=3_600_000;

type Answer = Handle<Result<RecordBatch, Unanswered>>;

/// The outcome of the submitted queries.
#[derive(Default)]
struct Outcome {
    /// Latencies of the answered queries, in milliseconds, ascending.
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

impl SingleQueries {
    /// Checks and completes the options.
    pub(super) fn new(options: &ScanOptions, percent: u64) -> Result<Self, Failure> {
        let common = &options.common;
        let usage = |text: String| Err(Failure::Usage(text));
        if !(1..=1000).contains(&percent) {
            return usage(format!("--load is {percent}; choose 1 to 1000, in percent"));
        }
        check_range("--deadline", options.deadline, &DEADLINES_MS, "ms")?;
        if common.against.is_some() {
            return usage(
                "--load measures the column store alone; leave out --against and --only".to_string(),
            );
        }
        let rows = options.row_count()?;
        let max_requests = options.batch.as_ref().and_then(|sizes| sizes.last()).copied().unwrap_or(4096);
        options.check_size(max_requests)?;
        common.check_outputs()?;
        Ok(Self {
            bookings: Bookings::new(rows, common.seed),
            mix: options.mix.as_ref().and_then(|mixes| mixes.first()).copied().unwrap_or(QueryMix::Mixed),
            max_requests,
            workers: common.worker_counts()?.into_iter().max().unwrap_or(1),
            repetitions: common.repetition_count()?,
            percent,
            deadline: Duration::from_millis(options.deadline),
            chunks: Chunks::here(),
            time: Duration::from_secs(if common.quick { 1 } else { 5 }),
            notes: RefCell::default(),
        })
    }

    fn case(&self) -> String {
        format!("{}, {}% of capacity", self.mix.name(), self.percent)
    }

    /// Returns the number of queries answered a second if all are submitted at once.
    fn capacity(&self, column_store: &ColumnStore, queries: &[Query]) -> Result<f64, Failure> {
        let batcher = column_store.open(BatchPolicy::default().max_requests(self.max_requests))?;
        let began = Instant::now();
        let all: Vec<_> = (0..CAPACITY_ROUNDS)
            .flat_map(|_| queries.iter().map(|query| ColumnStore::submit(&batcher, query)))
            .collect();
        let count = all.len();
        for answer in all {
            answer
                .join()
                .map_err(|error| wrong("capacity", error))?
                .map_err(|error| wrong("capacity", error))?;
        }
        Ok(count as f64 / began.elapsed().as_secs_f64())
    }

    /// Submits queries at `rate` a second, whether earlier ones are answered or not.
    fn serve(
        &self,
        column_store: &ColumnStore,
        queries: &[Query],
        expected: &[u64],
        rate: f64,
    ) -> Result<Outcome, Failure> {
        let batcher = column_store
            .open(BatchPolicy::default().max_requests(self.max_requests).deadline(self.deadline))?;
        let (sender, answers) = mpsc::channel::<(usize, Instant, Answer)>();
        thread::scope(|scope| {
            let receiver = scope.spawn(move || {
                let mut outcome = Outcome::default();
                // Batches are answered in order, so waiting for the oldest query delays no other.
                for (number, came, answer) in answers {
                    let answer = answer.join().map_err(|error| wrong("an answer", error))?;
                    let latency = came.elapsed();
                    match answer {
                        Ok(rows) => {
                            outcome.latencies.push(latency.as_secs_f64() * 1e3);
                            let place = number % queries.len();
                            if number.is_multiple_of(CHECK_INTERVAL)
                                && ColumnStore::digest(&rows) != expected[place]
                            {
                                return Err(wrong(
                                    "an answer",
                                    format!("{:?} returns wrong rows", queries[place]),
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
            while began.elapsed() < self.time && !receiver.is_finished() {
                let due = (began.elapsed().as_secs_f64() * rate) as usize;
                while number < due {
                    let answer = ColumnStore::submit(&batcher, &queries[number % queries.len()]);
                    // If the receiver is gone, its result below says why.
                    let _ = sender.send((number, Instant::now(), answer));
                    number += 1;
                }
                thread::sleep(PAUSE);
            }
            drop(sender);
            receiver.join().expect("the receiving thread does not panic")
        })
    }
}

impl xtasking_harness::experiment::Experiment for SingleQueries {
    const NAME: &'static str = "scan";
    const TITLE: &'static str = "Latency of single queries of the column store";

    fn describe(&self) -> String {
        format!(
            "scan of {} rows, {} · single queries at {}% of capacity, for {} s · deadline: {} ms · \
             {} workers · {} repetitions · seed {}\n{}",
            self.bookings.row_count(),
            self.mix.name(),
            self.percent,
            self.time.as_secs(),
            self.deadline.as_millis(),
            self.workers,
            self.repetitions,
            self.bookings.seed(),
            self.chunks
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("rows", self.bookings.row_count());
        parameters.add("mix", self.mix.name());
        parameters.add("most", self.max_requests);
        parameters.add("load_percent", self.percent);
        parameters.add("promise_ms", self.deadline.as_millis() as u64);
        parameters.add("chunk_rows", self.chunks.rows);
        parameters.add("seconds", self.time.as_secs());
        parameters.add("repetitions", self.repetitions);
        parameters.add("seed", self.bookings.seed());
        let legend = vec![("xtasking".to_string(), "the column store of this project".to_string())];
        Outline { parameters, legend, steps: self.repetitions as u64 }
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("loading".to_string());
        let mut column_store = ColumnStore::start(self.workers)?;
        column_store.load(&self.bookings).map_err(|error| wrong("loading", error))?;
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
        let expected =
            oracle.run_turn(&batches).map_err(|error| wrong("the oracle", error))?.digests.concat();
        let queries = &batches[0].queries;
        let (mut capacities, mut latencies) = (Vec::new(), Vec::new());
        for repetition in 1..=self.repetitions {
            progress.begin(format!("repetition {repetition}"));
            let capacity = self.capacity(&column_store, queries)?;
            let outcome =
                self.serve(&column_store, queries, &expected, capacity * self.percent as f64 / 100.0)?;
            let [median, max_requests] = [50, 99].map(|percent| outcome.percentile(percent));
            if outcome.latencies.is_empty() {
                return Err(wrong("queries", "all were refused; choose a longer --deadline"));
            }
            self.notes.borrow_mut().push(format!(
                "{} answered: {median:.1} ms, 99th percentile {max_requests:.1}, maximum {:.1} · {} refused",
                outcome.latencies.len(),
                outcome.percentile(100),
                outcome.refused
            ));
            progress.show_measurement("99th percentile", max_requests, "ms");
            capacities.push(capacity);
            latencies.push(max_requests);
            progress.advance();
        }
        let result =
            |case: String, unit, numbers| Measurement::new(case, "xtasking", self.workers, unit, numbers);
        Ok(vec![
            result(format!("{}, all at once", self.mix.name()), "queries/s", capacities),
            result(self.case(), "ms, 99th percentile", latencies),
        ])
    }

    fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("milliseconds from the submission of a query to its answer; one answer in 16 was compared \
            with the oracle's"
            .to_string())
    }
}
