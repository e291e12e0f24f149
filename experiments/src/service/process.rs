//! The server as a process.

use super::client::get;
use super::transfer::Account;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::cannot_start;

/// What a server is started with.
#[derive(Clone, Copy)]
pub(super) struct Setup {
    pub workers: usize,
    pub accounts: usize,
    /// The largest number of transfers under way, if the bank bounds it.
    pub most: usize,
    /// Where the server's runtime is shown, if it has one.
    pub page: Option<SocketAddr>,
}

/// A server that runs until this is dropped.
pub(super) struct Server {
    process: Child,
    /// Kept open: the server may print.
    _output: BufReader<ChildStdout>,
    pub address: SocketAddr,
}

/// What a server has used so far.
#[derive(Clone, Copy)]
pub(super) struct Usage {
    /// CPU time in microseconds.
    pub cpu: u64,
    /// Resident memory in bytes.
    pub memory: u64,
}

impl Server {
    /// Starts this program as a server of a bank.
    pub fn start(bank: &str, setup: Setup) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| cannot_start(bank, setup.workers, &error);
        let program = std::env::current_exe().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command.args(["service-server", "--bank", bank]);
        for (option, number) in
            [("--workers", setup.workers), ("--accounts", setup.accounts), ("--most", setup.most)]
        {
            command.args([option, &number.to_string()]);
        }
        if let Some(page) = setup.page {
            command.args(["--http", &page.to_string()]);
        }
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = pipes.spawn().map_err(|error| failed(&error))?;
        let mut output = BufReader::new(process.stdout.take().expect("the output is a pipe"));
        let mut line = String::new();
        let read = output.read_line(&mut line).map_err(|error| failed(&error))?;
        let port = line.trim().parse::<u16>().map_err(|_| match read {
            0 => failed(&"the server ended at its start"),
            _ => failed(&format!("{} is no port", line.trim())),
        })?;
        Ok(Self { process, _output: output, address: SocketAddr::from(([127, 0, 0, 1], port)) })
    }

    /// Returns all accounts, while no transfer is under way.
    pub fn accounts(&self) -> Result<Vec<Account>, Wrong> {
        let text = get(self.address, "/accounts")?;
        Account::parse_all(&text).ok_or_else(|| Wrong::new(format!("{text:?} is no list of accounts")))
    }

    /// Returns what the server has used so far.
    pub fn usage(&self) -> Result<Usage, Wrong> {
        let text = get(self.address, "/usage")?;
        let parsed = text
            .split_once(' ')
            .and_then(|(cpu, memory)| Some(Usage { cpu: cpu.parse().ok()?, memory: memory.parse().ok()? }));
        parsed.ok_or_else(|| Wrong::new(format!("{text:?} is no usage")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.process.stdin.take());
        _ = self.process.wait();
    }
}
