//! Commands: what they see, the table of all, and the functions that run them.
//!
//! | file | contents |
//! |---|---|
//! | `call` | [`Call`]: a command under way |
//! | `commands` | [`Commands`]: those to replay |
//! | `effects` | [`Effects`]: what a command changed |
//! | `error` | [`CommandError`]: Redis' error texts |
//! | `spec` | [`Command`]: an entry in the table |
//! | `key_positions` | [`KeyPositions`]: which of its arguments are keys |
//! | `family` | what the entries of a family have in common |
//! | `expiry` | times of expiry among the arguments |
//! | `resolve`, `execute` | finds the command of a request; runs it |
//! | `lookups` | which commands look keys up to read them |
//! | `rights` | checks requests against the rights of their user |
//! | `container` | the function of a command that only has subcommands, and HELP |
//! | `arguments` | the arguments of commands, as COMMAND DOCS and HELP show them |
//! | `acl` | users and what they may do |
//! | `connection`, `server` | commands on the connection, on the server |
//! | `generic` | commands on keys of any type |
//! | `transactions` | MULTI and its siblings |
//! | `pubsub` | commands on channels |
//! | `diagnostics` | what operators look at: SLOWLOG, LATENCY |
//! | `table` | the table, put together from the families |
//! | `strings`, `bitmaps` … | a family of commands each: their entries and functions |
//! | `operands` | arguments that commands on collections have in common |
//! | `collections` | what they do in common: scans, random picks, waiting |
//!
//! A new command is a function `fn(&mut Call) -> CommandResult` and an entry in the constant
//! `COMMANDS` of its family:
//!
//! ```ignore
//! const FAMILY: Family = Family::new("string", &["string"]);
//!
//! pub(super) const COMMANDS: &[Command] = &FAMILY.commands([
//!     Command::new("getdel", 2, getdel)
//!         .writes_key()
//!         .flags(&[Flags::FAST])
//!         .doc("6.2.0", "O(1)", "Get the value of a key and delete the key"),
//! ]);
//! ```
//!
//! A command that reads one value is a [`Reader`]; it takes less time.
//!
//! A command that changes a key says so by [`Call::changed`], and by [`Call::replay`] if running
//! it again would have another effect. An error that it returns is written in place of what it
//! has written. The names of flags, categories and groups are those of Redis' `COMMAND INFO` and
//! `COMMAND DOCS`.

mod acl;
mod arguments;
mod bitmaps;
mod call;
pub(crate) mod caught;
mod collections;
mod commands;
mod connection;
mod container;
mod diagnostics;
mod effects;
mod error;
mod execute;
mod expiry;
mod family;
mod generic;
mod geo;
mod hashes;
mod hyperloglogs;
mod key_positions;
mod lists;
mod lookups;
mod operands;
#[cfg(test)]
mod probes;
mod pubsub;
mod ranges;
mod resolve;
mod rights;
mod server;
mod sets;
mod sort;
mod sorted_sets;
mod spec;
mod streams;
mod strings;
mod table;
mod transactions;

pub use call::{Block, Call, CommandResult, NullReply, Outcome, WakeCondition};
pub use commands::Commands;
pub(crate) use commands::{Malformed, visit_unit, visit_units};
pub(crate) use diagnostics::{note_event_since, note_time, show};
pub(crate) use effects::SnapshotRequest;
pub use effects::{Effects, Event, EventClass};
pub use error::CommandError;
pub(crate) use execute::{Executed, execute, write_timeout};
use family::Family;
pub use key_positions::KeyPositions;
pub use resolve::{check_access, resolve};
pub(crate) use resolve::{check_listening, find_named};
pub(crate) use rights::{QueuedRefusal, Reach, check_rights};
pub use spec::{Command, Flags, Reader, Run};
pub use table::{commands, find};
pub(crate) use transactions::note_refused;
