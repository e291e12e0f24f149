//! The computation of an operation, on threads or in virtual time.

use crate::computation::work;
use std::hint::black_box;
use xtasking_virtual_time::Clocks;

/// The computation of an operation, while it holds what keeps others out.
#[derive(Clone)]
pub(super) enum Body {
    /// Computes a fixed number of rounds.
    Rounds(u64),
    /// Spends virtual nanoseconds: for the operation, and for each node that it visits.
    Virtual { clocks: Clocks, operation: u64, node: u64 },
}

impl Body {
    /// Computes, for an operation that visits a number of nodes.
    #[inline]
    pub fn compute(&self, nodes: u32) {
        match self {
            Self::Rounds(0) => {}
            Self::Rounds(rounds) => _ = black_box(work(black_box(nodes.into()), *rounds)),
            Self::Virtual { clocks, operation, node } => clocks.spend(operation + node * u64::from(nodes)),
        }
    }
}
