//! The log of the program: where it is, and what is said of it at the start and at the end.

use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::fs::File;
use std::io::{self, IsTerminal, stderr};
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

/// Returns true if there is no log in a directory yet.
pub fn is_new(directory: &Path) -> bool {
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    !names.into_iter().any(|name| name.to_string_lossy().starts_with("log-"))
}

/// Begins a log with what a snapshot has, so that the store does not start empty. `fill` makes it
/// in a directory of another name, which gets the right one when the log is complete.
pub fn begin_with_snapshot(
    directory: &Path,
    fill: impl FnOnce(&Path) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let told = |error: io::Error| format!("the directory {} of the log: {error}", directory.display());
    let new = directory.with_extension("new");
    // A start before this one may have been cut off. Of the directory of the log only what a log
    // without files leaves there is removed: others may be those of a Redis.
    let gone = [
        std::fs::remove_dir_all(&new),
        std::fs::remove_file(directory.join("lock")),
        std::fs::remove_dir(directory),
    ];
    for result in gone {
        result.or_else(
            |error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(told(error)) },
        )?;
    }
    fill(&new)?;
    std::fs::rename(&new, directory).map_err(told)?;
    if let Some(parent) = directory.parent().filter(|_| cfg!(unix)) {
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(told)?;
    }
    Ok(())
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
