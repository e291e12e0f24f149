//! A server: a process of its own, or one that runs already.

use super::load::Protocol;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::panic::resume_unwind;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_harness::machine::{cores, pin};

/// A server. Dropping it ends the process, if this program has started it.
pub(super) struct Server {
    child: Option<Child>,
    /// The process, if it is known.
    process: Option<u32>,
    pub address: SocketAddr,
    pub protocol: Protocol,
    /// The time from the start of the process to its first answer.
    pub started_in: Duration,
}

/// A process that does not answer for this long has failed to start.
const PATIENCE: Duration = Duration::from_secs(120);
/// A connection without an answer for this long is tried again.
const SILENCE: Duration = Duration::from_secs(10);
/// Between two attempts to get an answer.
const PAUSE: Duration = Duration::from_millis(2);

impl Server {
    /// Starts a process, and waits until it answers.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or does not answer. The kind of the error is `AddrInUse` if the
    /// process has ended, or another one answers: perhaps another program has taken the port.
    pub fn start(
        command: &mut Command,
        address: SocketAddr,
        protocol: Protocol,
        workers: usize,
    ) -> io::Result<Self> {
        let began = Instant::now();
        let child = spawn(command, workers)?;
        let process = Some(child.id());
        let mut server = Self { child: Some(child), process, address, protocol, started_in: Duration::ZERO };
        while !server.answers() {
            if let Some(status) = server.child.as_mut().and_then(|child| child.try_wait().transpose()) {
                return Err(in_use(format!("it ended with {}", status?)));
            }
            if began.elapsed() > PATIENCE {
                return Err(io::Error::other("it does not answer"));
            }
            thread::sleep(PAUSE);
        }
        server.started_in = began.elapsed();
        let answering = server.answering_process();
        if answering != process {
            return Err(in_use(format!("another server answers at {address}, process {answering:?}")));
        }
        Ok(server)
    }

    /// Takes a server that runs already.
    ///
    /// # Errors
    ///
    /// If it does not answer.
    pub fn running(address: SocketAddr, process: Option<u32>) -> io::Result<Self> {
        let protocol = Protocol::Resp;
        let server = Self { child: None, process, address, protocol, started_in: Duration::ZERO };
        match server.answers() {
            true => Ok(server),
            false => Err(io::Error::other("it does not answer PING")),
        }
    }

    /// Returns true if the server is ready for requests.
    fn answers(&self) -> bool {
        let (request, reply) = match self.protocol {
            Protocol::Resp => ("PING", "+PONG"),
            Protocol::Memcached => ("version", "VERSION "),
        };
        let line = self.probe().ok().and_then(|mut control| control.line(request).ok());
        line.is_some_and(|line| line.starts_with(reply))
    }

    /// Returns the number of the process that answers, as it says.
    fn answering_process(&self) -> Option<u32> {
        let mut control = self.probe().ok()?;
        let (text, name) = match self.protocol {
            Protocol::Resp => (control.ask("INFO server").ok()?, "process_id:"),
            Protocol::Memcached => (control.lines("stats", "END").ok()?, "STAT pid "),
        };
        text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
    }

    /// Opens a connection for short commands to what may be another program, which says nothing.
    fn probe(&self) -> Result<Control, Wrong> {
        let control = self.control()?;
        let limited = control.0.get_ref().set_read_timeout(Some(SILENCE));
        limited.map(|()| control).map_err(|error| Wrong::new(error.to_string()))
    }

    /// Opens a connection for commands beside the load.
    ///
    /// # Errors
    ///
    /// If the server refuses it.
    pub fn control(&self) -> Result<Control, Wrong> {
        let stream = TcpStream::connect(self.address);
        let refused = |error| Wrong::new(format!("the server refuses a connection: {error}"));
        Ok(Control(BufReader::new(stream.map_err(refused)?)))
    }

