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
    if let Some(denial) = find_denial(command, args, session) {
        note_denied(shown(denial, command, args), command, session, server, context, now);
        return Err(refusal(command, denial));
    }
    match find_unreachable(command, args, session) {
        None => Ok(()),
        Some(error) => {
            note_unreachable(command, session, server, context, now);
            Err(error)
        }
    }
}

/// Returns the error for a request that reaches keys which are not among its arguments, if the user
/// may not read or write all keys.
fn find_unreachable(
    command: &'static Command,
    args: Args<'_>,
    session: &mut Session,
) -> Option<CommandError> {
    let Reach { is_write, refusal } = command.reach.and_then(|reach| reach(args))?;
    let login = &mut session.login;
    let is_allowed =
        session.is_leaving || login.has_all_rights() || login.user().allows_all_keys(command, args, is_write);
    (!is_allowed).then_some(refusal)
}

fn note_unreachable(
    command: &'static Command,
    session: &Session,
    server: &Server,
    context: &'static str,
    now: u64,
) {
    if !planted!("reach-denied-unlogged") {
        note_denied((DenialReason::Key, ALL_KEYS), command, session, server, context, now);
    }
}

/// Why EXEC does not run a request: its right is gone since it was queued.
#[derive(Debug)]
pub(crate) enum QueuedRefusal {
    /// The rights to what is among its arguments.
    Denied(Denial),
    /// That to all keys.
    Unreachable(CommandError),
}

/// Returns why EXEC is not to run a request, if its right is gone. It needs no key, and notes
/// nothing: EXEC may yet end without running any.
pub(crate) fn find_queued_refusal(
    command: &'static Command,
    args: Args<'_>,
    session: &mut Session,
) -> Option<QueuedRefusal> {
    if planted!("queued-rights-unchecked") {
        return None;
    }
    match find_denial(command, args, session) {
        Some(denial) => Some(QueuedRefusal::Denied(denial)),
        None => find_unreachable(command, args, session).map(QueuedRefusal::Unreachable),
    }
}

/// Notes that EXEC does not run a request. Returns its error.
pub(crate) fn refuse_queued(
    refusal: &QueuedRefusal,
    command: &'static Command,
    args: Args<'_>,
    session: &Session,
    server: &Server,
    now: u64,
) -> CommandError {
    let reason = match refusal {
        QueuedRefusal::Unreachable(error) => {
            note_unreachable(command, session, server, "multi", now);
            return error.clone();
        }
        QueuedRefusal::Denied(denial) => {
            note_denied(shown(*denial, command, args), command, session, server, "multi", now);
            match denial {
                Denial::Command => "no permission to execute the command or subcommand",
                Denial::Key(_) => "no permission to touch the specified keys",
                Denial::Channel(_) => "no permission to access one of the channels used as arguments",
            }
        }
    };
    CommandError::new(format!(
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. \
         This command is no longer allowed for the following reason: {reason}"
    ))
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

/// Returns why a request is refused for what is among its arguments, if it is.
#[cold]
fn find_denial(command: &'static Command, args: Args<'_>, session: &mut Session) -> Option<Denial> {
    // What a session that has ended still runs is the engine's own.
    if session.is_leaving || session.login.has_all_rights() {
        return None;
    }
    session.login.user().check(command, args).err()
}

/// Returns what ACL LOG shows of a denial.
fn shown<'a>(denial: Denial, command: &'static Command, args: Args<'a>) -> (DenialReason, &'a [u8]) {
    match denial {
        Denial::Command => (DenialReason::Command, command.name.as_bytes()),
        Denial::Key(at) => (DenialReason::Key, args.at(at)),
        Denial::Channel(at) => (DenialReason::Channel, args.at(at)),
    }
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
