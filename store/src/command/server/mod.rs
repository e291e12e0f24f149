//! Commands on the server.
//!
//! | file | contents |
//! |---|---|
//! | `introspection` | COMMAND: what the table says |
//! | `docs` | COMMAND DOCS: what the documentation says |
//! | `key_specs`, `tips` | what it says of keys, and to proxies |
//! | `config` | CONFIG |
//! | `info` | INFO |
//! | `info_statistics` | its sections on commands and errors |
//! | `persistence` | SAVE, BGSAVE, LASTSAVE |
//! | `debug` | DEBUG |
//! | `memory` | MEMORY |
//! | `shutdown` | SHUTDOWN |
//! | `replication` | ROLE, WAIT: there are no replicas |
//! | `lolwut` | LOLWUT |

mod config;
mod debug;
mod docs;
mod info;
mod info_statistics;
mod introspection;
mod key_specs;
mod lolwut;
mod memory;
mod persistence;
mod replication;
mod shutdown;
mod tips;

use super::container::{container, help, list_subcommands};
use super::family::{FOR_ADMINISTRATORS, Family};
use super::{Call, Command, CommandError, CommandResult, Flags};
use debug::{debug, debug_keys};
use info::info;
use lolwut::lolwut;

const WHILE_LOADING: &[Flags] = &[Flags::LOADING, Flags::STALE];

const FAMILY: Family = Family::new("server", &[]);
const FUNCTIONS: Family = Family::new("scripting", &["scripting"]);

pub(super) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("command", -1, introspection::all)
        .flags(WHILE_LOADING)
        .categories(&["connection"])
        .doc(
            "2.8.13",
            "O(N) where N is the total number of Redis commands",
            "Get array of Redis command details",
        )
        .subcommands(INTROSPECTION),
    Command::new("config", -2, container)
        .doc("2.0.0", "Depends on subcommand", "A container for server configuration commands")
        .subcommands(&FAMILY.commands([
            Command::new("config|rewrite", 2, config::rewrite).flags(FOR_ADMINISTRATORS).doc(
                "2.8.0",
                "O(1)",
                "Rewrite the configuration file with the in memory configuration",
            ),
            help("config|help", list_own, "5.0.0"),
            Command::new("config|resetstat", 2, config::resetstat).flags(FOR_ADMINISTRATORS).all_keys().doc(
                "2.0.0",
                "O(1)",
                "Reset the stats returned by INFO",
            ),
            Command::new("config|get", -3, config::get).flags(FOR_ADMINISTRATORS).doc(
                "2.0.0",
                "O(N) when N is the number of configuration parameters provided",
                "Get the values of configuration parameters",
            ),
            Command::new("config|set", -4, config::set).flags(FOR_ADMINISTRATORS).doc(
                "2.0.0",
                "O(N) when N is the number of configuration parameters provided",
                "Set configuration parameters to the given values",
            ),
        ])),
    Command::new("info", -1, info).flags(WHILE_LOADING).all_keys().categories(&["dangerous"]).doc(
        "1.0.0",
        "O(1)",
        "Get information and statistics about the server",
    ),
    Command::new("shutdown", -1, shutdown::shutdown)
        .flags(FOR_ADMINISTRATORS)
        .flags(&[Flags::NO_MULTI, Flags::ALLOW_BUSY])
        .doc(
            "1.0.0",
            "O(N) when saving, where N is the total number of keys in all databases when saving data, \
             otherwise O(1)",
            "Synchronously save the dataset to disk and then shut down the server",
        ),
    Command::new("role", 1, replication::role)
        .flags(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .doc("2.8.12", "O(1)", "Return the role of the instance in the context of replication"),
    Command::new("wait", 3, replication::wait)
        .flags(&[Flags::NOSCRIPT])
        .categories(&["connection"])
        .group("generic")
        .doc(
            "3.0.0",
            "O(1)",
            "Wait for the synchronous replication of all the write commands sent in the context of the \
             current connection",
        ),
    Command::new("lolwut", -1, lolwut).flags(&[Flags::READONLY, Flags::FAST]).doc(
        "5.0.0",
        "",
        "Display some computer art and the Redis version",
    ),
    Command::new("time", 1, time).flags(&[Flags::LOADING, Flags::STALE, Flags::FAST]).doc(
        "2.6.0",
        "O(1)",
        "Return the current server time",
    ),
    Command::new("save", 1, persistence::save)
        .flags(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::NO_ASYNC_LOADING, Flags::NO_MULTI])
        .doc(
            "1.0.0",
            "O(N) where N is the total number of keys in all databases",
            "Synchronously save the dataset to disk",
        ),
    Command::new("bgsave", -1, persistence::bgsave)
        .flags(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::NO_ASYNC_LOADING])
        .doc("1.0.0", "O(1)", "Asynchronously save the dataset to disk"),
    Command::new("bgrewriteaof", 1, persistence::bgrewriteaof)
        .flags(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::NO_ASYNC_LOADING])
        .doc("1.0.0", "O(1)", "Asynchronously rewrite the append-only file to disk"),
    Command::new("lastsave", 1, persistence::lastsave)
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .doc("1.0.0", "O(1)", "Get the UNIX time stamp of the last successful save to disk"),
    Command::new("debug", -2, debug).flags(FOR_ADMINISTRATORS).keys_by(debug_keys).doc(
        "1.0.0",
        "Depends on subcommand",
        "A container for debugging commands",
    ),
    Command::new("memory", -2, container)
        .doc("4.0.0", "Depends on subcommand", "A container for memory diagnostics commands")
        .subcommands(&FAMILY.commands([
            help("memory|help", list_own, "4.0.0"),
            Command::new("memory|malloc-stats", 2, memory::malloc_stats).doc(
                "4.0.0",
                "Depends on how much memory is allocated, could be slow",
                "Show allocator internal stats",
            ),
            Command::new("memory|purge", 2, memory::purge).doc(
                "4.0.0",
                "Depends on how much memory is allocated, could be slow",
                "Ask the allocator to release memory",
            ),
            Command::new("memory|usage", -3, memory::usage).flags(&[Flags::READONLY]).keys(2, 2, 1).doc(
                "4.0.0",
                "O(N) where N is the number of samples.",
                "Estimate the memory usage of a key",
            ),
            Command::new("memory|stats", 2, memory::stats).all_keys().doc(
                "4.0.0",
                "O(1)",
                "Show memory usage details",
            ),
            Command::new("memory|doctor", 2, memory::doctor).doc(
                "4.0.0",
                "O(1)",
                "Outputs memory problems report",
            ),
        ])),
    Command::new("function", -2, container)
        .group("scripting")
        .doc("7.0.0", "Depends on subcommand", "A container for function commands")
        .subcommands(&FUNCTIONS.commands([
            help("function|help", list_own, "7.0.0"),
            Command::new("function|flush", -2, function_flush).flags(&[Flags::WRITE, Flags::NOSCRIPT]).doc(
                "7.0.0",
                "O(N) where N is the number of functions deleted",
                "Deleting all functions",
            ),
        ])),
]);

