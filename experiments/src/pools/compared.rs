//! The simulation compared with threads: the same tasks with the same times on as many of both.

use super::contenders::{Entry, Reduction, Team};
use super::work::Work;
use xtasking::platform::Costs;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::Lineup;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::Measurement;

/// Time on threads divided by time on virtual cores.
const UNIT: &str = "÷";

/// Measures cases with each number of workers. `work` makes the work of the case of an index.
///
/// # Errors
///
/// If a task fails or a result is wrong.
pub(super) fn measure(
    lineup: &Lineup<Team, Reduction>,
    progress: &Progress,
    names: &[String],
    seed: u64,
    work: impl Fn(usize) -> Work,
) -> Result<Vec<Measurement>, Failure> {
    let mut turns = lineup.turns(progress, UNIT, names);
    for _ in 0..lineup.repetitions() {
        for case in 0..names.len() {
            for &workers in lineup.worker_counts() {
                for entry in &lineup.contenders {
                    turns.turn(case, entry, workers, |context| {
                        ratio(entry, workers, || work(case), seed, context)
                    })?;
                }
            }
        }
    }
    Ok(turns.measurements())
}

/// Returns the time on threads divided by that on virtual cores; `None` for a contender without a
/// simulation.
fn ratio(
    entry: &Entry,
    workers: usize,
    work: impl Fn() -> Work,
    seed: u64,
    context: &str,
) -> Result<Option<f64>, Failure> {
    let team = (entry.start)(workers)?;
    let Some(simulated) = team.simulate(&work(), Costs::default(), seed) else { return Ok(None) };
    let simulated = simulated.map_err(|wrong| Failure::Wrong { context: context.to_string(), wrong })?;
    let time = team.spin(&work()).transpose()?;
    Ok(time.map(|time| time.as_secs_f64() * 1e9 / simulated.makespan as f64))
}
