//! A real Redis server, started for a test.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The version whose replies the store gives.
const VERSION: &str = "v=7.0.";

/// A running server; it ends with this.
pub struct Server {
    process: Child,
    folder: PathBuf,
}

/// A connection to it.
pub struct Connection {
    stream: UnixStream,
    received: Vec<u8>,
}

impl Server {
    /// Starts a server; `None`, and a line that says so, if this machine has none of the version.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments.
    pub fn start_with(args: &[&str]) -> Option<Self> {
        let output = Command::new("redis-server").arg("--version").output().ok();
        let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        if !version.as_ref().is_some_and(|text| text.contains(VERSION)) {
            println!("SKIPPED: no redis-server {VERSION} on this machine (found: {version:?})");
            return None;
        }
        let unique = format!("xtasking-store-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(unique.replace(['(', ')'], ""));
        std::fs::create_dir_all(&folder).expect("a folder for the server");
        let process = Command::new("redis-server")
            .args(["--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no"])
            .args(args)
            .arg("--dir")
            .arg(&folder)
            .current_dir(&folder)
            .stdout(Stdio::null())
            .spawn()
            .expect("the server starts");
        Some(Self { process, folder })
    }

    /// Returns the folder of its files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens a connection. Waits for the server to be ready.
    pub fn connect(&self) -> Connection {
        let socket = self.folder.join("socket");
        let begun = Instant::now();
        let stream = loop {
            match UnixStream::connect(Path::new(&socket)) {
                Ok(stream) => break stream,
                Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "no server: {error}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        Connection { stream, received: Vec::new() }
    }
}

impl Connection {
    /// Opens a connection to a socket at which something listens.
    pub fn open(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("something listens");
        Self { stream, received: Vec::new() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that is gone already was ended by something else; the test has failed then.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Connection {
    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server receives");
    }

    /// Receives all until the server closes the connection.
    pub fn receive_all(&mut self) -> Vec<u8> {
        self.stream.read_to_end(&mut self.received).expect("the server sends");
        std::mem::take(&mut self.received)
    }

    /// Receives one reply.
    pub fn receive(&mut self) -> Vec<u8> {
        loop {
            if let Some(end) = end_of_reply(&self.received, 0) {
                let rest = self.received.split_off(end);
                return std::mem::replace(&mut self.received, rest);
            }
            let mut piece = [0; 65536];
            let count = self.stream.read(&mut piece).expect("the server sends");
            assert!(count > 0, "the server has closed the connection");
            self.received.extend_from_slice(&piece[..count]);
        }
    }
}

/// Returns where the reply that begins at `start` ends; `None` if it is not whole.
pub fn end_of_reply(bytes: &[u8], start: usize) -> Option<usize> {
    let line_end = bytes[start..].windows(2).position(|pair| pair == b"\r\n")? + start;
    let after = line_end + 2;
    let length = || std::str::from_utf8(&bytes[start + 1..line_end]).unwrap().parse::<i64>().unwrap();
    let elements = match bytes[start] {
        b'$' | b'=' => {
            let end = if length() < 0 { after } else { after + length() as usize + 2 };
            return (bytes.len() >= end).then_some(end);
        }
        b'*' | b'~' | b'>' => length().max(0),
        b'%' => 2 * length(),
        _ => 0,
    };
    (0..elements).try_fold(after, |at, _| if at < bytes.len() { end_of_reply(bytes, at) } else { None })
}
