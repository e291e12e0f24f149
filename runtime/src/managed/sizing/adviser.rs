//! Repeated advice, which depends on what the last advice has led to.
//!
//! The advice of one span takes each short lull for the end of the load, and expects every
//! additional worker to do as much as the others. So fewer workers are advised only after several
//! spans of low load. More workers are a trial: if they have no effect they are taken back, and the
//! next trial waits longer each time. To feed throughput back into the size is the idea of Xu and
//! Bode ("Performance study and dynamic optimization design for thread pool systems", 2004).

use super::{Advice, Reason, Sample};
use crate::monitor::Statistics;
use core::ops::RangeInclusive;

/// Spans in a row with load for fewer workers, before fewer are advised.
const SPARE_SPANS_TO_SHRINK: u32 = 3;
/// Spans without a new trial after the first trial without effect. Doubles with each further one.
const FIRST_HOLD_SPANS: u32 = 4;
/// The largest number of spans without a new trial.
const LONGEST_HOLD_SPANS: u32 = 64;
/// At this share of busy time, the workers could not have done more.
const SATURATED_SHARE: f64 = 0.95;
/// The load is the same if the workers are busy for at least this share of the former busy time.
const SAME_LOAD_SHARE: f64 = 0.75;
/// A trial has an effect if the rate of finished tasks grows by this share, or by half the share of
/// added workers if that is less; or if waiting times fall by twice this share.
const LEAST_EFFECT: f64 = 0.1;

/// Advises for one runtime; see the module's documentation.
pub(crate) struct Adviser {
    within: RangeInclusive<usize>,
    last: Sample,
    /// Spans in a row that needed fewer workers, and the largest number that one of them needed.
    spare_spans: u32,
    most_needed: usize,
    trial: Option<Trial>,
    /// Spans left without a new trial.
    hold: u32,
    /// Spans without a new trial after the next one without effect.
    next_hold: u32,
}

/// More workers were advised to finish more tasks, or to finish them sooner.
struct Trial {
    workers: usize,
    /// The advice that began the trial: the load, and how fewer workers carried it.
    before: Advice,
}

impl Adviser {
    /// Makes an adviser that advises numbers in `within`, at most `most`. The first span begins
    /// with `from`.
    pub fn new(within: RangeInclusive<usize>, most: usize, from: Sample) -> Self {
        let within = (*within.start()).min(most)..=(*within.end()).min(most);
        Self {
            within,
            last: from,
            spare_spans: 0,
            most_needed: 0,
            trial: None,
            hold: 0,
            next_hold: FIRST_HOLD_SPANS,
        }
    }

    /// Begins a new span, because the number of workers has changed.
    pub fn begin_span(&mut self, now: &Statistics) {
        self.last = Sample::of(now);
    }

    /// Returns the advice for the span since the last call.
    pub fn advise(&mut self, now: &Statistics) -> Advice {
        let now = Sample::of(now);
        let mut advice = Advice::of(&self.last, &now, &self.within);
        if advice.span.is_zero() {
            // Another thread has read later statistics, and called this first.
            return advice;
        }
        self.last = now;
        if advice.reason == Reason::Unknown {
            return advice;
        }
        self.hold = self.hold.saturating_sub(1);
        let trial = self.trial.take().filter(|trial| trial.workers == advice.size);
        if let Some(trial) = trial {
            if trial.is_without_effect(&advice) {
                self.hold = self.next_hold;
                self.next_hold = (2 * self.next_hold).min(LONGEST_HOLD_SPANS);
                return Advice { workers: trial.before.size, reason: Reason::NoEffect, ..advice };
            }
            self.next_hold = FIRST_HOLD_SPANS;
        }
        (self.spare_spans, self.most_needed) = match advice.reason {
            Reason::Spare => (self.spare_spans + 1, self.most_needed.max(advice.workers)),
            _ => (0, 0),
        };
        let may_stay = self.within.contains(&advice.size);
        match advice.reason {
            Reason::Spare if self.spare_spans < SPARE_SPANS_TO_SHRINK => advice.keep(Reason::Lull),
            Reason::Spare => {
                (self.spare_spans, advice.workers) = (0, core::mem::take(&mut self.most_needed));
                advice
            }
            Reason::Saturated | Reason::Slow if self.hold > 0 && may_stay => advice.keep(Reason::Held),
            Reason::Saturated | Reason::Slow => {
                // If workers were idle, the waiting tasks are the reason for more, not an expected
                // gain: no trial.
                let is_judged =
                    advice.reason == Reason::Slow || advice.busy >= SATURATED_SHARE * advice.size as f64;
                self.trial =
                    (is_judged && may_stay).then_some(Trial { workers: advice.workers, before: advice });
                advice
            }
            _ => advice,
        }
    }
}

