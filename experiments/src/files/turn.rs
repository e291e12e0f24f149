//! One turn of a contender: moves, the measured operations, and the checks afterwards.

use super::body::Body;
use super::cases::{Case, MOVES, Mix};
use super::client::{Client, Tally};
use super::contender::{Contender, Entry, RunResult, Settings};
use super::layout::Locations;
use super::operation::Way;
use std::sync::Arc;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::settle;
use xtasking_harness::random::Random;

/// The input of a turn.
#[derive(Clone, Copy)]
pub(super) struct TurnInput<'c> {
    pub case: &'c Case,
    pub workers: usize,
    pub operations: u64,
    pub seed: u64,
    pub repetition: u64,
    pub costs: BodyCosts,
}

/// How the computation of an operation is done.
#[derive(Clone, Copy)]
pub(super) enum BodyCosts {
    /// This many rounds take a nanosecond.
    Threads { rounds: f64 },
    /// A visited node takes these virtual nanoseconds, besides the operation.
    Virtual { node: u64 },
}

/// The result of a turn, all of it checked.
pub(super) struct TurnResult {
    /// Thousands of operations a second.
    pub rate: f64,
    /// Thousands of operations for each second of CPU time; `None` in virtual time.
    pub cpu_rate: Option<f64>,
    pub tally: Tally,
}

/// Separates these random numbers from other uses of the seed.
const PATH: u64 = 0xf11e5;
/// The client that moves directories before the turn.
const MOVER: u64 = u64::MAX;

impl TurnInput<'_> {
    /// Runs a contender in this turn.
    ///
    /// # Errors
    ///
    /// If it cannot start, fails, or does something wrong.
    pub fn run(&self, entry: &Entry, context: &str) -> Result<TurnResult, Failure> {
        let locations = Arc::new(Locations::new());
        let virtual_seed = match self.costs {
            BodyCosts::Threads { .. } => None,
            BodyCosts::Virtual { .. } => Some(self.seed),
        };
        let settings = Settings { workers: self.workers, locations: locations.clone(), virtual_seed };
        let mut contender = (entry.start)(settings)?;
        let result = self.measure(entry, &mut *contender, &locations);
        result.map_err(|wrong| Failure::Wrong { context: context.to_string(), wrong })
    }

    fn measure(
        &self,
        entry: &Entry,
        contender: &mut dyn Contender,
        locations: &Arc<Locations>,
    ) -> Result<TurnResult, Wrong> {
        let case = self.case;
        let before = if case.moves == 0 {
            Tally::default()
        } else {
            let mover = self.client(MOVER, (&MOVES, Way::Path), case.moves, locations, Body::Rounds(0));
            check_tally(&contender.run(vec![mover])?, case.moves, true)?
        };
        let body = self.body(contender);
        let count = (entry.more.clients * self.workers) as u64;
        let client = |index: u64| {
            // The first clients do what the division leaves over.
            let operations = self.operations / count + u64::from(index < self.operations % count);
            self.client(index, (case.mix, case.way), operations, locations, body.clone())
        };
        let clients = (0..count).map(client).collect();
        settle();
        let result = contender.run(clients)?;
        let tally = check_tally(&result, self.operations, entry.more.is_atomic)?;
        contender.contents()?.check(locations, before.and(tally).added)?;
        let rate = |time: std::time::Duration| self.operations as f64 / time.as_secs_f64() / 1e3;
        Ok(TurnResult { rate: rate(result.time), cpu_rate: result.cpu_time.map(rate), tally })
    }

    fn client(
        &self,
        index: u64,
        (mix, way): (&'static Mix, Way),
        operations: u64,
        locations: &Arc<Locations>,
        body: Body,
    ) -> Client {
        // Moves before the turn are the same in each repetition, so that all see the same tree.
        let repetition = if index == MOVER { 0 } else { self.repetition };
        let random = Random::new(self.seed, &[PATH, repetition, index]);
        Client::new(random, (mix, way), operations, locations, body)
    }

    fn body(&self, contender: &dyn Contender) -> Body {
        match (self.costs, contender.clocks()) {
            (BodyCosts::Virtual { node }, Some(clocks)) => {
                Body::Virtual { clocks: clocks.clone(), operation: self.case.body, node }
            }
            (BodyCosts::Virtual { .. }, None) => Body::Rounds(0),
            (BodyCosts::Threads { rounds }, _) => Body::Rounds((rounds * self.case.body as f64) as u64),
        }
    }
}

/// Adds up what the clients did, and checks it.
fn check_tally(result: &RunResult, operations: u64, is_atomic: bool) -> Result<Tally, Wrong> {
    let tally = result.clients.iter().fold(Tally::default(), |all, client| all.and(client.tally));
    if tally.done != operations {
        return Err(Wrong::new(format!("{} of {operations} operations were answered", tally.done)));
    }
    if is_atomic && tally.torn > 0 {
        return Err(Wrong::new(format!("{} sums or additions are not of one moment", tally.torn)));
    }
    Ok(tally)
}
