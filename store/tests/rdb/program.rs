//! The program loads a file when it starts.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use xtasking_store::rdb::Writer;
use xtasking_store::value::{StringValue, Value};

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xtasking-store-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn program(folder: &Folder) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_xtasking-store"));
    program.args(["--port", "0", "--workers", "2", "--dbfilename", "some.rdb", "--dir"]).arg(&folder.0);
    program
}

fn file() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.select(0).unwrap();
    writer.record(b"key", &Value::String(StringValue::new(b"value")), None).unwrap();
    writer.finish().unwrap()
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a process of its own is not watched")]
fn the_program_loads_its_file_or_does_not_start() {
    let folder = Folder::new("starts");
    let path = folder.0.join("some.rdb");
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
