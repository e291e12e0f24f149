//! Writes the statistics and the timeline at the end of a runtime, as the environment asks for.

use super::RuntimeState;
use crate::monitor::Timeline;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

impl RuntimeState {
    /// Writes the timeline to its file and the statistics to the standard error stream, if the
    /// environment asks for them. The workers have ended.
    pub(super) fn export(&self) {
        let Some(observer) = &self.observer else { return };
        if let Some(path) = &observer.asked.file {
            let timeline = Timeline::of(observer, 0);
            let dropped = timeline.dropped();
            match write(path, &timeline) {
                Err(error) => {
                    std::eprintln!("xtasking: cannot write the timeline to {}: {error}", path.display());
                }
                Ok(()) if dropped > 0 => {
                    std::eprintln!("xtasking: {} lacks the first {dropped} events", path.display());
                }
                Ok(()) => {}
            }
        }
        if let Some(statistics) = self.statistics().filter(|_| observer.asked.tell) {
            std::eprintln!("xtasking: {statistics}");
        }
    }
}

fn write(path: &Path, timeline: &Timeline) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    write!(file, "{timeline}")?;
    file.flush()
}
