//! The connections, as other connections see them.

use super::channels::Message;
use super::inbox::{Inbox, Receipt};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// How a session's wait for keys ends without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unblock {
    /// As if the time were over: the reply is null.
    Timeout,
    /// By an error.
    Error,
    /// As the snapshot has ended that SAVE waits for, and whether its file is there.
    Saved(bool),
    /// The connection is gone, or is to be closed. A session that does not wait yet runs its
    /// requests up to the first that would wait.
    Close,
}

/// Closes the connection of a session.
pub(crate) type CloseHook = Box<dyn Fn(u64) + Send + Sync>;

/// The open sessions.
#[derive(Default)]
pub struct Clients {
    open: Mutex<BTreeMap<u64, Arc<ClientInfo>>>,
    /// Waits that were ended, and are to be taken off their keys.
    unblocked: Mutex<Vec<Ended>>,
    has_unblocked: AtomicBool,
    on_close: Option<CloseHook>,
}

impl Ended {
    /// Returns true if it was no wait for keys: the session was held by a pause.
    pub(crate) fn was_held(self) -> bool {
        self.ticket == HELD
    }
}

/// A wait for keys that was ended without them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) session: u64,
    /// The ticket of the wait.
    pub(crate) ticket: u64,
    pub(crate) how: Unblock,
}

/// What other sessions see of one.
#[derive(Debug)]
pub struct ClientInfo {
    id: u64,
    address: Box<str>,
    local_address: OnceLock<Box<str>>,
    opened_at: u64,
    /// The ticket of the wait that nothing has ended yet, or one of the two words below. A wait is
    /// ended, or served, by the one that takes its ticket from here.
    wait: AtomicU64,
    /// CLIENT KILL has ended the session.
    is_killed: AtomicBool,
    state: Mutex<ClientState>,
    inbox: Mutex<Inbox>,
}

/// The session does not wait.
const NO_WAIT: u64 = 0;
/// CLIENT PAUSE holds its next request. No ticket is so large.
const HELD: u64 = u64::MAX - 1;
/// The session is to end, and waits never more.
const GONE: u64 = u64::MAX;

/// The memory of a connection in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientMemory {
    /// Requests that have arrived: those under way if it is the own session that looks, and what is
    /// not complete yet.
    pub query: usize,
    /// Room for more of them.
    pub query_room: usize,
    /// The arguments of the request under way.
    pub args: usize,
    /// The requests that are queued since MULTI.
    pub queued: usize,
    /// Room for replies.
    pub reply_room: usize,
    /// Replies that the client has not taken.
    pub unsent: usize,
}

impl ClientMemory {
    /// Returns the sum, with what each session takes.
    pub fn total(&self) -> usize {
        let own = size_of::<crate::session::Session>() + size_of::<ClientInfo>();
        own + self.query + self.query_room + self.args + self.queued + self.reply_room.max(self.unsent)
    }
}

/// The part of it that changes. The session sets it after each group of requests.
#[derive(Clone, Debug, Default)]
pub struct ClientState {
    /// The name that the client has given itself.
    pub name: Vec<u8>,
    /// The name of its user.
    pub user: Arc<[u8]>,
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
    /// Its memory.
    pub memory: ClientMemory,
    /// Whether it follows all requests, by MONITOR.
    pub is_monitoring: bool,
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

