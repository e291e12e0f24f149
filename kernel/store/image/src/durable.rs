//! A store whose log is on the machine's block device.

use std::fmt::Display;
use xkernel::Machine;
use xkernel::block::BlockDevice;
use xtasking_storage::Files;
use xtasking_store::Engine;
use xtasking_store::engine::Client;
use xtasking_store::log::Options;

/// Bytes of a segment: so few that there are several.
const SEGMENT: u64 = 16 << 10;
/// Keys from one snapshot to the next.
const SNAPSHOT: u64 = 500;
/// Threads of a log.
const THREADS: usize = 2;

fn text(error: impl Display) -> String {
    error.to_string()
}

/// Runs a command, whose reply must be this one.
fn expect(client: &mut Client, command: &[&str], reply: &str) -> Result<(), String> {
    let found = client.run(command).map_err(text)?;
    if found == reply.as_bytes() {
        return Ok(());
    }
    Err(format!("{} => {} instead of {}", command.join(" "), found.escape_ascii(), reply.escape_debug()))
}

/// Returns the number of keys.
fn size(client: &mut Client) -> Result<u64, String> {
    let reply = client.run(["DBSIZE"]).map_err(text)?;
    let number = str::from_utf8(&reply).ok().and_then(|reply| reply.trim().strip_prefix(':')?.parse().ok());
    number.ok_or_else(|| format!("DBSIZE => {}", reply.escape_ascii()))
}

/// Looks whether all keys are there that were made durable, and adds some. A reply says that a key
/// is durable.
///
/// # Errors
///
/// If a key is missing or another one is there, or the device fails.
pub fn run(machine: &'static Machine, count: u64) -> Result<(), String> {
    // The log has a thread, and so a core; a snapshot, too.
    let cores = machine.topology().cores.len();
    if cores <= THREADS {
        return Err(format!("a log needs at least {} cores", THREADS + 1));
    }
    let rt = machine.runtime().workers(cores - THREADS).build().map_err(text)?;
    let disk = Files::open(BlockDevice::take(machine).map_err(text)?).map_err(text)?;
    let options = Options::default().segment_bytes(SEGMENT);
    let engine = Engine::builder().setting("appendfsync", "always").log(disk, options);
    let engine = engine.open(&rt).map_err(text)?;
    let mut client = engine.client();
    let found = size(&mut client)?;
    for number in 0..found {
        let value = format!("value {number}");
        expect(&mut client, &["GET", &format!("key:{number}")], &format!("${}\r\n{value}\r\n", value.len()))?;
    }
    println!("found {found}");
    for number in found..found + count {
        expect(&mut client, &["SET", &format!("key:{number}"), &format!("value {number}")], "+OK\r\n")?;
        println!("durable {}", number + 1);
        if number % SNAPSHOT == SNAPSHOT - 1 {
            engine.rewrite_log().map_err(text)?;
        }
    }
    drop((client, engine));
    println!("the log has ended");
    Ok(())
}
