//! The program's live page and metrics.
#![cfg(feature = "program")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a process of its own is not watched")]
fn the_program_serves_what_it_counts() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_xtasking-store"));
    program.args(["--port", "0", "--workers", "2", "--save", "", "--http", "127.0.0.1:0"]);
    let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let address = line.strip_prefix("xtasking-store: a page is at http://").expect("its address");
    let mut stream = TcpStream::connect(address.trim_end_matches('/')).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    for sample in
        ["\nxtasking_workers 2\n", "\nxtasking_store_clients 0\n", "\nxtasking_store_hits_total 0\n"]
    {
        assert!(text.contains(sample), "{sample} is not in {text}");
    }
}
