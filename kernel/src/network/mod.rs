//! The network: TCP over a virtio network card, for tasks.
//!
//! The stack is an object. Tasks at its home drive it: those that an interrupt of the card spawns,
//! those that poll while packets keep coming, those that a timer spawns, and those by which
//! connections call. A connection is another object, on another worker, with a [`Service`] of the
//! program. Nothing waits: the stack calls the service when there is news, and the service reads
//! and writes what is there and what there is room for.
//!
//! ```text
//! struct Echo;
//!
//! impl Service for Echo {
//!     fn serve(&mut self, connection: &mut Connection, _: &SessionObject<Self>, cx: &mut Context)
//!     {
//!         let input = connection.input().to_vec();
//!         let sent = connection.write(&input, cx);
//!         connection.consume(sent, cx);
//!         if connection.has_ended() && connection.input().is_empty() {
//!             connection.close(cx);
//!         }
//!     }
//! }
//!
//! let network = Network::start(&rt, NetworkCard::take(machine)?, &Settings::default())?;
//! network.listen(&rt, 7, 1000, |_peer| Echo).join()??;
//! ```
//!
//! | file | what is in it |
//! |---|---|
//! | `card` | the network card: its driver, packets |
//! | `connection` | a connection as the program sees it |
//! | `entries` | what a card has: the entries of a queue |
//! | `faults` | a bad network, for tests |
//! | `pipe` | what stack and connection pass to each other |
//! | `sockets` | the TCP stack over a device, without tasks |
//! | `stack` | the object that is the stack |
//! | `start` | the network as a program starts it |

#[cfg(bare)]
mod card;
#[cfg(bare)]
mod connection;
#[cfg(any(test, bare))]
mod entries;
mod faults;
mod pipe;
mod sockets;
#[cfg(bare)]
mod stack;
#[cfg(bare)]
mod start;

#[cfg(bare)]
pub use card::{FreeEntry, NetworkCard, ReceivedPacket};
#[cfg(bare)]
pub use connection::{Connection, Session, SessionObject};
pub use faults::Faults;
pub use pipe::{INPUT_LIMIT, OUTPUT_LIMIT};
#[cfg(bare)]
pub use start::{Network, Service};

use core::fmt;

/// The addresses of this machine. The default is what QEMU's user network expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// This machine's own address.
    pub address: [u8; 4],
    /// The bits of the address that all machines of its network share.
    pub prefix: u8,
    /// The machine that leads to other networks.
    pub gateway: Option<[u8; 4]>,
    /// What happens to packets, for tests; `None` if nothing does.
    pub faults: Option<Faults>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { address: [10, 0, 2, 15], prefix: 24, gateway: Some([10, 0, 2, 2]), faults: None }
    }
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Its address.
    pub address: [u8; 4],
    /// Its port.
    pub port: u16,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.address;
        write!(f, "{a}.{b}.{c}.{d}:{}", self.port)
    }
}

/// A port cannot take connections, as another service has it, or as it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenError {
    /// The port.
    pub port: u16,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {} is 0 or has a service already; choose another one", self.port)
    }
}

impl core::error::Error for ListenError {}
