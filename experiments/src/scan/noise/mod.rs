//! Measures batches beside competitors: how much throughput the column store loses when other
//! programs use a CPU of its workers, by deployment.
//!
//! | module | what it holds |
//! |---|---|
//! | `deployment` | how the table is divided |
//! | `competitors` | the competing processes |

mod competitors;
mod deployment;

pub use competitors::{Burn, burn};

use super::bookings::{Bookings, COLUMNS};
use super::chunks::Chunks;
use super::column_store::ColumnStore;
use super::database::{Database, Server as _};
use super::findings::percentile;
use super::oracle::Oracle;
use super::requests::{Batch, QueryMix, Turn};
use super::{ScanOptions, UNIT, describe_means};
use competitors::Competitors;
use deployment::{Deployment, Machine, Observer};
use std::cell::RefCell;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use xtasking_columns::Answers;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::Lineup;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment that can be run.
pub(super) struct Noise {
    bookings: Bookings,
    competitors: usize,
    /// The requests of a turn; its number and its first booking are filled in for each turn.
    turn: Turn,
    workers: usize,
    lineup: Lineup<Deployment>,
    chunks: Chunks,
    notes: RefCell<Vec<String>>,
}

/// Each of more competitors would get too little time to matter.
const MAX_COMPETITORS: usize = 64;
/// A turn's batches divided by this are served as a warm-up, or before competitors start.
const WARM_UP_DIVISOR: usize = 4;

/// The table that all turns use, and the oracle's.
struct State<'a> {
    bookings: &'a Bookings,
    column_store: ColumnStore,
    oracle: Oracle,
    turns: u64,
    next: u64,
}

/// The answers to batches, with begin and duration of each.
struct ServedBatches {
    answers: Vec<Answers>,
    times: Vec<(Instant, Duration)>,
}

/// A redistribution: when it was made, also since the competitors started, the weights, and the
/// number of moved rows.
struct Redistribution {
    at: Instant,
    after: Duration,
    weights: Vec<f64>,
    rows: u64,
}

/// Formats the median and the 99th percentile of `times`, which must not be empty.
fn latencies(times: impl Iterator<Item = Duration>) -> String {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    let [median, p99] = [50, 99].map(|percent| percentile(&times, percent).as_secs_f64() * 1e3);
    format!("{median:.1} / {p99:.1} ms")
}

fn shares(weights: &[f64]) -> String {
    weights.iter().map(|weight| format!("{weight:.2}")).collect::<Vec<_>>().join(" : ")
}

fn wrong(context: &str, text: String) -> Failure {
    Failure::Wrong { context: context.to_string(), wrong: Wrong::new(text) }
}

/// Serves batches one after another.
fn serve(column_store: &ColumnStore, batches: &[Batch]) -> Result<ServedBatches, String> {
    let mut served = ServedBatches { answers: Vec::new(), times: Vec::new() };
    for batch in batches {
        let began = Instant::now();
        served.answers.push(column_store.answer(batch)?);
        served.times.push((began, began.elapsed()));
    }
    Ok(served)
}

impl State<'_> {
    fn batches(&mut self, turn: Turn) -> Vec<Batch> {
        self.turns += 1;
        let (batches, next) = Turn { number: self.turns, first: self.next, ..turn }.batches(self.bookings);
        self.next = next;
        batches
    }

    /// Compares the answers and the table with the oracle's.
    fn check(&mut self, batches: &[Batch], answers: Vec<Answers>) -> Result<(), String> {
        let expected = self.oracle.run_turn(batches)?;
        for (number, (batch, (answers, expected))) in
            batches.iter().zip(answers.into_iter().zip(expected.digests)).enumerate()
        {
            if self.column_store.digests(batch, answers)? != expected {
                return Err(format!("batch {number}: some queries returned wrong rows"));
            }
        }
        let sums = self.column_store.sums()?;
        if sums != expected.sums {
            return Err(format!("the table's row count and sums are {sums:?}; expected {:?}", expected.sums));
        }
        Ok(())
    }
}

impl Noise {
    /// Returns the name of the case with competitors.
    fn noise(&self) -> String {
        let noun = if self.competitors == 1 { "competitor" } else { "competitors" };
        format!("{} {noun}", self.competitors)
    }

