//! What is kept between two requests for metrics.

use crate::metrics::{self, Metric, Series};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::metrics::Inspection;

/// A text younger than this is given again: an inspection disturbs the workers.
const YOUNG: Duration = Duration::from_millis(100);

/// The metrics of one runtime, as scrapers have seen them.
#[derive(Debug, Default)]
pub(crate) struct Scrapes {
    series: Series,
    /// The metrics of the program.
    own: Vec<Metric>,
    /// The last text, and when it was made.
    last: Option<(Instant, Arc<str>)>,
}

impl Scrapes {
    /// Begins with these metrics of the program.
    pub fn new(own: Vec<Metric>) -> Self {
        Self { own, ..Self::default() }
    }

    /// Forgets the runtime, for another one.
    pub fn restart(&mut self) {
        *self = Self::new(std::mem::take(&mut self.own));
    }

    /// Returns the metrics of an inspection; `None` if there is none.
    pub fn text(&mut self, now: Instant, inspect: impl FnOnce() -> Option<Inspection>) -> Option<Arc<str>> {
        if let Some((made, text)) = &self.last
            && now.saturating_duration_since(*made) < YOUNG
        {
            return Some(text.clone());
        }
        self.last = None;
        let text: Arc<str> = metrics::text(&inspect()?, &mut self.series, &self.own).into();
        self.last = Some((now, text.clone()));
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::inspection;
    use serde_json::json;

    #[test]
    fn a_young_text_is_given_again() {
        let mut scrapes = Scrapes::default();
        let began = Instant::now();
        let mut finished = |millis, finished| {
            let inspect = || Some(inspection(1.0, json!({ "finished": finished })));
            scrapes.text(began + Duration::from_millis(millis), inspect).expect("there is a runtime")
        };
        assert!(finished(0, 7).contains("xtasking_tasks_finished_total 7\n"));
        assert!(finished(99, 8).contains("xtasking_tasks_finished_total 7\n"));
        assert!(finished(100, 9).contains("xtasking_tasks_finished_total 9\n"));
        assert!(scrapes.text(began + Duration::from_secs(1), || None).is_none());
    }
}
