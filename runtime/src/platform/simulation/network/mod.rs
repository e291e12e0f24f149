//! A simulated network: streams between programs on one [`Simulation`](super::Simulation), with
//! delays, pieces of any size and broken connections by seed.
//!
//! | file | what is in it |
//! |---|---|
//! | `stream` | the two ends of a connection, and listeners |
//! | `wire` | what is on its way, and what has arrived |

mod stream;
mod wire;

pub use stream::{SimulatedListener, SimulatedStream};
pub use wire::NetworkFaults;

use super::Simulation;
use crate::events::{EventQueues, Ready, Token};
use crate::sync::SpinMutex;
use alloc::sync::Arc;
use core::any::Any;
use std::io;
use wire::Wire;

/// The network of a [`Simulation`]; made by [`Simulation::network`]. A clone is the same network.
///
/// Connections are reliable and in order, as those of TCP: what was written arrives, cut into
/// pieces and late, unless the connection breaks. The streams are sources of
/// [events](crate::events), for tasks on both sides. Everything follows from the seed.
///
/// ```
/// use std::io::{Read, Write};
/// use xtasking::Runtime;
/// use xtasking::events::{Buffered, Event, Handled, Interest, Registered};
/// use xtasking::platform::{NetworkFaults, Simulation, SimulatedListener, SimulatedStream};
///
/// let (simulation, network) = Simulation::new(4, 1).network(NetworkFaults::default(), 7);
/// let rt = Runtime::builder().platform(simulation).build()?;
///
/// let (listener, events) = rt.register(network.listen(80)?, Interest::Readable)?;
/// events.deliver(listener, |listener: &mut Registered<SimulatedListener>, _, _cx| {
///     while let Some(Ok(mut stream)) = listener.get_mut().map(SimulatedListener::accept) {
///         _ = stream.write(b"hello");
///     }
///     Handled::Fully
/// });
///
/// let (promise, done) = rt.promise();
/// let (stream, events) = rt.register(network.connect(80)?, Interest::Both)?;
/// let client = (Buffered::new(stream), Some(promise));
/// events.deliver(client, |(io, promise): &mut (Buffered<SimulatedStream>, Option<_>), event: Event<'_, _>, _cx| {
///     _ = io.fill(event.ready());
///     if io.input() == b"hello" && let Some(promise) = promise.take() {
///         promise.fulfil(true);
///     }
///     Handled::Fully
/// });
/// assert!(done.join()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Network {
    wire: Arc<SpinMutex<Wire>>,
}

impl Network {
    /// Listens at a port.
    ///
    /// # Errors
    ///
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if there is a listener.
    pub fn listen(&self, port: u16) -> io::Result<SimulatedListener> {
        SimulatedListener::new(self.wire.clone(), port)
    }

    /// Connects to a listener. What is written to the stream arrives after the connection has.
    ///
    /// # Errors
    ///
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if none listens at the port.
    pub fn connect(&self, port: u16) -> io::Result<SimulatedStream> {
        SimulatedStream::connect(self.wire.clone(), port)
    }

    /// Returns when the next thing arrives, in virtual nanoseconds.
    pub(super) fn next_arrival(&self) -> Option<u64> {
        self.wire.lock().next_arrival()
    }
}

impl core::fmt::Debug for Network {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

impl Simulation {
    /// Adds a network. Its seed decides what it does; the interleaving of the cores has its own.
    #[must_use]
    pub fn network(mut self, faults: NetworkFaults, seed: u64) -> (Self, Network) {
        let wire = Arc::new(SpinMutex::new(Wire::new(faults, seed)));
        let network = Network { wire };
        self.network = Some(network.clone());
        (self, network)
    }
}

impl EventQueues for Simulation {
    fn poll(&self, worker: usize) -> bool {
        let Some(network) = &self.network else { return false };
        let now = self.time();
        let mut wire = network.wire.lock();
        wire.advance(now);
        wire.has_events(worker)
    }

    fn has_events(&self, worker: usize) -> bool {
        self.network.as_ref().is_some_and(|network| network.wire.lock().has_events(worker))
    }

    fn take(&self, worker: usize, each: &mut dyn FnMut(Token, Ready)) {
        let Some(network) = &self.network else { return };
        let found = network.wire.lock().take_events(worker);
        for (token, ready) in found {
            each(token, ready);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
