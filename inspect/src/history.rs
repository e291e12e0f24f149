//! The last inspections, of which views are made.

use crate::findings::findings;
use crate::view::shares::{self, Shares};
use crate::view::{self, View};
use std::collections::VecDeque;
use std::time::Duration;
use xtasking::metrics::Inspection;

/// The time between two inspections while a page is open.
pub(crate) const INTERVAL: Duration = Duration::from_millis(500);

/// The intervals that strips show: 30 seconds.
const CELLS: usize = 60;

/// The intervals of which rates and shares are: 10 seconds.
const WINDOW: usize = 20;

/// What the page is drawn of.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The oldest first.
    inspections: VecDeque<Inspection>,
    cells: VecDeque<Cell>,
    /// The oldest epoch, and when it was first seen to be so.
    oldest_epoch: (u64, Duration),
}

/// What happened in one interval.
#[derive(Debug)]
struct Cell {
    rate: f64,
    open: u64,
    busy: f64,
    memory: u64,
    /// For each run queue the shares of time at work, blocked and searching.
    workers: Vec<[f32; 3]>,
}

impl History {
    /// Adds the newest inspection. Begins anew if the runtime is younger than in the last one.
    pub fn add(&mut self, inspection: Inspection) {
        // Nothing lies between the inspections of two runtimes.
        if self.inspections.back().is_some_and(|last| inspection.elapsed < last.elapsed) {
            *self = Self::default();
        }
        if let Some(last) = self.inspections.back() {
            self.cells.push_back(Cell::of(&inspection, last));
        }
        if inspection.epochs.oldest != self.oldest_epoch.0 || self.inspections.is_empty() {
            self.oldest_epoch = (inspection.epochs.oldest, inspection.elapsed);
        }
        self.inspections.push_back(inspection);
        while self.inspections.len() > WINDOW + 1 {
            self.inspections.pop_front();
        }
        while self.cells.len() > CELLS {
            self.cells.pop_front();
        }
    }

    /// Returns what the page draws; `None` before the first inspection.
    pub fn view(&self, name: &str) -> Option<View> {
        let newest = self.inspections.back()?;
        let older = self.inspections.front().filter(|_| self.inspections.len() > 1);
        let mut view = view::build(newest, older);
        view.name = name.to_owned();
        view.interval = INTERVAL.as_nanos() as u64;
        view.cells = CELLS;
        view.epochs.held = newest.elapsed.saturating_sub(self.oldest_epoch.1).as_nanos() as u64;
        for cell in &self.cells {
            view.history.rate.push(cell.rate);
            view.history.open.push(cell.open as f64);
            view.history.busy.push(cell.busy);
            view.history.memory.push(cell.memory as f64);
        }
        for worker in &mut view.workers {
            let shares = self.cells.iter().map(|cell| cell.workers.get(worker.index).copied());
            worker.strip = shares.map(Option::unwrap_or_default).collect();
        }
        view.findings = findings(&view);
        Some(view)
    }
}

impl Cell {
    fn of(newer: &Inspection, older: &Inspection) -> Self {
        let span = newer.elapsed.saturating_sub(older.elapsed);
        let workers = newer.workers.iter().zip(&older.workers);
        let shares = workers.map(|(newer, older)| shares::of(newer, older, span));
        let strip =
            |shares: Shares| [shares.working, shares.blocked, shares.searching].map(|share| share as f32);
        let workers: Vec<_> = shares.map(strip).collect();
        let busy: f32 = workers.iter().map(|shares| shares[0]).sum();
        Self {
            rate: view::finished(newer, Some(older)) as f64 / span.as_secs_f64().max(1e-9),
            open: newer.occupancy(),
            busy: (f64::from(busy) / newer.size.max(1) as f64).min(1.0),
            memory: newer.memory.page_bytes,
            workers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{inspection, kind, time, worker};
    use serde_json::json;

    #[test]
    fn strips_and_windows_are_bounded() {
        let mut history = History::default();
        assert!(history.view("empty").is_none());
        for turn in 0..200_u32 {
            let elapsed = f64::from(turn) / 2.0;
            let mut busy = worker(0);
            (busy["busy"], busy["asleep"]) = (time(elapsed / 2.0), time(elapsed / 4.0));
            busy["activity"] = if turn == 199 { "Blocked" } else { "Running" }.into();
            let kinds = [kind("work", &[(0.1, (turn * 10).into())], 0)];
            let members = json!({ "kinds": kinds, "workers": [busy, worker(1)] });
            history.add(inspection(elapsed, members));
        }
        let view = history.view("watch").expect("there are inspections");
        assert_eq!((&*view.name, view.window, view.cells), ("watch", 10_000_000_000, CELLS));
        assert_eq!((view.totals.rate, view.history.rate.len()), (20.0, CELLS));
        let strip = &view.workers[0].strip;
        assert_eq!((strip.len(), strip[0], strip[CELLS - 1]), (CELLS, [0.5, 0.0, 0.25], [0.0, 0.5, 0.25]));
        assert_eq!(view.history.busy[0], 0.25);
        assert_eq!(view.findings.len(), 4);
        let json: serde_json::Value = serde_json::to_value(&view).unwrap();
        assert_eq!(json["workers"][0]["strip"][0][0], 0.5);
        assert_eq!(json["findings"][0]["level"], "calm");
    }

    #[test]
    fn a_younger_runtime_begins_a_history() {
        let mut history = History::default();
        for elapsed in [5.0, 6.0, 0.5, 1.0] {
            history.add(inspection(elapsed, json!({})));
        }
        let view = history.view("watch").expect("there are inspections");
        assert_eq!((view.elapsed, view.window, view.history.rate.len()), (1_000_000_000, 500_000_000, 1));
    }

    #[test]
    fn an_epoch_is_held_since_it_was_first_seen() {
        let mut history = History::default();
        for (elapsed, oldest) in [(1.0, 7), (2.0, 8), (3.0, 8), (5.5, 8)] {
            let epochs = json!({ "newest": 9, "oldest": oldest, "retired": 3 });
            history.add(inspection(elapsed, json!({ "epochs": epochs, "spawned": 1 })));
        }
        let view = history.view("watch").expect("there are inspections");
        assert_eq!(view.epochs.held, 3_500_000_000);
        let text =
            "Epoch 8 has been held for 3.5 s by a task that waits or a reader; 3 retired objects are kept.";
        assert_eq!(view.findings[0].text, text);
    }
}
