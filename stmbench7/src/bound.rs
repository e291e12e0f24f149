//! Computes what no schedule of a turn's operations can exceed: the throughput, and how evenly the
//! workers are loaded.
//!
//! The operations take a sum of time, which the workers can at best share. Those that write one
//! granule run one after another, in whatever order, and beside no operation that reads it. So the
//! time of a turn is at least the greater one of:
//!
//! - the sum of all times, divided by the number of workers;
//! - at each granule, the sum of its writers' times and the time of its longest reader.

use super::build::Blueprint;
use super::layout::{Ids, Shelves};
use super::node::Node;
use super::operations::Operation;
use super::parts::Part;
use std::collections::BTreeMap;
use xtasking_virtual_time::{CoreTime, least_busiest};

/// The tasks of a turn.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkLog {
    /// The nanoseconds of all tasks, with claims or without.
    times: Vec<u64>,
    steps: Vec<Step>,
}

/// An operation that has run with a claim.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub operation: Operation,
    /// The granules that it held, with `true` for write access.
    pub held_granules: Vec<(u32, bool)>,
    /// Its duration in nanoseconds.
    pub time: u64,
}

impl WorkLog {
    /// Adds a task without a claim.
    pub fn add(&mut self, time: u64) {
        self.times.push(time);
    }

    /// Adds a task with a claim.
    pub fn add_step(&mut self, step: Step) {
        self.times.push(step.time);
        self.steps.push(step);
    }
}

/// The bounds of a turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    /// Number of all operations.
    operations: usize,
    /// The sum of all times divided by the number of workers, in nanoseconds.
    share: u64,
    chain: Chain,
    /// The time of the busiest worker divided by the mean is at least this.
    load: f64,
}

/// The operations at one granule that take longest together.
#[derive(Clone, Debug, Default, PartialEq)]
struct Chain {
    /// Nanoseconds of all writers and of the longest reader.
    time: u64,
    granule: u32,
    /// Number of writers.
    writers: usize,
    /// Nanoseconds of the writers, by operation.
    of: BTreeMap<&'static str, u64>,
    longest_reader: u64,
}

impl Chain {
    /// Finds the granule whose operations take longest.
    fn of(steps: &[Step]) -> Self {
        let mut chains: BTreeMap<u32, Self> = BTreeMap::new();
        for Step { operation, held_granules, time } in steps {
            for &(granule, write) in held_granules {
                let chain = chains.entry(granule).or_default();
                chain.granule = granule;
                if write {
                    chain.writers += 1;
                    *chain.of.entry(operation.name()).or_default() += time;
                    chain.time += time;
                } else {
                    chain.longest_reader = chain.longest_reader.max(*time);
                }
            }
        }
        let longest = chains.into_values().max_by_key(|chain| chain.time + chain.longest_reader);
        longest.map_or_else(Self::default, |chain| Self { time: chain.time + chain.longest_reader, ..chain })
    }
}

/// Number of operations to print.
const MAX_ENTRIES: usize = 5;

impl Bound {
    /// Computes the bounds of a turn of `operations` operations. `cores` says how the workers have
    /// spent their time in it.
    pub fn of(log: &WorkLog, operations: usize, cores: &[CoreTime]) -> Self {
        let workers = cores.len().max(1);
        let busy = cores.iter().map(|core| core.busy).sum::<u64>().max(1);
        let least = least_busiest(&log.times, workers) as f64 * workers as f64;
        Self {
            operations,
            share: log.times.iter().sum::<u64>() / workers as u64,
            chain: Chain::of(&log.steps),
            load: (least / busy as f64).max(1.0),
        }
    }

    /// Returns the greatest throughput, in thousands of operations a second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.share.max(self.chain.time).max(1) as f64 * 1e6
    }

    /// Returns the least ratio of the busiest worker's time to the mean.
    pub fn load(&self) -> f64 {
        self.load
    }

    /// Returns the time of the longest chain divided by the time in which all workers together do
    /// all work. If it is greater than 1, no schedule keeps all workers busy.
    pub fn chain_to_share(&self) -> f64 {
        self.chain.time as f64 / self.share.max(1) as f64
    }

    /// Formats the bounds for a report. `at` describes the granule of the longest chain.
    pub fn report(&self, at: impl FnOnce(u32) -> String) -> String {
        let Self { chain, .. } = self;
        let mut text =
            format!("bounds of these operations: {:.1} kops/s, load {:.2}", self.rate(), self.load);
        if chain.writers > 0 {
            let mut of: Vec<_> = chain.of.iter().map(|(&name, &time)| (name, time)).collect();
            of.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
            of.truncate(MAX_ENTRIES);
            let share = |(name, time)| format!("{name} {:.0}%", 100.0 * time as f64 / chain.time as f64);
            let of = of.into_iter().map(share).collect::<Vec<_>>().join(", ");
            text += &format!(
                "; {} writers one after another at {} take {:.2} times a worker's share ({of})",
                chain.writers,
                at(chain.granule),
                self.chain_to_share(),
            );
        }
        text
    }
}

