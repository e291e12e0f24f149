//! ACL SETUSER, DELUSER, LIST, USERS and WHOAMI.

use super::super::connection::listing::close_clients;
use super::super::{Call, CommandError, CommandResult};
use crate::acl::{RulesError, is_user_name, show_line};
use crate::server::{ClientInfo, Topic};
use std::sync::Arc;

pub(super) fn setuser(call: &mut Call<'_, '_>) -> CommandResult {
    let (name, rules) = (call.args.at(2), call.args.skip(3));
    if !is_user_name(name) {
        return Err(CommandError::fixed("ERR Usernames can't contain spaces or null characters"));
    }
    let has_all_channels = call.server.settings.allows_new_users_all_channels();
    call.server.acl.set_user(name, rules.iter(), has_all_channels).map_err(|error| explain(&error))?;
    end_forbidden_listeners(call, name);
    call.ok()
}

/// Closes the connections of a user that listen to what it may not any more.
pub(super) fn end_forbidden_listeners(call: &mut Call<'_, '_>, name: &[u8]) {
    if let Some(user) = call.server.acl.user(name)
        && !planted!("listeners-keep-channels")
    {
        let is_forbidden = |topic, channel: &[u8], client: &ClientInfo| {
            !user.can_listen(channel, topic == Topic::Pattern) && has_user(client, name)
        };
        let listening = call.server.channels.listeners_where(is_forbidden);
        end_clients(call, &listening);
    }
}

/// Closes connections, and ends what they listen to and follow: sessions without a connection stay.
fn end_clients(call: &mut Call<'_, '_>, clients: &[Arc<ClientInfo>]) {
    close_clients(call, clients);
    for client in clients {
        call.server.channels.forget(client.id());
        call.server.end_monitor(client.id());
    }
}

/// Returns the error of rules that are not taken, in Redis' words.
fn explain(error: &RulesError) -> CommandError {
    match error {
        RulesError::Open(first) => {
            CommandError::with_arg("ERR Unmatched parenthesis in acl selector starting at '", first, "'.")
        }
        RulesError::Rule { rule, why } => {
            let after = format!("': {}", why.text());
            CommandError::with_arg("ERR Error in ACL SETUSER modifier '", rule, &after)
        }
    }
}

fn has_user(client: &ClientInfo, name: &[u8]) -> bool {
    *client.state().user == *name
}

/// Closes the connections of users.
pub(super) fn close_users(call: &mut Call<'_, '_>, is_gone: impl Fn(&[u8]) -> bool) {
    let mut clients: Vec<Arc<ClientInfo>> = call.server.clients.all();
    clients.retain(|client| is_gone(&client.state().user));
    end_clients(call, &clients);
}

pub(super) fn deluser(call: &mut Call<'_, '_>) -> CommandResult {
    let names = call.args.skip(2);
    if names.iter().any(|name| name == b"default") {
        return Err(CommandError::fixed("ERR The 'default' user cannot be removed"));
    }
    let removed: Vec<&[u8]> = names.iter().filter(|name| call.server.acl.remove(name)).collect();
    if !removed.is_empty() {
        close_users(call, |name| removed.contains(&name));
    }
    call.count(removed.len())
}

pub(super) fn list(call: &mut Call<'_, '_>) -> CommandResult {
    let users = call.server.acl.users();
    call.reply.array(users.len());
    users.iter().for_each(|(name, user)| call.reply.bulk(&show_line(name, user)));
    call.done()
}

pub(super) fn names(call: &mut Call<'_, '_>) -> CommandResult {
    let users = call.server.acl.users();
    call.reply.array(users.len());
    users.iter().for_each(|(name, _)| call.reply.bulk(name));
    call.done()
}

pub(super) fn whoami(call: &mut Call<'_, '_>) -> CommandResult {
    call.reply.bulk(call.session.login.account().name());
    call.done()
}
