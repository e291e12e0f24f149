//! CLIENT LIST, INFO and KILL: all connections.

use super::super::{Call, CommandError, CommandResult};
use super::tracking::redirect_of;
use crate::resp::parse_integer;
use crate::server::{ClientInfo, ClientState, Server, Tracker};
use std::fmt::{Display, Write};
use std::sync::Arc;

/// A connection as CLIENT LIST shows it. What a store does not know of itself is -1.
pub(in crate::command) fn line(client: &ClientInfo, server: &Server, now: u64) -> String {
    let tracker = server.tracking.get(client.id());
    let state = client.state();
    let memory = &state.memory;
    let (messages, message_bytes) = client.waiting_messages();
    let seconds = |from: u64| now.saturating_sub(from) / 1000;
    let mut line = String::new();
    let mut add = |name: &str, value: &dyn Display| {
        let space = if line.is_empty() { "" } else { " " };
        // A string takes all text.
        let _ = write!(line, "{space}{name}={value}");
    };
    add("id", &client.id());
    add("addr", &client.address());
    add("laddr", &client.local_address());
    add("fd", &-1);
    add("name", &String::from_utf8_lossy(&state.name));
    add("age", &seconds(client.opened_at()));
    add("idle", &seconds(state.last_at));
    add("flags", &flags(client, &state, tracker.as_deref()));
    add("db", &state.database);
    add("sub", &state.channels);
    add("psub", &state.patterns);
    add("ssub", &0);
    add("multi", &state.queued.map_or(-1, |queued| queued as i64));
    add("qbuf", &memory.query);
    add("qbuf-free", &memory.query_room);
    add("argv-mem", &memory.args);
    add("multi-mem", &memory.queued);
    add("rbs", &memory.reply_room);
    add("rbp", &memory.reply_room);
    add("obl", &memory.unsent);
    add("oll", &messages);
    add("omem", &message_bytes);
    add("tot-mem", &(memory.total() + message_bytes));
    add("events", &"r");
    add("cmd", &state.last_command);
    add("user", &String::from_utf8_lossy(&state.user));
    add("redir", &redirect_of(tracker.as_deref()));
    add("resp", &state.protocol);
    line
}

fn flags(client: &ClientInfo, state: &ClientState, tracker: Option<&Tracker>) -> String {
    let flags = [
        (state.is_monitoring, 'O'),
        (state.channels + state.patterns > 0, 'P'),
        (state.queued.is_some(), 'x'),
        (client.is_blocked(), 'b'),
        (tracker.is_some(), 't'),
        (tracker.is_some_and(Tracker::is_broken), 'R'),
        (tracker.is_some_and(Tracker::is_broadcast), 'B'),
        (state.is_spared, 'e'),
    ];
    let set: String = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| *letter).collect();
    if set.is_empty() { "N".to_owned() } else { set }
}

/// Shows the own session as it is in the midst of this request.
fn publish_own(call: &Call<'_, '_>, command: &'static str) {
    call.session.publish(command, call.now());
    let args = call.args;
    call.session.client.update(|state| {
        state.memory.query += args.buffer_bytes();
        state.memory.args = args.iter().map(<[u8]>::len).sum();
    });
}

pub(super) fn info(call: &mut Call<'_, '_>) -> CommandResult {
    publish_own(call, "client|info");
    let text = line(&call.session.client, call.server, call.now()) + "\n";
    call.reply.verbatim("txt", text.as_bytes());
    call.done()
}

/// Reads a type of clients.
fn parse_type(name: &[u8]) -> Result<ClientType, CommandError> {
    match name.to_ascii_lowercase().as_slice() {
        b"normal" => Ok(ClientType::Normal),
        b"pubsub" => Ok(ClientType::Listening),
        b"master" | b"slave" | b"replica" => Ok(ClientType::Server),
        _ => Err(CommandError::with_arg("ERR Unknown client type '", name, "'")),
    }
}

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientType {
    Normal,
    /// It listens to channels.
    Listening,
    /// It is another server: there is none.
    Server,
}

impl ClientType {
    fn of(client: &ClientInfo) -> Self {
        let state = client.state();
        if state.channels + state.patterns > 0 { Self::Listening } else { Self::Normal }
    }
}

