//! The program, which is killed at any moment and started again.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use xtasking_testing::{Random, program, side_by_side, watchdog};

const PROGRAM: &str = env!("CARGO_BIN_EXE_xtasking-store");
const CLIENTS: u64 = 3;
/// The kills after which another log is begun.
const KILLS_OF_LOG: u64 = 20;

/// The number of kills: `XTASKING_STORE_KILLS`, or 5.
fn kills() -> u64 {
    let given = std::env::var("XTASKING_STORE_KILLS").ok();
    given.map_or(5, |given| given.parse().expect("XTASKING_STORE_KILLS is a number"))
}

/// A directory that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xtasking-{name}-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a directory");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn command(directory: &Path, policy: &str) -> Command {
    let mut command = command_without_log(directory);
    command.args(["--appendonly", "yes", "--appendfsync", policy]);
    command
}

fn command_without_log(directory: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    let socket = directory.join("socket");
    command.args(["--workers", "2", "--port", "0"]);
    command.arg("--dir").arg(directory).arg("--unixsocket").arg(socket);
    command
}

/// Starts the program, and waits until it listens. Kills it when it is dropped.
struct Store {
    child: Child,
    socket: PathBuf,
}

impl Store {
    fn start(directory: &Path, policy: &str) -> Self {
        Self::run(command(directory, policy), directory)
    }

    fn run(mut command: Command, directory: &Path) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let ready = lines.any(|line| line.expect("a line").contains("listening at"));
        assert!(ready, "the program ended before it listened");
        // It may say more.
        thread::spawn(move || lines.for_each(drop));
        Self { child, socket: directory.join("socket") }
    }

    fn connect(&self) -> Connection {
        Connection(BufReader::new(UnixStream::connect(&self.socket).expect("a connection")))
    }

    fn kill(mut self) {
        self.child.kill().expect("a process");
        self.child.wait().expect("its end");
    }

    /// Waits until it has ended of itself.
    fn end(mut self) -> bool {
        self.child.wait().expect("its end").success()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

struct Connection(BufReader<UnixStream>);

impl Connection {
    fn send(&mut self, text: &str) -> bool {
        self.0.get_mut().write_all(text.as_bytes()).is_ok()
    }

    /// Reads a line; `None` if the program has ended.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).ok()?;
        (read > 0 && line.ends_with('\n')).then(|| line.trim_end().to_owned())
    }

    /// Sends a command, and returns the first line of the reply.
    fn ask(&mut self, text: &str) -> Option<String> {
        self.send(&format!("{text}\r\n")).then(|| self.line()).flatten()
    }

    /// Returns the elements of a list.
    fn list(&mut self, key: &str) -> Vec<String> {
        let length = self.ask(&format!("LRANGE {key} 0 -1")).expect("an array");
        let length: usize = length[1..].parse().expect("its length");
        let mut element = || (self.line(), self.line().expect("an element")).1;
        (0..length).map(|_| element()).collect()
    }
}

/// Writes until the program is gone, and returns what was acknowledged.
fn write(mut connection: Connection, client: u64, round: u64, replies: &AtomicU64) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let element = format!("{round}.{client}.{number}");
        let text = format!(
            "MULTI\r\nRPUSH left {element}\r\nRPUSH right {element}\r\nEXEC\r\nINCR count:{client}\r\n"
        );
        // OK, twice QUEUED, three lines of EXEC, and the count.
        let is_done = connection.send(&text) && (0..7).all(|_| connection.line().is_some());
        if !is_done {
            break;
        }
        acknowledged.push(element);
        replies.fetch_add(1, Ordering::Relaxed);
    }
    acknowledged
}

#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn what_was_acknowledged_survives_kills() {
    let mut random = Random(std::process::id().into());
    for first in (0..kills()).step_by(KILLS_OF_LOG as usize) {
        kill_again_and_again(first..kills().min(first + KILLS_OF_LOG), &mut random);
    }
}

/// Kills a store again and again that has all its rounds in one log.
fn kill_again_and_again(rounds: Range<u64>, random: &mut Random) {
    let scratch = Scratch::new("kills");
    let mut acknowledged = HashSet::new();
    let mut counts = [0; CLIENTS as usize];
    for round in rounds {
        let _watched = watchdog();
        let store = Store::start(&scratch.0, "always");
        let replies = AtomicU64::new(0);
        let connections: Vec<_> = (0..CLIENTS).map(|_| store.connect()).collect();
        let most = 1 + random.below(300);
        let mut bodies: Vec<Box<dyn FnOnce() -> Vec<String> + Send>> = Vec::new();
        for (client, connection) in (0..).zip(connections) {
            let replies = &replies;
            bodies.push(Box::new(move || write(connection, client, round, replies)));
        }
        let counted = &replies;
        bodies.push(Box::new(move || {
            while counted.load(Ordering::Relaxed) < most {
                thread::sleep(Duration::from_micros(100));
            }
            store.kill();
            Vec::new()
        }));
        for (client, new) in side_by_side(bodies).into_iter().take(CLIENTS as usize).enumerate() {
            counts[client] += new.len();
            acknowledged.extend(new);
        }
        let store = Store::start(&scratch.0, "always");
        let mut connection = store.connect();
        let (left, right) = (connection.list("left"), connection.list("right"));
        assert_eq!(left, right, "a transaction is there as a whole");
        let found: HashSet<_> = left.into_iter().collect();
        let lost: Vec<_> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "round {round}: lost are {lost:?}");
        for (client, &least) in counts.iter().enumerate() {
            connection.ask(&format!("GET count:{client}"));
            let count: usize = connection.line().expect("a count").parse().unwrap_or(0);
            assert!(count >= least, "round {round}: {count} of {least}");
        }
    }
}

