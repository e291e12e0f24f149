//! The log of the program: where it is, and what is said of it at the start and at the end.

use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use xtasking_storage::Directory;
use xtasking_store::engine::Builder;
use xtasking_store::log::{Log, Options, Progress};

/// Adds a log in a directory to an engine.
pub fn with_log(engine: Builder, directory: &Path) -> Result<Builder, Box<dyn Error>> {
    let told = |error| format!("the directory {} of the log: {error}", directory.display());
    let disk = Directory::open(directory).map_err(told)?;
    Ok(engine.log(disk, Options::default().on_progress(show())))
}

/// Returns the absolute path of a directory that is there.
pub fn absolute(directory: &str) -> Result<PathBuf, String> {
    std::fs::canonicalize(directory).map_err(|error| format!("dir: {directory}: {error}"))
}

/// Logs of fewer bytes are loaded before a line was read.
const LEAST_SHOWN: u64 = 64 << 20;

/// Returns a function that shows how far the replay is: as a bar, or as a line for each tenth.
fn show() -> impl FnMut(Progress) + Send {
    let is_terminal = stderr().is_terminal();
    let bar = if is_terminal { ProgressBar::new(0) } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template("loading the log {bar:40} {bytes}/{total_bytes} {eta}");
    let bar = style.map(|style| bar.clone().with_style(style)).unwrap_or(bar);
    let mut tenths = 0;
    move |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        let now = 10 * progress.done / progress.total.max(1);
        if !is_terminal && now > tenths && progress.total >= LEAST_SHOWN {
            tenths = now;
            eprintln!("xtasking-store: loading the log: {} of {} bytes", progress.done, progress.total);
        }
    }
}

/// Says what the recovery of a log has found.
pub fn report(log: &Log) {
    let found = log.recovered();
    if let Some(cut) = &found.cut {
        let (file, bytes, offset, epoch) = (&cut.file, cut.bytes, cut.offset, cut.epoch);
        eprintln!(
            "xtasking-store: the end of {file} was torn: {bytes} bytes after byte {offset} were cut off"
        );
        eprintln!("xtasking-store: the log ends with epoch {epoch}");
    }
    println!("xtasking-store: the log has {} bytes in {} files", found.bytes, found.segments);
}
