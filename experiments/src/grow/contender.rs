//! What a contender of the experiment does.

use super::growth::Growth;
use std::sync::Arc;
use std::time::Duration;
use xtasking_harness::failure::Wrong;

/// A tree that grows.
pub(super) trait Contender {
    /// Inserts all nodes below a new root, and returns the time that this takes.
    ///
    /// # Errors
    ///
    /// If the contender fails.
    fn grow(&mut self, growth: &Arc<Growth>) -> Result<Duration, Wrong>;

    /// Returns all links from parents to children, as numbers of nodes.
    ///
    /// # Errors
    ///
    /// If the contender fails.
    fn links(&mut self) -> Result<Vec<(u32, u32)>, Wrong>;

    /// Returns how many of some pairs of nodes exclude each other: tasks that write their sub-trees
    /// do not run at the same time. `None` if the contender has no such tasks.
    ///
    /// # Errors
    ///
    /// If a task fails.
    fn count_exclusive(&mut self, growth: &Growth, pairs: &[(u32, u32)]) -> Result<Option<usize>, Wrong>;
}

pub(super) type Entry = xtasking_harness::lineup::Entry<Box<dyn Contender>>;

pub(super) type Lineup = xtasking_harness::lineup::Lineup<Box<dyn Contender>>;
