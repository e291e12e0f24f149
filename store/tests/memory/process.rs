//! The memory of the program.

use super::{KIB, text};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
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

/// Values of many sizes, of which some are replaced by larger ones: what goes leaves holes. It
/// shows that the count of bytes is near to what the allocator takes. The excess, which begins
/// 32 MiB above, has a test of its own in `policies`.
#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a sanitizer takes memory of its own")]
#[cfg_attr(sanitizer = "address", ignore = "a sanitizer takes memory of its own")]
fn the_program_stays_within_its_limit() {
    let _watched = watchdog();
    let directory = std::env::temp_dir().join(format!("xtasking-memory-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory).unwrap();
    let socket = directory.join("socket");
    let mut command = Command::new(PROGRAM);
    command.args(["--workers", "2", "--port", "0", "--save", "", "--maxmemory-policy", "allkeys-lru"]);
    command.arg("--maxmemory").arg(LIMIT.to_string());
    command.arg("--dir").arg(&directory).arg("--unixsocket").arg(&socket);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("listening at")));

    let mut client = BufReader::new(UnixStream::connect(&socket).unwrap());
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
        most = resident(child.id()).max(most);
    }
    client.get_mut().write_all(b"INFO stats\r\n").unwrap();
    let evicted = client.lines().map(Result::unwrap).find_map(|line| {
        let count = line.strip_prefix("evicted_keys:")?;
        count.parse::<u64>().ok()
    });
    assert!(evicted.unwrap() > 10_000);
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(directory).unwrap();
    assert!(most <= LIMIT / 4 * 5 + FIXED, "{most} bytes");
    println!("{most} bytes at most");
}
