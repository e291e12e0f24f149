//! Replays the log when an engine is opened.

use super::engine::Inner;
use super::plan::Shards;
use super::stages::{PlacedUnit, ShardParts, stages};
use crate::acl::Acl;
use crate::command::{Call, Command, Effects, Malformed, execute, resolve, visit_units};
use crate::keyspace::{HeldShards, Keys};
use crate::log::ReplayError;
use crate::rdb::{RdbError, RdbErrorKind};
use crate::resp::{Args, Protocol, Reply};
use crate::session::Session;
use std::mem;
use std::ops::Range;
use std::sync::Arc;
use xtasking::{Handle, JoinError, Runtime};

/// A store while its log is replayed. Its clock stands at 0, so that nothing expires: what has
/// expired was logged as a removal.
pub(super) struct Replayer<'v> {
    inner: &'v Inner,
    keys: Keys<'v>,
    session: Session,
    reply: Reply,
    /// What the commands of a unit have changed.
    effects: Effects,
    /// The last command. The next one is mostly the same.
    last: Option<&'static Command>,
}

/// The units whose keys are fetched together before they are replayed.
pub(super) const FETCHED_AT_ONCE: usize = 32;

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
    /// Replays units of effects, by tasks on parts of the shards.
    ///
    /// The orders of databases are made when all was replayed, of all keys at once. If a range of
    /// keys is to be removed they are made before; `has_orders` says that they were.
    pub(super) fn replay(
        self: &Arc<Self>,
        rt: &Runtime,
        units: Vec<u8>,
        has_orders: &mut bool,
    ) -> Result<(), ReplayError> {
        let parts = ShardParts::new(&self.layout, self.server.workers);
        let (staged, units) = (stages(parts, &units)?, Arc::new(units));
        if staged.may_have_ranges && !mem::replace(has_orders, true) {
            self.make_orders(rt).map_err(|_| ReplayError::Interrupted)?;
        }
        for stage in staged.stages {
            let side_by_side = stage.on_shards(parts).into_iter();
            let tasks: Vec<_> =
                side_by_side.map(|(shards, own)| self.replay_part(rt, shards, &units, own)).collect();
            // All are waited for, also after an error.
            let replayed: Vec<_> = tasks.into_iter().map(Handle::join).collect();
            replayed.into_iter().try_for_each(|result| result.map_err(|_| ReplayError::Interrupted)?)?;
        }
        Ok(())
    }

    /// Replays some of the units, by a task on some of the shards.
    fn replay_part(
        self: &Arc<Self>,
        rt: &Runtime,
        shards: Range<usize>,
        units: &Arc<Vec<u8>>,
        own: Vec<PlacedUnit>,
    ) -> Handle<Result<(), ReplayError>> {
        let (inner, units) = (self.clone(), units.clone());
        self.on_shards(rt, shards, move |held, worker| {
            let mut replayer = Replayer::new(&inner, held);
            let mut replay = || -> Result<(), ReplayError> {
                for group in own.chunks(FETCHED_AT_ONCE) {
                    replayer.fetch(group);
                    for unit in group {
                        let bytes = &units[unit.span.clone()];
                        visit_units::<ReplayError>(bytes, |database, args| replayer.run(database, args))?;
                    }
                }
                Ok(())
            };
            let replayed = replay();
            replayer.end_unit(worker);
            replayed
        })
    }

    /// Makes the orders that databases lack, and drops those of others: keys are loaded and
    /// replayed without, or databases were swapped. The calling thread waits.
    pub(super) fn make_orders(self: &Arc<Self>, rt: &Runtime) -> Result<(), JoinError> {
        let (promise, visited) = rt.promise();
        self.visit_shards(rt, move |_| promise.fulfil(()));
        visited.join()
    }

    /// Makes the orders of databases, when all was replayed. Notes an access of all keys now, if
    /// any were changed: what is replayed has no times of accesses.
    pub(super) fn end_replay(self: &Arc<Self>, rt: &Runtime, has_changes: bool) -> Result<(), ReplayError> {
        self.make_orders(rt).map_err(|_| ReplayError::Interrupted)?;
        let touch = |number: usize| {
            let inner = self.clone();
            rt.task(self.shards[number].write()).submit(move |shard, _| {
                let held = HeldShards::written(number, shard);
                Keys::new(&inner.layout, &inner.versions, held).touch_all(inner.now());
            })
        };
        let touched: Vec<_> = (0..self.shards.len()).filter(|_| has_changes).map(touch).collect();
        touched.into_iter().try_for_each(|touched| touched.join().map_err(|_| ReplayError::Interrupted))
    }

    /// Runs a function on some of the shards. It gets the number of its worker.
    pub(super) fn on_shards<R: Send + 'static>(
        &self,
        rt: &Runtime,
        shards: Range<usize>,
        body: impl FnOnce(HeldShards<'_>, usize) -> R + Send + 'static,
    ) -> Handle<R> {
        let shards: Shards = shards.map(|number| (number, true)).collect();
        let (promise, result) = rt.promise();
        self.spawn_on(rt, shards, move |held, cx| promise.fulfil(body(held, cx.worker())));
        result
    }
}

