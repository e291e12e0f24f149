//! What the log promises: over power cuts, kills and faults of a disk that fails by seed, and of
//! the program as it is.
//!
//! | file | contents |
//! |---|---|
//! | `life` | a store on a disk that fails, from its start to its end |
//! | `clients` | what its clients send, and what was promised to them |
//! | `base` | a log with a base |
//! | `files` | files that are torn, corrupt or missing |
//! | `failures` | a disk that is full, or fails |
//! | `waits` | which replies wait for the disk, and how long |
//! | `replay` | what is there after a start |
//! | `random` | the same after random commands |
//! | `threads` | many threads, and a power cut |
//! | `process` | the program, which is killed |

mod base;
mod clients;
#[path = "../drawn/mod.rs"]
mod drawn;
mod failures;
mod files;
mod life;
#[cfg(all(unix, feature = "program"))]
mod process;
mod random;
mod replay;
mod threads;
mod waits;

use xtasking_storage::{Disk, File, SimulatedDisk};
use xtasking_store::engine::Client;
use xtasking_store::log::{OpenError, Options};
use xtasking_store::{Engine, engine};

/// A builder of a small engine.
fn builder() -> engine::Builder {
    Engine::builder().shards(8).databases(2).seed(1)
}

fn run(client: &mut Client, line: &str) -> String {
    String::from_utf8(client.run(line.split(' ')).expect("a reply")).expect("text")
}

/// Opens an engine on a disk, with the log's own thread and `appendfsync always`.
fn open(rt: &xtasking::Runtime, disk: &SimulatedDisk, options: Options) -> Result<Engine, OpenError> {
    builder().setting("appendfsync", "always").log(disk.clone(), options).open(rt)
}

/// Returns the contents of a file.
fn contents(disk: &impl Disk, name: &str) -> Vec<u8> {
    let file = disk.open(name).expect("a file");
    let mut bytes = vec![0; file.len().expect("a length") as usize];
    file.read_exact_at(0, &mut bytes).expect("its contents");
    bytes
}

/// Returns the names of the segments, in order.
fn segments(disk: &impl Disk) -> Vec<String> {
    let names = disk.list().expect("a list of files");
    names.into_iter().filter(|name| name.starts_with("log-")).collect()
}
