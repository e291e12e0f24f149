//! Batches beside competitors: what the table loses when somebody else uses a CPU of its workers, by how it is divided.
//!
//! | module | what it holds |
//! |---|---|
//! | `deployment` | who gets how much of the table |
//! | `hogs` | the competitors |

mod deployment;
mod hogs;

pub use hogs::{Burn, burn};

use super::Options;
use super::bookings::{Bookings, COLUMNS};
use super::chunks::Chunks;
use super::database::{Database, Server as _};
use super::findings::percentile;
use super::oracle::Oracle;
use super::own::Own;
use super::requests::{Batch, Mix, Turn};
use crate::failure::Failure;
use crate::lineup::Lineup;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::plan::Wrong;
use deployment::{Deployment, Ground, Looks};
use hogs::Hogs;
use std::cell::RefCell;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use xtasking_columns::Answers;

/// An experiment that can be run.
pub(super) struct Noise {
    bookings: Bookings,
    competitors: usize,
    /// What is served in a turn; its number and its first booking are those of the turn.
    turn: Turn,
    workers: usize,
    lineup: Lineup<Deployment>,
    chunks: Chunks,
    notes: RefCell<Vec<String>>,
}

/// More than that have so little each that nothing is learnt.
const MOST: usize = 64;
/// Of the batches of a turn, one in so many is served before anything is measured, or before competitors come.
const BEFORE: usize = 4;

const UNIT: &str = "requests/s";

/// The one table, which all take turns with, and the one that is right.
struct State<'a> {
    bookings: &'a Bookings,
    own: Own,
    oracle: Oracle,
    turns: u64,
    next: u64,
}

/// What came of batches, when each was begun, and how long it took.
struct Served {
    answers: Vec<Answers>,
    times: Vec<(Instant, Duration)>,
}

/// A change of the plan: when it was made, also since the competitors came, and how many rows were moved.
struct Moved {
    at: Instant,
    after: Duration,
    weights: Vec<f64>,
    rows: u64,
}

/// The median and 99 of 100, in words; there must be one.
fn latencies(times: impl Iterator<Item = Duration>) -> String {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    let [half, most] = [50, 99].map(|percent| percentile(&times, percent).as_secs_f64() * 1e3);
    format!("{half:.1} / {most:.1} ms")
}

fn shares(weights: &[f64]) -> String {
    weights.iter().map(|weight| format!("{weight:.2}")).collect::<Vec<_>>().join(" : ")
}

fn wrong(context: &str, text: String) -> Failure {
    Failure::Wrong { context: context.to_string(), wrong: Wrong::new(text) }
}

