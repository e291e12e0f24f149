//! The store on the network: connections are objects of the runtime, each at one worker.
//!
//! What a client has sent becomes a task that writes its connection. It parses the requests that
//! are complete, and passes them and the session to the [engine](crate::Engine). A task of the
//! engine brings back the session with the replies. Short ones leave together with those of other
//! clients, by one more task. So a wake-up takes one receive and one send, and no thread waits for
//! a client.
//!
//! While its requests are under way, nothing is read from a client: what it sends meanwhile stays
//! in the buffers of the system. The same holds while a client leaves replies unread.
//!
//! | file | contents |
//! |---|---|
//! | `connection` | a connection, from its first byte to its end |
//! | `connections` | all connections, to be closed from elsewhere |
//! | `listener` | listening sockets |
//! | `socket` | what a stream is to a connection |
//! | `tls` | streams whose bytes are encrypted |
//! | `tls_settings` | the settings of TLS |
//! | `service` | [`Service`]: an engine with its listeners and timers |

mod connection;
mod connections;
mod listener;
mod service;
mod socket;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "tls")]
mod tls_settings;

pub use service::{ServeError, Service};
