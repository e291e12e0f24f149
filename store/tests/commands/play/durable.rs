//! A store whose log is on a simulated disk, and that begins again after a power cut.

use xtasking::Runtime;
use xtasking_storage::SimulatedDisk;
use xtasking_store::Engine;
use xtasking_store::log::Options;

/// The keys that are there after the power cut.
const KEYS: usize = 1000;

fn open(rt: &Runtime, disk: &SimulatedDisk) -> Result<Engine, String> {
    // Without a thread, for which the kernel would need a core. So replies must not wait for a
    // sync.
    let options = Options::default().without_thread();
    let engine = Engine::builder().setting("appendfsync", "no").log(disk.clone(), options).open(rt);
    engine.map_err(|error| format!("durable: {error}"))
}

/// Runs it. Returns what has happened.
///
/// # Errors
///
/// If what was synced is not there, or more is.
pub fn run(rt: &Runtime) -> Result<String, String> {
    let mut disk = SimulatedDisk::new(1);
    let engine = open(rt, &disk)?;
    let mut client = engine.client();
    let failed = |error| format!("durable: {error}");
    for number in 0..KEYS {
        let (key, value) = (format!("durable:{number}"), number.to_string());
        client.run(["SET", &key, &value]).map_err(failed)?;
        client.run(["APPEND", &key, "!"]).map_err(failed)?;
    }
    let log = engine.log().ok_or("durable: there is no log")?;
    log.sync().map_err(|error| format!("durable: {error}"))?;
    client.run(["SET", "durable:late", "1"]).map_err(failed)?;
    disk.cut_power();
    drop((client, engine));
    disk.restart();
    let again = open(rt, &disk)?;
    let mut client = again.client();
    for (command, expected) in [
        (&["DBSIZE"][..], format!(":{KEYS}\r\n")),
        (&["GET", "durable:77"], "$3\r\n77!\r\n".to_owned()),
        (&["EXISTS", "durable:late"], ":0\r\n".to_owned()),
    ] {
        let reply = client.run(command).map_err(failed)?;
        if reply != expected.as_bytes() {
            return Err(format!("durable: {} => {}", command[0], reply.escape_ascii()));
        }
    }
    Ok(format!("durable: {KEYS} keys are there after a power cut"))
}
