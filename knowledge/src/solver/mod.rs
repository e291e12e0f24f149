//! The solver: how many cores of each class get how many workers.
//!
//! | module | what it holds |
//! |---|---|
//! | [`core_classes`] | equal cores of a node, counted |
//! | [`numa_levels`] | the nodes, and how evenly workers are spread over them |
//! | [`prefix_sums`] | the best throughput for each number of workers |
//! | [`weighted`], [`equal`] | the numbers of workers for unequal and for equal partitions |
//! | [`cpu_selection`] | which cores of a class get the workers |
//!
//! # Objective
//!
//! The time of a plan is the maximum over all partitions of share / speed, and at least 1 / quota.
//! Unequal partitions have shares in proportion to speeds, or smaller ones where a node's memory is
//! full ([`weighted`]). For equal partitions the time is 1 / (number × slowest speed) ([`equal`]).
//!
//! Ties are broken in this order: fewest workers; for equal partitions, the fastest slowest worker;
//! most workers on the first node, then on the second, and so on. Nodes with the same nearest
//! memory are adjacent in this order.
//!
//! # Constraints
//!
//! - Within a core, the fastest threads get workers.
//! - Each CPU has at most one worker; their number is within the request and the quota.
//! - Each node's memory holds the partitions of its workers ([`Constraints::fit`]).
//! - In work bound by memory, the numbers of workers of two nodes differ by one at most. A node may
//!   have fewer if each of its usable cores has one, or if its memory is too small for its part
//!   ([`Constraints::even`]).

pub(crate) mod core_classes;
pub(crate) mod cpu_selection;
mod equal;
mod numa_levels;
mod prefix_sums;
pub(crate) mod weighted;

use self::core_classes::Class;
use crate::machine::Machine;
use crate::speed::FULL_SPEED;

/// The constraints of a solution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constraints {
    /// Size of all data in bytes.
    pub bytes: u64,
    /// The minimum number of workers.
    pub fewest: u64,
    /// The maximum number of workers.
    pub most: u64,
    /// True if partitions may differ in size.
    pub weighted: bool,
    /// True if workers must be spread evenly over the nodes.
    pub even: bool,
    /// True if each partition must lie in the memory nearest to its worker.
    pub fit: bool,
}

/// Values with a smaller relative difference are equal.
pub(crate) const RELATIVE_TOLERANCE: f64 = 1e-6;

/// How many cores of each class have one worker, two and so on, class by class ([`Class::counts`]).
pub(crate) type WorkerCounts = Vec<usize>;

/// The core classes of a machine, and the order in which its nodes are filled.
pub(crate) struct Problem<'a> {
    pub machine: &'a Machine,
    pub classes: &'a [Class],
    pub order: &'a [u32],
}

impl Problem<'_> {
    /// Returns the best numbers of workers, or `None` if the constraints cannot be met.
    pub fn solve(&self, constraints: &Constraints) -> Option<WorkerCounts> {
        if constraints.weighted {
            weighted::solve(self, constraints)
        } else {
            equal::solve(self, constraints)
        }
    }

    /// Returns the numbers for no worker at all.
    pub fn no_workers(&self) -> WorkerCounts {
        vec![0; self.classes.last().map_or(0, |last| last.counts().end)]
    }

    /// Returns the throughput that the quota allows.
    pub fn granted(&self, speed: f64) -> f64 {
        self.machine.quota.map_or(speed, |cpus| speed.min(cpus * f64::from(FULL_SPEED)))
    }

    /// Returns the maximum number of workers.
    pub fn workers_max(&self, constraints: &Constraints) -> usize {
        usize::try_from(constraints.most).unwrap_or(usize::MAX).min(self.machine.granted())
    }

    /// Returns the fraction of all data that the memory of node `home` holds.
    pub fn part(&self, constraints: &Constraints, home: u32) -> f64 {
        if constraints.fit { self.machine.part(home, constraints.bytes) } else { 1.0 }
    }
}
