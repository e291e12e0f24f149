//! What the environment asked for is told when a runtime ends.

use super::Shared;
use crate::monitor::Timeline;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

impl Shared {
    /// Writes the timeline and tells the statistics, as far as the environment has asked for them. The workers are gone.
    pub(super) fn export(&self) {
        let Some(observer) = &self.observer else { return };
        if let (Some(path), Some(timeline)) = (&observer.asked.file, Timeline::of(observer)) {
            let dropped = timeline.dropped();
            match write(path, &timeline) {
                Err(error) => std::eprintln!("xtasking: {} could not be written: {error}", path.display()),
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
