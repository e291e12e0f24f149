//! The number of workers that a load is worth.
//!
//! The *load* is the number of tasks that would be running if there were always a worker for each.
//! If tasks come at random, it has a Poisson distribution around its mean, however long the tasks
//! take. The mean is measured.
//!
//! One more worker is worth having while the load exceeds the number of workers for more than a
//! certain share of the time. That share is the price of an idle worker in units of a missing one.
//! (Ling, Mullen and Lin, "Analysis of optimal thread pool size", ACM Operating Systems Review
//! 34(2), 2000, weigh the same two costs over the distribution of the load, with another formula.)
//!
//! Tasks that come in bulk are a different case: the workers are idle most of the time, and too few
//! for the rest. That shows in the waiting times, which fall in proportion to the number of
//! workers.
//!
//! There are two prices, and so two numbers. Between them nothing changes, which keeps noise from
//! having an effect.

use crate::monitor::Statistics;
use crate::object::MAX_HOMES;
use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;

/// A worker is missing if the present ones suffice for less than this share of the time: a missing
/// worker costs as much as four idle ones.
const SUFFICIENT_SHARE: f64 = 0.80;
/// A worker is superfluous if the others suffice for at least this share of the time.
const GENEROUS_SHARE: f64 = 0.95;
/// Waiting times are too long if they exceed the running time by more than this factor. For one
/// worker and random arrivals this equals `SUFFICIENT_SHARE`.
const LONG_WAIT_RATIO: u128 = 4;
/// With fewer workers, waiting times must not exceed the running time by more than this factor.
const SHORT_WAIT_RATIO: u128 = 2;

/// How many workers a runtime should have, and why; see
/// [`Managed::suggest`](crate::managed::Managed::suggest).
///
/// It follows from the counts of one span of time. `Display` gives it in one line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Advice {
    /// The number of workers to have.
    pub workers: usize,
    /// The number of workers that was asked for in the span.
    pub size: usize,
    /// Why `workers` is advised.
    pub reason: Reason,
    /// Length of the span.
    pub span: Duration,
    /// Tasks spawned in the span.
    pub spawned: u64,
    /// Tasks finished in the span.
    pub finished: u64,
    /// Tasks that were spawned and had not begun at the end of the span, approximately.
    pub waiting: u64,
    /// Mean time for which a task kept a worker busy.
    pub running: Duration,
    /// Mean waiting time of the tasks that began in the span.
    pub waited: Duration,
    /// Mean number of busy workers: the load that they carried.
    pub busy: f64,
    /// Mean load in Erlangs: the busy workers and, if all were busy, the further ones that it would
    /// have taken to leave no task waiting.
    pub load: f64,
    /// With fewer workers tasks wait too often.
    pub least: usize,
    /// With more workers too many are idle.
    pub most: usize,
}

/// Why an [`Advice`] advises its number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Reason {
    /// No time has passed, or the number of workers has changed: nothing is known.
    Unknown,
    /// The number is right for the load.
    Enough,
    /// More: all were busy, and the load is worth more.
    Saturated,
    /// More: tasks waited too long, although not all workers were busy all the time.
    Slow,
    /// Fewer: the load is worth less.
    Spare,
    /// The load is worth more than is allowed.
    AtMost,
    /// The load is worth less than is allowed.
    AtLeast,
    /// Tasks wait although workers were idle: they wait for each other, are bound to busy workers,
    /// or have only just come.
    Uneven,
    /// The load has been worth less only for a short time.
    Lull,
    /// Back to the former number: the workers that were added last had no effect.
    NoEffect,
    /// The load seems to be worth more, but the workers that were added last had no effect.
    Held,
}