impl<'v> Replayer<'v> {
    pub(super) fn new(inner: &'v Inner, held: HeldShards<'v>) -> Self {
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
            // A log that is replayed is not there yet.
            effects: Effects::new(inner.server.log.get().is_some(), false),
            last: None,
        }
    }

    /// Begins to fetch the keys of units.
    pub(super) fn fetch(&self, units: &[PlacedUnit]) {
        self.keys.fetch_places(units.iter().filter_map(|unit| unit.place));
    }

    fn run(&mut self, database: usize, args: Args<'_>) -> Result<(), ReplayError> {
        let shown = || String::from_utf8_lossy(args.get(0).unwrap_or_default()).into_owned();
        let refused = |why: Vec<u8>| {
            ReplayError::Refused(format!("{} cannot be replayed: {}", shown(), why.escape_ascii()))
        };
        let found = self.last.and_then(|last| last.find_after(args));
        let found = found.map_or_else(|| resolve(args), Ok);
        let command = found.map_err(|error| refused(error.text().to_vec()))?;
        self.last = Some(command);
        self.run_at(command, database, args, 0).map_err(refused)
    }

    /// Runs a command at this time, at which nothing expires. Returns the reply if that is an
    /// error.
    pub(super) fn run_at(
        &mut self,
        command: &'static Command,
        database: usize,
        args: Args<'_>,
        now: u64,
    ) -> Result<(), Vec<u8>> {
        if database >= self.inner.server.databases {
            return Err(format!("there is no database {database}").into_bytes());
        }
        self.session.database = database;
        self.keys.begin(database, now);
        self.keys.expire_nothing();
        self.reply.truncate(0);
        let mut call = Call {
            command,
            args,
            keys: &mut self.keys,
            reply: &mut self.reply,
            session: &mut self.session,
            server: &self.inner.server,
            effects: &mut self.effects,
            ready: None,
            is_queued: false,
        };
        let executed = execute(&mut call);
        if self.keys.has_garbage() && !planted!("replay-keeps-garbage") {
            // Freed at once, as no request waits for the shards.
            drop(self.keys.take_garbage());
        }
        match executed.block {
            _ if executed.has_failed => Err(self.reply.as_bytes().trim_ascii_end().to_vec()),
            Some(_) => Err(b"it would wait".to_vec()),
            None => Ok(()),
        }
    }

    /// Ends a unit: the log gets what its commands have changed.
    pub(super) fn end_unit(&mut self, worker: usize) {
        self.inner.record(worker, &self.effects, &mut self.keys);
        self.inner.count_growth(worker, &mut self.keys);
        self.effects.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Engine;
    use super::*;
    use crate::keyspace::Shard;
    use crate::resp::Requests;

    #[test]
    fn what_is_replaced_in_a_replay_is_freed_at_once() {
        let rt = Runtime::builder().workers(1).build().unwrap();
        let engine = Engine::builder().shards(1).databases(1).build(&rt);
        let (mut shard, long) = (Shard::new(1), "x".repeat(1 << 20));
        let mut replayer = Replayer::new(&engine.inner, HeldShards::written(0, &mut shard));
        for value in [&*long, "short"] {
            replayer.run(0, Requests::one(["SET", "key", value]).args(0)).unwrap();
            assert!(!replayer.keys.has_garbage());
        }
    }
}
