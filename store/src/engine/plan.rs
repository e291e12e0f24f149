//! Which requests run in the next task, and on which shards.

use super::engine::Inner;
use crate::command::{Command, Flags, KeyPositions, check_access, resolve};
use crate::keyspace::Cursor;
use crate::resp::{Args, Requests, parse_integer};
use crate::session::Session;
use smallvec::SmallVec;

/// A group takes no more requests when it has this many shards.
const MOST_SHARDS: usize = 64;
/// The most requests of a group, so that a task is not long.
const MOST_REQUESTS: usize = 256;
/// The shards that one call of SCAN may visit.
const SHARDS_OF_SCAN: usize = 64;

/// The next requests of a batch, and the shards of their task.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The commands of the requests; at least one if there is any.
    pub(super) commands: Commands,
    /// The shards in ascending order, and whether each is written.
    pub(super) shards: Shards,
}

/// The commands of requests in order; `None` for a request that is refused.
pub(super) type Commands = SmallVec<[Option<&'static Command>; 4]>;

/// Shards, and whether each is written.
pub(super) type Shards = SmallVec<[(usize, bool); 1]>;

/// Plans the next task of a session.
pub(super) fn plan(inner: &Inner, session: &Session, requests: &Requests, next: usize) -> Plan {
    let mut plan = Plan::default();
    let mut wanted = Shards::new();
    for index in next..requests.len().min(next + MOST_REQUESTS) {
        let args = requests.args(index);
        let command = resolve(args).ok();
        // Its shards depend on what the requests before it leave in the session.
        let needs_session = command.is_some_and(has_keys_of_session) && !planted!("exec-planned-early");
        if !plan.commands.is_empty() && needs_session {
            break;
        }
        let allowed = command.filter(|command| check_access(command, session.is_authenticated).is_ok());
        if let Some(command) = allowed.filter(|command| runs_now(command, session)) {
            wanted.clear();
            add_shards(inner, session, command, args, &mut wanted);
            normalize(&mut wanted);
            if !plan.commands.is_empty() && !plan.has_room_for(&wanted) {
                break;
            }
            plan.add(&wanted);
        }
        plan.commands.push(command);
        if command.is_some_and(|command| command.flags.has(Flags::ENDS_GROUP)) {
            break;
        }
    }
    plan
}

impl Plan {
    fn find(&self, shard: usize) -> Result<usize, usize> {
        self.shards.binary_search_by_key(&shard, |(number, _)| *number)
    }

    /// Returns true if these shards may be added: then there are not too many, or no more.
    fn has_room_for(&self, wanted: &Shards) -> bool {
        let new = wanted.iter().filter(|(number, _)| self.find(*number).is_err()).count();
        new == 0 || self.shards.len() + new <= MOST_SHARDS
    }

    /// Adds shards.
    fn add(&mut self, wanted: &Shards) {
        if self.shards.is_empty() {
            self.shards.clone_from(wanted);
            return;
        }
        for &(number, writes) in wanted {
            match self.find(number) {
                Ok(at) => self.shards[at].1 |= writes,
                Err(at) => self.shards.insert(at, (number, writes)),
            }
        }
    }
}

/// Returns true if the command is run when its turn comes, and not queued in a transaction.
pub(super) fn runs_now(command: &Command, session: &Session) -> bool {
    !session.is_in_transaction()
        || matches!(command.name, "exec" | "discard" | "multi" | "watch" | "quit" | "reset")
}

fn has_keys_of_session(command: &Command) -> bool {
    matches!(command.keys, KeyPositions::Watched | KeyPositions::Transaction)
}

/// Appends the shards that a command needs.
fn add_shards(inner: &Inner, session: &Session, command: &Command, args: Args<'_>, shards: &mut Shards) {
    let writes = command.holds_alone();
    let all = inner.layout.shards();
    match command.keys {
        KeyPositions::None => {}
        KeyPositions::All => shards.extend((0..all).map(|shard| (shard, writes))),
        // As of most commands.
        KeyPositions::Range { first: 1, last: 1, .. } => {
            shards.extend(args.get(1).map(|key| (inner.layout.shard(key), writes)));
        }
        KeyPositions::Patterns { has_patterns, .. } if has_patterns(args) && !planted!("patterns-unheld") => {
            shards.extend((0..all).map(|shard| (shard, writes)));
        }
        KeyPositions::Range { .. }
        | KeyPositions::Counted { .. }
        | KeyPositions::Function(_)
        | KeyPositions::Patterns { .. } => {
            let keys = command.keys.positions(args).into_iter().map(|at| args.at(at));
            shards.extend(keys.map(|key| (inner.layout.shard(key), writes)));
        }
        KeyPositions::Cursor => {
            let number = args.get(1).and_then(parse_integer).unwrap_or(0);
            let first = Cursor::from_number(number as u64).shard();
            shards.extend((first..all).take(SHARDS_OF_SCAN).map(|shard| (shard, writes)));
        }
        KeyPositions::Watched => add_watched(inner, session, shards),
        KeyPositions::Transaction => {
            add_watched(inner, session, shards);
            let Some(transaction) = &session.transaction else { return };
            if transaction.is_aborted {
                return;
            }
            for index in 0..transaction.requests.len() {
                let args = transaction.requests.args(index);
                if let Ok(command) = resolve(args) {
                    add_shards(inner, session, command, args, shards);
                }
            }
        }
    }
}

fn add_watched(inner: &Inner, session: &Session, shards: &mut Shards) {
    shards.extend(session.watched.iter().map(|watched| (inner.layout.shard(&watched.key), true)));
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
