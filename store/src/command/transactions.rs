//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.

use super::execute::{execute, write_null};
use super::rights::{find_queued_refusal, refuse_queued};
use super::{Call, Command, CommandError, CommandResult, Family, Flags, KeyPositions, note_time, resolve};
use crate::resp::Args;
use crate::server::{CommandCounts, Setting, Times};
use crate::session::{Session, Transaction, WatchedKey};
use std::time::Instant;

const ALWAYS: &[Flags] = &[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::FAST, Flags::ALLOW_BUSY];

const FAMILY: Family = Family::new("transactions", &["transaction"]);

pub(super) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("multi", 1, multi).flags(ALWAYS).doc(
        "1.2.0",
        "O(1)",
        "Mark the start of a transaction block",
    ),
    Command::new("exec", 1, exec)
        .flags(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::SKIP_SLOWLOG])
        .keys_from(KeyPositions::Transaction)
        .doc("1.2.0", "Depends on commands in the transaction", "Execute all commands issued after MULTI"),
    Command::new("discard", 1, discard).flags(ALWAYS).keys_from(KeyPositions::Watched).doc(
        "2.0.0",
        "O(N), when N is the number of queued commands",
        "Discard all commands issued after MULTI",
    ),
    Command::new("watch", -2, watch).flags(ALWAYS).flags(&[Flags::LOCKS_KEYS]).keys(1, -1, 1).doc(
        "2.2.0",
        "O(1) for every key.",
        "Watch the given keys to determine execution of the MULTI/EXEC block",
    ),
    Command::new("unwatch", 1, unwatch).flags(ALWAYS).keys_from(KeyPositions::Watched).doc(
        "2.2.0",
        "O(1)",
        "Forget about all watched keys",
    ),
]);

fn multi(call: &mut Call<'_, '_>) -> CommandResult {
    if call.session.is_in_transaction() {
        return Err(CommandError::fixed("ERR MULTI calls can not be nested"));
    }
    call.session.transaction = Some(Transaction::default());
    call.ok()
}

fn discard(call: &mut Call<'_, '_>) -> CommandResult {
    if call.session.transaction.take().is_none() {
        return Err(CommandError::fixed("ERR DISCARD without MULTI"));
    }
    forget_watched(call);
    call.ok()
}

fn watch(call: &mut Call<'_, '_>) -> CommandResult {
    if call.session.is_in_transaction() {
        return Err(CommandError::fixed("ERR WATCH inside MULTI is not allowed"));
    }
    let database = call.keys.database();
    for key in call.args.skip(1).iter() {
        let is_known = call.session.watched.iter().any(|known| known.is(database, key));
        if !is_known {
            let version = call.keys.watch(key);
            call.session.watched.push(WatchedKey { database, key: key.into(), version });
        }
    }
    call.ok()
}

fn unwatch(call: &mut Call<'_, '_>) -> CommandResult {
    forget_watched(call);
    call.ok()
}

/// Ends the watching of all keys. Returns true if one of them was changed or has expired.
pub(crate) fn forget_watched(call: &mut Call<'_, '_>) -> bool {
    let database = call.keys.database();
    let mut has_changed = false;
    for watched in std::mem::take(&mut call.session.watched) {
        call.keys.select(watched.database);
        has_changed |= call.keys.unwatch(&watched.key) != watched.version;
    }
    call.keys.select(database);
    has_changed
}

/// Counts a command of a transaction, and the time that it took.
fn note_call(queued: &Call<'_, '_>, command: &'static Command, has_failed: bool, began: Instant) {
    let nanoseconds = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let counts = CommandCounts { calls: 1, failed: has_failed.into(), nanoseconds, rejected: 0 };
    let times = [Times { command: command.name, calls: 1, nanoseconds }];
    let keeps_times = queued.server.settings.number(Setting::LatencyTracking) != 0;
    let (lane, times) = (queued.session.lane, if keeps_times { &times[..] } else { &[] });
    queued.server.statistics.count_all(lane, [(command.name, counts)], times);
    note_time(queued.server, &queued.session.client, command, queued.args, queued.now(), nanoseconds);
}

/// Returns true if the session may be one of another user after a command.
fn may_log_in(args: Args<'_>) -> bool {
    args.is(0, "auth") || args.is(0, "hello")
}

/// Notes which queued commands EXEC is not to run, as their rights are gone: it takes no shards for
/// those. Rights that come back before it has the shards of the others come too late. Those after
/// an AUTH are checked when they run.
pub(crate) fn note_refused(session: &mut Session) {
    let Some(mut transaction) = session.transaction.take() else { return };
    if !transaction.is_aborted {
        let requests = &transaction.requests;
        let is_judged =
            |index: &usize| !may_log_in(requests.args(*index)) || planted!("rights-after-auth-judged-before");
        let refused = (0..requests.len()).take_while(is_judged).filter_map(|index| {
            let args = requests.args(index);
            Some((index, find_queued_refusal(resolve(args).ok()?, args, session)?))
        });
        transaction.refused = refused.collect();
    }
    session.transaction = Some(transaction);
}

fn exec(call: &mut Call<'_, '_>) -> CommandResult {
    let Some(transaction) = call.session.transaction.take() else {
        return Err(CommandError::fixed("ERR EXEC without MULTI"));
    };
    let has_changed = forget_watched(call);
    if let Some(refusal) = transaction.refusal {
        let before = "EXECABORT Transaction discarded because of: ";
        return Err(CommandError::with_arg(before, refusal.text(), ""));
    }
    if transaction.is_aborted {
        let text = "EXECABORT Transaction discarded because of previous errors.";
        return Err(CommandError::fixed(text));
    }
    if has_changed && !planted!("watched-change-unseen") {
        call.reply.null_array();
        return call.done();
    }
    let requests = &transaction.requests;
    // Not within the array, before the reply to a queued UNSUBSCRIBE.
    if call.session.is_listening() && !planted!("message-within-transaction") {
        call.session.write_messages(call.reply);
    }
    call.reply.array(requests.len());
    for index in 0..requests.len() {
        let args = requests.args(index);
        let command = resolve(args)?;
        let mut queued = Call {
            command,
            args,
            keys: &mut *call.keys,
            reply: &mut *call.reply,
            session: &mut *call.session,
            server: call.server,
            effects: &mut *call.effects,
            ready: None,
            is_queued: true,
        };
        let (now, selected) = (queued.keys.now(), queued.session.database);
        queued.keys.begin(selected, now);
        // Rights may have changed since it was queued, or since the shards were taken.
        let found = match transaction.refusal_of(index) {
            None => find_queued_refusal(command, args, queued.session),
            Some(_) => None,
        };
        if let Some(refusal) = transaction.refusal_of(index).or(found.as_ref()) {
            let error = refuse_queued(refusal, command, args, queued.session, queued.server, now);
            queued.reply.error(error.text());
            queued.server.statistics.count_error(queued.session.lane, error.text());
            continue;
        }
        // Inside a transaction nothing waits.
        let began = Instant::now();
        let executed = execute(&mut queued);
        if let Some(block) = executed.block {
            write_null(block.null, queued.reply);
        }
        note_call(&queued, command, executed.has_failed, began);
    }
    // What is to be replayed are the commands, not EXEC.
    call.effects.begin_command();
    call.done()
}
