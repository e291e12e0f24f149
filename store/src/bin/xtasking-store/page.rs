//! The live page and metrics of the store, for `--http`.

use std::net::ToSocketAddrs;
use xtasking::Runtime;
use xtasking_inspect::{Builder, Metric, ServeError, Server};
use xtasking_store::Engine;
use xtasking_store::server::{CommandCounts, KeyCounts, Statistics};

/// Serves the page of the runtime, and what the store counts as metrics, until it is dropped.
pub fn serve(rt: &Runtime, engine: &Engine, address: impl ToSocketAddrs) -> Result<Server, ServeError> {
    let mut page = Builder::new().name("xtasking-store");
    for metric in metrics(engine) {
        page = page.metric(metric);
    }
    page.serve(rt, address)
}

fn metrics(engine: &Engine) -> Vec<Metric> {
    let of_commands = |name: &str, help: &str, count: fn(CommandCounts) -> u64| {
        let engine = engine.clone();
        Metric::counters(name, help, "command", move || {
            let all = engine.server().statistics.commands();
            all.into_iter().map(|(name, counts)| (name.to_owned(), count(counts) as f64)).collect()
        })
    };
    let of_keys = |name: &str, help: &str, count: fn(KeyCounts) -> u64| {
        let engine = engine.clone();
        Metric::counter(name, help, move || count(engine.server().statistics.keys()) as f64)
    };
    let counted = |name: &str, help: &str, count: fn(&Statistics) -> u64| {
        let engine = engine.clone();
        Metric::counter(name, help, move || count(&engine.server().statistics) as f64)
    };
    let gauge = |name: &str, help: &str, read: fn(&Engine) -> u64| {
        let engine = engine.clone();
        Metric::gauge(name, help, move || read(&engine) as f64)
    };
    vec![
        of_commands("xtasking_store_calls", "Commands that ran.", |counts| counts.calls),
        of_commands("xtasking_store_errors", "Those that replied with an error.", |counts| counts.failed),
        of_commands("xtasking_store_rejected", "Commands refused before they ran.", |counts| counts.rejected),
        of_keys("xtasking_store_hits", "Keys to read that were there.", |counts| counts.hits),
        of_keys("xtasking_store_misses", "Keys to read that were not.", |counts| counts.misses),
        of_keys("xtasking_store_expired", "Keys removed as they had expired.", |counts| counts.expired),
        counted("xtasking_store_sessions", "Sessions that were opened.", Statistics::connections),
        counted("xtasking_store_changes", "Changes of keys.", Statistics::changes),
        gauge("xtasking_store_clients", "Sessions that are open.", |engine| {
            engine.server().clients.len() as u64
        }),
        gauge("xtasking_store_blocked", "Those that wait for a key.", |engine| {
            engine.server().clients.all().iter().filter(|client| client.is_blocked()).count() as u64
        }),
        gauge("xtasking_store_log_bytes", "Size of the log; 0 without one.", |engine| {
            engine.log().map_or(0, |log| log.size())
        }),
        gauge("xtasking_store_log_backlog_bytes", "What the log has still to write.", |engine| {
            engine.log().map_or(0, |log| log.backlog() as u64)
        }),
    ]
}
