//! The next requests of a batch, looked at before they run.
//!
//! Requests run one after the other. What those on a single key will touch is fetched before,
//! several at a time: first the buckets of all, then the entries. So the processor waits for the
//! memory of all of them at once.

use super::batch::Batch;
use super::engine::Inner;
use crate::command::{Command, KeyPositions, resolve};
use smallvec::SmallVec;
use xtasking::{Context, Lines};

/// The most requests at a time.
const MOST_REQUESTS: usize = 16;

/// Some of the next requests of a batch.
#[derive(Debug, Default)]
pub(super) struct Ahead {
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

impl Ahead {
    /// Returns what is known of the next request of a batch, which is not done.
    #[inline]
    pub(super) fn next(&mut self, inner: &Inner, batch: &Batch, cx: &mut Context) -> Known {
        if let Some(known) = self.requests.get(batch.next - self.first) {
            return *known;
        }
        self.look(inner, batch, cx);
        self.requests[0]
    }

    fn look(&mut self, inner: &Inner, batch: &Batch, cx: &mut Context) {
        let mut last = self.requests.last().and_then(|known| known.command);
        self.first = batch.next;
        self.requests.clear();
        let end = batch.requests.len().min(batch.next + MOST_REQUESTS);
        for index in batch.next..end {
            let args = batch.requests.args(index);
            let command = last.map_or_else(|| resolve(args).ok(), |last| last.find_after(args));
            let has_one_key =
                |command: &Command| matches!(command.keys, KeyPositions::Range { first: 1, last: 1, .. });
            let key = command.filter(|command| has_one_key(command)).and_then(|_| args.get(1));
            let key = key.map(|key| {
                let hash = inner.layout.hash(key);
                Hashed { hash, shard: inner.layout.shard_of(hash) }
            });
            self.requests.push(Known { command, key });
            last = command;
        }
        if self.requests.len() > 1 {
            self.fetch(inner, batch.session.database, cx);
        }
    }

    /// Begins to fetch what the requests will touch. A shard that is not free is left out.
    fn fetch(&self, inner: &Inner, database: usize, cx: &mut Context) {
        let keys = || self.requests.iter().filter_map(|known| known.key);
        for key in keys() {
            let shard = cx.task(inner.shards[key.shard].read());
            let lines = shard.try_call(|shard| shard.lines(database, key.hash));
            cx.fetch(lines.unwrap_or(Lines::NONE));
        }
        for key in keys() {
            let shard = cx.task(inner.shards[key.shard].read());
            let lines = shard.try_call(|shard| shard.lines_of_entry(database, key.hash));
            cx.fetch(lines.unwrap_or(Lines::NONE));
        }
    }
}
