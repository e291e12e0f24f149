//! The connections that are open.

use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Connections that are served at the same time. Each has a thread.
const MAX_CONNECTIONS: usize = 16;

/// The open connections, so that all of them can be ended.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<Vec<Option<TcpStream>>>);

/// A place among the connections, given back when it is dropped.
pub(super) struct ConnectionSlot<'a> {
    connections: &'a Connections,
    index: usize,
}

impl Connections {
    /// Enters a connection; `None` if there are too many, or if no further file can be opened.
    pub fn open(&self, stream: &TcpStream) -> Option<ConnectionSlot<'_>> {
        let mut all = self.lock();
        let free = all.iter().position(Option::is_none);
        let index = free.or((all.len() < MAX_CONNECTIONS).then_some(all.len()))?;
        let stream = Some(stream.try_clone().ok()?);
        if index == all.len() {
            all.push(stream);
        } else {
            all[index] = stream;
        }
        Some(ConnectionSlot { connections: self, index })
    }

    /// Ends all connections: their reads and writes return.
    pub fn close(&self) {
        for stream in self.lock().iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<TcpStream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionSlot<'_> {
    fn drop(&mut self) {
        self.connections.lock()[self.index] = None;
    }
}
