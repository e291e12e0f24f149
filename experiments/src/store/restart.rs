//! The time in which a server that has saved a snapshot is back.

use super::options::RestartOptions;
use super::programs::Entry;
use super::server::Server;
use super::stage::{Details, Loaded, Stage};
use std::time::{Duration, Instant};
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::Measurement;

/// An experiment whose options have been checked and completed.
pub(super) struct Restart {
    stage: Stage,
}

const UNIT: &str = "s";
/// The details: the time of SAVE, and that in which all keys were written.
const COLUMNS: &[&str] = &["SAVE", "loading by SET"];

impl Restart {
    /// Checks and completes the options.
    pub(super) fn new(options: &RestartOptions) -> Result<Self, Failure> {
        if options.stage.appendfsync.is_some() {
            let text = "--appendfsync: with a log, a server starts from the log; leave it out";
            return Err(Failure::Usage(text.to_string()));
        }
        Ok(Self { stage: Stage::new(&options.stage, true)? })
    }

    fn case(&self) -> String {
        format!("snapshot of {} keys", self.stage.load.keys)
    }

    /// Returns the seconds until the server was back, and the details.
    fn turn(&self, entry: &Entry, workers: usize, context: &str) -> Result<(f64, Details), Failure> {
        let wrong = |wrong| self.stage.wrong(context, wrong);
        let Loaded { server, client, time: loading, directory, .. } =
            self.stage.load(entry, workers, context)?;
        drop(client);
        let saving = save(&server).map_err(wrong)?;
        drop(server);
        let server = self.stage.start(entry, workers, &directory.0)?;
        self.check(&server).map_err(wrong)?;
        let details = [saving, loading].map(|time| time.as_secs_f64());
        Ok((server.started_in.as_secs_f64(), COLUMNS.iter().copied().zip(details).collect()))
    }

    /// Checks that all keys are there.
    fn check(&self, server: &Server) -> Result<(), Wrong> {
        let size = server.control()?.ask("DBSIZE")?;
        if size == format!(":{}", self.stage.load.keys) {
            return Ok(());
        }
        Err(Wrong::new(format!("the server has '{size}' keys after the start, not {}", self.stage.load.keys)))
    }
}

/// Saves a snapshot. Returns the time that it took.
fn save(server: &Server) -> Result<Duration, Wrong> {
    let mut control = server.control()?;
    let began = Instant::now();
    control.ask("SAVE")?;
    Ok(began.elapsed())
}

impl xtasking_harness::experiment::Experiment for Restart {
    const NAME: &'static str = "store restart";
    const TITLE: &'static str = "A store is back after this many seconds (less is better).";
    const HAS_PAGE: bool = false;
    const COLUMNS: &'static [&'static str] = COLUMNS;

    fn describe(&self) -> String {
        format!("store: {}, saved, killed and started again\n{}", self.case(), self.stage.describe())
    }

    fn outline(&self) -> Outline {
        self.stage.lineup.outline(self.stage.parameters(), 1)
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let (cases, stage) = ([self.case()], &self.stage);
        let results = stage.lineup.measure(progress, UNIT, &cases, |case, entry, workers, context| {
            let (seconds, details) = self.turn(entry, workers, context)?;
            stage.add(&cases[case], entry, workers, details);
            Ok(seconds)
        })?;
        Ok(stage.with_details(results))
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("s: from the start of the process to its first answer, less is better; all keys were there"
            .to_string())
    }
}