/// Serves batches, one directly after another.
fn serve(own: &Own, batches: &[Batch]) -> Result<Served, String> {
    let mut served = Served { answers: Vec::new(), times: Vec::new() };
    for batch in batches {
        let began = Instant::now();
        served.answers.push(own.answer(batch)?);
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

    /// Compares what was answered with what is right.
    fn check(&mut self, batches: &[Batch], answers: Vec<Answers>) -> Result<(), String> {
        let right = self.oracle.take_turn(batches)?;
        for (number, (batch, (answers, right))) in
            batches.iter().zip(answers.into_iter().zip(right.digests)).enumerate()
        {
            if self.own.digests(batch, answers)? != right {
                return Err(format!("batch {number}: some of its queries were answered with other rows"));
            }
        }
        let sums = self.own.sums()?;
        if sums != right.sums {
            return Err(format!("the table's rows and sums are {sums:?} instead of {:?}", right.sums));
        }
        Ok(())
    }
}

impl Noise {
    /// What there is besides.
    fn noise(&self) -> String {
        let noun = if self.competitors == 1 { "competitor" } else { "competitors" };
        format!("{} {noun}", self.competitors)
    }

    /// Tells what each loses of what equal parts give where nobody else is.
    fn compare(&self, results: &[Measurement]) {
        let Some(alone) = results.first().map(|first| first.summary.median) else { return };
        let lost = |result: &Measurement| {
            format!("{} {:.0} %", result.implementation, 100.0 * (1.0 - result.summary.median / alone))
        };
        let lost: Vec<_> = results.iter().filter(|result| result.case != "alone").map(lost).collect();
        let mut notes = self.notes.borrow_mut();
        notes.insert(0, "of each turn, milliseconds of a batch, the median / 99 of 100:".to_string());
        notes.push(format!("lost of what {} gives alone: {}", results[0].implementation, lost.join(" · ")));
    }

    /// Checks and completes the options.
    pub(super) fn new(options: &Options, competitors: usize) -> Result<Self, Failure> {
        let common = &options.common;
        let usage = |text: String| Err(Failure::Usage(text));
        if !(1..=MOST).contains(&competitors) {
            return usage(format!("--competitors is {competitors}; choose 1 to {MOST}"));
        }
        let workers = common.worker_counts()?.into_iter().max().unwrap_or(1);
        if workers < 2 {
            return usage(
                "--competitors: with one worker there is nothing to divide; choose --workers 2 or more"
                    .to_string(),
            );
        }
        let rows = options.row_count()?;
        let requests = options.batch.as_ref().and_then(|sizes| sizes.last()).copied().unwrap_or(4096);
        options.check_size(requests)?;
        let turn = Turn {
            number: 0,
            first: 0,
            mix: options.mix.as_ref().and_then(|mixes| mixes.first()).copied().unwrap_or(Mix::Mixed),
            batches: options.batches.unwrap_or(if common.quick { 12 } else { 40 }).max(BEFORE),
            requests,
            changes: requests.checked_div(options.updates).unwrap_or(0),
        };
        let counts = crate::cli::Common { workers: Some(vec![workers]), ..common.clone() };
        let lineup = Lineup::new(deployment::ALL, &[], &counts)?;
        let bookings = Bookings::new(rows, common.seed);
        let chunks = Chunks::here();
        Ok(Self { bookings, competitors, turn, workers, lineup, chunks, notes: RefCell::default() })
    }

    /// One turn: requests a second.
    fn once(
        &self,
        state: &mut State<'_>,
        ground: &Ground,
        noisy: bool,
        deployment: Deployment,
        context: &str,
    ) -> Result<f64, Failure> {
        let failed = |text: String| wrong(context, text);
        state.own.balance(&vec![1.0; self.workers]).map_err(failed)?;
        let cpu = ground.last();
        let come = || if noisy { Hogs::start(self.competitors, cpu).map(Some) } else { Ok(None) };
        // How the machine is while the table is divided equally says how it is to be divided.
        let before = state.batches(Turn { batches: self.turn.batches.div_ceil(BEFORE), ..self.turn });
        let early = if deployment == Deployment::Adaptive { None } else { come()? };
        let mut watch = ground.watch()?;
        let served = serve(&state.own, &before).map_err(failed)?;
        let weights =
            ground.divide(deployment, watch.load().map_err(|error| Failure::Usage(error.to_string()))?)?;
        state.check(&before, served.answers).map_err(failed)?;
        state.own.balance(&weights).map_err(failed)?;

        let batches = state.batches(self.turn);
        let (served, moved, hogs) = match deployment {
            Deployment::Adaptive => self.watched(&state.own, ground, &batches, come, context)?,
            _ => (serve(&state.own, &batches).map_err(failed)?, Vec::new(), early),
        };
        drop(hogs);
        let times = served.times.iter().map(|(_, time)| *time);
        let mut note = format!("{context}: {}", latencies(times.clone()));
        if deployment != Deployment::Naive {
            note += &format!(", shares as {}", shares(&weights));
        }
        for Moved { at, after, weights, rows } in moved {
            let (after, weights) = (after.as_secs_f64(), shares(&weights));
            note += &format!(", after {after:.2} s as {weights} ({rows} rows moved)");
            let mut since =
                served.times.iter().filter(|(began, _)| *began > at).map(|(_, time)| *time).peekable();
            if since.peek().is_some() {
                note += &format!(": {} from then on", latencies(since));
            }
        }
        self.notes.borrow_mut().push(note);
        let time: Duration = times.sum();
        state.check(&batches, served.answers).map_err(failed)?;
        Ok((self.turn.requests * served.times.len()) as f64 / time.as_secs_f64())
    }

    /// Serves batches while an adviser looks at the machine. Competitors come when a part of the batches was served; only
    /// the times of the others are told.
    fn watched(
        &self,
        own: &Own,
        ground: &Ground,
        batches: &[Batch],
        come: impl FnOnce() -> Result<Option<Hogs>, Failure>,
        context: &str,
    ) -> Result<(Served, Vec<Moved>, Option<Hogs>), Failure> {
        let failed = |text: String| wrong(context, text);
        let (undisturbed, disturbed) = batches.split_at(batches.len() / BEFORE);
        let mut looks = ground.adviser()?;
        let (over, is_over) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let advised = scope.spawn(move || {
                let mut moves = Vec::new();
                while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(Looks::PAUSE) {
                    if let Some(weights) = looks.look()? {
                        let rows = own.balance(&weights).map_err(failed)?;
                        moves.push((Instant::now(), weights, rows));
                    }
                }
                Ok::<_, Failure>(moves)
            });
            let work = || {
                let mut served = serve(own, undisturbed).map_err(failed)?;
                let hogs = come()?;
                let came = Instant::now();
                let rest = serve(own, disturbed).map_err(failed)?;
                served.answers.extend(rest.answers);
                Ok((Served { times: rest.times, ..served }, hogs, came))
            };
            let worked = work();
            drop(over);
            let moves = advised.join().expect("it looks and does not panic")?;
            let (served, hogs, came) = worked?;
            let moved = |(at, weights, rows): (Instant, _, _)| Moved {
                at,
                after: at.saturating_duration_since(came),
                weights,
                rows,
            };
            Ok((served, moves.into_iter().map(moved).collect(), hogs))
        })
    }
}

