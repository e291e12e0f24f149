//! A Redis server beside the test.

use super::reply::Reply;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::{env, fs, thread};

/// A Redis server of this test alone, which ends with it.
pub struct Redis {
    process: Child,
    folder: PathBuf,
}

/// A connection to a server.
pub struct Connection {
    stream: UnixStream,
    received: Vec<u8>,
}

impl Redis {
    /// Starts a server. `None`, with a line that says so, if there is no `redis-server`.
    pub fn start(name: &str) -> Option<Self> {
        let folder = env::temp_dir().join(format!("xtasking-store-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the server's socket");
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]);
        command.arg(folder.join("socket")).arg("--dir").arg(&folder);
        match command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
            Ok(process) => Some(Self { process, folder }),
            Err(error) => {
                println!("skipped, as redis-server cannot be started: {error}");
                fs::remove_dir_all(&folder).expect("the folder made above");
                None
            }
        }
    }

    /// Connects, as soon as the server listens.
    pub fn connect(&mut self) -> Connection {
        loop {
            if let Ok(stream) = UnixStream::connect(self.folder.join("socket")) {
                return Connection { stream, received: Vec::new() };
            }
            let ended = self.process.try_wait().expect("the server's state");
            assert!(ended.is_none(), "redis-server has ended: {ended:?}");
            thread::yield_now();
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Connection {
    /// Sends a request, and returns the bytes of its reply.
    pub fn run(&mut self, args: &[Vec<u8>]) -> Vec<u8> {
        let mut request = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            request.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            request.extend_from_slice(arg);
            request.extend_from_slice(b"\r\n");
        }
        self.stream.write_all(&request).expect("a server that listens");
        loop {
            if let Some((_, len)) = Reply::parse(&self.received) {
                return self.received.drain(..len).collect();
            }
            let mut buffer = [0; 1 << 16];
            let len = self.stream.read(&mut buffer).expect("a server that answers");
            assert!(len > 0, "the server has closed the connection");
            self.received.extend_from_slice(&buffer[..len]);
        }
    }
}