    /// Returns the CPU time that the threads of the server have used, in seconds, if it is known.
    pub fn cpu_time(&self) -> Option<f64> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process?)).ok()?;
        let mut nanoseconds = 0;
        for task in tasks.flatten() {
            let times = fs::read_to_string(task.path().join("schedstat")).ok()?;
            nanoseconds += times.split(' ').next()?.parse::<u64>().ok()?;
        }
        Some(nanoseconds as f64 / 1e9)
    }

    /// Returns the resident memory of the server in bytes, if it is known.
    pub fn memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process?)).ok()?;
        let rest = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // What it has in memory is not wanted.
            _ = child.kill();
            _ = child.wait();
        }
    }
}

/// A connection for commands of Redis' protocol beside the load.
pub(super) struct Control(BufReader<TcpStream>);

impl Control {
    /// Sends a line, and returns the next line.
    fn line(&mut self, request: &str) -> io::Result<String> {
        self.0.get_mut().write_all(format!("{request}\r\n").as_bytes())?;
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        Ok(line.trim_end().to_string())
    }

    /// Sends a line, and returns the lines until one is `last`.
    fn lines(&mut self, request: &str, last: &str) -> io::Result<String> {
        let (mut lines, mut line) = (String::new(), self.line(request)?);
        while line != last {
            lines = lines + &line + "\n";
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            line.truncate(line.trim_end().len());
        }
        Ok(lines)
    }

    /// Sends a command, and returns its reply: one line, or the text of a bulk string.
    ///
    /// # Errors
    ///
    /// If the connection fails, or the reply is an error.
    pub fn ask(&mut self, command: &str) -> Result<String, Wrong> {
        let failed = |error: &dyn std::fmt::Display| Wrong::new(format!("{command}: {error}"));
        let line = self.line(command).map_err(|error| failed(&error))?;
        let Some(size) = line.strip_prefix('$') else {
            return if line.starts_with('-') || line.is_empty() { Err(failed(&line)) } else { Ok(line) };
        };
        let size: usize = size.parse().map_err(|_| failed(&line))?;
        let mut text = vec![0; size + 2];
        self.0.read_exact(&mut text).map_err(|error| failed(&error))?;
        Ok(String::from_utf8_lossy(&text[..size]).into_owned())
    }
}

fn in_use(text: String) -> io::Error {
    io::Error::new(ErrorKind::AddrInUse, text)
}

/// Starts a process. A server of one worker has the first core if there is another one.
fn spawn(command: &mut Command, workers: usize) -> io::Result<Child> {
    // Processes inherit the core of the thread that starts them.
    on_core((workers == 1 && cores() > 1).then_some(0), || command.spawn())
}

/// Runs a function of the client, on the last core if the server leaves one.
pub(super) fn beside_server<T: Send>(workers: usize, run: impl FnOnce() -> T + Send) -> T {
    on_core((workers < cores()).then(|| cores() - 1), run)
}

fn on_core<T: Send>(core: Option<usize>, run: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if let Some(core) = core {
                pin(core, cores());
            }
            run()
        });
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn start(script: &str, address: SocketAddr) -> io::Error {
        let mut command = Command::new("sh");
        let started = Server::start(command.args(["-c", script]), address, Protocol::Resp, 1);
        started.map(|server| server.address).unwrap_err()
    }

    #[test]
    fn a_process_that_ends_is_no_server() {
        // Nothing listens at this port.
        let error = start("exit 3", SocketAddr::from(([127, 0, 0, 1], 1)));
        assert!(error.kind() == ErrorKind::AddrInUse && error.to_string().contains("status: 3"), "{error}");
    }

    /// The process has not got its port, and has not ended yet.
    #[test]
    fn an_answer_of_another_process_does_not_count() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // It ends with the program.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                let reply = if line == "PING\r\n" { "+PONG\r\n" } else { "$16\r\nprocess_id:1\r\n\r\n\r\n" };
                stream.get_mut().write_all(reply.as_bytes()).unwrap();
            }
        });
        let error = start("exec sleep 100", address);
        assert_eq!(error.to_string(), format!("another server answers at {address}, process Some(1)"));
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    }
}
