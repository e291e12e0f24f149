//! A command that panics: its session gets an error, and what it has changed is replayed.

use super::{Call, Command, CommandError, CommandResult, Outcome, Reader, Run};
use crate::resp::{Args, Reply};
use crate::value::ValueRef;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the function of a command. A panic is an error of it.
pub(super) fn run(command: &Command, call: &mut Call<'_, '_>) -> CommandResult {
    let database = call.keys.database();
    // Unwind safe: no value is left in a state that is not sound, and what it is now is noted.
    let caught = catch_unwind(AssertUnwindSafe(|| match command.run {
        Run::Call(run) => run(call),
        Run::Read(read) => {
            let value = call.keys.get(call.args.at(1));
            read(value, call.args, call.reply).map(|()| Outcome::Done)
        }
    }));
    caught.unwrap_or_else(|_| {
        // COPY and MOVE also change a key of another database, after they have selected it.
        let other = call.keys.database();
        if command.holds_alone() {
            if other != database {
                note_keys(command, call);
            }
            call.keys.select(database);
            note_keys(command, call);
        }
        call.keys.select(database);
        Err(CommandError::PANICKED)
    })
}

/// Reads a value by the function of a command. A panic is an error of it.
#[inline]
pub(crate) fn read(
    read: Reader,
    value: Option<ValueRef<'_>>,
    args: Args<'_>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    // Unwind safe: the reply is cut off after an error, and nothing else can change.
    catch_unwind(AssertUnwindSafe(|| read(value, args, reply))).unwrap_or(Err(CommandError::PANICKED))
}

/// Notes what the keys of a command are now in the database that is selected, as it was stopped
/// halfway.
fn note_keys(command: &Command, call: &mut Call<'_, '_>) {
    let (database, args) = (call.keys.database(), call.args);
    for position in command.keys.positions(args) {
        let key = args.at(position);
        if !call.keys.may_write(key) {
            continue;
        }
        call.keys.note_change(key);
        call.effects.replay(database, [&b"DEL"[..], key]);
        if let Some(entry) = call.keys.peek(key) {
            call.effects.restore(database, key, &entry.value().to_value(), entry.expires_at());
        }
    }
}
