//! Runs commands by tasks of all workers at once, and compares the replies with those of Redis.
//!
//! The image `store-commands` of the kernel has this, too, from the same sources.
//!
//! | file | contents |
//! |---|---|
//! | `script` | the families of commands, with their replies |
//! | `actor` | runs one of them by tasks |
//! | `together` | many sessions that change the same keys |
//! | `pipes` | connections whose bytes are carried by memory |
//! | `durable` | a log on a simulated disk |
//! | `large` | large values, which are freed in pieces |

mod actor;
mod durable;
mod large;
mod pipes;
mod script;
mod together;

use actor::Actor;
use std::sync::Arc;
use xtasking::Runtime;
use xtasking_store::dialogue::Dialogues;
use xtasking_store::engine::Builder;

/// The least number of databases.
const DATABASES: usize = 16;

/// Runs all on an engine. Each worker has a database of its own for the script. `tell` gets a line
/// for each family.
///
/// # Errors
///
/// The first reply that is not as it should be.
pub fn play(rt: &Runtime, engine: Builder, mut tell: impl FnMut(&str)) -> Result<(), String> {
    let (workers, dialogues) = (rt.workers(), Dialogues::default());
    let engine = dialogues.attach(engine.databases(DATABASES.max(workers)), rt).build(rt);
    engine.start_upkeep();
    for family in script::families()? {
        let family = Arc::new(family);
        let start = |database| Actor::start(rt, &engine, &family, database);
        let running: Vec<_> = (0..workers).map(start).collect();
        for handle in running {
            handle.join().map_err(|error| format!("{}: {error}", family.name))??;
        }
        let steps = family.steps.len();
        tell(&format!("{}: {steps} commands on each of {workers} workers", family.name));
    }
    tell(&together::run(rt, &engine)?);
    tell(&pipes::run(rt, &engine, &dialogues)?);
    tell(&large::run(rt, &engine)?);
    tell(&durable::run(rt)?);
    Ok(())
}
