//! How many workers the load is worth.
//!
//! Ling, Mullen and Lin ("Analysis of optimal thread pool size", ACM Operating Systems Review 34(2), 2000) weigh, over the
//! distribution of the load, what a thread costs that has nothing to do against what it costs to have none. That is the
//! idea; the formula here is another one: one more worker is worth having while the load exceeds their number for more
//! than a certain share of the time, which is the price of an idle worker in prices of a missing one. The load is the
//! number of tasks that would be at work if there were always a worker for them. If they come at random, it is
//! distributed by Poisson's law around its mean, whatever times they take; and the mean is measured.
//!
//! Tasks that come many at a time are another matter: then the workers have nothing to do for most of the time, and are
//! too few for the rest. It shows in how long tasks wait; that grows less as there are more workers.
//!
//! Two prices make two numbers, and between them there is no reason to change anything: so noise has no effect.

use super::Statistics;
use crate::object::MAX_HOMES;
use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;

/// A worker is missing if those there are suffice less often than this: a missing one costs as much as four idle ones.
const ENOUGH: f64 = 0.80;
/// A worker is one too many if the others suffice at least this often.
const PLENTY: f64 = 0.95;
/// Tasks wait for too long if that is more than so many times what they take: with one worker, and tasks at random, that
/// says the same as above.
const LONG: u128 = 4;
/// Of fewer workers tasks must not wait for longer than this.
const SHORT: u128 = 2;

/// How many workers a runtime should have, and why; see [`Managed::suggest`](crate::Managed::suggest).
///
/// It follows from what was counted within a span of time, and its text says so in a line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Advice {
    /// So many workers there should be.
    pub workers: usize,
    /// So many there were to be.
    pub size: usize,
    /// Why.
    pub reason: Reason,
    /// The time that was looked at.
    pub span: Duration,
    /// Tasks that were spawned in that time.
    pub spawned: u64,
    /// Tasks that finished in that time.
    pub finished: u64,
    /// Tasks that were spawned and had not begun, about, at its end.
    pub waiting: u64,
    /// How long a task kept a worker busy, in the mean.
    pub running: Duration,
    /// How long tasks had waited that began in that time, in the mean.
    pub waited: Duration,
    /// How many workers were busy, in the mean: the load that they carried.
    pub busy: f64,
    /// How many workers the load was worth in the mean (in Erlangs): those that were busy and, if they all were, those that
    /// it would have taken besides to leave nothing waiting.
    pub load: f64,
    /// With fewer workers than this, tasks wait too often.
    pub least: usize,
    /// With more, too many have nothing to do.
    pub most: usize,
}

/// Why a runtime should have as many workers as an [`Advice`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Reason {
    /// No time has passed, or the number of workers has changed meanwhile: nothing is known.
    Unknown,
    /// There are enough for the load, and not too many.
    Enough,
    /// More: all were busy, and the load is worth more.
    Saturated,
    /// More: tasks waited for long, though not all were busy all the time.
    Slow,
    /// Fewer: the load is worth less.
    Spare,
    /// The load is worth more, but there must not be.
    AtMost,
    /// The load is worth less, but there must not be fewer.
    AtLeast,
    /// Tasks wait, although workers had nothing to do: they wait for each other, or for places where others run, or have
    /// only just come.
    Uneven,
    /// The load is worth less, but has been so for a short time only.
    Lull,
    /// As many as there were before: the last ones that were added had no effect.
    Vain,
    /// The load seems to be worth more, but the last ones that were added had no effect.
    Held,
}

impl Advice {
    /// What follows from two looks at the statistics of one runtime. `within` says how many workers there may be.
    ///
    /// The same numbers always give the same advice; nothing else is remembered or asked for.
    /// [`Managed::suggest`](crate::Managed::suggest) remembers more.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::{Advice, Reason, Statistics};
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
        Self::of(&Reading::of(before), &Reading::of(now), &within)
    }

    pub(super) fn of(before: &Reading, now: &Reading, within: &RangeInclusive<usize>) -> Self {
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
        // Those that are at work have not finished either.
        let at_work = (busy + 0.5) as u64;
        let waiting = now.spawned.saturating_sub(now.finished + at_work);
        // If none has finished, they take at least as long as their workers have been at them.
        let running =
            Duration::from_nanos((time.as_nanos() / u128::from(finished.max(at_work).max(1))) as u64);
        let left = in_spans(running, span) * waiting as f64;
        let is_saturated = workers_for(busy, ENOUGH, size + 1) > size;
        let load = if is_saturated { busy + left } else { busy };
        let waited = now.mean_wait_since(before);
        // Unless one waits at any time, in the mean, it does not matter.
        let matters = now.waited.saturating_sub(before.waited) >= span.as_nanos();
        // With more workers they wait for less, in proportion.
        let to_wait_for = |times: u128| match times * running.as_nanos() {
            each if each > 0 && matters => {
                (size as u128 * waited.as_nanos()).div_ceil(each).min(MAX_HOMES as u128) as usize
            }
            _ => 0,
        };
        let least = workers_for(load, ENOUGH, usize::MAX).max(to_wait_for(LONG));
        let most = workers_for(load, PLENTY, usize::MAX).max(to_wait_for(SHORT));
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

    /// The same, but as many workers as there are.
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
            Reason::Unknown => "nothing is known",
            Reason::Enough => "enough, and not too many",
            Reason::Saturated => "they were busy, and there was more",
            Reason::Slow => "tasks waited for long",
            Reason::Spare => "some had too little to do",
            Reason::AtMost => "more are not allowed",
            Reason::AtLeast => "fewer are not allowed",
            Reason::Uneven => "some had nothing to do while tasks waited",
            Reason::Lull => "some had too little to do, but not for long",
            Reason::Vain => "more had no effect",
            Reason::Held => "more had no effect lately",
        };
        write!(f, "{workers} workers (now {size}): {why}; {busy:.2} busy, a load of {load:.2} for {least} ")?;
        write!(
            f,
            "to {most}; in {span:.1?} {spawned} tasks came and {finished} finished, {running:.1?} each "
        )?;
        write!(f, "after {waited:.1?}, {waiting} wait")
    }
}

