//! Which shards a request needs.

use super::ahead::{Hashed, Known};
use crate::command::{Command, KeyPositions, resolve};
use crate::keyspace::{Cursor, Layout};
use crate::resp::{Args, parse_integer};
use crate::session::Session;
use smallvec::SmallVec;

/// The shards that one call of SCAN may visit.
const SHARDS_OF_SCAN: usize = 64;

/// Shards in ascending order, and whether each is written.
pub(super) type Shards = SmallVec<[(usize, bool); 1]>;

/// The next request of a batch.
#[derive(Debug)]
pub(super) struct Request {
    /// `None` if the request is refused.
    pub(super) command: Option<&'static Command>,
    pub(super) place: Place,
}

/// The shards of a request.
#[derive(Debug)]
pub(super) enum Place {
    /// None.
    Nowhere,
    /// One.
    Shard {
        /// Its number.
        number: usize,
        /// Whether it is written.
        writes: bool,
        /// The hash of the first argument, if that is the only key.
        hash: Option<u64>,
    },
    /// Several.
    Shards(Shards),
}

impl Request {
    /// Returns the next request of a batch. It takes no shards if the session may not run it.
    #[inline]
    pub(super) fn of(
        layout: &Layout,
        session: &Session,
        args: Args<'_>,
        known: &Known,
        is_refused: bool,
    ) -> Self {
        let command = known.command;
        let allowed = command.filter(|_| !is_refused);
        let place = match (allowed.filter(|command| runs_now(command, session)), known.key) {
            (None, _) => Place::Nowhere,
            (Some(command), Some(Hashed { hash, shard })) => {
                Place::Shard { number: shard, writes: command.call_holds_alone(args), hash: Some(hash) }
            }
            (Some(command), None) => Place::of(layout, session, command, args),
        };
        Self { command, place }
    }

    /// Returns its shards.
    pub(super) fn into_shards(self) -> Shards {
        match self.place {
            Place::Nowhere => Shards::new(),
            Place::Shard { number, writes, .. } => [(number, writes)].into_iter().collect(),
            Place::Shards(shards) => shards,
        }
    }
}

impl Place {
    fn of(layout: &Layout, session: &Session, command: &Command, args: Args<'_>) -> Self {
        let mut shards = Shards::new();
        add_shards(layout, session, command, args, &mut shards);
        normalize(&mut shards);
        match *shards {
            [] => Self::Nowhere,
            [(number, writes)] => Self::Shard { number, writes, hash: None },
            _ => Self::Shards(shards),
        }
    }
}

/// Returns true if the command is run when its turn comes, and not queued in a transaction.
pub(super) fn runs_now(command: &Command, session: &Session) -> bool {
    !session.is_in_transaction()
        || matches!(command.name, "exec" | "discard" | "multi" | "watch" | "quit" | "reset")
}

/// Appends the shards that a command needs.
fn add_shards(layout: &Layout, session: &Session, command: &Command, args: Args<'_>, shards: &mut Shards) {
    let writes = command.call_holds_alone(args);
    let all = layout.shards();
    match command.keys {
        KeyPositions::None => {}
        KeyPositions::All => shards.extend((0..all).map(|shard| (shard, writes))),
        KeyPositions::Patterns { has_patterns, .. } if has_patterns(args) && !planted!("patterns-unheld") => {
            shards.extend((0..all).map(|shard| (shard, writes)));
        }
        KeyPositions::Range { .. }
        | KeyPositions::Counted { .. }
        | KeyPositions::Function(_)
        | KeyPositions::Patterns { .. } => {
            let keys = command.keys.positions(args).into_iter().map(|at| args.at(at));
            shards.extend(keys.map(|key| (layout.shard(key), writes)));
        }
        KeyPositions::Cursor => {
            let number = args.get(1).and_then(parse_integer).unwrap_or(0);
            let first = Cursor::from_number(number as u64).shard();
            shards.extend((first..all).take(SHARDS_OF_SCAN).map(|shard| (shard, writes)));
        }
        KeyPositions::Watched => add_watched(layout, session, shards),
        KeyPositions::Transaction => {
            add_watched(layout, session, shards);
            let Some(transaction) = &session.transaction else { return };
            if transaction.is_aborted {
                return;
            }
            for index in 0..transaction.requests.len() {
                if transaction.refusal_of(index).is_some() && !planted!("refused-queued-takes-shards") {
                    continue;
                }
                let args = transaction.requests.args(index);
                if let Ok(command) = resolve(args) {
                    add_shards(layout, session, command, args, shards);
                }
            }
        }
    }
}

fn add_watched(layout: &Layout, session: &Session, shards: &mut Shards) {
    shards.extend(session.watched.iter().map(|watched| (layout.shard(&watched.key), true)));
}

/// Sorts shards; one that is named several times is written if any of these writes.
pub(super) fn normalize(shards: &mut Shards) {
    if shards.len() > 1 {
        shards.sort_unstable();
        shards.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            earlier.1 |= is_same && later.1;
            is_same
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::Engine;
    use super::*;
    use crate::resp::Requests;
    use xtasking::Runtime;

    #[test]
    fn only_reads_of_streams_that_may_wait_hold_their_shards_alone() {
        let rt = Runtime::builder().workers(1).build().unwrap();
        let engine = Engine::builder().shards(2).build(&rt);
        let session = engine.session("");
        for (line, is_alone) in [
            ("XREAD STREAMS s 0", false),
            ("XREAD COUNT 5 STREAMS block 0", false),
            ("XREAD BLOCK 0 STREAMS s 0", true),
            ("xread count 5 block 0 streams s 0", true),
            ("XREADGROUP GROUP g c STREAMS s >", true),
            ("XRANGE s - +", false),
        ] {
            let request = Requests::one(line.split(' '));
            let args = request.args(0);
            let known = Known { command: resolve(args).ok(), key: None };
            let shards = Request::of(&engine.inner.layout, &session, args, &known, false).into_shards();
            let writes: Vec<bool> = shards.iter().map(|(_, writes)| *writes).collect();
            assert_eq!(writes, [is_alone], "{line}");
        }
    }
}
