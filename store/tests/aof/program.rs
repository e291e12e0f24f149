//! The program begins a log with the files of Redis.

use super::{contents, path};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use xtasking_testing::{eventually, program, watchdog};

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("xtasking-store-aof-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns a folder with the files of Redis 7.
    fn of_redis(name: &str) -> Self {
        let folder = Self::new();
        folder.add_redis(name);
        folder
    }

    fn add_redis(&self, name: &str) {
        let (from, to) = (path(name), self.0.join("appendonlydir"));
        fs::create_dir(&to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn command(directory: &Path, has_log: bool) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtasking-store"));
    command.args(["--port", "0", "--workers", "2", "--appendonly", if has_log { "yes" } else { "no" }]);
    command
        .args(["--appendfsync", "always"])
        .arg("--dir")
        .arg(directory)
        .arg("--unixsocket")
        .arg(directory.join("socket"));
    command
}

/// The program at work. It is killed in the end.
struct Store {
    child: Child,
    /// What it has said before it listened.
    told: String,
    socket: PathBuf,
}

impl Store {
    fn start(directory: &Path, has_log: bool) -> Self {
        let mut command = command(directory, has_log);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines().map(Result::unwrap);
        let mut told: Vec<_> = lines.by_ref().take_while(|line| !line.contains("listening at")).collect();
        // It may say more.
        thread::spawn(move || lines.for_each(drop));
        told.push(String::new());
        Self { child, told: told.join("\n"), socket: directory.join("socket") }
    }

    /// Sends a command of words, and returns the first line of the reply.
    fn ask(&self, line: &str) -> String {
        use std::io::Write;
        let mut stream = UnixStream::connect(&self.socket).expect("a connection");
        stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
        BufReader::new(stream).lines().next().unwrap().unwrap()
    }

    /// Kills it. Returns what it has said of errors.
    fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut told = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        told
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Starts the program, which is to end with an error. Returns that.
fn refusal(directory: &Path) -> String {
    let output = command(directory, true).output().unwrap();
    assert!(!output.status.success());
    program::text(&output.stderr)
}

#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn a_directory_of_redis_becomes_a_log() {
    let _watched = watchdog();
    for name in ["snapshot", "commands"] {
        let folder = Folder::of_redis(name);
        // Redis prefers the other files too.
        fs::write(folder.0.join("dump.rdb"), "no snapshot").unwrap();
        let store = Store::start(&folder.0, true);
        assert!(store.told.contains("appendonly.aof.2.incr.aof has 0 keys and "), "{}", store.told);
        assert_eq!(store.ask("DBSIZE"), ":18");
        assert_eq!(store.ask("APPEND text !"), ":15");
        assert_eq!(store.ask("BGREWRITEAOF"), "+Background append only file rewriting started");
        store.kill();
        // What Redis has written is as it was.
        let aside = folder.0.join("appendonlydir.redis/appendonly.aof.2.incr.aof");
        assert_eq!(fs::read(aside).unwrap(), contents(&format!("{name}/appendonly.aof.2.incr.aof")));
        let store = Store::start(&folder.0, true);
        assert_eq!(store.ask("STRLEN text"), ":15");
        store.kill();
    }
}

/// The steps in which the files of Redis give way to the log can be cut off.
#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn a_start_that_was_cut_off_is_gone_on_with() {
    let _watched = watchdog();
    let folder = Folder::of_redis("snapshot");
    let inside = |name: &str| folder.0.join(name);
    // One that was cut off while the log was written.
    fs::create_dir(inside("appendonlydir.new")).unwrap();
    fs::write(inside("appendonlydir.new/log-00000000000000000001"), "cut off").unwrap();
    Store::start(&folder.0, true).kill();
    // After the log was complete, and after the files of Redis were moved.
    for has_moved in [false, true] {
        fs::rename(inside("appendonlydir"), inside("appendonlydir.complete")).unwrap();
        if !has_moved {
            fs::rename(inside("appendonlydir.redis"), inside("appendonlydir")).unwrap();
        }
        let store = Store::start(&folder.0, true);
        assert_eq!(store.ask("DBSIZE"), ":18");
        store.kill();
        assert!(inside("appendonlydir.redis/appendonly.aof.manifest").exists());
        assert!(!inside("appendonlydir.complete").exists());
    }
}

/// The files of an earlier Redis are where those that are there would go.
#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn files_of_redis_that_cannot_be_moved_are_loaded_at_a_later_start() {
    let _watched = watchdog();
    let folder = Folder::of_redis("snapshot");
    let inside = |name: &str| folder.0.join(name);
    let (directory, aside, complete) =
        (inside("appendonlydir"), inside("appendonlydir.redis"), inside("appendonlydir.complete"));
    fs::create_dir(&aside).unwrap();
    fs::write(aside.join("earlier"), "").unwrap();
    let told = refusal(&folder.0);
    assert!(told.contains("appendonlydir.redis, which is there"), "{told}");
    assert!(!complete.exists() && !inside("appendonlydir.new").exists());
    fs::remove_dir_all(&aside).unwrap();
    Store::start(&folder.0, true).kill();
    // A log was complete, and then Redis has written anew.
    fs::rename(&directory, &complete).unwrap();
    folder.add_redis("commands");
    let told = refusal(&folder.0);
    assert!(told.contains("it cannot be moved to "), "{told}");
    assert!(!complete.exists() && directory.join("appendonly.aof.manifest").exists());
    fs::remove_dir_all(&aside).unwrap();
    let store = Store::start(&folder.0, true);
    assert!(store.told.contains("appendonly.aof.2.incr.aof has 0 keys and "), "{}", store.told);
    assert_eq!(store.ask("DBSIZE"), ":18");
}

