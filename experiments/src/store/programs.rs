//! The contenders: programs that are started as servers, and servers that run already.

use super::load::Protocol;
use super::server::Server;
use std::env;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtasking_harness::failure::Failure;

/// A contender; what it is started with depends on the turn.
pub(super) type Entry = xtasking_harness::lineup::Entry<(), Program, ()>;

/// How a server comes to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Program {
    /// `xtasking-store` beside this program, or else this program.
    Own,
    /// A program that takes Redis' options.
    Redis(&'static str),
    Memcached,
    Kevy,
    /// It runs already, and may be known as a process.
    Running(SocketAddr, Option<u32>),
}

/// All contenders that are started here. The first always runs, and ratios are relative to it.
pub(super) const ALL: [Entry; 5] = [
    entry("xtasking", "XTasking's store", true, Program::Own),
    entry("redis", "Redis, which uses one core for commands", false, Program::Redis("redis-server")),
    entry("valkey", "Valkey, which uses one core for commands", false, Program::Redis("valkey-server")),
    entry("memcached", "memcached by its text protocol", true, Program::Memcached),
    entry("kevy", "kevy, in Rust, with a thread for each core", true, Program::Kevy),
];

const fn entry(name: &'static str, about: &'static str, is_parallel: bool, program: Program) -> Entry {
    Entry { name, about, is_parallel, start: |()| Ok(()), more: program }
}

/// With what a server is started.
pub(super) struct Start<'a> {
    pub workers: usize,
    /// Where it keeps its files.
    pub directory: &'a Path,
    /// The value of `appendfsync` for a log, if it has one.
    pub fsync: Option<&'a str>,
}

impl Program {
    /// Returns where the program is, or `None` if it is not installed.
    fn path(self) -> Option<PathBuf> {
        match self {
            Self::Own => {
                let here = env::current_exe().ok()?;
                let beside = here.with_file_name(format!("xtasking-store{}", env::consts::EXE_SUFFIX));
                Some(if beside.is_file() { beside } else { here })
            }
            Self::Redis(name) => installed(name),
            Self::Memcached => installed("memcached"),
            Self::Kevy => installed("kevy"),
            Self::Running(..) => None,
        }
    }

    /// Returns true if it can take part.
    pub fn is_there(self) -> bool {
        matches!(self, Self::Running(..)) || self.path().is_some()
    }

    /// Returns true if it can keep data on a disk as Redis does, and is started here.
    pub fn has_disk(self) -> bool {
        matches!(self, Self::Own | Self::Redis(_))
    }

    /// Says which program it is, and its version.
    pub fn describe(self) -> String {
        let path = match (self, self.path()) {
            (Self::Running(address, _), _) => return format!("runs at {address}"),
            (_, None) => return "is not installed, and not compared".to_string(),
            (_, Some(path)) => path,
        };
        let is_this = self == Self::Own && env::current_exe().is_ok_and(|here| here == path);
        let version = Command::new(&path).arg("--version").output();
        let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let version = version.unwrap_or_default();
        let version = version.lines().next().unwrap_or("of unknown version");
        let more = if is_this {
            " (cargo build --release -p xtasking-store builds the program that is used then)"
        } else {
            ""
        };
        format!("{version}, {}{more}", path.display())
    }

