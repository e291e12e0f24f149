//! The connections, as other connections see them.

use super::channels::Message;
use super::inbox::{Inbox, Received};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a session's wait for keys ends without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unblock {
    /// As if the time were over: the reply is null.
    Timeout,
    /// By an error.
    Error,
    /// The connection is gone, or is to be closed.
    Close,
}

/// Closes the connection of a session.
pub(crate) type CloseHook = Box<dyn Fn(u64) + Send + Sync>;

/// The open sessions.
#[derive(Default)]
pub struct Clients {
    open: Mutex<BTreeMap<u64, Arc<ClientInfo>>>,
    /// Blocked sessions whose waits are to end.
    unblocked: Mutex<Vec<(u64, Unblock)>>,
    has_unblocked: AtomicBool,
    on_close: Option<CloseHook>,
}

/// What other sessions see of one.
#[derive(Debug)]
pub struct ClientInfo {
    id: u64,
    address: Box<str>,
    opened_at: u64,
    is_blocked: AtomicBool,
    is_killed: AtomicBool,
    state: Mutex<ClientState>,
    inbox: Mutex<Inbox>,
}

/// The part of it that changes. The session sets it after each group of requests.
#[derive(Clone, Debug, Default)]
pub struct ClientState {
    /// The name that the client has given itself.
    pub name: Vec<u8>,
    /// The database.
    pub database: usize,
    /// The number of channels to which it listens.
    pub channels: usize,
    /// The number of patterns to which it listens.
    pub patterns: usize,
    /// The number of commands queued since MULTI, if it was called.
    pub queued: Option<usize>,
    /// 2 or 3.
    pub protocol: u8,
    /// The last command.
    pub last_command: &'static str,
    /// When it came, in ms since 1970.
    pub last_at: u64,
    /// Whether it is to be spared when clients take too much memory.
    pub is_spared: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics inside of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Clients {
    pub(crate) fn new(on_close: Option<CloseHook>) -> Self {
        Self { on_close, ..Self::default() }
    }

    pub(crate) fn open(&self, id: u64, address: &str, now: u64) -> Arc<ClientInfo> {
        let state = ClientState { protocol: 2, last_command: "NULL", last_at: now, ..ClientState::default() };
        let client = Arc::new(ClientInfo {
            id,
            address: address.into(),
            opened_at: now,
            is_blocked: AtomicBool::new(false),
            is_killed: AtomicBool::new(false),
            state: Mutex::new(state),
            inbox: Mutex::default(),
        });
        lock(&self.open).insert(id, client.clone());
        client
    }

    pub(crate) fn close(&self, id: u64) {
        lock(&self.open).remove(&id);
    }

    /// Returns the open sessions, in the order in which they were opened.
    pub fn all(&self) -> Vec<Arc<ClientInfo>> {
        lock(&self.open).values().cloned().collect()
    }

    /// Finds a session.
    pub fn get(&self, id: u64) -> Option<Arc<ClientInfo>> {
        lock(&self.open).get(&id).cloned()
    }

    /// Returns the number of open sessions.
    pub fn len(&self) -> usize {
        lock(&self.open).len()
    }

    /// Returns true if there is no open session.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks for the end of a wait. Returns false if the session is not blocked.
    pub(crate) fn unblock(&self, id: u64, how: Unblock) -> bool {
        let Some(client) = self.get(id) else { return false };
        // Relaxed: the wait itself is found under the lock of the blocked sessions.
        if !client.is_blocked.swap(false, Ordering::Relaxed) {
            return false;
        }
        lock(&self.unblocked).push((id, how));
        // Release pairs with the Acquire of `take_unblocked`.
        self.has_unblocked.store(true, Ordering::Release);
        true
    }

    /// Takes the sessions whose waits are to end.
    pub(crate) fn take_unblocked(&self) -> Vec<(u64, Unblock)> {
        // Acquire pairs with the Release of `unblock`.
        if !self.has_unblocked.load(Ordering::Acquire) {
            return Vec::new();
        }
        self.has_unblocked.store(false, Ordering::Relaxed);
        std::mem::take(&mut *lock(&self.unblocked))
    }

    /// Closes the connection of a session.
    pub(crate) fn kill(&self, client: &ClientInfo) {
        // Relaxed: a flag alone.
        client.is_killed.store(true, Ordering::Relaxed);
        self.unblock(client.id, Unblock::Close);
        if let Some(close) = &self.on_close {
            close(client.id);
        }
    }
}

impl ClientInfo {
    /// Returns the number of the session.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the client's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns when the session was opened, in ms since 1970.
    pub fn opened_at(&self) -> u64 {
        self.opened_at
    }

    /// Returns true if the session waits for a key.
    pub fn is_blocked(&self) -> bool {
        // Relaxed, as below: a statistic.
        self.is_blocked.load(Ordering::Relaxed)
    }

    pub(crate) fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Ordering::Relaxed);
    }

    /// Returns true if CLIENT KILL has ended the session.
    pub fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::Relaxed)
    }

    /// Returns the part that changes, as it was after the last requests.
    pub fn state(&self) -> ClientState {
        lock(&self.state).clone()
    }

    /// Keeps a message until the session takes it.
    pub(super) fn receive(&self, message: Message) -> Received {
        lock(&self.inbox).push(message)
    }

    /// Takes the messages that have arrived.
    pub(crate) fn take_messages(&self) -> Vec<Message> {
        lock(&self.inbox).take()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut ClientState)) {
        change(&mut lock(&self.state));
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("open", &self.len()).finish_non_exhaustive()
    }
}
