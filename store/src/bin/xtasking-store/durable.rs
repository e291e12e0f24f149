//! The log of the program: where it is, and what is said of it at the start and at the end.

use super::import::{Places, Source, aside_of, move_aside};
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
pub fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
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

/// Returns a path with a longer name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns the names of the files of a directory; none if it is not there.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let name = |file: PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(files(directory)?.into_iter().filter_map(name).collect())
}

/// Returns true if a directory has a log: a segment, or a base. A start that is cut off may leave a
/// base alone.
fn has_log(directory: &Path) -> io::Result<bool> {
    let is_numbered = |name: &str, prefix| {
        name.strip_prefix(prefix).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    Ok(names(directory)?.iter().any(|name| is_numbered(name, "log-") || is_numbered(name, "base-")))
}

/// Returns true if a directory has files that are none of a log. A log that was not begun leaves
/// its lock.
fn has_others(directory: &Path) -> io::Result<bool> {
    Ok(names(directory)?.iter().any(|name| name != "lock"))
}

/// Begins a log with what there is, if there is no log yet, so that the store does not start empty.
/// `fill` makes it in a directory of another name, which gets the right one when the log is
/// complete.
pub fn begin_log(
    places: &Places,
    fill: impl FnOnce(&Path, &Source) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let directory = &places.directory;
    let told = |error: io::Error| format!("the directory {} of the log: {error}", directory.display());
    // So that no other process begins one too.
    let lock = File::create(beside(directory, ".lock")).map_err(told)?;
    lock.lock().map_err(told)?;
    if has_log(directory).map_err(told)? {
        return Ok(());
    }
    let complete = beside(directory, ".complete");
    if complete.try_exists().map_err(told)? {
        // The program was ended between two steps of this.
        return Ok(give_name(&complete, directory).map_err(told)?);
    }
    let source = places.source()?;
    let (has_others, aside) = (has_others(directory).map_err(told)?, aside_of(directory));
    if !has_others && aside.join(places.manifest()).try_exists().map_err(told)? {
        let shown = aside.display();
        let missing = format!("there is no log, and {shown} has files of Redis: rename or remove it");
        return Err(told(io::Error::other(missing)).into());
    }
    if source == Source::Nothing {
        return Ok(());
    }
    if has_others && aside.try_exists().map_err(told)? {
        let exists = format!("it is to be renamed to {}, which is there: remove that", aside.display());
        return Err(told(io::Error::other(exists)).into());
    }
    // One that was cut off.
    let new = beside(directory, ".new");
    remove_log(&new).map_err(told)?;
    fill(&new, &source)?;
    std::fs::rename(&new, &complete).map_err(told)?;
    // Before the files of Redis are moved.
    sync_names(&complete).map_err(told)?;
    Ok(give_name(&complete, directory).map_err(told)?)
}

/// Gives the directory of a complete log its name. One of this name that has other files is moved
/// aside: they may be those of Redis. If that fails, the log is removed: at a later start those
/// files may have more.
fn give_name(complete: &Path, directory: &Path) -> io::Result<()> {
    if has_others(directory)? {
        let aside = move_aside(directory).or_else(|error| {
            remove_log(complete)?;
            Err(error)
        })?;
        println!("xtasking-store: the files of Redis are in {} now", aside.display());
    } else {
        remove_log(directory)?;
    }
    sync_names(directory)?;
    std::fs::rename(complete, directory)?;
    sync_names(directory)
}

/// Makes a rename of a directory durable.
fn sync_names(directory: &Path) -> io::Result<()> {
    match directory.parent().filter(|_| cfg!(unix)) {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
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
