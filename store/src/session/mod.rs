//! The state of a connection.

mod replies;
mod subscriptions;
mod tracking;

pub(crate) use replies::Replies;
pub(crate) use subscriptions::Subscriptions;

use crate::acl::{Acl, Login};
use crate::command::{Command, CommandError, QueuedRefusal};
use crate::resp::{Protocol, Requests};
use crate::server::{ClientInfo, ClientMemory, Server, Topic, Tracker};
use crate::value::StreamId;
use std::sync::Arc;

/// The state of a connection, between its requests: it moves into the tasks that run them, and
/// back.
#[derive(Debug)]
pub struct Session {
    id: u64,
    /// The counters that it uses: those of the worker that runs its requests.
    pub(crate) lane: usize,
    /// The database that it has selected.
    pub database: usize,
    /// The version of the protocol that it speaks.
    pub protocol: Protocol,
    /// Whether the client has authenticated, or need not.
    pub is_authenticated: bool,
    /// Its user.
    pub(crate) login: Login,
    /// The commands since MULTI.
    pub transaction: Option<Transaction>,
    /// The keys that it watches, and the versions they had.
    pub(crate) watched: Vec<WatchedKey>,
    /// True if the connection is to be closed after the replies.
    pub is_closing: bool,
    /// True once the session was closed: what it still runs is of the engine's own.
    pub(crate) is_leaving: bool,
    /// Where XREAD has begun to wait: an ID for each of its keys.
    pub(crate) awaited_ids: Vec<StreamId>,
    /// Which replies the client wants.
    pub(crate) replies: Replies,
    /// What it listens to.
    pub(crate) subscriptions: Subscriptions,
    /// True if it follows all requests, by MONITOR.
    pub(crate) is_monitoring: bool,
    /// How it tracks keys, if it does.
    pub(crate) tracking: Option<Arc<Tracker>>,
    /// True from CLIENT CACHING to the end of the next command or transaction.
    pub(crate) has_chosen_caching: bool,
    /// What other sessions see of this one.
    pub(crate) client: Arc<ClientInfo>,
    /// The command of its last request, which is probably that of the next.
    pub(crate) last_command: Option<&'static Command>,
    /// The memory of its connection, as that has last told.
    pub(crate) memory: ClientMemory,
    /// True if it is that of a connection: then CLIENT KILL ends it, and the client waits for more
    /// replies until it has taken those that there are.
    pub(crate) is_in_dialogue: bool,
    random: u64,
}

/// Commands that were queued since MULTI.
#[derive(Debug, Default)]
pub struct Transaction {
    /// The commands.
    pub(crate) requests: Requests,
    /// True if one of them was refused, so that EXEC has to fail.
    pub(crate) is_aborted: bool,
    /// Why EXEC itself is refused, if it is.
    pub(crate) refusal: Option<CommandError>,
    /// Commands whose rights were gone when EXEC was about to take its shards, in order, and which
    /// these were.
    pub(crate) refused: Vec<(usize, QueuedRefusal)>,
}

/// A key that a session watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchedKey {
    pub(crate) database: usize,
    pub(crate) key: Box<[u8]>,
    pub(crate) version: u64,
}

impl Transaction {
    /// Returns the number of commands.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns why EXEC is not to run a command, if that was found before it took its shards.
    pub(crate) fn refusal_of(&self, index: usize) -> Option<&QueuedRefusal> {
        let at = self.refused.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        Some(&self.refused[at].1)
    }

    /// Returns true if there are no commands.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

impl WatchedKey {
    /// Returns true if it is this key of this database.
    pub(crate) fn is(&self, database: usize, key: &[u8]) -> bool {
        self.database == database && *self.key == *key
    }
}

impl Session {
    pub(crate) fn new(client: Arc<ClientInfo>, acl: &Acl, random: u64) -> Self {
        Self {
            id: client.id(),
            lane: 0,
            database: 0,
            protocol: Protocol::Two,
            is_authenticated: acl.is_open(),
            login: Login::new(acl.default_account().clone()),
            transaction: None,
            watched: Vec::new(),
            is_closing: false,
            is_leaving: false,
            awaited_ids: Vec::new(),
            replies: Replies::On,
            subscriptions: Subscriptions::default(),
            is_monitoring: false,
            tracking: None,
            has_chosen_caching: false,
            client,
            last_command: None,
            memory: ClientMemory::default(),
            is_in_dialogue: false,
            random,
        }
    }

    /// Returns the number of the connection, which no other has had.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns true between MULTI and EXEC, and while EXEC runs its commands.
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Logs in as a user. Returns false if there is no such user, it is off, or the password is
    /// wrong.
    pub(crate) fn log_in(&mut self, acl: &Acl, user: &[u8], password: &[u8]) -> bool {
        let login = acl.authenticate(user, password, |account| {
            self.client.update(|state| state.user = account.name().clone());
            Login::new(account.clone())
        });
        let is_right = login.is_some();
        if let Some(login) = login {
            self.login = login;
            self.is_authenticated = true;
        }
        is_right
    }

    /// Becomes what a new connection is: the default user, which may need a password.
    pub(crate) fn log_out(&mut self, acl: &Acl) {
        self.login = Login::new(acl.default_account().clone());
        self.is_authenticated = acl.is_open();
        let name = self.login.account().name().clone();
        self.client.update(|state| state.user = name);
    }

    /// Returns true if it may run any request: the user is known, and nothing is forbidden to it.
    #[inline]
    pub(crate) fn has_all_rights(&self) -> bool {
        self.is_authenticated && self.login.has_all_rights()
    }

    /// Returns true if it listens to channels or follows requests.
    pub(crate) fn is_listening(&self) -> bool {
        self.subscriptions.len() > 0 || self.is_monitoring
    }

    /// Ends to listen to channels, and to follow requests.
    pub(crate) fn stop_listening(&mut self, server: &Server) {
        self.unsubscribe_all(&server.channels);
        if std::mem::take(&mut self.is_monitoring) {
            server.end_monitor(self.id);
        }
    }

    /// Tells other sessions what this one has become.
    pub(crate) fn publish(&self, last_command: &'static str, now: u64) {
        self.client.update(|state| {
            state.database = self.database;
            state.channels = self.subscriptions.count(Topic::Channel);
            state.patterns = self.subscriptions.count(Topic::Pattern);
            state.queued = self.transaction.as_ref().map(Transaction::len);
            state.protocol = if self.protocol == Protocol::Two { 2 } else { 3 };
            state.is_monitoring = self.is_monitoring;
            state.memory = self.memory;
            state.memory.queued = self.transaction.as_ref().map_or(0, |queued| queued.requests.bytes());
            state.last_command = last_command;
            state.last_at = now;
        });
    }

    /// Returns the next random number of the session: SplitMix64.
    pub(crate) fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
