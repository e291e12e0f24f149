//! Failures with their exit codes, and files that are written as a whole or not at all.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

/// Why the program ends without an answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request cannot be answered; the text says why and what to change.
    Usage(String),
    /// The answer cannot be written.
    Output(String),
    /// The program that reads the answers has closed the standard output.
    Closed,
}

/// The exit code of a program that SIGPIPE ends, as a shell shows it.
const ENDED_BY_CLOSED_PIPE: u8 = 128 + 13;

impl Failure {
    /// Returns 2 for a request without an answer, as the command-line parser does, 3 for an answer
    /// that cannot be written, and 141 for a closed pipe, as programs have that SIGPIPE ends.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Usage(_) => 2,
            Self::Output(_) => 3,
            Self::Closed => ENDED_BY_CLOSED_PIPE,
        })
    }

    /// Returns the exit code, after printing the failure. A closed pipe is none for people.
    pub(crate) fn report(&self) -> ExitCode {
        if !matches!(self, Self::Closed) {
            // Without an error stream there is nowhere to say so.
            _ = writeln!(io::stderr(), "error: {self}");
        }
        self.exit_code()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Output(text) => f.write_str(text),
            Self::Closed => f.write_str("the standard output is closed"),
        }
    }
}

/// Prints to the standard output, at once; `print!` would panic where that is impossible.
pub(crate) fn print(text: &impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    write!(out, "{text}").and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Output(format!("cannot write to the standard output: {error}")),
    })
}

/// Fails before any work is done if `path` cannot be written. The file stays as it is. Devices and
/// pipes are not opened: the reader of a pipe would see its end.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    let attempt = || match existing(path)? {
        Some(place) if is_special(&place) => Ok(()),
        Some(place) => OpenOptions::new().write(true).open(place).map(drop),
        None => {
            let temporary = temporary(path)?;
            File::create(&temporary)?;
            fs::remove_file(temporary)
        }
    };
    attempt().map_err(|error| Failure::Usage(cannot_write(path, &error)))
}

/// Writes a file under a temporary name and renames it: a reader never sees half of it, and the old
/// file survives a full disk. Devices and pipes are written in place; a symbolic link stays one.
pub(crate) fn write(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    let attempt = || {
        let place = existing(path)?.unwrap_or_else(|| path.to_path_buf());
        if fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file()) {
            return OpenOptions::new().write(true).open(place)?.write_all(contents);
        }
        let temporary = temporary(&place)?;
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(contents).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, &place));
        // The first error is the one to report; a temporary file that cannot be removed is not a
        // second one.
        written.inspect_err(|_| _ = fs::remove_file(&temporary))
    };
    attempt().map_err(|error| Failure::Output(cannot_write(path, &error)))
}

/// Returns true for devices, pipes and sockets.
fn is_special(place: &Path) -> bool {
    fs::metadata(place).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// The file behind all symbolic links, if there is one.
fn existing(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::canonicalize(path) {
        Ok(place) => Ok(Some(place)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn temporary(place: &Path) -> io::Result<PathBuf> {
    let name = place.file_name().ok_or_else(|| io::Error::other("it is not the name of a file"))?;
    Ok(place.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), process::id())))
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}
