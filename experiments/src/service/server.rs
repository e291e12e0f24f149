//! The server: axum before a bank. It runs in a process of its own until its standard input ends.

use super::banks::{AsyncLocks, Bank, Calls, ShardedLocks, Tasks};
use super::transfer::{Answer, Transfer};
use crate::cpu_time::cpu_time;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Router, response::IntoResponse};
use clap::{Args, ValueEnum};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use tokio::net::TcpListener;
use xtasking::{Builder, Runtime};
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::cannot_start;
use xtasking_harness::machine::{cores, pin, resident_memory};
use xtasking_harness::page::{self, Page};

/// A bank behind axum.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    /// Calls at objects of XTasking.
    Calls,
    /// Tasks at objects of XTasking.
    Tasks,
    /// Shards in locks of parking_lot.
    Sharded,
    /// Accounts in locks of tokio.
    Async,
}

/// The options of a server.
#[derive(Clone, Debug, Args)]
pub struct Serve {
    /// The bank.
    #[arg(long)]
    pub bank: Kind,

    /// The number of threads that serve connections, and of workers.
    #[arg(long)]
    pub workers: usize,

    /// The number of accounts.
    #[arg(long)]
    pub accounts: usize,

    /// The largest number of transfers under way, if the bank bounds it.
    #[arg(long)]
    pub most: usize,

    /// Where a page of the runtime is served, if the bank has one.
    #[arg(long)]
    pub http: Option<String>,
}

/// Serves a bank until the standard input ends. Prints the port.
///
/// # Errors
///
/// If a runtime or the listener cannot be started.
pub fn serve(options: &Serve) -> Result<(), Failure> {
    if options.workers < cores() {
        // Threads inherit it: the client has the other cores.
        pin(0, cores());
    }
    // Transfers that fail do so by panics that are of no interest.
    std::panic::set_hook(Box::new(|_| {}));
    let failed = |error: &dyn std::fmt::Display| cannot_start("server", options.workers, &error);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let tokio =
        builder.worker_threads(options.workers).enable_io().build().map_err(|error| failed(&error))?;
    let count = options.accounts;
    let name = format!("service: {:?}", options.bank).to_lowercase();
    let has_runtime = matches!(options.bank, Kind::Calls | Kind::Tasks);
    let address = options.http.as_deref().filter(|_| has_runtime);
    let _page = address.map(|address| Page::open(address, &name)).transpose()?;
    let start =
        |builder: Builder| page::start(builder.workers(options.workers)).map_err(|error| failed(&error));
    let served = match options.bank {
        Kind::Calls => {
            let rt = start(Runtime::builder())?;
            tokio.block_on(run(Calls::new(rt.handle(), count)))
        }
        Kind::Tasks => {
            let rt = start(Runtime::builder().most_tasks(options.most))?;
            tokio.block_on(run(Tasks::new(rt.handle(), count)))
        }
        Kind::Sharded => tokio.block_on(run(ShardedLocks::new(count))),
        Kind::Async => tokio.block_on(run(AsyncLocks::new(count))),
    };
    served.map_err(|error| failed(&error))
}

async fn run<B: Bank>(bank: B) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{}", listener.local_addr()?.port());
    io::stdout().flush()?;
    let app = Router::new()
        .route("/transfer/{from}/{to}/{amount}/{steps}/{fails}", post(transfer::<B>))
        .route("/accounts", get(accounts::<B>))
        .route("/usage", get(usage))
        .with_state(bank);
    let server = tokio::spawn(axum::serve(listener, app).into_future());
    // The parent closes it, or ends.
    tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).await.ok();
    server.abort();
    Ok(())
}

async fn transfer<B: Bank>(
    State(bank): State<B>,
    Path((from, to, amount, steps, fails)): Path<(u32, u32, i64, u64, u8)>,
) -> (StatusCode, String) {
    match bank.transfer(Transfer { from, to, amount, steps, fails: fails != 0 }).await {
        Answer::Done(receipt) => (StatusCode::OK, receipt.to_string()),
        Answer::Failed => (StatusCode::INTERNAL_SERVER_ERROR, String::new()),
        Answer::Disabled => (StatusCode::CONFLICT, String::new()),
        Answer::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, String::new()),
    }
}

async fn accounts<B: Bank>(State(bank): State<B>) -> String {
    bank.accounts().await.iter().fold(String::new(), |mut text, account| {
        _ = writeln!(text, "{account}");
        text
    })
}

/// Returns the CPU time of this process in microseconds, and its resident memory in bytes.
async fn usage() -> impl IntoResponse {
    format!("{} {}", cpu_time().unwrap_or_default().as_micros(), resident_memory().unwrap_or_default())
}
