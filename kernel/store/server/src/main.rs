//! Serves the store by TCP: `store [--SETTING VALUE]…`, with the settings of `redis.conf`.
//!
//! | file | what is in it |
//! |---|---|
//! | `client` | a client's connection |
//! | `log` | the log on the block device |
//! | `output` | replies that are not sent yet |

#![no_main]
#![forbid(unsafe_code)]

mod client;
mod log;
mod output;

use client::Client;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xkernel::network::{Network, NetworkCard, Settings};
use xkernel::{ExitStatus, Machine};
use xtasking::{Promise, Runtime};
use xtasking_store::Engine;
use xtasking_store::dialogue::Dialogues;
use xtasking_store::engine::Builder;
use xtasking_store::log::Options;
use xtasking_store::server::{LastSnapshot, Setting, Shutdown};

xkernel::program!(run);

/// Settings whose defaults are for other machines. All clients are elsewhere, and each connection
/// takes memory for its buffers.
const DEFAULTS: [(&str, &str); 2] = [("protected-mode", "no"), ("maxclients", "1000")];
/// Connections beyond `maxclients`, which get an error before they are closed.
const REFUSED: usize = 32;
/// The time that clients have to take their last replies.
const PATIENCE: Duration = Duration::from_secs(10);

/// Fulfilled by SHUTDOWN.
type End = Arc<Mutex<Option<Promise<()>>>>;

/// What all connections share.
struct Store {
    engine: Engine,
    dialogues: Dialogues,
    /// The own address.
    address: String,
}

type Outcome<T> = Result<T, Box<dyn Error>>;

fn run(machine: &'static Machine) {
    if let Err(error) = serve(machine) {
        println!("store: {error}");
        xkernel::exit(ExitStatus::Failure);
    }
}

/// Serves until a client says SHUTDOWN.
fn serve(machine: &'static Machine) -> Outcome<()> {
    let files = log::files(machine)?;
    let rt = machine.runtime().workers(log::workers(machine, files.is_some())?).build()?;
    let (promise, end) = rt.promise();
    let mut engine = builder(machine, Arc::new(Mutex::new(Some(promise))))?;
    if let Some(files) = files {
        engine = engine.log(files, Options::default());
    }
    let dialogues = Dialogues::default();
    let engine = dialogues.attach(engine, &rt).open(&rt)?;
    dialogues.start_upkeep(&engine);
    let network = listen(machine, &rt, engine.clone(), dialogues.clone())?;
    end.join()?;
    println!("store: ends");
    // Clients that do not take their last replies in time are cut off.
    if let Ok(ended) = dialogues.finish(&rt).join_timeout(PATIENCE) {
        ended?;
    }
    network.finish(&rt).join()?;
    Ok(engine.log().map_or(Ok(()), |log| log.close())?)
}

/// Serves an engine at the port of its settings.
fn listen(machine: &Machine, rt: &Runtime, engine: Engine, dialogues: Dialogues) -> Outcome<Network> {
    let port = u16::try_from(engine.server().settings.number(Setting::Port))?;
    let most = usize::try_from(engine.server().settings.number(Setting::MaxClients))?;
    let settings = Settings::default();
    let [a, b, c, d] = settings.address;
    let store = Arc::new(Store { engine, dialogues, address: format!("{a}.{b}.{c}.{d}:{port}") });
    let network = Network::start(rt, NetworkCard::take(machine)?, &settings)?;
    let serve = move |_peer| Client::new(store.clone());
    network.listen(rt, port, most.saturating_add(REFUSED), serve).join()??;
    println!("store on port {port} with {} workers", rt.workers());
    Ok(network)
}

/// Returns the builder of an engine with the settings of the command line.
fn builder(machine: &'static Machine, end: End) -> Outcome<Builder> {
    let taken = move || {
        let (all, free) = machine.memory();
        Some(all - free)
    };
    let mut engine = Engine::builder().process_memory(taken).on_shutdown(move |how| shut_down(how, &end));
    for (name, value) in DEFAULTS {
        engine = engine.setting(name, value);
    }
    let mut words = machine.arguments();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").ok_or_else(|| format!("{word}: not --SETTING VALUE"))?;
        let value = words.next().ok_or_else(|| format!("{word}: a value is missing"))?;
        engine = match name {
            "databases" => engine.databases(value.parse()?),
            _ => engine.setting(name, value),
        };
    }
    Ok(engine)
}

/// Begins to end the program, as a client has said SHUTDOWN.
fn shut_down(how: Shutdown, end: &End) {
    if how.snapshot == LastSnapshot::Yes && !how.is_forced {
        println!("store: does not end, as it has no place for the file of a snapshot");
        return;
    }
    let promise = end.lock().unwrap_or_else(|error| error.into_inner()).take();
    promise.into_iter().for_each(|promise| promise.fulfil(()));
}
