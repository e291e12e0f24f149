//! What a log begins with if there is none yet: an append-only file of Redis, or a snapshot.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use xtasking_store::Engine;
use xtasking_store::aof::{AofEnd, Manifest};
use xtasking_store::server::Setting;

/// Where the files are, by the settings of these names.
#[derive(Debug)]
pub struct Places {
    /// `dir` and `appenddirname`: that of the log, and of the files of Redis 7.
    pub directory: PathBuf,
    /// `appendfilename`.
    pub aof: String,
    /// `dir` and `appendfilename`: that of older versions.
    pub single: PathBuf,
    /// `dir` and `dbfilename`.
    pub snapshot: PathBuf,
}

/// What is there, in the order in which Redis prefers it.
#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// Files of Redis, in the order in which they are loaded.
    Aof(Vec<PathBuf>),
    Snapshot,
    Nothing,
}

/// Returns an error that names a file.
fn at<E: ToString>(path: &Path) -> impl Fn(E) -> String {
    move |error| format!("{}: {}", path.display(), error.to_string())
}

fn is_there(path: &Path) -> Result<bool, String> {
    path.try_exists().map_err(at(path))
}

impl Places {
    /// Finds what a log is to begin with.
    pub fn source(&self) -> Result<Source, String> {
        let manifest = self.directory.join(self.manifest());
        if is_there(&manifest)? {
            let text = std::fs::read(&manifest).map_err(at(&manifest))?;
            let files = Manifest::parse(&text).map_err(at(&manifest))?;
            let files: Vec<_> = files.files().iter().map(|name| self.directory.join(name)).collect();
            return match files.iter().find(|file| !file.exists()) {
                Some(missing) => Err(at(&manifest)(format!("{} is missing", missing.display()))),
                None => Ok(Source::Aof(files)),
            };
        }
        if let Some(file) = self.file_without_manifest()? {
            let told = format!("{} is there, and its manifest {} is not", file.display(), manifest.display());
            return Err(told);
        }
        if is_there(&self.single)? {
            return Ok(Source::Aof(vec![self.single.clone()]));
        }
        Ok(if is_there(&self.snapshot)? { Source::Snapshot } else { Source::Nothing })
    }

    /// Returns the name of the manifest.
    pub fn manifest(&self) -> String {
        format!("{}.manifest", self.aof)
    }

    /// Returns a file of Redis 7 whose manifest was lost: a store without it would start empty.
    fn file_without_manifest(&self) -> Result<Option<PathBuf>, String> {
        let start = format!("{}.", self.aof);
        let files = super::durable::files(&self.directory).map_err(at(&self.directory))?;
        let is_one = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&start) && (name.ends_with(".rdb") || name.ends_with(".aof"))
        };
        Ok(files.iter().find(is_one).cloned())
    }

    /// Says what is not loaded as there is no log: Redis does not load it either.
    pub fn tell_unused(&self) {
        if let Ok(Source::Aof(files)) = self.source() {
            let first = files.first().map(|file| file.display().to_string()).unwrap_or_default();
            eprintln!("xtasking-store: appendonly is no: {first} is there, and is not loaded");
        }
    }
}

/// Loads append-only files of Redis, one after the other. Only the last one may be torn.
pub fn load(engine: &Engine, files: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let accepts_torn = engine.server().settings.number(Setting::AofLoadTruncated) != 0;
    for (number, path) in files.iter().enumerate() {
        let is_last = number + 1 == files.len();
        let end = if is_last && accepts_torn { AofEnd::MayBeTorn } else { AofEnd::Whole };
        load_file(engine, path, end)?;
    }
    Ok(())
}

fn load_file(engine: &Engine, path: &Path, end: AofEnd) -> Result<(), String> {
    let shown = path.display();
    let file = File::open(path).map_err(at(path))?;
    let size = file.metadata().map_or(0, |metadata| metadata.len()).max(1);
    let mut told = Instant::now();
    let loaded = engine.load_aof(file, end, |progress| {
        if told.elapsed() >= Duration::from_secs(1) {
            told = Instant::now();
            let (percent, keys) = (progress.bytes * 100 / size, progress.keys);
            let commands = progress.commands;
            println!("xtasking-store: loads {shown}: {percent}%, {keys} keys and {commands} commands");
        }
    });
    let loaded = loaded.map_err(at(path))?;
    println!("xtasking-store: {shown} has {} keys and {} commands", loaded.keys, loaded.commands);
    if loaded.functions > 0 {
        println!("xtasking-store: {} libraries of functions were skipped", loaded.functions);
    }
    if loaded.torn > 0 {
        let (bytes, end) = (loaded.torn, loaded.bytes);
        eprintln!("xtasking-store: the end of {shown} was torn: {bytes} bytes after byte {end} are left out");
    }
    Ok(())
}

/// Returns where a directory with files of Redis is moved to.
pub fn aside_of(directory: &Path) -> PathBuf {
    let mut aside = directory.as_os_str().to_owned();
    aside.push(".redis");
    PathBuf::from(aside)
}

/// Moves a directory aside in which files of Redis are, so that the log can have its name. Returns
/// where it is then.
pub fn move_aside(directory: &Path) -> io::Result<PathBuf> {
    let aside = aside_of(directory);
    std::fs::rename(directory, &aside).map_err(|error| {
        let told = format!("it cannot be moved to {}: {error}", aside.display());
        io::Error::new(error.kind(), told)
    })?;
    Ok(aside)
}
