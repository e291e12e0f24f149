//! The program loads a file when it starts.

use super::folder::Folder;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use xtasking_store::rdb::RdbWriter;
use xtasking_store::value::{StringValue, Value};

fn program(folder: &Folder) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_xtasking-store"));
    program.args(["--port", "0", "--workers", "2", "--dbfilename", "some.rdb", "--dir"]).arg(folder.path());
    program
}

fn file() -> Vec<u8> {
    let mut writer = RdbWriter::new(Vec::new());
    writer.select(0).unwrap();
    writer.record(b"key", &Value::String(StringValue::new(b"value")), None).unwrap();
    writer.finish().unwrap()
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a process of its own is not watched")]
fn the_program_loads_its_file_or_does_not_start() {
    let folder = Folder::new();
    let path = folder.path().join("some.rdb");
    fs::write(&path, file()).unwrap();
    let mut child = program(&folder).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.ends_with("some.rdb has 1 keys, and 0 that have expired"), "{line}");

    let mut damaged = file();
    damaged[20] ^= 1;
    fs::write(&path, damaged).unwrap();
    let output = program(&folder).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(error.contains("some.rdb: at byte ") && error.contains("checksum"), "{error}");
}

/// Sends a signal to a process, and waits for its end.
#[cfg(unix)]
fn terminate(mut child: std::process::Child) -> bool {
    let sent = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(sent.success());
    child.wait().unwrap().success()
}

#[test]
#[cfg(unix)]
#[cfg_attr(sanitizer = "thread", ignore = "a process of its own is not watched")]
fn the_program_saves_when_it_ends_and_finds_all_when_it_starts() {
    let folder = Folder::new();
    let socket = folder.path().join("socket");
    let start = || {
        let mut child =
            program(&folder).arg("--unixsocket").arg(&socket).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while !lines.next().unwrap().unwrap().contains("listening") {}
        (child, lines)
    };
    let ask = |line: &str| {
        let mut connection = super::redis::Connection::open(&socket);
        super::Target::line(&mut connection, line)
    };
    let (child, lines) = start();
    assert_eq!(ask("RPUSH list a b c"), b":3\r\n");
    assert_eq!(ask("CONFIG GET save"), b"*2\r\n$4\r\nsave\r\n$23\r\n3600 1 300 100 60 10000\r\n");
    assert!(terminate(child));
    assert!(lines.map(Result::unwrap).any(|line| line.contains("a snapshot was saved")));
    let (child, _lines) = start();
    assert_eq!(ask("LLEN list"), b":3\r\n");
    assert_eq!(ask("CONFIG SET save"), b"-ERR wrong number of arguments for 'config|set' command\r\n");
    assert_eq!(ask("RPUSH list d"), b":4\r\n");
    let mut connection = super::redis::Connection::open(&socket);
    super::Target::ask(&mut connection, &[b"CONFIG", b"SET", b"save", b""]);
    assert!(terminate(child));
    // Without save points nothing is saved at the end.
    let (child, _lines) = start();
    assert_eq!(ask("LLEN list"), b":3\r\n");
    assert!(terminate(child));
}