    /// Adds notes on what each deployment loses, relative to equal parts without competitors.
    fn compare(&self, results: &[Measurement]) {
        let Some(alone) = results.first().map(|first| first.summary.median) else { return };
        let lost = |result: &Measurement| {
            format!("{} {:.0} %", result.implementation, 100.0 * (1.0 - result.summary.median / alone))
        };
        let lost: Vec<_> = results.iter().filter(|result| result.case != "alone").map(lost).collect();
        let mut notes = self.notes.borrow_mut();
        notes.insert(0, "milliseconds of a batch by turn, median / 99th percentile:".to_string());
        notes.push(format!(
            "throughput lost relative to {} alone: {}",
            results[0].implementation,
            lost.join(" · ")
        ));
    }

    /// Checks and completes the options.
    pub(super) fn new(options: &ScanOptions, competitors: usize) -> Result<Self, Failure> {
        let common = &options.common;
        let usage = |text: String| Err(Failure::Usage(text));
        if !(1..=MAX_COMPETITORS).contains(&competitors) {
            return usage(format!("--competitors is {competitors}; choose 1 to {MAX_COMPETITORS}"));
        }
        let workers = common.worker_counts()?.into_iter().max().unwrap_or(1);
        if workers < 2 {
            return usage(
                "--competitors: one worker has nothing to divide; choose --workers 2 or more".to_string(),
            );
        }
        let rows = options.row_count()?;
        let requests = options.batch.as_ref().and_then(|sizes| sizes.last()).copied().unwrap_or(4096);
        options.check_size(requests)?;
        let turn = Turn {
            number: 0,
            first: 0,
            mix: options.mix.as_ref().and_then(|mixes| mixes.first()).copied().unwrap_or(QueryMix::Mixed),
            batches: options.batches.unwrap_or(if common.quick { 12 } else { 40 }).max(WARM_UP_DIVISOR),
            requests,
            changes: requests.checked_div(options.updates).unwrap_or(0),
        };
        let counts = xtasking_harness::common::Common { workers: Some(vec![workers]), ..common.clone() };
        let lineup = Lineup::new(deployment::ALL, &[], &counts)?;
        let bookings = Bookings::new(rows, common.seed);
        let chunks = Chunks::here();
        Ok(Self { bookings, competitors, turn, workers, lineup, chunks, notes: RefCell::default() })
    }

    /// Runs one turn. Returns requests a second.
    fn once(
        &self,
        state: &mut State<'_>,
        machine: &Machine,
        noisy: bool,
        deployment: Deployment,
        context: &str,
    ) -> Result<f64, Failure> {
        let failed = |text: String| wrong(context, text);
        state.column_store.balance(&vec![1.0; self.workers]).map_err(failed)?;
        let cpu = machine.last();
        let start_competitors =
            || if noisy { Competitors::start(self.competitors, cpu).map(Some) } else { Ok(None) };
        // The load while the table is divided equally determines the new division.
        let before =
            state.batches(Turn { batches: self.turn.batches.div_ceil(WARM_UP_DIVISOR), ..self.turn });
        let early = if deployment == Deployment::Adaptive { None } else { start_competitors()? };
        let mut watch = machine.watch()?;
        let served = serve(&state.column_store, &before).map_err(failed)?;
        let weights =
            machine.divide(deployment, watch.load().map_err(|error| Failure::Usage(error.to_string()))?)?;
        state.check(&before, served.answers).map_err(failed)?;
        state.column_store.balance(&weights).map_err(failed)?;

        let batches = state.batches(self.turn);
        let (served, redistributions, running) = match deployment {
            Deployment::Adaptive => {
                self.serve_observed(&state.column_store, machine, &batches, start_competitors, context)?
            }
            _ => (serve(&state.column_store, &batches).map_err(failed)?, Vec::new(), early),
        };
        drop(running);
        let times = served.times.iter().map(|(_, time)| *time);
        let mut note = format!("{context}: {}", latencies(times.clone()));
        if deployment != Deployment::Naive {
            note += &format!(", shares {}", shares(&weights));
        }
        for Redistribution { at, after, weights, rows } in redistributions {
            let (after, weights) = (after.as_secs_f64(), shares(&weights));
            note += &format!(", after {after:.2} s {weights} ({rows} rows moved)");
            let mut since =
                served.times.iter().filter(|(began, _)| *began > at).map(|(_, time)| *time).peekable();
            if since.peek().is_some() {
                note += &format!(": {} afterwards", latencies(since));
            }
        }
        self.notes.borrow_mut().push(note);
        let time: Duration = times.sum();
        state.check(&batches, served.answers).map_err(failed)?;
        Ok((self.turn.requests * served.times.len()) as f64 / time.as_secs_f64())
    }