impl crate::experiment::Experiment for Noise {
    const NAME: &'static str = "scan";

    fn describe(&self) -> String {
        let Turn { batches, requests, changes, mix, .. } = self.turn;
        format!(
            "scan of {} rows beside {} · {batches} batches of {requests} requests, {}, of which {changes} are changes · \
             seed {}\n{}\n{}",
            self.bookings.row_count(),
            self.noise(),
            mix.name(),
            self.bookings.seed(),
            self.chunks,
            self.lineup.describe()
        )
    }

    fn parameters(&self) -> Parameters {
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
        parameters
    }

    fn steps(&self) -> u64 {
        self.lineup.steps(2)
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("loading".to_string());
        let failed = |text| wrong("xtasking", text);
        let mut own = Own::start(self.workers)?;
        let ground = Ground::new(own.cpus()?, self.bookings.row_count() * 8 * COLUMNS.len() as u64)?;
        own.load(&self.bookings).map_err(failed)?;
        let mut oracle = Oracle::default();
        oracle.load(&self.bookings).map_err(failed)?;
        let state = State { bookings: &self.bookings, own, oracle, turns: 0, next: self.bookings.count() };
        let state = RefCell::new(state);
        let cases = ["alone".to_string(), self.noise()];
        let results = self.lineup.measure(progress, UNIT, &cases, |case, entry, workers, context| {
            let deployment = (entry.start)(workers)?;
            self.once(&mut state.borrow_mut(), &ground, case == 1, deployment, context)
        })?;
        self.compare(&results);
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("requests a second: more is better; every answer was compared with that of the oracle, and the table after each turn"
            .to_string())
    }
}
