//! Gives advice again and again, and remembers what has become of it.
//!
//! That of one span of time takes every chance lull for the end of the load, and expects of each worker more that it
//! does as much as the others. So there must be fewer for a while before it says so. And when it has asked for more it
//! looks whether they had any effect, and takes them back if not: the feedback of throughput on the size is the idea of
//! Xu and Bode ("Performance study and dynamic optimization design for thread pool systems", 2004). After that it waits
//! for longer and longer before it tries again.

use super::{Advice, Reading, Reason, Statistics};
use core::ops::RangeInclusive;

/// So many spans of time in a row, the load must be worth fewer workers.
const PATIENCE: u32 = 3;
/// So many spans of time it does not ask for more again, after they had no effect,
const FIRST_HOLD: u32 = 4;
/// and so many at most, when that has happened again and again.
const LONGEST_HOLD: u32 = 64;
/// Workers as busy as this could not have done more.
const BUSY: f64 = 0.95;
/// There is as much to do as before if workers are busy for this share of the time that they were.
const STILL: f64 = 0.75;
/// Workers that were added have an effect if this share more tasks finish than before (or half of the share of workers that
/// were added, if that is less), or if tasks wait for twice this share less.
const EFFECT: f64 = 0.1;

/// See the module's documentation.
pub(crate) struct Adviser {
    within: RangeInclusive<usize>,
    last: Reading,
    /// Advices in a row for which fewer would do, and the most of what would have.
    lulls: u32,
    would_do: usize,
    trial: Option<Trial>,
    /// For so many more it does not ask for more workers.
    hold: u32,
    /// How long that is to be when there is the next reason.
    next_hold: u32,
}

/// More workers were asked for, so that more is done, or sooner.
struct Trial {
    workers: usize,
    /// What there was to be done before, and how fewer did it.
    before: Advice,
}

impl Adviser {
    /// One for a runtime that is to have so many workers, as far as it can have that many; the first span of time begins
    /// with that reading.
    pub fn new(within: RangeInclusive<usize>, most: usize, from: Reading) -> Self {
        let within = (*within.start()).min(most)..=(*within.end()).min(most);
        Self { within, last: from, lulls: 0, would_do: 0, trial: None, hold: 0, next_hold: FIRST_HOLD }
    }

    /// The number of workers is another one from now on: what was before does not count any more.
    pub fn begin(&mut self, now: &Statistics) {
        self.last = Reading::of(now);
    }

    /// What follows from all that happened since the last time.
    pub fn advise(&mut self, now: &Statistics) -> Advice {
        let now = Reading::of(now);
        let mut advice = Advice::of(&self.last, &now, &self.within);
        if advice.span.is_zero() {
            // Somebody else has looked later, and asks earlier.
            return advice;
        }
        self.last = now;
        if advice.reason == Reason::Unknown {
            return advice;
        }
        self.hold = self.hold.saturating_sub(1);
        let trial = self.trial.take().filter(|trial| trial.workers == advice.size);
        if let Some(trial) = trial {
            if trial.is_vain(&advice) {
                self.hold = self.next_hold;
                self.next_hold = (2 * self.next_hold).min(LONGEST_HOLD);
                return Advice { workers: trial.before.size, reason: Reason::Vain, ..advice };
            }
            self.next_hold = FIRST_HOLD;
        }
        (self.lulls, self.would_do) = match advice.reason {
            Reason::Spare => (self.lulls + 1, self.would_do.max(advice.workers)),
            _ => (0, 0),
        };
        let may_stay = self.within.contains(&advice.size);
        match advice.reason {
            Reason::Spare if self.lulls < PATIENCE => advice.keep(Reason::Lull),
            Reason::Spare => {
                (self.lulls, advice.workers) = (0, core::mem::take(&mut self.would_do));
                advice
            }
            Reason::Saturated | Reason::Slow if self.hold > 0 && may_stay => advice.keep(Reason::Held),
            Reason::Saturated | Reason::Slow => {
                // If some could have done more, the load alone is the reason, and not that more is expected to be done.
                let is_judged = advice.reason == Reason::Slow || advice.busy >= BUSY * advice.size as f64;
                self.trial =
                    (is_judged && may_stay).then_some(Trial { workers: advice.workers, before: advice });
                advice
            }
            _ => advice,
        }
    }
}

