//! OBJECT: how a value is kept.

use super::super::{Call, CommandError, CommandResult};

pub(super) fn encoding(call: &mut Call<'_, '_>) -> CommandResult {
    match call.keys.look(call.args.at(2)) {
        Some(entry) => call.reply.bulk(entry.value().encoding().as_bytes()),
        None => call.reply.null(),
    }
    call.done()
}

pub(super) fn refcount(call: &mut Call<'_, '_>) -> CommandResult {
    match call.keys.look(call.args.at(2)).is_some() {
        // Values are not shared. Redis shares small integers, and then returns a large number.
        true => call.reply.integer(1),
        false => call.reply.null(),
    }
    call.done()
}

pub(super) fn idletime(call: &mut Call<'_, '_>) -> CommandResult {
    match call.keys.look(call.args.at(2)) {
        Some(_) if call.server.settings.counts_accesses() => {
            return Err(CommandError::fixed(
                "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when \
                 switching between policies at runtime LRU and LFU data will take some time to adjust.",
            ));
        }
        Some(entry) => call.reply.integer(call.keys.idle_seconds(entry).into()),
        None => call.reply.null(),
    }
    call.done()
}

pub(super) fn freq(call: &mut Call<'_, '_>) -> CommandResult {
    let Some(entry) = call.keys.look(call.args.at(2)) else {
        call.reply.null();
        return call.done();
    };
    match call.keys.count_of(entry) {
        Some(count) => call.integer(count.into()),
        None => Err(CommandError::fixed(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that \
             when switching between policies at runtime LRU and LFU data will take some time to adjust.",
        )),
    }
}
