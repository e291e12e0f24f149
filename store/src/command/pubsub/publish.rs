//! PUBLISH and PUBSUB.

use super::{Call, CommandError, CommandResult};

pub(super) fn publish(call: &mut Call<'_, '_>) -> CommandResult {
    let (server, args) = (call.server, call.args);
    let count = server.channels.publish(&server.clients, args.at(1), args.at(2));
    // The own message comes before the reply; not into the midst of that to EXEC.
    let session = &*call.session;
    if session.subscriptions.len() > 0 && session.replies.are_wanted() && !call.is_queued {
        session.write_messages(call.reply);
    }
    call.count(count)
}

pub(super) fn channels(call: &mut Call<'_, '_>) -> CommandResult {
    if call.args.len() > 3 {
        return Err(CommandError::wrong_arity("pubsub|channels"));
    }
    let names = call.server.channels.matching(call.args.get(2));
    call.reply.array(names.len());
    names.iter().for_each(|name| call.reply.bulk(name));
    call.done()
}

pub(super) fn numsub(call: &mut Call<'_, '_>) -> CommandResult {
    let names = call.args.skip(2);
    // Pairs in one array, in both versions of the protocol.
    call.reply.array(2 * names.len());
    for name in names.iter() {
        call.reply.bulk(name);
        call.reply.count(call.server.channels.listeners(name));
    }
    call.done()
}

pub(super) fn numpat(call: &mut Call<'_, '_>) -> CommandResult {
    call.count(call.server.channels.patterns())
}
