//! The next requests of a batch, looked at before they run.
//!
//! Requests run one after the other. What those on a single key will touch is fetched before,
//! several at a time: first the buckets of all, then the entries. So the processor waits for the
//! memory of all of them at once.

use crate::command::{Command, KeyPositions, resolve};
use crate::keyspace::{Layout, Shard};
use crate::resp::Requests;
use smallvec::SmallVec;
use xtasking::{Context, Object, Shared};

/// The most requests at a time.
const MOST_REQUESTS: usize = 16;

/// Some of the next requests of a batch.
pub(super) struct Ahead<'k> {
    shards: &'k [Object<Shared<Shard>>],
    layout: &'k Layout,
    /// The last command that was looked at. The next one is mostly the same.
    last: Option<&'static Command>,
    /// The index of the first one.
    first: usize,
    requests: SmallVec<[Known; MOST_REQUESTS]>,
}

/// What is known of a request, whatever the session is like when its turn comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// `None` if there is no such command, or the number of arguments is wrong.
    pub(super) command: Option<&'static Command>,
    /// Its first argument, if that is its only key.
    pub(super) key: Option<Hashed>,
}

/// The hash of a key, and the shard that follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashed {
    pub(super) hash: u64,
    pub(super) shard: usize,
}

impl<'k> Ahead<'k> {
    /// Begins with a session's next request. `last` is its last command.
    pub(super) fn new(
        shards: &'k [Object<Shared<Shard>>],
        layout: &'k Layout,
        last: Option<&'static Command>,
    ) -> Self {
        Self { shards, layout, last, first: 0, requests: SmallVec::new() }
    }

    /// Returns what is known of a request. Those after it will probably access this database.
    #[inline]
    pub(super) fn get(
        &mut self,
        requests: &Requests,
        index: usize,
        database: usize,
        cx: &mut Context,
    ) -> Known {
        if let Some(known) = self.requests.get(index - self.first) {
            return *known;
        }
        self.look(requests, index);
        if self.requests.len() > 1 {
            self.fetch(database, cx);
        }
        self.requests[0]
    }

    fn look(&mut self, requests: &Requests, first: usize) {
        self.first = first;
        self.requests.clear();
        for index in first..requests.len().min(first + MOST_REQUESTS) {
            let args = requests.args(index);
            let command = self.last.map_or_else(|| resolve(args).ok(), |last| last.find_after(args));
            let has_one_key =
                |command: &Command| matches!(command.keys, KeyPositions::Range { first: 1, last: 1, .. });
            let key = command.filter(|command| has_one_key(command)).and_then(|_| args.get(1));
            let key = key.map(|key| {
                let hash = self.layout.hash(key);
                Hashed { hash, shard: self.layout.shard_of(hash) }
            });
            self.requests.push(Known { command, key });
            self.last = command;
        }
    }

    /// Begins to fetch what the requests will touch. At a shard that is not free it ends: to wait
    /// for it would take longer than it saves.
    fn fetch(&self, database: usize, cx: &mut Context) {
        let keys = || self.requests.iter().filter_map(|known| known.key);
        for key in keys() {
            let shard = cx.task(self.shards[key.shard].read());
            if shard.try_call(|shard| shard.lines(database, key.hash).fetch()).is_err() {
                return;
            }
        }
        for key in keys() {
            let shard = cx.task(self.shards[key.shard].read());
            if shard.try_call(|shard| shard.lines_of_entry(database, key.hash).fetch()).is_err() {
                return;
            }
        }
    }
}
