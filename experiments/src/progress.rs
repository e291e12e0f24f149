//! What is shown while an experiment runs. Nothing is, where the error stream is not a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar over the steps of an experiment.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar over so many steps.
    pub fn new(steps: u64) -> Self {
        let bar = ProgressBar::new(steps);
        let style = ProgressStyle::with_template("{bar:30.cyan/dim} {pos:>3}/{len} {elapsed:>4} {msg}")
            .expect("the template is constant");
        bar.set_style(style.progress_chars("━╸─"));
        // Slow enough that drawing does not disturb what is measured.
        bar.enable_steady_tick(Duration::from_millis(500));
        Self(bar)
    }

    /// Says what is going on now.
    pub fn begin(&self, step: String) {
        self.0.set_message(step);
    }

    /// One step is done.
    pub fn advance(&self) {
        self.0.inc(1);
    }

    /// How many steps are done.
    pub fn position(&self) -> u64 {
        self.0.position()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
