//! The servers of a run: started and loaded once for each number of workers, and then measured in
//! turns.

use super::load::{Client, Load, RequestKind};
use super::options::{Fsync, StageOptions};
use super::programs::{Entry, Program, Start, with_running};
use super::server::{Server, beside_server};
use clap::ValueEnum;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use xtasking_harness::common::{Common, check_range};
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::Lineup;
use xtasking_harness::report::{Measurement, Parameters, Summary};

/// A server that is loaded, with its client.
pub(super) struct Loaded {
    pub server: Server,
    pub client: Client,
    /// Bytes by which the resident memory has grown for each key.
    pub bytes: Option<f64>,
    /// The time that loading took.
    pub time: Duration,
    pub directory: Scratch,
}

/// The servers of a run.
pub(super) struct Stage {
    pub load: Load,
    pub lineup: Lineup<(), Program, ()>,
    entries: &'static [Entry],
    fsync: Option<Fsync>,
    directory: PathBuf,
    loaded: RefCell<BTreeMap<(&'static str, usize), Loaded>>,
    /// Numbers beside those in the table, of each turn.
    details: RefCell<BTreeMap<(String, String, usize), Vec<Details>>>,
}

/// Numbers of a turn by name.
pub(super) type Details = Vec<(&'static str, f64)>;

const KEYS: RangeInclusive<u64> = 1..=1_000_000_000;
const VALUES: RangeInclusive<u32> = 1..=1_000_000;
const CONNECTIONS: RangeInclusive<u32> = 1..=10_000;
const TIMES: RangeInclusive<u32> = 1..=600_000;

impl Stage {
    /// Checks the options. `needs_disk` leaves servers out that cannot save a snapshot.
    pub fn new(options: &StageOptions, needs_disk: bool) -> Result<Self, Failure> {
        let load = check_load(options, 1_000_000)?;
        let common = &options.common;
        let entries = with_running(&options.server);
        let common = Common { workers: Some(common.workers.clone().unwrap_or(vec![1])), ..common.clone() };
        let mut lineup = Lineup::with_default(entries, &[], &common, |entry| entry.more.is_there())?;
        let needs_disk = needs_disk || options.appendfsync.is_some();
        lineup.contenders.retain(|entry| !needs_disk || entry.more.has_disk());
        let directory = options.dir.clone().unwrap_or_else(std::env::temp_dir);
        if !directory.is_dir() {
            return Err(Failure::Usage(format!("--dir: {} is not a directory", directory.display())));
        }
        Ok(Self {
            load,
            lineup,
            entries,
            fsync: options.appendfsync,
            directory,
            loaded: RefCell::default(),
            details: RefCell::default(),
        })
    }

    /// Checks the options of a run whose cases are each kind of request with each number. Returns
    /// the cases as well.
    pub fn of_requests<T: Copy>(
        options: &StageOptions,
        kinds: &[RequestKind],
        numbers: &[T],
    ) -> Result<(Self, Vec<(RequestKind, T)>), Failure> {
        let cases = pairs(kinds, numbers);
        let kinds = cases.iter().map(|(kind, _)| kind.clone()).collect();
        Ok((Self::new(options, false)?.with_kinds(kinds), cases))
    }

    /// Says which requests the cases have, as some servers do not have all.
    fn with_kinds(mut self, kinds: Vec<RequestKind>) -> Self {
        self.lineup = self.lineup.with_rule(move |case, entry, workers| {
            let is_mset = matches!(kinds[case], RequestKind::Mset(_) | RequestKind::Multi(_));
            let has_command = entry.more != Program::Memcached || !is_mset;
            has_command && (workers == 1 || entry.is_parallel)
        });
        self
    }

    /// Describes the servers and what they are loaded with.
    pub fn describe(&self) -> String {
        let Load { keys, value_size, connections, popularity, seed } = self.load;
        let log = match self.fsync() {
            Some(fsync) => format!("a log with appendfsync {fsync}"),
            None => "no log".to_string(),
        };
        let servers = self.entries.iter().map(|entry| format!("\n{}: {}", entry.name, entry.more.describe()));
        let popularity = popularity.describe();
        format!(
            "{keys} keys of 16 bytes with values of {value_size} bytes, {connections} connections, keys \
             chosen {popularity}, seed {seed}, {log}\n{}{}",
            self.lineup.describe(),
            servers.collect::<String>()
        )
    }

    /// Returns the parameters for a report.
    pub fn parameters(&self) -> Parameters {
        let mut parameters = self.load.parameters();
        parameters.add("appendfsync", self.fsync());
        let servers = self.lineup.contenders.iter();
        let servers: Vec<_> =
            servers.map(|entry| format!("{}: {}", entry.name, entry.more.describe())).collect();
        parameters.add("servers", servers);
        self.lineup.add_to(&mut parameters);
        parameters
    }

    /// Returns the outline of a run that has turns of this length.
    pub fn outline(&self, time: Duration, cases: usize) -> Outline {
        let mut parameters = self.parameters();
        parameters.add("time_ms", time.as_millis() as u64);
        self.lineup.outline(parameters, cases)
    }

    /// Starts a server in a directory.
    pub fn start(&self, entry: &Entry, workers: usize, directory: &Path) -> Result<Server, Failure> {
        let fsync = self.fsync();
        entry.more.start(entry.name, &Start { workers, directory, fsync: fsync.as_deref() })
    }

    fn fsync(&self) -> Option<String> {
        Some(self.fsync?.to_possible_value()?.get_name().to_string())
    }

    /// Starts and loads a server.
    pub fn load(&self, entry: &Entry, workers: usize, context: &str) -> Result<Loaded, Failure> {
        let directory = Scratch::new(&self.directory, &format!("{}-{workers}", entry.name))?;
        let server = self.start(entry, workers, &directory.0)?;
        let before = server.memory();
        let began = Instant::now();
        let (address, protocol, load) = (server.address, server.protocol, self.load);
        let client = beside_server(workers, || Client::load(address, protocol, load));
        let client = client.map_err(|wrong| self.wrong(context, wrong))?;
        let time = began.elapsed();
        let grown = server.memory().zip(before).map(|(after, before)| after.saturating_sub(before));
        let bytes = grown.map(|bytes| bytes as f64 / self.load.keys as f64);
        Ok(Loaded { server, client, bytes, time, directory })
    }

    /// Measures a loaded server, on the core of the client. It is started for its first turn.
    pub fn turn<T: Send>(
        &self,
        entry: &Entry,
        workers: usize,
        context: &str,
        measure: impl FnOnce(&mut Loaded) -> Result<T, Wrong> + Send,
    ) -> Result<T, Failure> {
        let key = (entry.name, workers);
        if !self.loaded.borrow().contains_key(&key) {
            let loaded = self.load(entry, workers, context)?;
            self.loaded.borrow_mut().insert(key, loaded);
        }
        let mut all = self.loaded.borrow_mut();
        let loaded = all.get_mut(&key).expect("it is there now");
        beside_server(workers, || measure(loaded)).map_err(|wrong| self.wrong(context, wrong))
    }

    /// Returns the failure of a contender that has given a wrong result.
    pub fn wrong(&self, context: &str, wrong: Wrong) -> Failure {
        Failure::Wrong { context: format!("{context}, seed {}", self.load.seed), wrong }
    }

    /// Keeps numbers of a turn.
    pub fn add(&self, case: &str, entry: &Entry, workers: usize, details: Details) {
        let key = (case.to_string(), entry.name.to_string(), workers);
        self.details.borrow_mut().entry(key).or_default().push(details);
    }

    /// Returns the medians of the numbers that were kept for a case, by server and number of
    /// workers.
    pub fn medians(&self, case: &str) -> Vec<(String, usize, Details)> {
        let details = self.details.borrow();
        let of_case = details.iter().filter(|((kept, ..), _)| kept == case);
        let median = |((_, name, workers), turns): (&(String, String, usize), &Vec<Details>)| {
            let of = |at: usize| Summary::of(turns.iter().map(|turn| turn[at].1).collect()).median;
            let medians = turns[0].iter().enumerate().map(|(at, (name, _))| (*name, of(at)));
            (name.clone(), *workers, medians.collect())
        };
        of_case.map(median).collect()
    }

    /// Returns the measurements with the medians of the numbers that were kept.
    pub fn with_details(&self, mut results: Vec<Measurement>) -> Vec<Measurement> {
        for result in &mut results {
            let mut medians = self.medians(&result.case).into_iter();
            let is_of_result = |(name, workers, _): &(String, usize, Details)| {
                (name, *workers) == (&result.implementation, result.workers)
            };
            result.details = medians.find(is_of_result).map(|(.., details)| details).unwrap_or_default();
        }
        results
    }

    /// Says what the servers took for their keys.
    pub fn notes(&self) -> Vec<String> {
        let note = |((name, workers), loaded): (&(&str, usize), &Loaded)| {
            let speed = self.load.keys as f64 / loaded.time.as_secs_f64() / 1e3;
            let bytes =
                loaded.bytes.map_or("an unknown number of".to_string(), |bytes| format!("{bytes:.0}"));
            format!(
                "{name}, {workers} workers: {bytes} bytes of resident memory a key, keys of 16 bytes and \
                 values included; loaded at {speed:.0} thousand/s"
            )
        };
        self.loaded.borrow().iter().map(note).collect()
    }
}

/// Checks what servers are to be loaded with. With `--quick` there are few keys by default.
pub(super) fn check_load(options: &StageOptions, keys: u64) -> Result<Load, Failure> {
    let common = &options.common;
    let keys = options.keys.unwrap_or(if common.quick { 10_000 } else { keys });
    check_range("--keys", keys, &KEYS, "")?;
    check_range("--value", options.value, &VALUES, "bytes")?;
    check_range("--connections", options.connections, &CONNECTIONS, "")?;
    Ok(Load {
        keys,
        value_size: options.value as usize,
        connections: options.connections as usize,
        popularity: options.popularity,
        seed: common.seed,
    })
}

/// Returns each kind with each number.
pub(super) fn pairs<T: Copy>(kinds: &[RequestKind], numbers: &[T]) -> Vec<(RequestKind, T)> {
    kinds.iter().flat_map(|kind| numbers.iter().map(move |&number| (kind.clone(), number))).collect()
}

/// Checks the length of a turn, and completes it.
pub(super) fn turn_length(time: Option<u32>, default: u32, common: &Common) -> Result<Duration, Failure> {
    let time = time.unwrap_or(if common.quick { 50 } else { default });
    check_range("--time", time, &TIMES, "ms")?;
    Ok(Duration::from_millis(time.into()))
}

/// A directory that is removed when this is dropped.
pub(super) struct Scratch(pub PathBuf);

impl Scratch {
    fn new(parent: &Path, name: &str) -> Result<Self, Failure> {
        let path = parent.join(format!("xtasking-bench-{}-{name}", std::process::id()));
        let failed = |error| Failure::Usage(format!("--dir: {}: {error}", path.display()));
        // What a run of the same number has left.
        _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing follows from what stays there.
        _ = fs::remove_dir_all(&self.0);
    }
}
