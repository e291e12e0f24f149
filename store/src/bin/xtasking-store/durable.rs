//! The log of the program: where it is, and what is said of it at the start and at the end.

use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, stderr};
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

/// How the names of the files of a log begin.
const OWN: [&str; 3] = ["log-", "base", "lock"];

/// Returns the files of a directory; none if it is not there.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Removes a directory with the files of a log. Any other file is left, and is an error.
fn remove_log(directory: &Path) -> io::Result<()> {
    for file in files(directory)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if OWN.iter().any(|own| name.starts_with(own)) {
            std::fs::remove_file(file)?;
        }
    }
    match std::fs::remove_dir(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Begins a log with what a snapshot has, if there is one and no log yet, so that the store does
/// not start empty. `fill` makes it in a directory of another name, which gets the right one when
/// the log is complete.
pub fn begin_with_snapshot(
    directory: &Path,
    snapshot: &Path,
    fill: impl FnOnce(&Path) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let told = |error: io::Error| format!("the directory {} of the log: {error}", directory.display());
    let beside = |suffix: &str| {
        let mut name = directory.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    // So that no other process begins one too.
    let lock = File::create(beside(".lock")).map_err(told)?;
    lock.lock().map_err(told)?;
    let has_log = files(directory)
        .map_err(told)?
        .iter()
        .any(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log-")));
    if has_log || !snapshot.try_exists().map_err(told)? {
        return Ok(());
    }
    // One that was cut off, and what a log without files leaves.
    let new = beside(".new");
    remove_log(&new).and_then(|()| remove_log(directory)).map_err(told)?;
    fill(&new)?;
    std::fs::rename(&new, directory).map_err(told)?;
    if let Some(parent) = directory.parent().filter(|_| cfg!(unix)) {
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(told)?;
    }
    Ok(())
}

/// Returns the absolute path of a directory that is there.
pub fn absolute(directory: &str) -> Result<PathBuf, String> {
    let path = std::fs::canonicalize(directory).map_err(|error| format!("dir: {directory}: {error}"))?;
    match path.to_str() {
        Some(_) => Ok(path),
        None => Err(format!("dir: {}: the path is not UTF-8", path.display())),
    }
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
