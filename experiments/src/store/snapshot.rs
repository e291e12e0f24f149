//! Latency beside a snapshot, and the memory that it takes.

use super::latency::RATES;
use super::load::{OpenLoop, RequestKind, micros};
use super::options::SnapshotOptions;
use super::server::Server;
use super::stage::{Details, Loaded, Stage, turn_length};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::Measurement;

/// An experiment whose options have been checked and completed.
pub(super) struct Snapshot {
    stage: Stage,
    kind: RequestKind,
    rate: u64,
    time: Duration,
}

const UNIT: &str = "p99 µs";
const CASES: [&str; 2] = ["before the snapshot", "beside the snapshot"];
const COLUMNS: &[&str] = &["p50", "p99.9", "max"];
/// Numbers of the snapshot, for the report and the notes.
const OF_SNAPSHOT: [&str; 3] = ["snapshot_seconds", "memory_bytes", "peak_memory_bytes"];
/// Between two looks at a server that saves.
const PAUSE: Duration = Duration::from_millis(20);

/// A snapshot that a server has taken.
struct Taken {
    seconds: f64,
    /// Resident bytes before it.
    before: u64,
    /// The most resident bytes, and what a process that saves has of its own.
    peak: u64,
}

impl Snapshot {
    /// Checks and completes the options.
    pub(super) fn new(options: &SnapshotOptions) -> Result<Self, Failure> {
        check_range("--rate", options.rate, &RATES, "requests a second")?;
        let time = turn_length(options.time, 1000, &options.stage.common)?;
        let stage = Stage::new(&options.stage, true)?;
        Ok(Self { stage, kind: options.requests.clone(), rate: options.rate, time })
    }
}

/// Measures before a snapshot for a time, or beside it. Returns the 99th percentile and the
/// details.
fn measure_turn(
    loaded: &mut Loaded,
    load: &OpenLoop,
    before: Option<Duration>,
) -> Result<(f64, Details), Wrong> {
    let Loaded { server, client, .. } = loaded;
    let (latencies, taken) = if let Some(time) = before {
        load.run(client, |passed| passed < time / 10)?;
        (load.run(client, |passed| passed < time)?.1, None)
    } else {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let saver = scope.spawn(|| {
                let taken = take(server);
                is_over.store(true, Relaxed);
                taken
            });
            let (_, latencies) = load.run(client, |_| !is_over.load(Relaxed))?;
            let taken = saver.join().unwrap_or_else(|_| Err(Wrong::new("the thread that saves panicked")))?;
            Ok((latencies, Some(taken)))
        })?
    };
    let numbers = [micros(&latencies, 50.0), micros(&latencies, 99.9), micros(&latencies, 100.0)];
    let mut details: Details = COLUMNS.iter().copied().zip(numbers).collect();
    if let Some(taken) = taken {
        details.extend(OF_SNAPSHOT.into_iter().zip([taken.seconds, taken.before as f64, taken.peak as f64]));
    }
    Ok((micros(&latencies, 99.0), details))
}

/// Lets a server save a snapshot, and looks at its memory meanwhile.
fn take(server: &Server) -> Result<Taken, Wrong> {
    let mut control = server.control()?;
    let before = server.memory().unwrap_or(0);
    let mut peak = before;
    let began = Instant::now();
    control.ask("BGSAVE")?;
    loop {
        peak = peak.max(server.memory().unwrap_or(0));
        let persistence = control.ask("INFO persistence")?;
        let field = |name| persistence.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if field("rdb_bgsave_in_progress:") == Some("0") {
            if field("rdb_last_bgsave_status:") != Some("ok") {
                return Err(Wrong::new("the snapshot has failed"));
            }
            // The pages that were copied, if a process of its own has saved.
            let copied = field("rdb_last_cow_size:").and_then(|copied| copied.parse().ok()).unwrap_or(0);
            return Ok(Taken { seconds: began.elapsed().as_secs_f64(), before, peak: peak + copied });
        }
        thread::sleep(PAUSE);
    }
}

impl xtasking_harness::experiment::Experiment for Snapshot {
    const NAME: &'static str = "store snapshot";
    const TITLE: &'static str = "99 of 100 requests are answered within this time (less is better).";
    const HAS_PAGE: bool = false;
    const COLUMNS: &'static [&'static str] = COLUMNS;

    fn describe(&self) -> String {
        let (kind, rate) = (self.kind.name(), self.rate);
        format!("store: {kind}, {rate} a second, and BGSAVE after {:?}\n{}", self.time, self.stage.describe())
    }

    fn outline(&self) -> Outline {
        let mut parameters = self.stage.parameters();
        parameters.add("requests", self.kind.name());
        parameters.add("rate", self.rate);
        parameters.add("time_ms", self.time.as_millis() as u64);
        self.stage.lineup.outline(parameters, CASES.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let (cases, stage) = (CASES.map(String::from), &self.stage);
        let results = stage.lineup.measure(progress, UNIT, &cases, |case, entry, workers, context| {
            let load = OpenLoop { kind: &self.kind, rate: self.rate };
            let before = (case == 0).then_some(self.time);
            let measure = |loaded: &mut Loaded| measure_turn(loaded, &load, before);
            let (p99, details) = stage.turn(entry, workers, context, measure)?;
            stage.add(&cases[case], entry, workers, details);
            Ok(p99)
        })?;
        Ok(stage.with_details(results))
    }

    fn notes(&self) -> Vec<String> {
        const MEBIBYTE: f64 = (1 << 20) as f64;
        let note = |(name, workers, details): (String, usize, Details)| {
            let number = |name| details.iter().find(|(known, _)| *known == name).map_or(0.0, |found| found.1);
            let [seconds, before, peak] = OF_SNAPSHOT.map(number);
            let more = (peak - before) / MEBIBYTE;
            let before = before / MEBIBYTE;
            format!(
                "{name}, {workers} workers: the snapshot took {seconds:.2} s, and {more:.0} MiB beyond \
                 {before:.0} MiB"
            )
        };
        let snapshots = self.stage.medians(CASES[1]).into_iter().map(note);
        self.stage.notes().into_iter().chain(snapshots).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("percentiles of the time from the moment at which a request was due to its reply: µs, less is \
            better; every reply was checked"
            .to_string())
    }
}
