//! HELLO and AUTH.

use super::super::rights::note_wrong_password;
use super::super::{Call, CommandError, CommandResult};
use super::client::set_name;
use crate::resp::{Protocol, parse_integer};
use crate::server::REDIS_VERSION;

const WRONG_PASSWORD: CommandError =
    CommandError::fixed("WRONGPASS invalid username-password pair or user is disabled.");

/// Authenticates the session as a user.
fn authenticate(call: &mut Call<'_, '_>, user: &[u8], password: &[u8]) -> Result<(), CommandError> {
    if call.session.log_in(&call.server.acl, user, password) {
        return Ok(());
    }
    note_wrong_password(call.args, user, call.session, call.server, call.is_queued, call.now());
    Err(WRONG_PASSWORD)
}

pub(super) fn auth(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    match args.len() {
        2 if call.server.acl.accepts_any_password() => {
            return Err(CommandError::fixed(
                "ERR AUTH <password> called without any password configured for the default user. Are you \
                 sure your configuration is correct?",
            ));
        }
        2 => authenticate(call, b"default", args.at(1))?,
        3 => authenticate(call, args.at(1), args.at(2))?,
        _ => return Err(CommandError::SYNTAX),
    }
    call.ok()
}

pub(super) fn hello(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let mut protocol = call.session.protocol;
    if let Some(version) = args.get(1) {
        protocol = match parse_integer(version) {
            Some(2) => Protocol::Two,
            Some(3) => Protocol::Three,
            Some(_) => return Err(CommandError::fixed("NOPROTO unsupported protocol version")),
            None => {
                return Err(CommandError::fixed("ERR Protocol version is not an integer or out of range"));
            }
        };
    }
    let mut at = 2;
    while at < args.len() {
        if args.is(at, "auth") && at + 2 < args.len() {
            authenticate(call, args.at(at + 1), args.at(at + 2))?;
            at += 3;
        } else if args.is(at, "setname") && at + 1 < args.len() {
            set_name(call, args.at(at + 1))?;
            at += 2;
        } else {
            return Err(CommandError::with_arg("ERR Syntax error in HELLO option '", args.at(at), "'"));
        }
    }
    if !call.session.is_authenticated {
        return Err(CommandError::fixed(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH \
             <user> <pass> option can be used to authenticate the client and select the RESP protocol \
             version at the same time",
        ));
    }
    call.session.protocol = protocol;
    call.reply.set_protocol(protocol);
    write_greeting(call);
    call.done()
}

fn write_greeting(call: &mut Call<'_, '_>) {
    let version = if call.session.protocol == Protocol::Two { 2 } else { 3 };
    let id = i64::try_from(call.session.id()).unwrap_or(i64::MAX);
    let reply = &mut *call.reply;
    reply.map(7);
    for (name, value) in [("server", "redis"), ("version", REDIS_VERSION)] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    for (name, value) in [("proto", version), ("id", id)] {
        reply.bulk(name.as_bytes());
        reply.integer(value);
    }
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    reply.array(0);
}
