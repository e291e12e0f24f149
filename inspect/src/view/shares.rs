//! What a worker did in a span of time.

use std::time::Duration;
use xtasking::metrics::{Activity, WorkerInspection};

/// Shares of a worker's time; the rest it was asleep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shares {
    pub working: f64,
    pub blocked: f64,
    pub searching: f64,
}

impl Shares {
    /// Returns the share with a task.
    pub fn busy(self) -> f64 {
        self.working + self.blocked
    }
}

/// Returns what a worker did between two inspections.
///
/// A run that has begun before the recording is not recorded. So a worker that is in a task, and
/// was recorded neither at work nor asleep, was in that task for all of the time.
pub(crate) fn of(newer: &WorkerInspection, older: &WorkerInspection, span: Duration) -> Shares {
    if span.is_zero() || newer.activity == Activity::Parked {
        return Shares::default();
    }
    let share =
        |newer: Duration, older| (newer.saturating_sub(older).as_secs_f64() / span.as_secs_f64()).min(1.0);
    let (mut busy, asleep) = (share(newer.busy, older.busy), share(newer.asleep, older.asleep));
    let is_in_task = matches!(newer.activity, Activity::Running | Activity::Blocked);
    if is_in_task && busy == 0.0 && asleep == 0.0 {
        busy = 1.0;
    }
    let searching = (1.0 - busy - asleep).max(0.0);
    match newer.activity {
        Activity::Blocked => Shares { working: 0.0, blocked: busy, searching },
        _ => Shares { working: busy, blocked: 0.0, searching },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{time, worker};
    use serde_json::{from_value, json};

    fn shares(activity: &str, busy: f64, asleep: f64) -> [f64; 3] {
        let older: WorkerInspection = from_value(worker(0)).unwrap();
        let mut newer = worker(0);
        (newer["activity"], newer["busy"], newer["asleep"]) = (json!(activity), time(busy), time(asleep));
        let Shares { working, blocked, searching } =
            of(&from_value(newer).unwrap(), &older, Duration::from_secs(2));
        [working, blocked, searching]
    }

    #[test]
    fn the_rest_is_searching() {
        assert_eq!(shares("Running", 1.0, 0.5), [0.5, 0.0, 0.25]);
        assert_eq!(shares("Blocked", 1.0, 0.5), [0.0, 0.5, 0.25]);
        assert_eq!(shares("Searching", 0.0, 0.0), [0.0, 0.0, 1.0]);
        assert_eq!(shares("Asleep", 0.0, 5.0), [0.0; 3]);
    }

    #[test]
    fn a_run_that_is_not_recorded_counts() {
        assert_eq!(shares("Running", 0.0, 0.0), [1.0, 0.0, 0.0]);
        assert_eq!(shares("Blocked", 0.0, 0.0), [0.0, 1.0, 0.0]);
        assert_eq!(shares("Parked", 0.0, 0.0), [0.0; 3]);
    }
}
