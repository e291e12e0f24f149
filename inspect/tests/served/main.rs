//! Tests of a server by what a client sees.

mod client;
mod live;
mod server;