/// Describes the content of a granule, in a world in which each permanent node has a granule of its
/// number.
pub(super) fn describe(world: &Blueprint, granule: u32) -> String {
    let (layout, node) = (&world.layout, Node::of_number(granule));
    let kind = |of: &Ids| {
        let is = |name: &str| Some(format!("{name} of the kind {of:?}").to_lowercase());
        match () {
            () if layout.pool(*of) == node => is("pool of ids"),
            () if layout.pages(*of).any(|page| page == node) => is("pages by id"),
            () => None,
        }
    };
    if let Some(of) = Ids::ALL.iter().find_map(kind) {
        return of;
    }
    let shelf = Shelves::ALL.into_iter().find(|&of| layout.shelves(of).any(|shelf| shelf == node));
    match (&world.values[node.index()], shelf) {
        (_, Some(of)) => format!("{of:?}").to_lowercase(),
        (Part::Complex(complex), _) => format!("assemblies of level {}", complex.level),
        (Part::Base(_), _) => "assemblies of level 1".to_string(),
        (Part::Dates(_), _) => "pages by date".to_string(),
        (Part::Titles(_), _) => "pages by title".to_string(),
        (other, _) => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::contenders::ALL;
    use super::super::effort::Times;
    use super::super::mix::{Long, Mix, Workload};
    use super::super::options::LongReads;
    use super::super::sizes::Sizes;
    use super::super::turn::Work;
    use super::*;

    /// An operation, the granules that it holds, and its time.
    type Recorded<'s> = (Operation, &'s [(u32, bool)], u64);

    fn log(steps: &[Recorded<'_>]) -> WorkLog {
        let mut log = WorkLog::default();
        for &(operation, held_granules, time) in steps {
            log.add_step(Step { operation, held_granules: held_granules.to_vec(), time });
        }
        log
    }

    #[test]
    fn writers_of_a_granule_and_its_longest_reader_exclude_each_other() {
        let world = Blueprint::new(Sizes::SMALL, 1);
        let (root, manual) = (world.layout.root().number(), world.layout.manual().number());
        let mut log = log(&[
            (Operation::OP4, &[(manual, false)], 100),
            (Operation::ST1, &[(root, false)], 30),
            (Operation::OP12, &[(root, true)], 5),
            // Between the writers, in any order: the readers may run side by side.
            (Operation::ST1, &[(root, false), (manual, false)], 20),
            (Operation::OP12, &[(root, true)], 5),
            (Operation::OP11, &[(manual, true)], 40),
        ]);
        let cores = |busy: &[u64]| -> Vec<CoreTime> {
            busy.iter().map(|&busy| CoreTime { busy, ..CoreTime::default() }).collect()
        };
        let bound = Bound::of(&log, 6, &cores(&[100, 100]));
        assert_eq!((bound.share, bound.chain.time, bound.chain.granule), (100, 140, manual));
        assert_eq!((bound.rate(), bound.load(), bound.chain_to_share()), (6.0 / 140.0 * 1e6, 1.0, 1.4));
        assert_eq!(
            bound.report(|granule| describe(&world, granule)),
            "bounds of these operations: 42857.1 kops/s, load 1.00; 1 writers one after another at the \
                manual take 1.40 times a worker's share (OP11 29%)"
        );
        // With one worker, the sum of all times is what counts.
        log.add(300);
        assert_eq!(Bound::of(&log, 6, &cores(&[500])).rate(), 6.0 / 500.0 * 1e6);
        // One task takes longer than all others together.
        log.add(1000);
        assert_eq!(Bound::of(&log, 6, &cores(&[1000, 500])).load(), 1000.0 / 750.0);
        assert_eq!(Bound::of(&WorkLog::default(), 0, &[]).chain.time, 0);
    }

    /// With each contender, by its own bound and by that of the finest locks. The work of an
    /// operation depends a little on the order, so the former is exact.
    #[test]
    fn no_contender_exceeds_the_bound() {
        let times = Times { operation: 500, part: 40 };
        let work = Work {
            operations: 300,
            long_reads: LongReads::Claimed,
            clients: 4,
            sizes: Sizes::SMALL,
            seed: 7,
            times: Some(times),
        };
        for (workload, workers) in [(Workload::ReadDominated, 16), (Workload::ReadWrite, 16)] {
            let mix = Mix::new(workload, Long::None, true);
            let mut finest = None;
            for contender in ALL.iter() {
                let turn = work.turn(&mix, contender.more, workers, "").expect("all operations are checked");
                let (bound, spread) = turn.bound.zip(turn.spread).expect("it is in virtual time");
                let name = contender.name;
                assert!(turn.rate <= bound.rate(), "{name} reaches {} of {}", turn.rate, bound.rate());
                let finest = *finest.get_or_insert(bound.rate());
                assert!(turn.rate <= finest, "{name} reaches {} of {finest}", turn.rate);
                assert!(1.0 + spread.imbalance >= bound.load(), "{name}: {spread}, not {}", bound.load());
            }
        }
    }
}
