//! The contenders, as processes.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::cannot_start;
use xtasking_harness::machine::{cores, pin};

/// A server that runs until this is dropped.
pub(super) struct Server {
    process: Child,
    /// The server of this program ends with its input.
    input: Option<ChildStdin>,
    pub address: SocketAddr,
}

/// Looks for a connection this often before giving up.
const ATTEMPTS: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(10);

impl Server {
    /// Starts this program as a server.
    pub fn start_own(workers: usize) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| cannot_start("xtasking", workers, &error);
        let program = env::current_exe().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command.args(["serve-store", "--workers", &workers.to_string()]);
        let mut process = spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()), workers)
            .map_err(|error| failed(&error))?;
        let input = process.stdin.take();
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().expect("the output is a pipe"));
        output.read_line(&mut line).map_err(|error| failed(&error))?;
        let port = line.trim().parse().map_err(|_| failed(&format!("{} is no port", line.trim())))?;
        Ok(Self { process, input, address: SocketAddr::from(([127, 0, 0, 1], port)) })
    }

    /// Starts an installed server that takes Redis' options. It keeps nothing on disk.
    pub fn start_installed(program: &str, workers: usize) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::Usage(format!("--against: {program} cannot be started: {error}; is it installed?"))
        };
        // Free at the moment.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command.args(["--port", &address.port().to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no", "--dir"]).arg(env::temp_dir());
        let process = spawn(command.stdin(Stdio::null()).stdout(Stdio::null()), workers);
        let process = process.map_err(|error| failed(&error))?;
        let server = Self { process, input: None, address };
        for _ in 0..ATTEMPTS {
            if TcpStream::connect(address).is_ok() {
                return Ok(server);
            }
            thread::sleep(PAUSE);
        }
        Err(failed(&"it does not listen"))
    }

    /// Returns the CPU time that the server has used, in seconds.
    ///
    /// # Errors
    ///
    /// If the system does not tell.
    pub fn cpu_time(&self) -> Result<f64, Wrong> {
        let untold = || Wrong::new("the system does not tell the CPU time of the server");
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).map_err(|_| untold())?;
        let mut nanoseconds = 0;
        for task in tasks.flatten() {
            let times = fs::read_to_string(task.path().join("schedstat")).map_err(|_| untold())?;
            let used = times.split(' ').next().and_then(|used| used.parse::<u64>().ok());
            nanoseconds += used.ok_or_else(untold)?;
        }
        Ok(nanoseconds as f64 / 1e9)
    }

    /// Returns the resident memory of the server in bytes.
    ///
    /// # Errors
    ///
    /// If the system does not tell.
    pub fn memory(&self) -> Result<u64, Wrong> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kib.map(|kib| kib << 10)
            .ok_or_else(|| Wrong::new("the system does not tell the memory of the server"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.input.take().is_none() {
            _ = self.process.kill();
        }
        _ = self.process.wait();
    }
}

/// Starts a process; on the first core if there are others for the client.
fn spawn(command: &mut Command, workers: usize) -> std::io::Result<Child> {
    thread::scope(|scope| {
        let starter = scope.spawn(|| {
            if workers < cores() {
                // The process inherits it.
                pin(0, workers);
            }
            command.spawn()
        });
        starter.join().expect("starting a process does not panic")
    })
}

/// Returns true if a program can be found as a shell finds it.
pub(super) fn is_installed(program: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder: PathBuf| folder.join(program).is_file())
}
