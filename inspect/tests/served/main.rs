//! Tests of a server by what a client sees.

mod client;
#[cfg(target_os = "linux")]
mod end;
mod live;
mod server;