pub(super) fn list(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, now) = (call.args, call.now());
    publish_own(call, "client|list");
    let mut clients = call.server.clients.all();
    if args.len() == 4 && args.is(2, "type") {
        let wanted = parse_type(args.at(3))?;
        clients.retain(|client| ClientType::of(client) == wanted);
    } else if args.len() > 3 && args.is(2, "id") {
        let ids = args.skip(3).iter().map(parse_integer).collect::<Option<Vec<_>>>();
        let ids = ids.ok_or(CommandError::fixed("ERR Invalid client ID"))?;
        let found = ids.into_iter().filter_map(|id| call.server.clients.get(u64::try_from(id).ok()?));
        clients = found.collect();
    } else if args.len() != 2 {
        return Err(CommandError::SYNTAX);
    }
    let text: String = clients.iter().map(|client| line(client, call.server, now) + "\n").collect();
    call.reply.verbatim("txt", text.as_bytes());
    call.done()
}

/// Which connections CLIENT KILL closes.
#[derive(Debug, Default)]
struct Filter<'a> {
    id: Option<u64>,
    kind: Option<ClientType>,
    user: Option<&'a [u8]>,
    address: Option<&'a [u8]>,
    local_address: Option<&'a [u8]>,
    spares_itself: bool,
}

impl<'a> Filter<'a> {
    fn read(call: &Call<'a, '_>) -> Result<Self, CommandError> {
        let args = call.args;
        let mut filter = Self { spares_itself: true, ..Self::default() };
        for at in (2..args.len()).step_by(2) {
            let value = args.get(at + 1).ok_or(CommandError::SYNTAX)?;
            match args.at(at).to_ascii_lowercase().as_slice() {
                b"id" => {
                    let id = parse_integer(value).and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0);
                    filter.id =
                        Some(id.ok_or(CommandError::fixed("ERR client-id should be greater than 0"))?);
                }
                b"type" => filter.kind = Some(parse_type(value)?),
                b"addr" => filter.address = Some(value),
                b"laddr" => filter.local_address = Some(value),
                b"user" if call.server.acl.user(value).is_some() => filter.user = Some(value),
                b"user" => return Err(CommandError::with_arg("ERR No such user '", value, "'")),
                b"skipme" if args.is(at + 1, "yes") => filter.spares_itself = true,
                b"skipme" if args.is(at + 1, "no") => filter.spares_itself = false,
                _ => return Err(CommandError::SYNTAX),
            }
        }
        Ok(filter)
    }

    fn takes(&self, client: &ClientInfo, own: u64) -> bool {
        self.kind.is_none_or(|kind| kind == ClientType::of(client))
            && self.user.is_none_or(|name| *name == *client.state().user)
            && self.id.is_none_or(|id| id == client.id())
            && self.address.is_none_or(|address| address == client.address().as_bytes())
            && self.local_address.is_none_or(|address| address == client.local_address().as_bytes())
            && !(self.spares_itself && client.id() == own)
    }
}

/// Closes connections: the own one after the reply.
pub(in crate::command) fn close_clients(call: &mut Call<'_, '_>, clients: &[Arc<ClientInfo>]) {
    for client in clients {
        if client.id() == call.session.id() {
            call.session.is_closing = true;
        } else {
            call.server.clients.kill(client);
        }
    }
}

pub(super) fn kill(call: &mut Call<'_, '_>) -> CommandResult {
    // The old form names an address only, and may close the own connection.
    let is_old = call.args.len() == 3;
    let filter = match is_old {
        true => Filter { address: call.args.get(2), ..Filter::default() },
        false => Filter::read(call)?,
    };
    let own = call.session.id();
    let all = call.server.clients.all();
    let killed: Vec<Arc<ClientInfo>> = all.into_iter().filter(|client| filter.takes(client, own)).collect();
    close_clients(call, &killed);
    match (is_old, killed.is_empty()) {
        (true, true) => Err(CommandError::fixed("ERR No such client")),
        (true, false) => call.ok(),
        (false, _) => call.count(killed.len()),
    }
}
