//! How many workers go to which class of cores.
//!
//! # What is minimised
//!
//! The time of a plan is the largest of all partitions' share / speed, and not below 1 / quota. Where partitions may differ,
//! shares are in proportion to speeds, but smaller on nodes whose memory is full with them ([`weighted`]). Where they are
//! equal, time is 1 / (number × speed of the slowest) ([`equal`]).
//!
//! Among plans of the least time, the one with the fewest workers is taken; of these, where partitions are equal, one whose
//! slowest worker is the fastest; and then the one with most workers on the first node in the order that is given, then on
//! the second, and so on. Nodes whose nearest memory is the same are together in this order.
//!
//! # What has to hold
//!
//! - Of a core's threads the fastest get workers.
//! - At most one worker for each CPU, no more and no fewer than asked for and than the quota grants.
//! - Each node's memory holds the partitions of its workers ([`Rules::fit`]).
//! - Where memory bounds the work, the numbers of workers of two nodes differ by one at most, but for nodes that have fewer
//!   since their usable cores have one each already, or since their memory is too small for their part ([`Rules::even`]).

use crate::classes::Class;
use crate::machine::Machine;
use crate::speed::WHOLE;
use crate::{equal, weighted};

/// What a solution has to obey.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Bytes of all data.
    pub bytes: u64,
    /// At least so many workers.
    pub fewest: u64,
    /// At most so many.
    pub most: u64,
    /// Partitions may differ in size.
    pub weighted: bool,
    /// Workers are spread evenly over the nodes.
    pub even: bool,
    /// Partitions lie in the memory nearest to their workers.
    pub fit: bool,
}

/// Values that differ by less than this part of them are the same.
pub(crate) const CLOSE: f64 = 1e-6;

/// How many cores of each class have one worker, two and so on, class by class ([`Class::counts`]).
pub(crate) type Counts = Vec<usize>;

/// The classes of a machine, and the nodes in the order in which they are to be filled.
pub(crate) struct Program<'a> {
    pub machine: &'a Machine,
    pub classes: &'a [Class],
    pub order: &'a [u32],
}

impl Program<'_> {
    /// The best numbers; `None` if nothing obeys the rules.
    pub fn solve(&self, rules: &Rules) -> Option<Counts> {
        if rules.weighted { weighted::solve(self, rules) } else { equal::solve(self, rules) }
    }

    /// No workers.
    pub fn none(&self) -> Counts {
        vec![0; self.classes.last().map_or(0, |last| last.counts().end)]
    }

    /// The part of a speed that the quota lets through.
    pub fn granted(&self, speed: f64) -> f64 {
        self.machine.quota.map_or(speed, |cpus| speed.min(cpus * f64::from(WHOLE)))
    }

    /// So many workers there may be.
    pub fn most(&self, rules: &Rules) -> usize {
        usize::try_from(rules.most).unwrap_or(usize::MAX).min(self.machine.granted())
    }

    /// The part of all data that a memory holds.
    pub fn part(&self, rules: &Rules, home: u32) -> f64 {
        if rules.fit { self.machine.part(home, rules.bytes) } else { 1.0 }
    }
}