/// What of the statistics matters here.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reading {
    pub elapsed: Duration,
    pub size: usize,
    pub spawned: u64,
    pub finished: u64,
    /// Of all workers together.
    pub busy: Duration,
    /// Of all tasks that have begun together, in nanoseconds, and how many these are.
    pub waited: u128,
    pub begun: u64,
}

impl Reading {
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

    /// How long tasks waited that have begun since then, in the mean.
    fn mean_wait_since(&self, before: &Self) -> Duration {
        let begun = self.begun.saturating_sub(before.begun);
        let waited = self.waited.saturating_sub(before.waited);
        Duration::from_nanos((waited / u128::from(begun.max(1))) as u64)
    }
}

/// How many times a span goes into some time. The span is not zero.
fn in_spans(time: Duration, span: Duration) -> f64 {
    time.as_secs_f64() / span.as_secs_f64()
}

/// The least number of workers, 1 at least and `limit` at most, that a load with that mean does not exceed for that share
/// of the time, which is more than three quarters: so it is the mean itself at least.
fn workers_for(mean: f64, share: f64, limit: usize) -> usize {
    // There are no more workers than objects have homes.
    let limit = limit.min(MAX_HOMES);
    if mean >= limit as f64 {
        return limit;
    }
    // Weights in proportion to those of Poisson's law, of which the greatest is 1: no power is too large, and no function
    // is needed that `core` lacks.
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
mod tests {
    use super::*;

    /// The share of the time for which a load with that mean does not exceed so many.
    fn share(mean: f64, workers: usize) -> f64 {
        let mut weight = (-mean).exp();
        let mut sum = weight;
        for number in 1..=workers {
            weight *= mean / number as f64;
            sum += weight;
        }
        sum
    }

    #[test]
    fn so_many_workers_suffice_for_that_share_of_the_time_and_no_fewer() {
        for wanted in [ENOUGH, PLENTY] {
            let mut last = 1;
            for step in 0..6000 {
                let mean = f64::from(step) / 10.0;
                let workers = workers_for(mean, wanted, usize::MAX);
                assert!(workers >= last && workers as f64 >= mean, "{workers} for {mean}");
                assert!(share(mean, workers) >= wanted - 1e-9, "{workers} for {mean}");
                assert!(workers == 1 || share(mean, workers - 1) < wanted + 1e-9, "{workers} for {mean}");
                last = workers;
            }
        }
        assert_eq!([0.0, 0.5, 1.0, 3.0].map(|mean| workers_for(mean, ENOUGH, usize::MAX)), [1, 1, 2, 4]);
        assert_eq!([0.0, 0.5, 1.0, 3.0].map(|mean| workers_for(mean, PLENTY, usize::MAX)), [1, 2, 3, 6]);
        assert_eq!((workers_for(1e300, ENOUGH, 7), workers_for(6.9, ENOUGH, 7)), (7, 7));
        assert_eq!(workers_for(f64::INFINITY, ENOUGH, usize::MAX), MAX_HOMES);
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// A second in which so many workers, of `size`, were busy with tasks of 10 ms, and so many of these were left.
    fn second(size: usize, busy: f64, left: u64) -> (Reading, Reading) {
        let before =
            Reading { elapsed: SECOND, size, spawned: 70, finished: 70, busy: SECOND, ..Reading::default() };
        let finished = (100.0 * busy) as u64;
        let now = Reading {
            elapsed: 2 * SECOND,
            spawned: 70 + finished + busy.round() as u64 + left,
            finished: 70 + finished,
            busy: SECOND + SECOND.mul_f64(busy),
            ..before
        };
        (before, now)
    }

    fn advice(size: usize, busy: f64, left: u64, within: RangeInclusive<usize>) -> Advice {
        let (before, now) = second(size, busy, left);
        Advice::of(&before, &now, &within)
    }

    #[test]
    fn each_load_has_its_advice() {
        let told = |size, busy, left| {
            let advice = advice(size, busy, left, 1..=8);
            (advice.reason, advice.workers)
        };
        assert_eq!(told(1, 0.5, 0), (Reason::Enough, 1));
        assert_eq!(told(1, 0.9, 0), (Reason::Saturated, 2));
        assert_eq!(told(1, 1.0, 200), (Reason::Saturated, 4));
        assert_eq!(told(1, 1.0, 100_000), (Reason::Saturated, 8));
        assert_eq!(told(8, 8.0, 100_000), (Reason::AtMost, 8));
        assert_eq!(told(8, 7.0, 0), (Reason::AtMost, 8));
        assert_eq!(told(8, 3.0, 0), (Reason::Spare, 6));
        assert_eq!(told(8, 0.0, 0), (Reason::Spare, 1));
        // All are at home in one place.
        assert_eq!(told(3, 1.0, 1000), (Reason::Uneven, 3));
        assert_eq!(told(8, 1.0, 1000), (Reason::Spare, 3));
        let bounded = |size, busy| {
            let advice = advice(size, busy, 0, 3..=4);
            (advice.reason, advice.workers)
        };
        assert_eq!([bounded(3, 0.1), bounded(4, 9.0)], [(Reason::AtLeast, 3), (Reason::AtMost, 4)]);
        assert_eq!([bounded(1, 0.1), bounded(9, 2.0)], [(Reason::AtLeast, 3), (Reason::Spare, 4)]);
    }

    /// They come many at a time.
    #[test]
    fn who_waits_for_long_is_worth_more_workers() {
        let told = |size, busy, waited: u32| {
            let (before, now) = second(size, busy, 0);
            let begun = 100;
            let waited = begun * (waited * Duration::from_millis(10)).as_nanos() as u64;
            let now = Reading { begun, waited: u128::from(waited), ..now };
            let advice = Advice::of(&before, &now, &(1..=8));
            (advice.reason, advice.workers)
        };
        assert_eq!(told(1, 0.5, 4), (Reason::Enough, 1));
        assert_eq!(told(1, 0.5, 12), (Reason::Slow, 3));
        // With these they wait for four times as long as they take, and stay.
        assert_eq!(told(3, 0.5, 4), (Reason::Enough, 3));
        assert_eq!(told(6, 0.5, 2), (Reason::Enough, 6));
        assert_eq!(told(8, 0.5, 1), (Reason::Spare, 4));
        assert_eq!(told(8, 0.5, 10), (Reason::AtMost, 8));
        // There are hardly any.
        let (before, now) = second(1, 0.05, 0);
        let now = Reading { begun: 5, waited: 900_000_000, ..now };
        assert_eq!(Advice::of(&before, &now, &(1..=8)).reason, Reason::Enough);
    }

    #[test]
    fn what_cannot_be_known_changes_nothing() {
        let (before, now) = second(5, 0.0, 0);
        let unknown = |before: &Reading, now: &Reading| {
            let advice = Advice::of(before, now, &(1..=8));
            assert_eq!((advice.reason, advice.workers), (Reason::Unknown, now.size));
        };
        unknown(&now, &now);
        // The later one first.
        unknown(&now, &before);
        unknown(&Reading { size: 4, ..before }, &now);
    }

    #[test]
    fn a_task_that_does_not_end_takes_as_long_as_it_was_seen() {
        let before = Reading { size: 1, ..Reading::default() };
        let now = Reading { elapsed: SECOND, spawned: 4, busy: SECOND, ..before };
        let advice = Advice::of(&before, &now, &(1..=8));
        assert_eq!((advice.running, advice.waiting, advice.load), (SECOND, 3, 4.0));
        assert_eq!((advice.reason, advice.workers), (Reason::Saturated, 6));
    }

    #[test]
    fn whatever_is_counted_the_bounds_hold() {
        let mut state = 1u64;
        let mut random = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        for _ in 0..20_000 {
            let mut reading = || Reading {
                elapsed: Duration::from_nanos(random(3) * random(1 << 30)),
                size: 1 + random(9) as usize,
                spawned: random(2) * random(1 << 30),
                finished: random(2) * random(1 << 30),
                busy: Duration::from_nanos(random(3) * random(1 << 31)),
                waited: u128::from(random(1 << 20)),
                begun: random(1 << 10),
            };
            let (before, now) = (reading(), reading());
            let (fewest, most) = (random(10) as usize, random(10) as usize);
            let advice = Advice::of(&before, &now, &(fewest..=most));
            assert_eq!(advice, Advice::of(&before, &now, &(fewest..=most)));
            if advice.reason == Reason::Unknown {
                assert_eq!(advice.workers, now.size);
            } else {
                let fewest = fewest.max(1);
                assert!((fewest..=most.max(fewest)).contains(&advice.workers), "{advice}");
                assert!(advice.least <= advice.most && advice.load.is_finite(), "{advice}");
            }
        }
    }

    #[test]
    fn an_advice_is_told_in_one_line() {
        let text = alloc::format!("{}", advice(1, 1.0, 200, 1..=8));
        assert_eq!(
            text,
            "4 workers (now 1): they were busy, and there was more; 1.00 busy, a load of 3.00 for 4 to 6; \
             in 1.0s 301 tasks came and 100 finished, 10.0ms each after 0.0ns, 200 wait"
        );
    }
}
