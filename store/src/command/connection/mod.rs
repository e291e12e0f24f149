//! Commands on the connection.
//!
//! | file | contents |
//! |---|---|
//! | `session` | PING, ECHO, SELECT, QUIT, RESET |
//! | `hello` | HELLO and AUTH |
//! | `client` | CLIENT: the own connection |
//! | `tracking` | CLIENT TRACKING, CACHING, TRACKINGINFO, GETREDIR |
//! | `pause` | CLIENT PAUSE and UNPAUSE |
//! | `listing` | CLIENT LIST and KILL: all connections |

mod client;
mod hello;
pub(super) mod listing;
mod pause;
mod session;
mod tracking;

use super::container::{container, help, list_subcommands};
use super::family::{FOR_ADMINISTRATORS, FOR_ALL, Family};
use super::{Call, Command, CommandResult, Flags, KeyPositions};
use hello::{auth, hello};
use session::{echo, ping, quit, reset, select};

/// The flags of commands that a session may send before it has logged in.
const BEFORE_LOGIN: &[Flags] =
    &[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::FAST, Flags::NO_AUTH, Flags::ALLOW_BUSY];

const FAMILY: Family = Family::new("connection", &["connection"]);

pub(super) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("ping", -1, ping).flags(&[Flags::FAST]).doc("1.0.0", "O(1)", "Ping the server"),
    Command::new("echo", 2, echo).flags(&[Flags::LOADING, Flags::STALE, Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Echo the given string",
    ),
    Command::new("select", 2, select).flags(&[Flags::LOADING, Flags::STALE, Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Change the selected database for the current connection",
    ),
    Command::new("hello", -1, hello).flags(BEFORE_LOGIN).doc("6.0.0", "O(1)", "Handshake with Redis"),
    Command::new("reset", 1, reset).flags(BEFORE_LOGIN).keys_from(KeyPositions::Watched).doc(
        "6.2.0",
        "O(1)",
        "Reset the connection",
    ),
    Command::new("quit", -1, quit).flags(BEFORE_LOGIN).doc("1.0.0", "O(1)", "Close the connection"),
    Command::new("auth", -2, auth).flags(BEFORE_LOGIN).doc(
        "1.0.0",
        "O(N) where N is the number of passwords defined for the user",
        "Authenticate to the server",
    ),
    Command::new("client", -2, container)
        .doc("2.4.0", "Depends on subcommand", "A container for client connection commands")
        .subcommands(CLIENT),
]);

/// The subcommands of CLIENT.
const CLIENT: &[Command] = &FAMILY.commands([
    Command::new("client|reply", 3, client::reply).flags(FOR_ALL).doc(
        "3.2.0",
        "O(1)",
        "Instruct the server whether to reply to commands",
    ),
    Command::new("client|pause", -3, pause::pause)
        .flags(FOR_ADMINISTRATORS)
        .flags(&[Flags::LOCKS_KEYS])
        .all_keys()
        .doc("2.9.50", "O(1)", "Stop processing commands from clients for some time"),
    Command::new("client|unpause", 2, pause::unpause).flags(FOR_ADMINISTRATORS).doc(
        "6.2.0",
        "O(N) Where N is the number of paused clients",
        "Resume processing of clients that were paused",
    ),
    help("client|help", list_own, "5.0.0"),
    Command::new("client|tracking", -3, tracking::set).flags(FOR_ALL).doc(
        "6.0.0",
        "O(1). Some options may introduce additional complexity.",
        "Enable or disable server assisted client side caching support",
    ),
    Command::new("client|caching", 3, tracking::caching).flags(FOR_ALL).doc(
        "6.0.0",
        "O(1)",
        "Instruct the server about tracking or not keys in the next request",
    ),
    Command::new("client|trackinginfo", 2, tracking::info).flags(FOR_ALL).doc(
        "6.2.0",
        "O(1)",
        "Return information about server assisted client side caching for the current connection",
    ),
    Command::new("client|getredir", 2, tracking::redirect).flags(FOR_ALL).doc(
        "6.0.0",
        "O(1)",
        "Get tracking notifications redirection client ID if any",
    ),
    Command::new("client|list", -2, listing::list).flags(FOR_ADMINISTRATORS).doc(
        "2.4.0",
        "O(N) where N is the number of client connections",
        "Get the list of client connections",
    ),
    Command::new("client|setname", 3, client::setname).flags(FOR_ALL).doc(
        "2.6.9",
        "O(1)",
        "Set the current connection name",
    ),
    Command::new("client|id", 2, client::id).flags(FOR_ALL).doc(
        "5.0.0",
        "O(1)",
        "Returns the client ID for the current connection",
    ),
    Command::new("client|getname", 2, client::getname).flags(FOR_ALL).doc(
        "2.6.9",
        "O(1)",
        "Get the current connection name",
    ),
    Command::new("client|no-evict", 3, client::no_evict).flags(FOR_ADMINISTRATORS).doc(
        "7.0.0",
        "O(1)",
        "Set client eviction mode for the current connection",
    ),
    Command::new("client|unblock", -3, client::unblock).flags(FOR_ADMINISTRATORS).doc(
        "5.0.0",
        "O(log N) where N is the number of client connections",
        "Unblock a client blocked in a blocking command from a different connection",
    ),
    Command::new("client|info", 2, listing::info).flags(FOR_ALL).doc(
        "6.2.0",
        "O(1)",
        "Returns information about the current client connection",
    ),
    Command::new("client|kill", -3, listing::kill).flags(FOR_ADMINISTRATORS).doc(
        "2.4.0",
        "O(N) where N is the number of client connections",
        "Kill the connection of a client",
    ),
]);

/// The help on the containers of this family.
fn list_own(call: &mut Call<'_, '_>) -> CommandResult {
    list_subcommands(call, COMMANDS)
}
