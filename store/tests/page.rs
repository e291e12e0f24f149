//! The program's live page and metrics.
#![cfg(feature = "program")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A process that does not outlive the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a process of its own is not watched")]
fn the_program_serves_what_it_counts() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtasking-store"));
    command.args(["--port", "0", "--workers", "2", "--save", "", "--http", "127.0.0.1:0"]);
    command.args(["--dbfilename", "none.rdb", "--dir", env!("CARGO_TARGET_TMPDIR")]);
    let mut program = Program(command.stdout(Stdio::piped()).spawn().unwrap());
    // Read to the end of the test: the program writes more.
    let mut lines = BufReader::new(program.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let address = lines
        .find_map(|line| line.strip_prefix("xtasking-store: a page is at http://").map(str::to_owned))
        .expect("the address of the page");
    let mut stream = TcpStream::connect(address.trim_end_matches('/')).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    for sample in
        ["\nxtasking_workers 2\n", "\nxtasking_store_clients 0\n", "\nxtasking_store_hits_total 0\n"]
    {
        assert!(text.contains(sample), "{sample} is not in {text}");
    }
}
