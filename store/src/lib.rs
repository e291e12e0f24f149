//! A Redis-compatible store whose commands are annotated tasks.
//!
//! Keys are spread over shards, each an object of the runtime. A command is a task on the shards of
//! its keys: one that reads is a task beside others that read, and one on keys of several shards is
//! atomic without a lock that a program would see.
//!
//! | module | contents |
//! |---|---|
//! | [`resp`] | the protocol: requests are parsed, replies are written |
//! | [`value`] | what a key holds |
//! | [`rdb`] | Redis' format of files and of DUMP |
//! | [`aof`] | Redis' append-only files |
//! | [`keyspace`] | keys, and the shards they lie in |
//! | [`command`] | the commands, and the table of all |
//! | [`engine`] | runs requests as tasks |
//! | [`dialogue`] | a client's requests and replies, whatever carries their bytes |
//! | [`log`] | what commands have changed, on the disk |
//! | [`net`] | connections and listeners |
//! | `snapshot` | snapshots as files |
//! | [`session`] | the state of a connection |
//! | [`server`] | what all connections share |
//! | `acl` | users and what they may do |
//! | [`glob`] | patterns of names |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `program` (default) | the program `xtasking-store` |
//! | `net` | [`net`]; part of `program` |
//! | `tls` | clients by TLS, with rustls and ring: it needs a C compiler |
//!
//! # Types of other crates
//!
//! The interface names types of `xtasking` and `xtasking-storage`. A newer major version of one of
//! them is a breaking change of this crate.

#![deny(unsafe_code)]

#[macro_use(planted)]
extern crate xtasking;

/// Compiles the code of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod acl;
pub mod aof;
pub mod command;
pub mod dialogue;
pub mod engine;
pub mod glob;
pub mod keyspace;
pub mod log;
#[cfg(feature = "net")]
pub mod net;
pub mod rdb;
pub mod resp;
pub mod server;
pub mod session;
mod snapshot;
pub mod value;

pub use engine::Engine;
