//! All connections, to be closed from elsewhere.

use super::connection::{Connection, Socket};
#[cfg(feature = "tls")]
use super::tls::TlsStream;
use std::collections::HashMap;
#[cfg(feature = "tls")]
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use xtasking::events::net::TcpStream;
#[cfg(unix)]
use xtasking::events::net::UnixStream;
use xtasking::{Object, Plain, RuntimeHandle};

/// The object of a connection.
pub(super) enum Handle {
    Tcp(Object<Plain<Connection<TcpStream>>>),
    #[cfg(feature = "tls")]
    Tls(Object<Plain<Connection<TlsStream>>>),
    #[cfg(unix)]
    Unix(Object<Plain<Connection<UnixStream>>>),
}

/// How long a handshake may take, in ms.
#[cfg(feature = "tls")]
const LONGEST_HANDSHAKE: u64 = 10_000;

/// The open connections, by the number of their session.
#[derive(Default)]
pub(super) struct Connections {
    open: Mutex<HashMap<u64, Handle>>,
    /// Those by TLS whose handshakes are to be looked at, each with the time when it began, in ms
    /// since 1970.
    #[cfg(feature = "tls")]
    handshakes: Mutex<VecDeque<(u64, u64)>>,
    count: AtomicUsize,
}

impl Connections {
    /// Counts one more connection. Returns false if there are `most` already.
    pub fn admit(&self, most: usize) -> bool {
        // Relaxed: the number alone counts.
        let admitted = self
            .count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| (count < most).then_some(count + 1));
        admitted.is_ok()
    }

    /// Counts one less.
    pub fn leave(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Adds a connection that begins `now`, in ms since 1970.
    pub fn insert(&self, session: u64, handle: Handle, now: u64) {
        #[cfg(feature = "tls")]
        if matches!(handle, Handle::Tls(_)) {
            lock(&self.handshakes).push_back((session, now));
        }
        #[cfg(not(feature = "tls"))]
        let _ = now;
        lock(&self.open).insert(session, handle);
    }

    /// Closes the connections whose handshakes take too long. Each is looked at once.
    #[cfg(feature = "tls")]
    pub fn close_slow_handshakes(&self, rt: &RuntimeHandle, now: u64) {
        let is_due = |&mut (_, began): &mut (u64, u64)| now.saturating_sub(began) > LONGEST_HANDSHAKE;
        let next = || lock(&self.handshakes).pop_front_if(is_due);
        while let Some((session, _)) = next() {
            if let Some(Handle::Tls(connection)) = lock(&self.open).get(&session) {
                rt.task(connection.write()).spawn(|connection, cx| connection.close_if_handshaking(cx));
            }
        }
    }

    pub fn remove(&self, session: u64) {
        let removed = lock(&self.open).remove(&session);
        // Without the lock, as it may be the last handle.
        drop(removed);
    }

    /// Forgets all connections, as the runtime ends: those under way end with their tasks.
    pub fn forget_all(&self) {
        let all = std::mem::take(&mut *lock(&self.open));
        // Without the lock, as these may be the last handles.
        drop(all);
    }

    /// Closes the connection of a session, by a task.
    pub fn close(&self, rt: &RuntimeHandle, session: u64) {
        match lock(&self.open).get(&session) {
            None => {}
            Some(Handle::Tcp(connection)) => close(rt, connection),
            #[cfg(feature = "tls")]
            Some(Handle::Tls(connection)) => close(rt, connection),
            #[cfg(unix)]
            Some(Handle::Unix(connection)) => close(rt, connection),
        }
    }

    /// Sends a session's messages, by a task at its connection.
    pub fn deliver(&self, rt: &RuntimeHandle, session: u64) {
        match lock(&self.open).get(&session) {
            None => {}
            Some(Handle::Tcp(connection)) => deliver(rt, connection),
            #[cfg(feature = "tls")]
            Some(Handle::Tls(connection)) => deliver(rt, connection),
            #[cfg(unix)]
            Some(Handle::Unix(connection)) => deliver(rt, connection),
        }
    }

    /// Closes all connections whose clients have sent nothing since `moment`, in ms since 1970.
    pub fn close_idle(&self, rt: &RuntimeHandle, moment: u64) {
        for handle in lock(&self.open).values() {
            match handle {
                Handle::Tcp(connection) => close_if_idle(rt, connection, moment),
                #[cfg(feature = "tls")]
                Handle::Tls(connection) => close_if_idle(rt, connection, moment),
                #[cfg(unix)]
                Handle::Unix(connection) => close_if_idle(rt, connection, moment),
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics inside.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn close<S: Socket>(rt: &RuntimeHandle, connection: &Object<Plain<Connection<S>>>) {
    rt.task(connection.write()).spawn(|connection, cx| connection.close(cx));
}

fn deliver<S: Socket>(rt: &RuntimeHandle, connection: &Object<Plain<Connection<S>>>) {
    rt.task(connection.write()).spawn(|connection, cx| connection.deliver(cx));
}

fn close_if_idle<S: Socket>(rt: &RuntimeHandle, connection: &Object<Plain<Connection<S>>>, moment: u64) {
    rt.task(connection.write()).spawn(move |connection, cx| connection.close_if_idle(moment, cx));
}
