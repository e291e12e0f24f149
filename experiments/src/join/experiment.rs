//! The experiment: options checked and completed, turns and conclusion.

use super::JoinOptions;
use super::contenders::{self, Entry, Join};
use super::rows::{Matches, Sides, WARM_UP_ROWS};
use crate::memory::check_available;
use std::ops::RangeInclusive;
use std::time::Instant;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::outside::{Contender, Outcome};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    build: usize,
    probe: usize,
    seed: u64,
    lineup: Lineup<Contender<Join>>,
}

/// The numbers of rows that are possible.
const ROWS: RangeInclusive<u64> = 1..=10_000_000_000;
/// Bytes of a row of the build side and its slots, of which there are up to three for each row.
const BUILD_BYTES: u64 = 64;
/// Bytes of a row of the probe side and its copy in a part.
const PROBE_BYTES: u64 = 32;

const UNIT: &str = "Mrows/s";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &JoinOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let default = |quick, full| if common.quick { quick } else { full };
        let build = options.build.unwrap_or_else(|| default(200_000, 2_000_000));
        let probe = options.probe.unwrap_or_else(|| default(500_000, 5_000_000));
        check_range("--build", build, &ROWS, "rows")?;
        check_range("--probe", probe, &ROWS, "rows")?;
        check_available("--build and --probe", build * BUILD_BYTES + probe * PROBE_BYTES)?;
        let lineup = Lineup::new(contenders::ALL, contenders::OUTSIDE, common)?;
        Ok(Self { build: build as usize, probe: probe as usize, seed: common.seed, lineup })
    }

    /// Runs one turn, and returns millions of rows per second.
    fn once(
        &self,
        (warm_up, sides, expected): &(Sides, Sides, Matches),
        entry: &Entry,
        workers: usize,
        context: &str,
    ) -> Result<f64, Failure> {
        let (found, time) = match (entry.start)(workers)? {
            Contender::Here(join) => {
                join(warm_up);
                settle();
                let began = Instant::now();
                (join(sides), began.elapsed())
            }
            // It draws the same rows.
            Contender::Outside(program) => {
                let rows = [self.build as u64, self.probe as u64, self.seed];
                let Outcome { time, result } = program.run(&rows, context)?;
                (result, time)
            }
        };
        if found != *expected {
            let wrong = Wrong::new(format!("the join has {found:?} instead of {expected:?}"));
            return Err(Failure::Wrong { context: context.to_string(), wrong });
        }
        Ok((self.build + self.probe) as f64 / time.as_secs_f64() / 1e6)
    }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "join";
    const TITLE: &'static str = "Each runtime joins this many millions of rows a second: more is better.";

    fn describe(&self) -> String {
        format!(
            "join of {} rows with {} rows · seed {}\n{}",
            self.build,
            self.probe,
            self.seed,
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("build_rows", self.build);
        parameters.add("probe_rows", self.probe);
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        self.lineup.outline(parameters, 1)
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("generating the rows".to_string());
        let (sides, expected) = Sides::new(self.build, self.probe, self.seed);
        let (warm_up, _) = Sides::new(WARM_UP_ROWS, WARM_UP_ROWS, self.seed);
        let input = (warm_up, sides, expected);
        let once = |_, entry: &Entry, workers, context: &str| self.once(&input, entry, workers, context);
        self.lineup.measure(progress, UNIT, &["hash join".to_string()], once)
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("Mrows/s: millions of rows of both sides per wall-clock second, more is better; the number of \
            matches and the sum of their payloads were checked"
            .to_string())
    }
}
