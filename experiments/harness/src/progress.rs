//! The progress of an experiment, on the error stream. There is a bar only on a terminal.

use crate::failure::report_line;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A progress bar over the steps of an experiment.
pub struct Progress {
    bar: ProgressBar,
    verbose: bool,
}

impl Progress {
    /// Starts a bar over `steps` steps; if `verbose`, measurements are printed as they are taken.
    pub fn new(steps: u64, verbose: bool) -> Self {
        let bar = ProgressBar::new(steps);
        let style = ProgressStyle::with_template("{bar:30.cyan/dim} {pos:>3}/{len} {elapsed:>4} {msg}")
            .expect("the template is valid");
        bar.set_style(style.progress_chars("━╸─"));
        // Slow enough that drawing does not disturb the measurements.
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bar, verbose }
    }

    /// Shows the current step.
    pub fn begin(&self, step: String) {
        self.bar.set_message(step);
    }

    /// Prints a measurement if the progress is verbose.
    pub fn show_measurement(&self, what: &str, value: f64, unit: &str) {
        self.show(|| format!("{what}: {value:.4} {unit}"));
    }

    /// Prints a text if the progress is verbose.
    pub fn show(&self, text: impl FnOnce() -> String) {
        if self.verbose {
            self.bar.suspend(|| report_line(&text()));
        }
    }

    /// Marks one step as done.
    pub fn advance(&self) {
        self.bar.inc(1);
    }

    /// Marks `steps` steps as done, at most all of them.
    pub fn advance_to(&self, steps: u64) {
        self.bar.set_position(steps.min(self.bar.length().unwrap_or(steps)));
    }

    /// Returns the number of steps done.
    pub fn position(&self) -> u64 {
        self.bar.position()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