impl Advice {
    /// Returns the advice for the span between two readings of one runtime's statistics. `within`
    /// bounds the number of workers.
    ///
    /// The result depends on the arguments only.
    /// [`Managed::suggest`](crate::managed::Managed::suggest) also remembers earlier advice.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::{managed::{Advice, Reason}, metrics::Statistics};
    ///
    /// let mut before = Statistics::default();
    /// before.size = 2;
    /// before.workers = vec![Default::default(); 8];
    /// let mut now = before.clone();
    /// // Within a second both have been at work all the time, and there was work for one more.
    /// now.elapsed = Duration::from_secs(1);
    /// (now.spawned, now.finished) = (302, 200);
    /// now.workers[0].busy = Duration::from_secs(1);
    /// now.workers[1].busy = Duration::from_secs(1);
    /// let advice = Advice::between(&before, &now, 1..=8);
    /// assert_eq!((advice.reason, advice.workers), (Reason::Saturated, 4));
    /// assert_eq!(advice.running, Duration::from_millis(10));
    /// assert_eq!((advice.busy, advice.load), (2.0, 3.0));
    /// ```
    pub fn between(before: &Statistics, now: &Statistics, within: RangeInclusive<usize>) -> Self {
        Self::of(&Sample::of(before), &Sample::of(now), &within)
    }

    pub(super) fn of(before: &Sample, now: &Sample, within: &RangeInclusive<usize>) -> Self {
        let fewest = (*within.start()).max(1);
        let allowed = fewest..=(*within.end()).max(fewest);
        let size = now.size;
        let span = now.elapsed.saturating_sub(before.elapsed);
        let (spawned, finished) = (now.spawned.saturating_sub(before.spawned), now.finished_since(before));
        let nothing = Self {
            workers: size,
            size,
            reason: Reason::Unknown,
            span,
            spawned,
            finished,
            waiting: 0,
            running: Duration::ZERO,
            waited: Duration::ZERO,
            busy: 0.0,
            load: 0.0,
            least: *allowed.start(),
            most: *allowed.end(),
        };
        if span.is_zero() || before.size != size {
            return nothing;
        }
        let time = now.busy.saturating_sub(before.busy);
        let busy = in_spans(time, span);
        // Running tasks have not finished either.
        let at_work = (busy + 0.5) as u64;
        let waiting = now.spawned.saturating_sub(now.finished + at_work);
        // If none has finished, they take at least as long as they have kept their workers busy.
        let running =
            Duration::from_nanos((time.as_nanos() / u128::from(finished.max(at_work).max(1))) as u64);
        let left = in_spans(running, span) * waiting as f64;
        let is_saturated = workers_for(busy, SUFFICIENT_SHARE, size + 1) > size;
        let load = if is_saturated { busy + left } else { busy };
        let waited = now.mean_wait_since(before);
        // Waiting does not matter unless one task at a time waits, in the mean.
        let matters = now.waited.saturating_sub(before.waited) >= span.as_nanos();
        // Waiting times fall in proportion to the number of workers.
        let to_wait_for = |times: u128| match times * running.as_nanos() {
            each if each > 0 && matters => {
                (size as u128 * waited.as_nanos()).div_ceil(each).min(MAX_HOMES as u128) as usize
            }
            _ => 0,
        };
        let least = workers_for(load, SUFFICIENT_SHARE, usize::MAX).max(to_wait_for(LONG_WAIT_RATIO));
        let most = workers_for(load, GENEROUS_SHARE, usize::MAX).max(to_wait_for(SHORT_WAIT_RATIO));
        let wanted = size.clamp(least, most);
        let workers = wanted.clamp(*allowed.start(), *allowed.end());
        let reason = if workers > size && wanted > size {
            if is_saturated { Reason::Saturated } else { Reason::Slow }
        } else if workers < size && wanted < size {
            Reason::Spare
        } else if workers < wanted {
            Reason::AtMost
        } else if workers > wanted {
            Reason::AtLeast
        } else if !is_saturated && left >= 1.0 {
            Reason::Uneven
        } else {
            Reason::Enough
        };
        Self { workers, reason, waiting, running, waited, busy, load, least, most, ..nothing }
    }