/// A start that is cut off may leave a base without a segment.
#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn a_base_alone_is_a_log() {
    let _watched = watchdog();
    let folder = Folder::of_redis("snapshot");
    let files = || {
        let files = fs::read_dir(folder.0.join("appendonlydir")).unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        files.map(|file| file.unwrap().path()).map(|path| (name(&path), path)).collect::<Vec<_>>()
    };
    let store = Store::start(&folder.0, true);
    assert_eq!(store.ask("APPEND text !"), ":15");
    assert_eq!(store.ask("BGREWRITEAOF"), "+Background append only file rewriting started");
    eventually("a base is there", || files().iter().any(|(name, _)| name.starts_with("base-")));
    store.kill();
    for (_, segment) in files().iter().filter(|(name, _)| name.starts_with("log-")) {
        fs::remove_file(segment).unwrap();
    }
    fs::write(folder.0.join("appendonly.aof"), "").unwrap();
    let store = Store::start(&folder.0, true);
    assert_eq!((store.ask("STRLEN text"), store.ask("DBSIZE")), (":15".to_owned(), ":18".to_owned()));
}

/// It may have been lost in a power cut, and a store without it would start empty.
#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn a_log_that_is_missing_beside_files_of_redis_is_told() {
    let _watched = watchdog();
    let folder = Folder::of_redis("snapshot");
    let (directory, aside) = (folder.0.join("appendonlydir"), folder.0.join("appendonlydir.redis"));
    Store::start(&folder.0, true).kill();
    fs::remove_dir_all(&directory).unwrap();
    for _ in 0..2 {
        let told = refusal(&folder.0);
        assert!(told.contains("there is no log, and ") && told.contains("appendonlydir.redis has"), "{told}");
        // From a snapshot neither.
        fs::write(folder.0.join("dump.rdb"), contents("snapshot/appendonly.aof.2.base.rdb")).unwrap();
    }
    fs::rename(&aside, &directory).unwrap();
    assert_eq!(Store::start(&folder.0, true).ask("DBSIZE"), ":18");
}

#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn a_single_file_becomes_a_log_and_stays() {
    let _watched = watchdog();
    for name in ["preamble.aof", "plain.aof"] {
        let folder = Folder::new();
        let file = folder.0.join("appendonly.aof");
        let whole = contents(name);
        fs::write(&file, &whole[..whole.len() - 1]).unwrap();
        let store = Store::start(&folder.0, true);
        assert_eq!(store.ask("STRLEN text"), ":5");
        let told = store.kill();
        assert!(told.contains("appendonly.aof was torn: "), "{told}");
        assert_eq!(fs::read(&file).unwrap().len(), whole.len() - 1);
        // The log counts from then on.
        fs::write(&file, "damaged").unwrap();
        let store = Store::start(&folder.0, true);
        assert_eq!(store.ask("STRLEN text"), ":5");
        store.kill();
    }
}

#[test]
#[cfg_attr(sanitizer = "address", ignore = "it starts processes")]
#[cfg_attr(sanitizer = "thread", ignore = "it starts processes")]
fn a_file_that_cannot_be_loaded_ends_the_program_and_changes_nothing() {
    let _watched = watchdog();
    let folder = Folder::of_redis("snapshot");
    let directory = folder.0.join("appendonlydir");
    let increment = directory.join("appendonly.aof.2.incr.aof");
    let whole = fs::read(&increment).unwrap();
    for (damage, why) in [
        ([&whole[..], b"PING\r\n"].concat(), "a command does not begin with *"),
        (
            [&whole[..], b"*1\r\n$6\r\nSCRIPT\r\n"].concat(),
            "the command SCRIPT cannot be run: ERR unknown command",
        ),
    ] {
        fs::write(&increment, damage).unwrap();
        let told = refusal(&folder.0);
        let place = format!("appendonly.aof.2.incr.aof: at byte {}", whole.len());
        assert!(told.contains(&place) && told.contains(why), "{told}");
        assert!(increment.exists() && !folder.0.join("appendonlydir.redis").exists());
    }
    // Only the last file may be torn, and only if that is allowed.
    fs::write(&increment, &whole[..whole.len() - 1]).unwrap();
    let mut strict = command(&folder.0, true);
    let output = strict.args(["--aof-load-truncated", "no"]).output().unwrap();
    let told = program::text(&output.stderr);
    assert!(!output.status.success() && told.contains("the file ends within a command"), "{told}");
    let manifest = directory.join("appendonly.aof.manifest");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(directory.join("appendonly.aof.3.incr.aof"), "").unwrap();
    fs::write(&manifest, format!("{text}file appendonly.aof.3.incr.aof seq 3 type i\n")).unwrap();
    let told = refusal(&folder.0);
    assert!(told.contains("2.incr.aof: at byte ") && told.contains("ends within a command"), "{told}");
    // A file, or the manifest, is missing.
    fs::remove_file(&increment).unwrap();
    let told = refusal(&folder.0);
    assert!(told.contains("appendonly.aof.2.incr.aof is missing"), "{told}");
    fs::remove_file(&manifest).unwrap();
    let told = refusal(&folder.0);
    assert!(told.contains("its manifest") && told.contains("is not"), "{told}");
    // Without a log they are not loaded, as in Redis.
    fs::write(&manifest, text).unwrap();
    fs::write(&increment, whole).unwrap();
    let store = Store::start(&folder.0, false);
    assert_eq!(store.ask("DBSIZE"), ":0");
    let told = store.kill();
    assert!(told.contains("appendonly is no: ") && told.contains("is not loaded"), "{told}");
}