    /// Starts it, or looks whether it runs.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start(self, name: &str, start: &Start) -> Result<Server, Failure> {
        let failed = |error: &dyn Display| Failure::Usage(format!("{name} cannot be started: {error}"));
        if let Self::Running(address, process) = self {
            return Server::running(address, process).map_err(|error| failed(&error));
        }
        let path = self.path().ok_or_else(|| failed(&"it is not installed"))?;
        at_free_port(|address| self.start_at(address, &path, start)).map_err(|error| failed(&error))
    }

    fn start_at(self, address: SocketAddr, path: &Path, start: &Start) -> io::Result<Server> {
        let port = address.port().to_string();
        let workers = start.workers.to_string();
        let mut command = Command::new(path);
        let protocol = match self {
            Self::Memcached => {
                command.args(["-l", "127.0.0.1", "-U", "0", "-u", "nobody", "-c", "20000"]);
                command.args(["-m", MEBIBYTES_OF_MEMCACHED, "-p", &port, "-t", &workers]);
                Protocol::Memcached
            }
            Self::Kevy => {
                command.args(["--port", &port, "--bind", "127.0.0.1", "--threads", &workers, "--no-aof"]);
                command.arg("--dir").arg(start.directory);
                Protocol::Resp
            }
            _ => {
                if self == Self::Own {
                    if env::current_exe().is_ok_and(|here| here == path) {
                        command.arg("serve-store");
                    }
                    command.args(["--workers", &workers]);
                }
                command.args(["--port", &port, "--bind", "127.0.0.1", "--save", ""]);
                command.arg("--dir").arg(start.directory);
                command.args(["--appendonly", if start.fsync.is_some() { "yes" } else { "no" }]);
                command.args(start.fsync.map(|fsync| ["--appendfsync", fsync]).iter().flatten());
                Protocol::Resp
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Server::start(&mut command, address, protocol, start.workers)
    }
}

/// Starts a server at a port that is free at the moment, and at another one if some other program
/// has taken it before the server does.
fn at_free_port<T>(mut start: impl FnMut(SocketAddr) -> io::Result<T>) -> io::Result<T> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr())?;
        match start(address) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && attempts < MAX_ATTEMPTS => {}
            started => return started,
        }
    }
}

/// Ports that are tried. A server that ends at each of them has another reason.
const MAX_ATTEMPTS: u32 = 3;

/// More than any load takes: nothing is evicted.
const MEBIBYTES_OF_MEMCACHED: &str = "65536";

/// Finds a program as a shell does.
fn installed(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Parses a server that runs already: `NAME=HOST:PORT`, and `@PROCESS` after it if its CPU time and
/// memory are wanted.
///
/// # Errors
///
/// A text that shows how to write it.
pub(super) fn parse_running(text: &str) -> Result<Running, String> {
    let usage =
        || "write a server such as garnet=127.0.0.1:7001, or garnet=127.0.0.1:7001@PROCESS".to_string();
    let (name, rest) = text.split_once('=').ok_or_else(usage)?;
    let (address, process) = rest.split_once('@').map_or((rest, None), |(at, process)| (at, Some(process)));
    let process = process.map(str::parse).transpose().map_err(|_| usage())?;
    let address = address.to_socket_addrs().ok().and_then(|mut all| all.next()).ok_or_else(usage)?;
    if name.is_empty() || ALL.iter().any(|entry| entry.name == name) {
        return Err(format!("'{name}' is not free as a name"));
    }
    Ok(Running { name: name.to_string(), address, process })
}

/// A server that runs already.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    name: String,
    address: SocketAddr,
    process: Option<u32>,
}

/// Returns the contenders: those that are started here, and some that run already.
pub(super) fn with_running(running: &[Running]) -> &'static [Entry] {
    let running = running.iter().map(|server| {
        // Once in a run of the program; names of contenders are static.
        let name = server.name.clone().leak();
        entry(name, "a server that runs already", true, Program::Running(server.address, server.process))
    });
    ALL.into_iter().chain(running).collect::<Vec<_>>().leak()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_port_is_tried_if_one_is_taken() {
        let mut attempts = 0;
        let started = at_free_port(|address| {
            attempts += 1;
            if attempts < 3 { Err(ErrorKind::AddrInUse.into()) } else { Ok(address.port()) }
        });
        assert!(started.unwrap() > 0 && attempts == 3);
        for (kind, expected) in [(ErrorKind::AddrInUse, 3), (ErrorKind::NotFound, 1)] {
            let mut attempts = 0;
            let failed = at_free_port(|_| {
                attempts += 1;
                Err::<(), _>(kind.into())
            });
            assert_eq!((failed.unwrap_err().kind(), attempts), (kind, expected));
        }
    }

    #[test]
    fn servers_that_run_already_have_names_and_addresses() {
        let parsed = parse_running("other=127.0.0.1:7001@12").unwrap();
        assert_eq!((parsed.name.as_str(), parsed.address.port(), parsed.process), ("other", 7001, Some(12)));
        assert_eq!(parse_running("other=127.0.0.1:7001").unwrap().process, None);
        for text in ["", "other", "other=nowhere", "redis=127.0.0.1:7001", "=127.0.0.1:1", "a=127.0.0.1:1@b"]
        {
            assert!(parse_running(text).is_err(), "{text}");
        }
    }
}