impl Trial {
    /// Returns true if the added workers had no effect: the load is the same, and neither the rate
    /// nor the waiting time has improved.
    fn is_without_effect(&self, now: &Advice) -> bool {
        let before = &self.before;
        let rate = |advice: &Advice| advice.finished as f64 / advice.span.as_secs_f64();
        let added = (self.workers - before.size) as f64 / before.size as f64;
        now.busy >= SAME_LOAD_SHARE * before.busy
            && rate(now) < (1.0 + LEAST_EFFECT.min(added / 2.0)) * rate(before)
            && now.waited.as_secs_f64() >= (1.0 - 2.0 * LEAST_EFFECT) * before.waited.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::WorkerStatistics;
    use alloc::vec::Vec;
    use core::time::Duration;

    /// A runtime of tasks of 1 ms, which is resized as advised.
    struct Model {
        statistics: Statistics,
        /// Waiting tasks, in seconds of work.
        waiting: f64,
        /// The number of tasks that can run in parallel, however many workers there are.
        parallel: f64,
        adviser: Adviser,
        sizes: Vec<usize>,
        noise: u64,
    }

    impl Model {
        fn new(parallel: f64) -> Self {
            let statistics = Statistics {
                size: 1,
                workers: [WorkerStatistics::default()].into(),
                ..Statistics::default()
            };
            let adviser = Adviser::new(1..=9, 8, Sample::of(&statistics));
            Self { statistics, waiting: 0.0, parallel, adviser, sizes: Vec::new(), noise: 1 }
        }

        /// Runs some seconds with a load that varies by up to a fifth. Returns the last advice.
        fn run(&mut self, seconds: usize, load: f64) -> Advice {
            let mut last = None;
            for _ in 0..seconds {
                self.noise = self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let came = load * (0.8 + 0.4 * (self.noise >> 40) as f64 / (1 << 24) as f64);
                let could = self.parallel.min(self.statistics.size as f64);
                let busy = could.min(self.waiting + came);
                self.waiting += came - busy;
                let statistics = &mut self.statistics;
                statistics.elapsed += Duration::from_secs(1);
                statistics.workers[0].busy += Duration::from_secs_f64(busy);
                statistics.finished += (1000.0 * busy) as u64;
                statistics.spawned =
                    statistics.finished + busy.round() as u64 + (1000.0 * self.waiting) as u64;
                let advice = self.adviser.advise(statistics);
                if advice.workers != statistics.size {
                    statistics.size = advice.workers;
                    self.adviser.begin_span(statistics);
                }
                self.sizes.push(advice.workers);
                last = Some(advice);
            }
            last.unwrap()
        }

        /// The number of times that the size has grown and shrunk since then.
        fn changes(&self, since: usize) -> (usize, usize) {
            let both = || self.sizes[since..].windows(2);
            (both().filter(|size| size[0] < size[1]).count(), both().filter(|size| size[0] > size[1]).count())
        }
    }

    #[test]
    fn the_size_grows_at_once_and_shrinks_after_several_spans() {
        let mut model = Model::new(8.0);
        assert_eq!(model.run(10, 0.3).workers, 1);
        assert_eq!(model.run(1, 5.0).reason, Reason::Saturated);
        assert!(model.run(5, 5.0).workers >= 6, "{:?}", model.sizes);
        let busy = model.statistics.size;
        let lull = model.run(SPARE_SPANS_TO_SHRINK as usize - 1, 0.1);
        assert_eq!((lull.reason, lull.workers), (Reason::Lull, busy));
        // The lull was short.
        assert_eq!(model.run(1, 5.0).workers, busy);
        assert_eq!(model.run(SPARE_SPANS_TO_SHRINK as usize, 0.0).reason, Reason::Spare);
        assert_eq!(model.statistics.size, 1);
        assert_eq!(model.run(10, 0.0).reason, Reason::Enough);
    }

    #[test]
    fn the_size_is_stable_under_a_steady_load() {
        for load in 0..90 {
            let mut model = Model::new(8.0);
            let load = f64::from(load) / 10.0;
            model.run(20, load);
            let settled = model.sizes.len() - 1;
            model.run(1000, load);
            // It may find out late that one worker fewer suffices.
            let changes = model.changes(settled);
            assert!(changes.0 == 0 && changes.1 <= 1, "load {load}: {:?}", model.sizes);
            assert!(model.statistics.size as f64 > load || model.statistics.size == 8);
        }
    }

    /// Without effect, trials are rare and are taken back.
    #[test]
    fn sequential_work_gets_no_more_workers() {
        let mut model = Model::new(1.0);
        model.run(1, 3.0);
        assert!(model.statistics.size > 1, "the first trial was not made");
        assert_eq!(model.run(1, 3.0).reason, Reason::NoEffect);
        assert_eq!(model.run(1, 3.0).reason, Reason::Held);
        model.run(500, 3.0);
        let trials = model.sizes.iter().filter(|&&size| size > 1).count();
        assert!((4..12).contains(&trials), "{trials} trials");
        // Each trial was taken back at once.
        assert_eq!((model.changes(0), model.statistics.size), ((trials - 1, trials), 1));
        // From now on the work is parallel.
        model.parallel = 8.0;
        model.run(LONGEST_HOLD_SPANS as usize + 10, 3.0);
        assert!(model.statistics.size > 3, "{:?}", model.sizes);
    }

    #[test]
    fn a_resize_by_hand_begins_a_new_span() {
        let mut model = Model::new(8.0);
        model.run(5, 0.2);
        model.statistics.size = 6;
        let advice = model.run(1, 0.2);
        assert_eq!((advice.reason, advice.workers), (Reason::Unknown, 6));
        // An outdated reading changes nothing.
        let early = Statistics { elapsed: Duration::from_secs(1), ..model.statistics.clone() };
        assert_eq!(model.adviser.advise(&early).reason, Reason::Unknown);
        assert_eq!(model.run(SPARE_SPANS_TO_SHRINK as usize, 0.2).workers, 1);
    }
}
