//! Peers that are programs of their own, as they need more than Rust: `peers/build` makes them, if somebody asks for it.
//!
//! Most take a turn as a process: it starts its threads, does a little to warm up, sleeps until idle threads are asleep, and
//! then measures itself, as others are measured here. One that has much to load stays for all turns, and is told of them line
//! by line ([`Dialogue`]).

use crate::failure::Failure;
use crate::ycsb::plan::Wrong;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A contender that has started, or can.
pub enum Contender<F> {
    /// A function of this process, timed by who calls it.
    Here(F),
    /// A program, which times itself.
    Outside(Program),
}

/// Something that a program of `peers/` does.
pub struct Program {
    path: PathBuf,
    case: &'static str,
    workers: usize,
}

/// What a program found, and how long it took.
pub struct Outcome<T> {
    /// The time of what is measured, on the clock on the wall.
    pub time: Duration,
    /// The result, which is still to be checked.
    pub result: T,
}

/// The line that a program prints.
#[derive(Deserialize)]
struct Line<T> {
    case: String,
    threads: usize,
    nanoseconds: u64,
    result: T,
}

/// Where a program is: in the folder that `XTASKING_PEERS` names, or else where `peers/build` puts it, in `peers` beside the
/// folder of this program. Otherwise the error says where it is not, and how to get it.
pub fn find(name: &str) -> Result<PathBuf, String> {
    let built = || env::current_exe().ok()?.parent()?.parent().map(|target| target.join("peers"));
    let folder = env::var_os("XTASKING_PEERS").map(PathBuf::from).or_else(built).unwrap_or_default();
    let path = folder.join(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(format!(
        "there is no {}; 'bash peers/build {name}' builds it, or says what that needs (XTASKING_PEERS names another folder)",
        path.display()
    ))
}

/// What a program does with a number of workers.
pub fn start<F>(name: &str, case: &'static str, workers: usize) -> Result<Contender<F>, Failure> {
    let path = find(name).map_err(Failure::Usage)?;
    Ok(Contender::Outside(Program { path, case, workers }))
}

impl Program {
    /// One turn with these arguments.
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
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{path} ended with {}: {}", output.status, said.trim()));
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let line: Line<T> = serde_json::from_str(&said)
            .map_err(|error| format!("{path} printed '{}': {error}", said.trim()))?;
        if (line.case.as_str(), line.threads) != (self.case, self.workers) {
            return Err(format!("{path} did something else: '{}'", said.trim()));
        }
        Ok(Outcome { time: Duration::from_nanos(line.nanoseconds), result: line.result })
    }
}

/// A program that stays: it is told what to do line by line, and tells what came of it, a line of JSON each. Its errors go to
/// where this program's go. It ends when this is dropped.
pub struct Dialogue {
    path: PathBuf,
    child: Child,
    /// Taken when the dialogue is over, so that the program ends by itself.
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Dialogue {
    /// Starts a program with these arguments.
    pub fn start(name: &str, arguments: &[String]) -> Result<Self, Failure> {
        let path = find(name).map_err(Failure::Usage)?;
        let mut command = Command::new(&path);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn();
        let mut child =
            child.map_err(|error| Failure::Usage(format!("{} cannot be run: {error}", path.display())))?;
        let (asks, answers) = child.stdin.take().zip(child.stdout.take()).expect("both are pipes");
        Ok(Self { path, child, asks: Some(asks), answers: BufReader::new(answers) })
    }

    /// Has the program do something, and waits for what comes of it. An error says what it printed instead, or how it ended.
    pub fn ask<T: DeserializeOwned>(&mut self, what: &impl Serialize) -> Result<T, String> {
        let mut line = serde_json::to_string(what).map_err(|error| error.to_string())?;
        line.push('\n');
        let asks = self.asks.as_mut().expect("the dialogue is over when this is dropped");
        // Where it does not read any more it has ended, which is seen below.
        let _ = asks.write_all(line.as_bytes()).and_then(|()| asks.flush());
        line.clear();
        let path = self.path.display();
        let read = self.answers.read_line(&mut line);
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
        self.asks = None;
        // It may be in the middle of something that nobody waits for any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