/// The subcommands of COMMAND.
const INTROSPECTION: &[Command] = &Family::new("server", &["connection"]).commands([
    Command::new("command|list", -2, introspection::list).flags(WHILE_LOADING).doc(
        "7.0.0",
        "O(N) where N is the total number of Redis commands",
        "Get an array of Redis command names",
    ),
    help("command|help", list_own, "5.0.0"),
    Command::new("command|getkeysandflags", -4, introspection::getkeysandflags).flags(WHILE_LOADING).doc(
        "7.0.0",
        "O(N) where N is the number of arguments to the command",
        "Extract keys and access flags given a full Redis command",
    ),
    Command::new("command|getkeys", -4, introspection::getkeys).flags(WHILE_LOADING).doc(
        "2.8.13",
        "O(N) where N is the number of arguments to the command",
        "Extract keys given a full Redis command",
    ),
    Command::new("command|info", -2, introspection::info).flags(WHILE_LOADING).doc(
        "2.8.13",
        "O(N) where N is the number of commands to look up",
        "Get array of specific Redis command details",
    ),
    Command::new("command|count", 2, introspection::count).flags(WHILE_LOADING).doc(
        "2.8.13",
        "O(1)",
        "Get total number of Redis commands",
    ),
    Command::new("command|docs", -2, docs::docs).flags(WHILE_LOADING).doc(
        "7.0.0",
        "O(N) where N is the number of commands to look up",
        "Get array of specific Redis command documentation",
    ),
]);

/// The help on the containers of this family.
fn list_own(call: &mut Call<'_, '_>) -> CommandResult {
    list_subcommands(call, COMMANDS)
}

fn time(call: &mut Call<'_, '_>) -> CommandResult {
    let now = call.now();
    call.reply.array(2);
    call.reply.bulk((now / 1000).to_string().as_bytes());
    call.reply.bulk((now % 1000 * 1000).to_string().as_bytes());
    call.done()
}

/// There are no functions, so none is left.
fn function_flush(call: &mut Call<'_, '_>) -> CommandResult {
    match call.args.len() {
        2 => call.ok(),
        3 if call.args.is(2, "async") || call.args.is(2, "sync") => call.ok(),
        3 => Err(CommandError::fixed("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")),
        _ => {
            let before = "ERR unknown subcommand or wrong number of arguments for '";
            Err(CommandError::with_arg(before, call.args.at(1), "'. Try FUNCTION HELP."))
        }
    }
}
