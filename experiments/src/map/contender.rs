//! What a contender of the experiment does.

use std::sync::Arc;
use std::time::Duration;
use xtasking_harness::failure::Wrong;

/// A map from `u64` to `u64`, with the threads or workers that access it.
pub(super) trait Contender {
    /// Makes a map with room for all `keys`, and inserts them; the value of a key is its index.
    /// Returns the time of both, and the number of keys that were new.
    ///
    /// # Errors
    ///
    /// If the contender fails.
    fn load(&mut self, keys: &Arc<[u64]>) -> Result<(Duration, usize), Wrong>;

    /// Looks up all `keys` in the loaded map, and puts what it finds into `found`, which is as long
    /// as `keys`. Returns the time that this takes.
    ///
    /// # Errors
    ///
    /// If the contender fails.
    fn look_up(&mut self, keys: &Arc<[u64]>, found: &mut Vec<Option<u64>>) -> Result<Duration, Wrong>;
}

/// What a contender needs to know before it starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// The number of threads or workers.
    pub(super) workers: usize,
    /// The number of keys ahead of the current one whose lines a loop by hand fetches.
    pub(super) ahead: usize,
}

pub(super) type Entry = xtasking_harness::lineup::Entry<Box<dyn Contender>, (), Settings>;

pub(super) type Lineup = xtasking_harness::lineup::Lineup<Box<dyn Contender>, (), Settings>;
