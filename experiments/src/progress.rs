//! What is shown while an experiment runs. There is no bar where the error stream is not a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar over the steps of an experiment.
pub struct Progress {
    bar: ProgressBar,
    verbose: bool,
}

impl Progress {
    /// A bar over so many steps; `verbose` prints measurements as they come.
    pub fn new(steps: u64, verbose: bool) -> Self {
        let bar = ProgressBar::new(steps);
        let style = ProgressStyle::with_template("{bar:30.cyan/dim} {pos:>3}/{len} {elapsed:>4} {msg}")
            .expect("the template is constant");
        bar.set_style(style.progress_chars("━╸─"));
        // Slow enough that drawing does not disturb what is measured.
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bar, verbose }
    }

    /// Says what is going on now.
    pub fn begin(&self, step: String) {
        self.bar.set_message(step);
    }

    /// One measurement is made; only who asked for it is told.
    pub fn measured(&self, what: &str, value: f64, unit: &str) {
        self.tell(|| format!("{what}: {value:.4} {unit}"));
    }

    /// Something to tell; only who asked for it is told.
    pub fn tell(&self, text: impl FnOnce() -> String) {
        if self.verbose {
            self.bar.suspend(|| eprintln!("{}", text()));
        }
    }

    /// One step is done.
    pub fn advance(&self) {
        self.bar.inc(1);
    }

    /// So many steps are done, of all that there are.
    pub fn advance_to(&self, steps: u64) {
        self.bar.set_position(steps.min(self.bar.length().unwrap_or(steps)));
    }

    /// How many steps are done.
    pub fn position(&self) -> u64 {
        self.bar.position()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
