//! Peers that are separate programs because they need more than Rust; `peers/build` builds them.
//!
//! Most run one process per turn ([`Program`]): it starts its threads, warms up, sleeps until idle
//! threads have parked, and then measures itself, in the way contenders in this process are
//! measured. A program that has much data to load runs for all turns, and exchanges lines of JSON
//! with this one ([`Dialogue`]).

use crate::failure::Failure;
use crate::failure::Wrong;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A contender that is ready to run.
pub enum Contender<F> {
    /// A function in this process, timed by its caller.
    Here(F),
    /// A separate program, which times itself.
    Outside(Program),
}

/// A program of `peers/`, with a case and a number of workers.
pub struct Program {
    path: PathBuf,
    case: &'static str,
    workers: usize,
}

/// The result and the run time of a program.
pub struct Outcome<T> {
    /// The wall-clock time of the measured part.
    pub time: Duration,
    /// The result, which the caller has to check.
    pub result: T,
}

/// The line that a program prints.
#[derive(Deserialize)]
struct ProgramReply<T> {
    case: String,
    threads: usize,
    nanoseconds: u64,
    result: T,
}

/// Finds a program: in the folder that `XTASKING_PEERS` names, or else in `peers` beside the folder
/// of this program, where `peers/build` puts it.
///
/// # Errors
///
/// If it is not there; the text says where it was expected, and how to build it.
pub fn find(name: &str) -> Result<PathBuf, String> {
    let built = || env::current_exe().ok()?.parent()?.parent().map(|target| target.join("peers"));
    let folder = env::var_os("XTASKING_PEERS").map(PathBuf::from).or_else(built).unwrap_or_default();
    let path = folder.join(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(format!(
        "there is no {}; 'bash peers/build {name}' builds it, or says what it needs to build it \
        (the variable XTASKING_PEERS names another folder)",
        path.display()
    ))
}

/// Prepares a program to run a case with a number of workers.
///
/// # Errors
///
/// If the program has not been built.
pub fn start<F>(name: &str, case: &'static str, workers: usize) -> Result<Contender<F>, Failure> {
    let path = find(name).map_err(Failure::Usage)?;
    Ok(Contender::Outside(Program { path, case, workers }))
}

impl Program {
    /// Runs the program once. Its arguments are the case, `arguments`, and the number of workers.
    ///
    /// # Errors
    ///
    /// If it fails, or prints no result of this case.
    pub fn run<T: DeserializeOwned>(&self, arguments: &[u64], context: &str) -> Result<Outcome<T>, Failure> {
        let outcome = self.outcome(arguments);
        outcome.map_err(|text| Failure::Wrong { context: context.to_string(), wrong: Wrong::new(text) })
    }

    fn outcome<T: DeserializeOwned>(&self, arguments: &[u64]) -> Result<Outcome<T>, String> {
        let mut command = Command::new(&self.path);
        command.arg(self.case).args(arguments.iter().map(u64::to_string)).arg(self.workers.to_string());
        let path = self.path.display();
        let output = command.output().map_err(|error| format!("{path} cannot be run: {error}"))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{path} ended with {}: {}", output.status, message.trim()));
        }
        let line = String::from_utf8_lossy(&output.stdout);
        let reply: ProgramReply<T> = serde_json::from_str(&line)
            .map_err(|error| format!("{path} printed '{}': {error}", line.trim()))?;
        if (reply.case.as_str(), reply.threads) != (self.case, self.workers) {
            return Err(format!("{path} ran another case or number of threads: '{}'", line.trim()));
        }
        Ok(Outcome { time: Duration::from_nanos(reply.nanoseconds), result: reply.result })
    }
}

/// A program that runs for all turns: it reads a request and prints a reply, each a line of JSON.
/// It inherits the error stream. Dropping this ends the program.
pub struct Dialogue {
    path: PathBuf,
    child: Child,
    /// `None` once this is being dropped: closing its input lets the program end.
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Dialogue {
    /// Starts a program with arguments.
    ///
    /// # Errors
    ///
    /// If it has not been built, or cannot be run.
    pub fn start(name: &str, arguments: &[String]) -> Result<Self, Failure> {
        let path = find(name).map_err(Failure::Usage)?;
        let mut command = Command::new(&path);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn();
        let mut child =
            child.map_err(|error| Failure::Usage(format!("{} cannot be run: {error}", path.display())))?;
        let (requests, replies) =
            child.stdin.take().zip(child.stdout.take()).expect("both streams are pipes");
        Ok(Self { path, child, requests: Some(requests), replies: BufReader::new(replies) })
    }

    /// Sends a request, and waits for the reply.
    ///
    /// # Errors
    ///
    /// If the program prints no such reply, or has ended.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<T, String> {
        let mut line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        line.push('\n');
        let requests = self.requests.as_mut().expect("only dropping closes the stream");
        // A write fails if the program has ended; reading below reports that.
        let _ = requests.write_all(line.as_bytes()).and_then(|()| requests.flush());
        line.clear();
        let path = self.path.display();
        let read = self.replies.read_line(&mut line);
        if read.map_err(|error| format!("{path} cannot be read from: {error}"))? == 0 {
            return Err(match self.child.wait() {
                Ok(status) => format!("{path} ended with {status}"),
                Err(error) => format!("{path} has ended: {error}"),
            });
        }
        serde_json::from_str(&line).map_err(|error| format!("{path} printed '{}': {error}", line.trim()))
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        self.requests = None;
        // The program may still be working on a request whose reply is no longer needed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