    /// Serves batches while an adviser observes the machine. Competitors start after a part of the
    /// batches; only the times of the rest are reported.
    fn serve_observed(
        &self,
        column_store: &ColumnStore,
        machine: &Machine,
        batches: &[Batch],
        start_competitors: impl FnOnce() -> Result<Option<Competitors>, Failure>,
        context: &str,
    ) -> Result<(ServedBatches, Vec<Redistribution>, Option<Competitors>), Failure> {
        let failed = |text: String| wrong(context, text);
        let (undisturbed, disturbed) = batches.split_at(batches.len() / WARM_UP_DIVISOR);
        let mut looks = machine.adviser()?;
        let (over, is_over) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let advised = scope.spawn(move || {
                let mut moves = Vec::new();
                while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(Observer::INTERVAL) {
                    if let Some(weights) = looks.observe()? {
                        let rows = column_store.balance(&weights).map_err(failed)?;
                        moves.push((Instant::now(), weights, rows));
                    }
                }
                Ok::<_, Failure>(moves)
            });
            let work = || {
                let mut served = serve(column_store, undisturbed).map_err(failed)?;
                let running = start_competitors()?;
                let competitors_start = Instant::now();
                let rest = serve(column_store, disturbed).map_err(failed)?;
                served.answers.extend(rest.answers);
                Ok((ServedBatches { times: rest.times, ..served }, running, competitors_start))
            };
            let outcome = work();
            drop(over);
            let moves = advised.join().expect("the observing thread does not panic")?;
            let (served, running, competitors_start) = outcome?;
            let redistributions = |(at, weights, rows): (Instant, _, _)| Redistribution {
                at,
                after: at.saturating_duration_since(competitors_start),
                weights,
                rows,
            };
            Ok((served, moves.into_iter().map(redistributions).collect(), running))
        })
    }
}

impl xtasking_harness::experiment::Experiment for Noise {
    const NAME: &'static str = "scan";
    const TITLE: &'static str = "Throughput of the column store beside other programs";

    fn describe(&self) -> String {
        let Turn { batches, requests, changes, mix, .. } = self.turn;
        format!(
            "scan of {} rows beside {} · {batches} batches of {requests} requests, {}, \
             of which {changes} are changes · \
             seed {}\n{}",
            self.bookings.row_count(),
            self.noise(),
            mix.name(),
            self.bookings.seed(),
            describe_means(&self.chunks, &self.lineup)
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("rows", self.bookings.row_count());
        parameters.add("mix", self.turn.mix.name());
        parameters.add("requests", self.turn.requests);
        parameters.add("changes", self.turn.changes);
        parameters.add("batches", self.turn.batches);
        parameters.add("competitors", self.competitors);
        parameters.add("chunk_rows", self.chunks.rows);
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.bookings.seed());
        self.lineup.outline(parameters, 2)
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("loading".to_string());
        let failed = |text| wrong("xtasking", text);
        let mut column_store = ColumnStore::start(self.workers)?;
        let machine =
            Machine::new(column_store.cpus()?, self.bookings.row_count() * 8 * COLUMNS.len() as u64)?;
        column_store.load(&self.bookings).map_err(failed)?;
        let mut oracle = Oracle::default();
        oracle.load(&self.bookings).map_err(failed)?;
        let state =
            State { bookings: &self.bookings, column_store, oracle, turns: 0, next: self.bookings.count() };
        let state = RefCell::new(state);
        let cases = ["alone".to_string(), self.noise()];
        let results = self.lineup.measure(progress, UNIT, &cases, |case, entry, workers, context| {
            let deployment = (entry.start)(workers)?;
            self.once(&mut state.borrow_mut(), &machine, case == 1, deployment, context)
        })?;
        self.compare(&results);
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("requests a second, more is better; every answer was compared with that of the oracle, \
            and the table after each turn"
            .to_string())
    }
}
