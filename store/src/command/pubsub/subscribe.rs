//! SUBSCRIBE, PSUBSCRIBE and their opposites.

use super::{Call, CommandResult};
use crate::server::Topic;

/// Confirms a change. Messages that came before it are sent before it; in a transaction those that
/// came before that.
fn confirm(call: &mut Call<'_, '_>, what: &str, name: Option<&[u8]>) {
    if (!call.is_queued || planted!("message-within-transaction")) && !planted!("message-after-the-end") {
        call.session.write_messages(call.reply);
    }
    call.reply.push(3);
    call.reply.bulk(what.as_bytes());
    call.reply.bulk_or_null(name);
    call.reply.count(call.session.subscriptions.len());
}

fn listen(call: &mut Call<'_, '_>, topic: Topic, what: &str) -> CommandResult {
    for name in call.args.skip(1).iter() {
        call.session.subscribe(&call.server.channels, topic, name);
        confirm(call, what, Some(name));
    }
    // The channels may have been taken from the user since the request was checked. It listens now:
    // what takes them later finds it.
    let (is_pattern, login) = (topic == Topic::Pattern, &mut call.session.login);
    if !login.has_all_rights() && !planted!("late-listener-spared") {
        let user = login.user();
        call.session.is_closing |= call.args.skip(1).iter().any(|name| !user.can_listen(name, is_pattern));
    }
    call.done()
}

fn stop(call: &mut Call<'_, '_>, topic: Topic, what: &str) -> CommandResult {
    let named: Vec<Box<[u8]>> = match call.args.len() {
        1 => call.session.subscriptions.names(topic),
        _ => call.args.skip(1).iter().map(Into::into).collect(),
    };
    if named.is_empty() {
        confirm(call, what, None);
    }
    for name in named {
        call.session.unsubscribe(&call.server.channels, topic, &name);
        confirm(call, what, Some(&name));
    }
    call.done()
}

pub(super) fn subscribe(call: &mut Call<'_, '_>) -> CommandResult {
    listen(call, Topic::Channel, "subscribe")
}

pub(super) fn psubscribe(call: &mut Call<'_, '_>) -> CommandResult {
    listen(call, Topic::Pattern, "psubscribe")
}

pub(super) fn unsubscribe(call: &mut Call<'_, '_>) -> CommandResult {
    stop(call, Topic::Channel, "unsubscribe")
}

pub(super) fn punsubscribe(call: &mut Call<'_, '_>) -> CommandResult {
    stop(call, Topic::Pattern, "punsubscribe")
}
