//! The load generator: one thread that keeps many connections busy, and checks every reply.
//!
//! Keys and values are computed from the number of their record. Of a record only the numbers of
//! its writes are kept, 16 bytes.
//!
//! | module | what it holds |
//! |---|---|
//! | `kind` | the kinds of requests by name |
//! | `records` | keys and values of records, by number |
//! | `oracle` | which values a reply may have |
//! | `dialect` | requests and replies in the protocols of Redis and of memcached |
//! | `source` | draws requests of a kind |
//! | `connection` | a connection that does not block |
//! | `embedded` | requests and replies of connections without sockets |
//! | `client` | the event loop: closed loop, and loading |
//! | `open_loop` | requests at a rate, with their latencies |

mod client;
mod connection;
mod dialect;
mod embedded;
mod kind;
mod open_loop;
mod oracle;
mod records;
mod source;

pub(super) use client::{Client, Load};
pub(super) use dialect::Protocol;
pub(super) use embedded::{EmbeddedConnection, EmbeddedLoad};
pub use kind::{Popularity, RequestKind};
pub(super) use open_loop::{OpenLoop, micros};
