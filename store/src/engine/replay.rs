//! Replays the log when an engine is opened.

use super::engine::Inner;
use super::plan::Shards;
use crate::acl::Acl;
use crate::command::{Call, Effects, Malformed, execute, resolve, visit_units};
use crate::keyspace::{HeldShards, Keys};
use crate::log::ReplayError;
use crate::rdb::{RdbError, RdbErrorKind};
use crate::resp::{Args, Protocol, Reply};
use crate::session::Session;
use std::sync::Arc;
use xtasking::Runtime;

/// A store while its log is replayed. Its clock stands at 0, so that nothing expires: what has
/// expired was logged as a removal.
struct Replayer<'v> {
    inner: &'v Inner,
    keys: Keys<'v>,
    session: Session,
    reply: Reply,
}

impl From<Malformed> for ReplayError {
    fn from(_: Malformed) -> Self {
        Self::Refused("its commands cannot be read".to_owned())
    }
}

impl From<RdbError> for ReplayError {
    fn from(error: RdbError) -> Self {
        match error.kind {
            RdbErrorKind::Io(error) => Self::Disk(error),
            RdbErrorKind::Runtime(_) => Self::Interrupted,
            kind => Self::Malformed(error.offset, kind.to_string()),
        }
    }
}

impl Inner {
    /// Replays units of effects, by a task on all shards.
    pub(super) fn replay(self: &Arc<Self>, rt: &Runtime, units: Vec<u8>) -> Result<(), ReplayError> {
        let inner = self.clone();
        self.on_all_shards(rt, move |held| {
            let mut replayer = Replayer::new(&inner, held);
            let replayed = visit_units(&units, |database, args| replayer.run(database, args));
            inner.count_growth(0, &mut replayer.keys);
            replayed
        })?
    }

    /// Notes an access of all keys now, when all was replayed, and makes the orders of databases
    /// that were swapped.
    pub(super) fn end_replay(self: &Arc<Self>, rt: &Runtime) -> Result<(), ReplayError> {
        let (promise, visited) = rt.promise();
        self.visit_shards(rt, move |_| promise.fulfil(()));
        visited.join().map_err(|_| ReplayError::Interrupted)?;
        let inner = self.clone();
        self.on_all_shards(rt, move |held| {
            Keys::new(&inner.layout, &inner.versions, held).touch_all(inner.now())
        })
    }

    /// Runs a function on all shards, and waits for it.
    fn on_all_shards<R: Send + 'static>(
        &self,
        rt: &Runtime,
        body: impl FnOnce(HeldShards<'_>) -> R + Send + 'static,
    ) -> Result<R, ReplayError> {
        let all: Shards = (0..self.shards.len()).map(|number| (number, true)).collect();
        let (promise, result) = rt.promise();
        self.spawn_on(rt, all, move |held, _| promise.fulfil(body(held)));
        result.join().map_err(|_| ReplayError::Interrupted)
    }
}

impl<'v> Replayer<'v> {
    fn new(inner: &'v Inner, held: HeldShards<'v>) -> Self {
        // Listed for a moment only: it is no client.
        // Its user is none of the server's, which may have few rights.
        let acl = Acl::default();
        let client = inner.server.clients.open(0, "", acl.default_account().name(), 0);
        inner.server.clients.close(0);
        let reply = Reply::new(Protocol::Two);
        Self {
            inner,
            keys: Keys::new(&inner.layout, &inner.versions, held),
            session: Session::new(client, &acl, 0),
            reply,
        }
    }

    fn run(&mut self, database: usize, args: Args<'_>) -> Result<(), ReplayError> {
        let shown = || String::from_utf8_lossy(args.get(0).unwrap_or_default()).into_owned();
        let refused = |why: &[u8]| {
            ReplayError::Refused(format!("{} cannot be replayed: {}", shown(), why.escape_ascii()))
        };
        let command = resolve(args).map_err(|error| refused(error.text()))?;
        if database >= self.inner.server.databases {
            return Err(refused(format!("there is no database {database}").as_bytes()));
        }
        self.session.database = database;
        self.keys.begin(database, 0);
        self.reply.truncate(0);
        let mut call = Call {
            command,
            args,
            keys: &mut self.keys,
            reply: &mut self.reply,
            session: &mut self.session,
            server: &self.inner.server,
            effects: &mut Effects::new(false, false),
            ready: None,
            is_queued: false,
        };
        let executed = execute(&mut call);
        if executed.has_failed || executed.block.is_some() {
            return Err(refused(self.reply.as_bytes().trim_ascii_end()));
        }
        Ok(())
    }
}
