//! Requests a second in virtual time: the engine of the store on virtual cores.
//!
//! Each connection stays with a core, as in the server. The engine annotates what it does inside of
//! shards with costs; the rest of a request has a fixed time. A core that comes to a shard while
//! another one excludes it waits in virtual time, and fetches the latch if another core had it.
//!
//! | module | what it holds |
//! |---|---|
//! | `connection` | a connection on a virtual core |
//! | `simulation` | an engine on virtual cores, with its connections |
//! | `experiment` | options checked and completed, turns and conclusion |

mod connection;
mod experiment;
mod simulation;

pub(super) use experiment::Scaling;
