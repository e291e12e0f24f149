//! The two ends of a simulated connection, and listeners.

use super::super::Simulation;
use super::wire::{PipeId, Watcher, Wire};
use crate::events::{Registration, Source};
use crate::platform::PlatformError;
use crate::sync::SpinMutex;
use alloc::sync::Arc;
use core::fmt;
use std::io::{self, Read, Write};

/// A stream in a simulated [network](super::Network). Reads and writes do not block.
///
/// Dropping it ends both directions: the other side reads what was written before, and then the
/// end.
pub struct SimulatedStream {
    wire: Arc<SpinMutex<Wire>>,
    reads: PipeId,
    writes: PipeId,
}

/// A listener in a simulated [network](super::Network).
pub struct SimulatedListener {
    wire: Arc<SpinMutex<Wire>>,
    port: u16,
}

impl SimulatedListener {
    pub(super) fn new(wire: Arc<SpinMutex<Wire>>, port: u16) -> io::Result<Self> {
        wire.lock().listen(port)?;
        Ok(Self { wire, port })
    }

    /// Accepts a connection.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    pub fn accept(&mut self) -> io::Result<SimulatedStream> {
        let there = self.wire.lock().accept(self.port)?;
        Ok(SimulatedStream { wire: self.wire.clone(), reads: there, writes: there + 1 })
    }
}

impl SimulatedStream {
    pub(super) fn connect(wire: Arc<SpinMutex<Wire>>, port: u16) -> io::Result<Self> {
        let there = wire.lock().connect(port)?;
        Ok(Self { wire, reads: there + 1, writes: there })
    }

    /// Ends the direction that this side writes: the other side reads the end after all that was
    /// written.
    pub fn end(&mut self) {
        self.wire.lock().end(self.writes);
    }
}

impl Read for SimulatedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wire.lock().read(self.reads, buffer)
    }
}

impl Write for SimulatedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wire.lock().write(self.writes, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for SimulatedStream {
    fn drop(&mut self) {
        let mut wire = self.wire.lock();
        wire.end(self.writes);
        wire.forget(self.reads);
    }
}

impl Drop for SimulatedListener {
    fn drop(&mut self) {
        self.wire.lock().stop_listening(self.port);
    }
}

/// Returns the watcher of a registration, if it is one of a simulation with this network.
fn watcher(
    wire: &Arc<SpinMutex<Wire>>,
    registration: &Registration<'_>,
) -> Result<Option<Watcher>, PlatformError> {
    let other = "streams of a simulated network need the simulation that they were made with";
    let network = registration.queues::<Simulation>().and_then(|simulation| simulation.network.as_ref());
    if network.is_none_or(|network| !Arc::ptr_eq(&network.wire, wire)) {
        return Err(other.into());
    }
    let (worker, token) = (registration.worker(), registration.token());
    Ok(Some(Watcher { worker, token, interest: registration.interest() }))
}

impl Source for SimulatedStream {
    fn register(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        let watcher = watcher(&self.wire, registration)?;
        self.wire.lock().watch(self.reads, self.writes, watcher);
        Ok(())
    }

    fn deregister(&mut self, _: &Registration<'_>) -> Result<(), PlatformError> {
        self.wire.lock().watch(self.reads, self.writes, None);
        Ok(())
    }
}

impl Source for SimulatedListener {
    fn register(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        let watcher = watcher(&self.wire, registration)?;
        self.wire.lock().watch_listener(self.port, watcher);
        Ok(())
    }

    fn deregister(&mut self, _: &Registration<'_>) -> Result<(), PlatformError> {
        self.wire.lock().watch_listener(self.port, None);
        Ok(())
    }
}

impl fmt::Debug for SimulatedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedStream").field("connection", &(self.reads / 2)).finish_non_exhaustive()
    }
}

impl fmt::Debug for SimulatedListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedListener").field("port", &self.port).finish_non_exhaustive()
    }
}
