//! The memory of the program.

use super::{KIB, text};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use xtasking_testing::{Random, watchdog};

const PROGRAM: &str = env!("CARGO_BIN_EXE_xtasking-store");
const LIMIT: u64 = 32 << 20;
/// What the program has besides keys: threads, tables, buffers.
const FIXED: u64 = 20 << 20;

/// The resident memory of a process in bytes, without its code, which is large while it is not
/// optimised.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap() * KIB
}

/// A process of the program, which ends with the test.
struct Running {
    child: Child,
    directory: PathBuf,
}

impl Running {
    fn start(name: &str, options: &[&str]) -> (Self, BufReader<UnixStream>) {
        let directory = std::env::temp_dir().join(format!("xtasking-{name}-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir(&directory).unwrap();
        let socket = directory.join("socket");
        let mut command = Command::new(PROGRAM);
        command.env_remove("MIMALLOC_ALLOW_THP").env_remove("MIMALLOC_PURGE_DELAY");
        command.args(["--workers", "2", "--port", "0", "--save", ""]).args(options);
        command.arg("--dir").arg(&directory).arg("--unixsocket").arg(&socket);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("listening at")));
        let client = BufReader::new(UnixStream::connect(&socket).unwrap());
        (Self { child, directory }, client)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Values of many sizes, of which some are replaced by larger ones: what goes leaves holes. It
/// shows that the count of bytes is near to what the allocator takes. The excess, which begins
/// 32 MiB above, has a test of its own in `policies`.
#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a sanitizer takes memory of its own")]
#[cfg_attr(sanitizer = "address", ignore = "a sanitizer takes memory of its own")]
fn the_program_stays_within_its_limit() {
    let _watched = watchdog();
    let limit = LIMIT.to_string();
    let options = ["--maxmemory-policy", "allkeys-lru", "--maxmemory", &limit];
    let (running, mut client) = Running::start("memory", &options);
    let (mut random, mut most, mut reply) = (Random(1), 0, String::new());
    for _ in 0..300 {
        let commands: String = (0..500)
            .map(|_| {
                format!("SET key:{} {}\r\n", random.below(400_000), text(20 + random.below(800) as usize))
            })
            .collect();
        client.get_mut().write_all(commands.as_bytes()).unwrap();
        for _ in 0..500 {
            reply.clear();
            client.read_line(&mut reply).unwrap();
            assert_eq!(reply, "+OK\r\n");
        }
        most = resident(running.child.id()).max(most);
    }
    client.get_mut().write_all(b"INFO stats\r\n").unwrap();
    let evicted = client.lines().map(Result::unwrap).find_map(|line| {
        let count = line.strip_prefix("evicted_keys:")?;
        count.parse::<u64>().ok()
    });
    assert!(evicted.unwrap() > 10_000);
    assert!(most <= LIMIT / 4 * 5 + FIXED, "{most} bytes");
    println!("{most} bytes at most");
}

/// Most of what the allocator has mapped is advised to be on huge pages, where the kernel has them.
#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a sanitizer takes memory of its own")]
#[cfg_attr(sanitizer = "address", ignore = "a sanitizer takes memory of its own")]
fn values_are_on_memory_that_may_have_huge_pages() {
    if !Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        return;
    }
    let _watched = watchdog();
    let (running, mut client) = Running::start("pages", &[]);
    let mut reply = String::new();
    for key in 0..128 {
        write!(client.get_mut(), "SETRANGE key:{key} 500000 {key:03}\r\n").unwrap();
        client.read_line(&mut reply).unwrap();
    }
    assert_eq!(reply, ":500003\r\n".repeat(128));
    let mappings = std::fs::read_to_string(format!("/proc/{}/smaps", running.child.id())).unwrap();
    if !mappings.contains("VmFlags:") {
        return;
    }
    // Also what was swapped out, on a machine that is short of memory.
    let (mut taken, mut advised, mut size) = (0, 0, 0);
    for line in mappings.lines() {
        if let Some(kib) = line.strip_prefix("Anonymous:").or_else(|| line.strip_prefix("Swap:")) {
            size += kib.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap();
        } else if line.starts_with("VmFlags:") {
            taken += size;
            advised += if line.split(' ').any(|flag| flag == "hg") { size } else { 0 };
            size = 0;
        }
    }
    assert!(taken >= 60 * KIB, "{taken} KiB");
    assert!(advised > taken / 2, "{advised} of {taken} KiB");
}
