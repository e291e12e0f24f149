//! Maps that threads share, and the threads: each has a share of the keys, and is pinned.

use super::contender::{Contender, Settings};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_harness::machine::pin;

/// A map that threads share, with the loops that a program would write for it.
pub(super) trait SharedMap: Send + Sync {
    /// Inserts each key; the first one has the value `first`, and each further one the next value.
    /// Returns the number of keys that were new.
    fn insert_each(&self, keys: &[u64], first: u64) -> usize;

    /// Looks up each key, and writes its value to the same place of `found`.
    fn get_each(&self, keys: &[u64], found: &mut [Option<u64>]);
}

/// A [`SharedMap`] and the number of threads that access it.
pub(super) struct OnThreads<M> {
    map: Option<M>,
    /// Makes an empty map with room for a number of keys.
    make: fn(usize, Settings) -> M,
    settings: Settings,
}

impl<M: SharedMap + 'static> OnThreads<M> {
    /// Creates a contender whose maps `make` makes, with room for a number of keys.
    pub(super) fn boxed(make: fn(usize, Settings) -> M, settings: Settings) -> Box<dyn Contender> {
        Box::new(Self { map: None, make, settings })
    }

    /// Returns the number of keys of each thread's share; the last one may be smaller.
    fn share(&self, keys: &[u64]) -> usize {
        keys.len().div_ceil(self.settings.workers).max(1)
    }
}

impl<M: SharedMap + 'static> Contender for OnThreads<M> {
    fn load(&mut self, keys: &Arc<[u64]>) -> Result<(Duration, usize), Wrong> {
        let share = self.share(keys);
        let began = Instant::now();
        let map = (self.make)(keys.len(), self.settings);
        let making = began.elapsed();
        let shares: Vec<_> = keys.chunks(share).enumerate().collect();
        let (inserting, new) =
            timed(shares, |(number, keys)| map.insert_each(keys, (number * share) as u64))?;
        self.map = Some(map);
        Ok((making + inserting, new.into_iter().sum()))
    }

    fn look_up(&mut self, keys: &Arc<[u64]>, found: &mut Vec<Option<u64>>) -> Result<Duration, Wrong> {
        let share = self.share(keys);
        let map = self.map.as_ref().ok_or_else(|| Wrong::new("the map is not loaded"))?;
        let shares: Vec<_> = keys.chunks(share).zip(found.chunks_mut(share)).collect();
        timed(shares, |(keys, found)| map.get_each(keys, found)).map(|(time, _)| time)
    }
}

/// Runs `work` on each share, with a pinned thread for each. Returns the time from the first
/// thread's begin to the last one's end, and the results.
fn timed<S: Send, R: Send>(
    shares: Vec<S>,
    work: impl Fn(S) -> R + Sync,
) -> Result<(Duration, Vec<R>), Wrong> {
    let (threads, begin, work) = (shares.len(), Barrier::new(shares.len()), &work);
    let ended = thread::scope(|scope| {
        let start = |(index, share)| {
            let begin = &begin;
            scope.spawn(move || {
                pin(index, threads);
                begin.wait();
                let began = Instant::now();
                let result = work(share);
                (began, Instant::now(), result)
            })
        };
        let started: Vec<_> = shares.into_iter().enumerate().map(start).collect();
        started.into_iter().map(|thread| thread.join()).collect::<Result<Vec<_>, _>>()
    });
    let ended = ended.map_err(|_| Wrong::new("a thread panicked"))?;
    let began = ended.iter().map(|(began, _, _)| *began).min();
    let last = ended.iter().map(|(_, ended, _)| *ended).max();
    let time = began.zip(last).map_or(Duration::ZERO, |(began, last)| last - began);
    Ok((time, ended.into_iter().map(|(_, _, result)| result).collect()))
}
