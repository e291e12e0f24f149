//! This program as a server of the store, where the program `xtasking-store` is not built.

use clap::Args;
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::thread;
use xtasking::Runtime;
use xtasking_harness::failure::Failure;
use xtasking_storage::Directory;
use xtasking_store::Engine;
use xtasking_store::log;
use xtasking_store::net::Service;

/// Serves a store until the process is ended; takes the options that `store` gives to the program
/// `xtasking-store`.
#[derive(Clone, Debug, Args)]
pub struct ServeStore {
    /// The number of workers.
    #[arg(long)]
    workers: usize,
    /// The port.
    #[arg(long)]
    port: u16,
    /// The address.
    #[arg(long)]
    bind: String,
    /// When snapshots are taken.
    #[arg(long, allow_hyphen_values = true)]
    save: String,
    /// Where the files are.
    #[arg(long)]
    dir: String,
    /// Whether there is a log.
    #[arg(long)]
    appendonly: String,
    /// When the log is synced.
    #[arg(long, default_value = "everysec")]
    appendfsync: String,
}

/// Runs the server.
///
/// # Errors
///
/// If it cannot start.
pub fn serve(options: &ServeStore) -> Result<(), Failure> {
    run(options).map_err(|error| Failure::Usage(format!("serve-store: {error}")))
}

fn run(options: &ServeStore) -> Result<(), Box<dyn Error>> {
    let rt = Runtime::builder().workers(options.workers).build()?;
    let directory = fs::canonicalize(&options.dir)?;
    let mut builder = Engine::builder()
        .setting("save", &options.save)
        .setting("appendfsync", &options.appendfsync)
        .setting("dir", directory.to_string_lossy());
    if options.appendonly == "yes" {
        builder = builder.log(Directory::open(directory.join("appendonlydir"))?, log::Options::default());
    }
    let mut service = Service::open(builder, &rt)?;
    if options.appendonly != "yes" {
        load(service.engine(), &directory.join("dump.rdb"))?;
    }
    service.listen(format!("{}:{}", options.bind, options.port))?;
    loop {
        thread::park();
    }
}

/// Loads a snapshot, if there is one.
fn load(engine: &Engine, path: &Path) -> Result<(), Box<dyn Error>> {
    if path.try_exists()? {
        engine.load(File::open(path)?, |_| ())?;
    }
    Ok(())
}
