//! All connections, to be closed from elsewhere.

use super::connection::Connection;
use super::socket::Socket;
use std::collections::HashMap;
#[cfg(feature = "tls")]
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use xtasking::{Object, Plain, RuntimeHandle};

/// The object of a connection, whatever its socket is. Each method spawns a task on it.
trait AnyConnection: Send {
    fn close(&self, rt: &RuntimeHandle);

    /// Sends the messages of the session.
    fn deliver(&self, rt: &RuntimeHandle);

    /// Closes it if its client has sent nothing since `moment`, in ms since 1970.
    fn close_if_idle(&self, rt: &RuntimeHandle, moment: u64);

    #[cfg(feature = "tls")]
    fn close_if_handshaking(&self, rt: &RuntimeHandle);
}

impl<S: Socket> AnyConnection for Object<Plain<Connection<S>>> {
    fn close(&self, rt: &RuntimeHandle) {
        rt.task(self.write()).spawn(|connection, cx| connection.close(cx));
    }

    fn deliver(&self, rt: &RuntimeHandle) {
        rt.task(self.write()).spawn(|connection, cx| connection.deliver(cx));
    }

    fn close_if_idle(&self, rt: &RuntimeHandle, moment: u64) {
        rt.task(self.write()).spawn(move |connection, cx| connection.close_if_idle(moment, cx));
    }

    #[cfg(feature = "tls")]
    fn close_if_handshaking(&self, rt: &RuntimeHandle) {
        rt.task(self.write()).spawn(|connection, cx| connection.close_if_handshaking(cx));
    }
}

/// How long a handshake may take, in ms.
#[cfg(feature = "tls")]
const LONGEST_HANDSHAKE: u64 = 10_000;

/// The open connections, by the number of their session.
#[derive(Default)]
pub(super) struct Connections {
    open: Mutex<HashMap<u64, Box<dyn AnyConnection>>>,
    /// Those whose handshakes are to be looked at, each with the time when it began, in ms since
    /// 1970.
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
    pub fn insert<S: Socket>(&self, session: u64, connection: Object<Plain<Connection<S>>>, now: u64) {
        #[cfg(feature = "tls")]
        if S::HAS_HANDSHAKE {
            lock(&self.handshakes).push_back((session, now));
        }
        #[cfg(not(feature = "tls"))]
        let _ = now;
        lock(&self.open).insert(session, Box::new(connection));
    }

    /// Closes the connections whose handshakes take too long. Each is looked at once.
    #[cfg(feature = "tls")]
    pub fn close_slow_handshakes(&self, rt: &RuntimeHandle, now: u64) {
        let is_due = |&mut (_, began): &mut (u64, u64)| now.saturating_sub(began) > LONGEST_HANDSHAKE;
        let next = || lock(&self.handshakes).pop_front_if(is_due);
        while let Some((session, _)) = next() {
            if let Some(connection) = lock(&self.open).get(&session) {
                connection.close_if_handshaking(rt);
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
        if let Some(connection) = lock(&self.open).get(&session) {
            connection.close(rt);
        }
    }

    /// Sends a session's messages, by a task at its connection.
    pub fn deliver(&self, rt: &RuntimeHandle, session: u64) {
        if let Some(connection) = lock(&self.open).get(&session) {
            connection.deliver(rt);
        }
    }

    /// Closes all connections whose clients have sent nothing since `moment`, in ms since 1970.
    pub fn close_idle(&self, rt: &RuntimeHandle, moment: u64) {
        for connection in lock(&self.open).values() {
            connection.close_if_idle(rt, moment);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics inside.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