    /// Returns this advice with the present number of workers.
    pub(super) fn keep(self, reason: Reason) -> Self {
        Self { workers: self.size, reason, ..self }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            workers,
            size,
            span,
            finished,
            spawned,
            waiting,
            running,
            waited,
            busy,
            load,
            least,
            most,
            ..
        } = self;
        let why = match self.reason {
            Reason::Unknown => "the span is empty, or the number has changed",
            Reason::Enough => "the number is right",
            Reason::Saturated => "all were busy, and tasks waited",
            Reason::Slow => "tasks waited too long",
            Reason::Spare => "some were idle too often",
            Reason::AtMost => "more are not allowed",
            Reason::AtLeast => "fewer are not allowed",
            Reason::Uneven => "some were idle while tasks waited",
            Reason::Lull => "some were idle too often, but only for a short time",
            Reason::NoEffect => "the added ones had no effect",
            Reason::Held => "those added last had no effect",
        };
        write!(f, "{workers} workers (now {size}): {why}; {busy:.2} busy, a load of {load:.2} for {least} ")?;
        write!(
            f,
            "to {most}; in {span:.1?} {spawned} tasks spawned and {finished} finished, running {running:.1?} "
        )?;
        write!(f, "and waiting {waited:.1?} each, {waiting} waiting now")
    }
}

/// The statistics that the advice depends on.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sample {
    pub elapsed: Duration,
    pub size: usize,
    pub spawned: u64,
    pub finished: u64,
    /// Of all workers together.
    pub busy: Duration,
    /// Summed waiting time of all tasks that have begun, in nanoseconds, and their number.
    pub waited: u128,
    pub begun: u64,
}

impl Sample {
    pub fn of(statistics: &Statistics) -> Self {
        Self {
            elapsed: statistics.elapsed,
            size: statistics.size,
            spawned: statistics.spawned,
            finished: statistics.finished,
            busy: statistics.workers.iter().map(|worker| worker.busy).sum(),
            waited: statistics.waiting.sum(),
            begun: statistics.waiting.count(),
        }
    }

    fn finished_since(&self, before: &Self) -> u64 {
        self.finished.saturating_sub(before.finished)
    }

    /// Mean waiting time of the tasks that have begun since then.
    fn mean_wait_since(&self, before: &Self) -> Duration {
        let begun = self.begun.saturating_sub(before.begun);
        let waited = self.waited.saturating_sub(before.waited);
        Duration::from_nanos((waited / u128::from(begun.max(1))) as u64)
    }
}

/// Returns how many times a span goes into a time. The span is not zero.
fn in_spans(time: Duration, span: Duration) -> f64 {
    time.as_secs_f64() / span.as_secs_f64()
}

/// Returns the least number of workers, from 1 to `limit`, that a load with this mean does not
/// exceed for this share of the time. The share is above three quarters, so the result is at least
/// the mean.
fn workers_for(mean: f64, share: f64, limit: usize) -> usize {
    // There cannot be more workers than homes of objects.
    let limit = limit.min(MAX_HOMES);
    if mean >= limit as f64 {
        return limit;
    }
    // Poisson weights, scaled so that the greatest is 1: no power overflows, and no function is
    // needed that `core` lacks.
    let matters = |weight: &f64| *weight > 1e-12;
    let middle = mean as usize;
    let next = |weight: &mut f64, by: f64| {
        *weight *= by;
        Some(*weight)
    };
    let up = || (middle + 1..).scan(1.0, |weight, number| next(weight, mean / number as f64));
    let down = (1..=middle).rev().scan(1.0, |weight, number| next(weight, number as f64 / mean));
    let mut seen = 1.0 + down.take_while(matters).sum::<f64>();
    let enough = share * (seen + up().take_while(matters).sum::<f64>());
    let mut workers = middle;
    for weight in up() {
        if seen >= enough || workers >= limit {
            break;
        }
        seen += weight;
        workers += 1;
    }
    workers.max(1)
}

#[cfg(test)]
mod tests;