#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn a_shutdown_loses_nothing_whatever_the_policy() {
    let _watched = watchdog();
    let scratch = Scratch::new("shutdown");
    let ends =
        [("no", "SHUTDOWN NOSAVE", false), ("everysec", "SHUTDOWN SAVE", true), ("always", "SHUTDOWN", true)];
    for (number, (policy, end, has_snapshot)) in ends.into_iter().enumerate() {
        let store = Store::start(&scratch.0, policy);
        let mut connection = store.connect();
        assert_eq!(connection.ask("INCR starts"), Some(format!(":{}", number + 1)));
        assert_eq!(connection.ask("SHUTDOWN SAVE NOSAVE"), Some("-ERR syntax error".to_owned()));
        // The connection ends without a reply.
        assert_eq!(connection.ask(end), None);
        assert!(store.end());
        let snapshot = scratch.0.join("dump.rdb");
        assert_eq!(std::fs::remove_file(snapshot).is_ok(), has_snapshot, "{end}");
    }
}

/// Of 160 descriptors 128 are kept, so that a snapshot can be written.
#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn no_more_clients_are_served_than_there_are_descriptors_for() {
    let _watched = watchdog();
    let scratch = Scratch::new("descriptors");
    let plain = command_without_log(&scratch.0);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 160; exec \"$0\" \"$@\""]).arg(PROGRAM).args(plain.get_args());
    let store = Store::run(limited, &scratch.0);
    let mut connections: Vec<_> = (0..32).map(|_| store.connect()).collect();
    for connection in &mut connections {
        assert_eq!(connection.ask("PING"), Some("+PONG".to_owned()));
    }
    let refused = (0..200).map(|_| store.connect().line());
    assert!(refused.into_iter().all(|line| line.as_deref() == Some("-ERR max number of clients reached")));
    assert_eq!(connections[0].ask("SAVE"), Some("+OK".to_owned()));
}

#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn a_new_log_begins_with_the_snapshot_that_is_there() {
    let _watched = watchdog();
    let scratch = Scratch::new("adopted");
    let store = Store::run(command_without_log(&scratch.0), &scratch.0);
    let mut connection = store.connect();
    assert_eq!(connection.ask("RPUSH list a b"), Some(":2".to_owned()));
    assert_eq!(connection.ask("SET expires 1 EX 1000"), Some("+OK".to_owned()));
    assert_eq!(connection.ask("SHUTDOWN SAVE"), None);
    assert!(store.end());
    for length in [3, 4] {
        let store = Store::start(&scratch.0, "always");
        let mut connection = store.connect();
        assert_eq!(connection.ask("RPUSH list c"), Some(format!(":{length}")));
        assert_ne!(connection.ask("TTL expires"), Some(":-1".to_owned()));
        assert_eq!(connection.ask("DBSIZE"), Some(":2".to_owned()));
        store.kill();
    }
}

fn output(mut command: Command) -> Output {
    command.output().expect("the program was built")
}

#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn a_log_that_cannot_be_opened_ends_the_program_with_the_reason() {
    let _watched = watchdog();
    let scratch = Scratch::new("refusals");
    let store = Store::start(&scratch.0, "always");
    assert_eq!(store.connect().ask("SET key 1"), Some("+OK".to_owned()));
    let second = output(command(&scratch.0, "always"));
    assert!(program::text(&second.stderr).contains("another process uses the log"));
    store.kill();
    // A torn end is told.
    let directory = scratch.0.join("appendonlydir");
    let names = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let segment = names.filter(|path| path.file_name().unwrap() != "lock").max().unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    std::fs::write(&segment, &bytes[..bytes.len() - 1]).unwrap();
    let mut started =
        command(&scratch.0, "always").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(started.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("listening at")));
    started.kill().unwrap();
    let mut told = String::new();
    started.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    started.wait().unwrap();
    assert!(told.contains("was torn"), "{told}");
    // A header that is not one is refused.
    bytes[9] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let refused = output(command(&scratch.0, "always"));
    let told = program::text(&refused.stderr);
    assert!(!refused.status.success() && told.contains("is corrupt at byte 0"), "{told}");
    // So is a file in place of the directory.
    std::fs::remove_dir_all(&directory).unwrap();
    std::fs::write(&directory, "").unwrap();
    let refused = output(command(&scratch.0, "always"));
    let told = program::text(&refused.stderr);
    assert!(!refused.status.success() && told.contains("appendonlydir of the log"), "{told}");
    let nowhere = output(command(&scratch.0.join("nowhere"), "always"));
    assert!(program::text(&nowhere.stderr).contains("nowhere"));
}
