//! Peers that are programs of their own, as they need more than Rust: `peers/build` makes them, if somebody asks for it.
//!
//! Each turn is a process: it starts its threads, does a little to warm up, sleeps until idle threads are asleep, and then
//! measures itself, as others are measured here.

use crate::failure::Failure;
use crate::ycsb::plan::Wrong;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::env;
use std::path::PathBuf;
use std::process::Command;
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
