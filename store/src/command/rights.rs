//! Checks requests against the rights of their user.

use super::connection::listing::line;
use super::{Command, CommandError};
use crate::acl::{Denial, DenialReason, DeniedRequest, shortened};
use crate::resp::Args;
use crate::server::{Server, Setting};
use crate::session::Session;

/// The right that a request needs on keys which are not among its arguments: on all of them.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) is_write: bool,
    /// The error without that right.
    pub(crate) refusal: CommandError,
}

/// What ACL LOG shows if the right on all keys is missing.
const ALL_KEYS: &[u8] = b"*";

/// Checks that a session may run a request now, before it is queued or run. It needs no key, so a
/// request that is refused takes no shards.
///
/// # Errors
///
/// Redis' error if its user may not; ACL LOG shows it then.
#[inline]
pub(crate) fn check_rights(
    command: &'static Command,
    args: Args<'_>,
    session: &mut Session,
    server: &Server,
    now: u64,
) -> Result<(), CommandError> {
    if session.login.has_all_rights() {
        return Ok(());
    }
    let context = if session.is_in_transaction() { "multi" } else { "toplevel" };
    match denied(command, args, session, server, context, now) {
        Some(denial) => Err(refusal(command, denial)),
        None => check_reach(command, args, session, server, context, now),
    }
}

/// Checks that the user may read or write all keys, if the request reaches some that are not among
/// its arguments.
fn check_reach(
    command: &'static Command,
    args: Args<'_>,
    session: &mut Session,
    server: &Server,
    context: &'static str,
    now: u64,
) -> Result<(), CommandError> {
    let Some(Reach { is_write, refusal }) = command.reach.and_then(|reach| reach(args)) else {
        return Ok(());
    };
    let login = &mut session.login;
    let is_allowed =
        session.is_leaving || login.has_all_rights() || login.user().allows_all_keys(command, args, is_write);
    if is_allowed {
        return Ok(());
    }
    if !planted!("reach-denied-unlogged") {
        note_denied((DenialReason::Key, ALL_KEYS), command, session, server, context, now);
    }
    Err(refusal)
}

/// Checks a request that EXEC runs: rights may have changed since it was queued.
///
/// # Errors
///
/// As [`check_rights`], in other words.
pub(crate) fn check_queued(
    command: &'static Command,
    args: Args<'_>,
    session: &mut Session,
    server: &Server,
    now: u64,
) -> Result<(), CommandError> {
    let reason = match denied(command, args, session, server, "multi", now) {
        None => return check_reach(command, args, session, server, "multi", now),
        Some(Denial::Command) => "no permission to execute the command or subcommand",
        Some(Denial::Key(_)) => "no permission to touch the specified keys",
        Some(Denial::Channel(_)) => "no permission to access one of the channels used as arguments",
    };
    Err(CommandError::new(format!(
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. \
         This command is no longer allowed for the following reason: {reason}"
    )))
}

fn refusal(command: &Command, denial: Denial) -> CommandError {
    let before = "NOPERM this user has no permissions to";
    match denial {
        Denial::Command => CommandError::new(format!("{before} run the '{}' command", command.name)),
        Denial::Key(_) => CommandError::new(format!("{before} access one of the keys used as arguments")),
        Denial::Channel(_) => {
            CommandError::new(format!("{before} access one of the channels used as arguments"))
        }
    }
}

/// Returns why a request is refused, if it is, after it was noted.
#[cold]
fn denied(
    command: &'static Command,
    args: Args<'_>,
    session: &mut Session,
    server: &Server,
    context: &'static str,
    now: u64,
) -> Option<Denial> {
    // What a session that has ended still runs is the engine's own.
    if session.is_leaving || session.login.has_all_rights() {
        return None;
    }
    let denial = session.login.user().check(command, args).err()?;
    let (reason, object) = match denial {
        Denial::Command => (DenialReason::Command, command.name.as_bytes()),
        Denial::Key(at) => (DenialReason::Key, args.at(at)),
        Denial::Channel(at) => (DenialReason::Channel, args.at(at)),
    };
    note_denied((reason, object), command, session, server, context, now);
    Some(denial)
}

/// Notes why a request is refused, and for what.
#[cold]
fn note_denied(
    (reason, object): (DenialReason, &[u8]),
    command: &'static Command,
    session: &Session,
    server: &Server,
    context: &'static str,
    now: u64,
) {
    let user = session.login.account().name().clone();
    session.publish(command.name, now);
    let denied = DeniedRequest {
        reason,
        context,
        object: shortened(object),
        user: shortened(&user),
        client: line(&session.client, server, now),
        at: now,
        count: 1,
    };
    note(server, denied);
}

/// Notes that a client has given a wrong name or password.
pub(crate) fn note_wrong_password(
    args: Args<'_>,
    user: &[u8],
    session: &Session,
    server: &Server,
    is_queued: bool,
    now: u64,
) {
    let denied = DeniedRequest {
        reason: DenialReason::Auth,
        context: if is_queued { "multi" } else { "toplevel" },
        object: shortened(args.at(0)),
        user: shortened(user),
        client: line(&session.client, server, now),
        at: now,
        count: 1,
    };
    note(server, denied);
}

fn note(server: &Server, denied: DeniedRequest) {
    let most = usize::try_from(server.settings.number(Setting::AclLogMaxLen)).unwrap_or(usize::MAX);
    server.acl.denials.push(denied, most);
}
