//! This program as a server of the store.

use clap::Args;
use std::io;
use xtasking::Runtime;
use xtasking_harness::failure::{Failure, print};
use xtasking_store::Engine;
use xtasking_store::net::Service;

/// Serves a store until the standard input ends; prints the port.
#[derive(Clone, Debug, Args)]
pub struct ServeStore {
    /// The number of workers.
    #[arg(long)]
    workers: usize,
}

/// Runs the server.
///
/// # Errors
///
/// If it cannot start, or cannot print its port.
pub fn serve(options: &ServeStore) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Usage(format!("--workers: {error}"));
    let rt = Runtime::builder().workers(options.workers).build().map_err(|error| failed(&error))?;
    let mut service = Service::start(Engine::builder(), &rt);
    let addresses = service.listen("127.0.0.1:0").map_err(|error| failed(&error))?;
    print(&format_args!("{}\n", addresses[0].port()))?;
    _ = io::copy(&mut io::stdin(), &mut io::sink());
    Ok(())
}
