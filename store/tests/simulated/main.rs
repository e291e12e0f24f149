//! A whole server, with its network, its log and its clients, and a check that all that the clients
//! have seen is strictly serialisable.
//!
//! | file | contents |
//! |---|---|
//! | `history` | what clients have done and seen |
//! | `checker` | the check |
//! | `verdict` | what it says |
//! | `values` | what is known of the values of a key |
//! | `internal` | what a transaction sees of itself |
//! | `graph` | a graph of what comes before what |
//! | `anomalies` | histories that the check has to refuse |
//! | `expiry` | a check of registers that expire |
//! | `script` | what clients send, and what the replies say |
//! | `reply` | replies as values |
//! | `client` | a client, whatever carries its bytes |
//! | `lives` | a server and its clients in simulation, by seed |
//! | `recovery` | what has to be there after a kill |
//! | `threads` | a server by TCP, and clients that are threads |

mod anomalies;
mod checker;
mod client;
mod expiry;
mod graph;
mod history;
mod internal;
mod lives;
mod recovery;
mod reply;
mod script;
mod threads;
mod values;
mod verdict;