    pub(crate) fn open(&self, id: u64, address: &str, user: &Arc<[u8]>, now: u64) -> Arc<ClientInfo> {
        let (user, last_command) = (user.clone(), "NULL");
        let state = ClientState { user, protocol: 2, last_command, last_at: now, ..ClientState::default() };
        let client = Arc::new(ClientInfo {
            id,
            address: address.into(),
            local_address: OnceLock::new(),
            opened_at: now,
            wait: AtomicU64::new(NO_WAIT),
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

    /// Ends the wait of a session, which is still to be taken off its keys. Returns `None` if the
    /// session does not wait.
    pub(crate) fn end_wait(&self, id: u64, how: Unblock) -> Option<Ended> {
        let client = self.get(id)?;
        let ticket = if how == Unblock::Close { client.leave() } else { client.end_any_wait() };
        ticket.map(|ticket| Ended { session: id, ticket, how })
    }

    /// Ends the wait of a session, and leaves the rest to [`take_unblocked`](Self::take_unblocked).
    /// Returns false if the session does not wait.
    pub(crate) fn unblock(&self, id: u64, how: Unblock) -> bool {
        let Some(ended) = self.end_wait(id, how) else { return false };
        lock(&self.unblocked).push(ended);
        // Release pairs with the Acquire of `take_unblocked`.
        self.has_unblocked.store(true, Ordering::Release);
        true
    }

    /// Takes the waits that were ended.
    pub(crate) fn take_unblocked(&self) -> Vec<Ended> {
        // Acquire pairs with the Release of `unblock`.
        if !self.has_unblocked.load(Ordering::Acquire) {
            return Vec::new();
        }
        self.has_unblocked.store(false, Ordering::Relaxed);
        std::mem::take(&mut *lock(&self.unblocked))
    }

    /// Closes the connection of a session.
    pub(crate) fn kill(&self, client: &ClientInfo) {
        // Relaxed: it orders nothing. The session sees it before its next request, or soon.
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

    /// Returns the address to which the client has connected; empty if it is not known.
    pub fn local_address(&self) -> &str {
        self.local_address.get().map_or("", |address| address)
    }

    /// Notes the address to which the client has connected.
    pub(crate) fn set_local_address(&self, address: &str) {
        self.local_address.get_or_init(|| address.into());
    }

    /// Returns the messages that wait for the session: how many, and their bytes.
    pub fn waiting_messages(&self) -> (usize, usize) {
        lock(&self.inbox).size()
    }

    /// Returns when the session was opened, in ms since 1970.
    pub fn opened_at(&self) -> u64 {
        self.opened_at
    }

    /// Returns true if the session waits for a key, or for the end of a pause.
    pub fn is_blocked(&self) -> bool {
        !matches!(self.wait.load(Ordering::Relaxed), NO_WAIT | GONE)
    }

    /// Returns true if CLIENT KILL or [`Unblock::Close`] has ended the session's waits for good.
    pub fn is_gone(&self) -> bool {
        self.wait.load(Ordering::Relaxed) == GONE
    }

    /// Returns true if CLIENT KILL, or what takes rights away, has ended the connection: it runs no
    /// further request.
    pub(crate) fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::Relaxed)
    }

    /// Returns true if the session waits with this ticket.
    pub(crate) fn waits_with(&self, ticket: u64) -> bool {
        self.wait.load(Ordering::Relaxed) == ticket
    }

    /// Begins a wait. Returns false if the session is gone.
    pub(crate) fn begin_wait(&self, ticket: u64) -> bool {
        // Relaxed, as all accesses to the word: the wait itself is found under the lock of the
        // blocked sessions, under which this is called.
        self.wait.compare_exchange(NO_WAIT, ticket, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Takes the ticket of a wait. Returns false if it was ended before.
    pub(crate) fn end_wait(&self, ticket: u64) -> bool {
        self.wait.compare_exchange(ticket, NO_WAIT, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Begins to be held. Returns false if the session is gone.
    pub(crate) fn begin_hold(&self) -> bool {
        self.begin_wait(HELD)
    }

    /// Ends to be held. Returns false if the session is gone.
    pub(crate) fn end_hold(&self) -> bool {
        self.end_wait(HELD)
    }

    /// Takes the ticket of the wait, if there is one.
    fn end_any_wait(&self) -> Option<u64> {
        let end = |word| (!matches!(word, NO_WAIT | HELD | GONE)).then_some(NO_WAIT);
        self.wait.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end).ok()
    }

    /// Ends the session for good. Takes the ticket of its wait, if there is one.
    fn leave(&self) -> Option<u64> {
        let word = self.wait.swap(GONE, Ordering::Relaxed);
        (!matches!(word, NO_WAIT | GONE)).then_some(word)
    }

    /// Returns the part that changes, as it was after the last requests.
    pub fn state(&self) -> ClientState {
        lock(&self.state).clone()
    }

    /// Keeps a message until the session takes it.
    pub(super) fn receive(&self, message: Message) -> Receipt {
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
