//! MONITOR: each request as a line.

use super::super::{Call, Command, CommandError, CommandResult, Flags};
use super::redact::shown_args;
use crate::resp::Args;
use crate::server::{Reason, Server};
use crate::session::Session;

pub(super) fn monitor(call: &mut Call<'_, '_>) -> CommandResult {
    if call.is_queued {
        return Err(CommandError::fixed("ERR MONITOR isn't allowed for DENY BLOCKING client"));
    }
    // A session that follows already gets no second reply, as in Redis.
    if call.session.is_monitoring {
        return call.done();
    }
    call.session.is_monitoring = true;
    call.server.begin_monitor(&call.session.client);
    call.ok()
}

/// Shows a request that has run to the sessions that follow.
#[inline]
pub(crate) fn show(server: &Server, session: &Session, command: &Command, args: Args<'_>, now: u64) {
    if server.attention.has(Reason::MONITORED) && !session.is_leaving {
        show_to_all(server, session, command, args, now);
    }
}

#[cold]
fn show_to_all(server: &Server, session: &Session, command: &Command, args: Args<'_>, now: u64) {
    if command.flags.has(Flags::SKIP_MONITOR) || command.flags.has(Flags::ADMIN) {
        return;
    }
    let mut line = format!("{}.{:06} [{} ", now / 1000, now % 1000 * 1000, session.database).into_bytes();
    let address = session.client.address();
    match address.strip_suffix(":0").filter(|path| path.starts_with('/')) {
        Some(path) => line.extend_from_slice(["unix:", path].concat().as_bytes()),
        None => line.extend_from_slice(address.as_bytes()),
    }
    line.push(b']');
    for arg in shown_args(command, args) {
        line.push(b' ');
        quote(arg, &mut line);
    }
    server.tell_monitors(line);
}

/// Writes an argument in quotes, in letters that can be printed.
fn quote(arg: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    for &byte in arg {
        match byte {
            b'\\' | b'"' => line.extend_from_slice(&[b'\\', byte]),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\t' => line.extend_from_slice(b"\\t"),
            7 => line.extend_from_slice(b"\\a"),
            8 => line.extend_from_slice(b"\\b"),
            b' '..=b'~' => line.push(byte),
            _ => line.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
        }
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn arguments_are_quoted_as_redis_does() {
        let mut line = Vec::new();
        quote(b"a b\"\\\n\r\t\x07\x08\x00\xff", &mut line);
        assert_eq!(line, br#""a b\"\\\n\r\t\a\b\x00\xff""#);
    }
}