impl Trial {
    /// Whether the workers that were added had no effect: there is as much to do as before, no more of it is done, and it
    /// waits for as long.
    fn is_vain(&self, now: &Advice) -> bool {
        let before = &self.before;
        let rate = |advice: &Advice| advice.finished as f64 / advice.span.as_secs_f64();
        let added = (self.workers - before.size) as f64 / before.size as f64;
        now.busy >= STILL * before.busy
            && rate(now) < (1.0 + EFFECT.min(added / 2.0)) * rate(before)
            && now.waited.as_secs_f64() >= (1.0 - 2.0 * EFFECT) * before.waited.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::WorkerStatistics;
    use alloc::vec::Vec;
    use core::time::Duration;

    /// A runtime of tasks of 1 ms that does what it is told.
    struct Model {
        statistics: Statistics,
        /// So many tasks, in seconds of work, wait.
        waiting: f64,
        /// So many tasks at most can run at once, however many workers there are.
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
            let adviser = Adviser::new(1..=9, 8, Reading::of(&statistics));
            Self { statistics, waiting: 0.0, parallel, adviser, sizes: Vec::new(), noise: 1 }
        }

        /// Some seconds with a load that differs from second to second by up to a fifth. Returns the last advice.
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
                    self.adviser.begin(statistics);
                }
                self.sizes.push(advice.workers);
                last = Some(advice);
            }
            last.unwrap()
        }

        /// How often it has become larger, and smaller, since then.
        fn changes(&self, since: usize) -> (usize, usize) {
            let both = || self.sizes[since..].windows(2);
            (both().filter(|size| size[0] < size[1]).count(), both().filter(|size| size[0] > size[1]).count())
        }
    }

    #[test]
    fn the_size_follows_the_load_up_at_once_and_down_after_a_while() {
        let mut model = Model::new(8.0);
        assert_eq!(model.run(10, 0.3).workers, 1);
        assert_eq!(model.run(1, 5.0).reason, Reason::Saturated);
        assert!(model.run(5, 5.0).workers >= 6, "{:?}", model.sizes);
        let busy = model.statistics.size;
        let lull = model.run(PATIENCE as usize - 1, 0.1);
        assert_eq!((lull.reason, lull.workers), (Reason::Lull, busy));
        // It was short.
        assert_eq!(model.run(1, 5.0).workers, busy);
        assert_eq!(model.run(PATIENCE as usize, 0.0).reason, Reason::Spare);
        assert_eq!(model.statistics.size, 1);
        assert_eq!(model.run(10, 0.0).reason, Reason::Enough);
    }

    #[test]
    fn under_a_steady_load_it_does_not_go_up_and_down() {
        for load in 0..90 {
            let mut model = Model::new(8.0);
            let load = f64::from(load) / 10.0;
            model.run(20, load);
            let settled = model.sizes.len() - 1;
            model.run(1000, load);
            // It may learn late that one fewer will do.
            let changes = model.changes(settled);
            assert!(changes.0 == 0 && changes.1 <= 1, "load {load}: {:?}", model.sizes);
            assert!(model.statistics.size as f64 > load || model.statistics.size == 8);
        }
    }

    /// Where more workers have no effect it tries seldom, and takes them back.
    #[test]
    fn work_that_does_not_divide_gets_no_workers() {
        let mut model = Model::new(1.0);
        model.run(1, 3.0);
        assert!(model.statistics.size > 1, "it could not know");
        assert_eq!(model.run(1, 3.0).reason, Reason::Vain);
        assert_eq!(model.run(1, 3.0).reason, Reason::Held);
        model.run(500, 3.0);
        let trials = model.sizes.iter().filter(|&&size| size > 1).count();
        assert!((4..12).contains(&trials), "{trials} trials");
        // They were taken back at once, each time.
        assert_eq!((model.changes(0), model.statistics.size), ((trials - 1, trials), 1));
        // It divides from now on.
        model.parallel = 8.0;
        model.run(LONGEST_HOLD as usize + 10, 3.0);
        assert!(model.statistics.size > 3, "{:?}", model.sizes);
    }

    #[test]
    fn who_resizes_by_hand_is_not_opposed_for_what_was_before() {
        let mut model = Model::new(8.0);
        model.run(5, 0.2);
        model.statistics.size = 6;
        let advice = model.run(1, 0.2);
        assert_eq!((advice.reason, advice.workers), (Reason::Unknown, 6));
        // A look that comes late says nothing, and changes nothing.
        let early = Statistics { elapsed: Duration::from_secs(1), ..model.statistics.clone() };
        assert_eq!(model.adviser.advise(&early).reason, Reason::Unknown);
        assert_eq!(model.run(PATIENCE as usize, 0.2).workers, 1);
    }
}
