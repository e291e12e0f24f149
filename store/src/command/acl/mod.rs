//! ACL: users and what they may do.
//!
//! | file | contents |
//! |---|---|
//! | `users` | SETUSER, DELUSER, LIST, USERS, WHOAMI |
//! | `getuser` | GETUSER |
//! | `categories` | CAT |
//! | `dryrun` | DRYRUN |
//! | `genpass` | GENPASS |
//! | `denied` | LOG |
//! | `storage` | LOAD, SAVE |

mod categories;
mod denied;
mod dryrun;
mod genpass;
mod getuser;
mod storage;
mod users;

use super::container::{container, write_help};
use super::{Call, Command, CommandError, CommandResult, Flags};

const FOR_ALL: &[Flags] = &[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE];
const FOR_ADMINISTRATORS: &[Flags] = &[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE];

pub(super) const COMMANDS: &[Command] = &[Command::new("acl", -2, container)
    .doc("server", "6.0.0", "Depends on subcommand.", "A container for Access List Control commands")
    .subcommands(&[
        Command::new("acl|cat", -2, categories::cat).flags(FOR_ALL).doc(
            "server",
            "6.0.0",
            "O(1) since the categories and commands are a fixed set.",
            "List the ACL categories or the commands inside a category",
        ),
        Command::new("acl|deluser", -3, users::deluser).flags(FOR_ADMINISTRATORS).doc(
            "server",
            "6.0.0",
            "O(1) amortized time considering the typical user.",
            "Remove the specified ACL users and the associated rules",
        ),
        Command::new("acl|dryrun", -4, dryrun::dryrun).flags(FOR_ADMINISTRATORS).doc(
            "server",
            "7.0.0",
            "O(1).",
            "Returns whether the user can execute the given command without executing the command.",
        ),
        Command::new("acl|genpass", -2, genpass::genpass).flags(FOR_ALL).doc(
            "server",
            "6.0.0",
            "O(1)",
            "Generate a pseudorandom secure password to use for ACL users",
        ),
        Command::new("acl|getuser", 3, getuser::getuser).flags(FOR_ADMINISTRATORS).doc(
            "server",
            "6.0.0",
            "O(N). Where N is the number of password, command and pattern rules that the user has.",
            "Get the rules for a specific ACL user",
        ),
        Command::new("acl|help", 2, show_help).flags(&[Flags::LOADING, Flags::STALE]).doc(
            "server",
            "6.0.0",
            "O(1)",
            "Show helpful text about the different subcommands",
        ),
        Command::new("acl|list", 2, users::list).flags(FOR_ADMINISTRATORS).doc(
            "server",
            "6.0.0",
            "O(N). Where N is the number of configured users.",
            "List the current ACL rules in ACL config file format",
        ),
        Command::new("acl|load", 2, storage::load).flags(FOR_ADMINISTRATORS).doc(
            "server",
            "6.0.0",
            "O(N). Where N is the number of configured users.",
            "Reload the ACLs from the configured ACL file",
        ),
        Command::new("acl|log", -2, denied::log).flags(FOR_ADMINISTRATORS).doc(
            "server",
            "6.0.0",
            "O(N) with N being the number of entries shown.",
            "List latest events denied because of ACLs in place",
        ),
        Command::new("acl|save", 2, storage::save).flags(FOR_ADMINISTRATORS).doc(
            "server",
            "6.0.0",
            "O(N). Where N is the number of configured users.",
            "Save the current ACL rules in the configured ACL file",
        ),
        Command::new("acl|setuser", -3, users::setuser).flags(FOR_ADMINISTRATORS).doc(
            "server",
            "6.0.0",
            "O(N). Where N is the number of rules provided.",
            "Modify or create the rules for a specific ACL user",
        ),
        Command::new("acl|users", 2, users::names).flags(FOR_ADMINISTRATORS).doc(
            "server",
            "6.0.0",
            "O(N). Where N is the number of configured users.",
            "List the username of all the configured ACL rules",
        ),
        Command::new("acl|whoami", 2, users::whoami).flags(FOR_ALL).doc(
            "server",
            "6.0.0",
            "O(1)",
            "Return the name of the user associated to the current connection",
        ),
    ])];

const HELP: &[&str] = &[
    "ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "CAT [<category>]",
    "    The categories of commands, or the commands of one.",
    "DELUSER <username> [<username> ...]",
    "    Remove users, and close their connections.",
    "DRYRUN <username> <command> [<arg> ...]",
    "    Whether a user may run a command, which is not run.",
    "GENPASS [<bits>]",
    "    A random password in hexadecimal digits, of 256 bits if not asked for others.",
    "GETUSER <username>",
    "    The flags, passwords and rules of a user.",
    "LIST",
    "    All users, as lines of a file.",
    "LOAD",
    "    Read the users from the file of the setting aclfile.",
    "LOG [<count> | RESET]",
    "    The last requests that were refused.",
    "SAVE",
    "    Write the users to that file.",
    "SETUSER <username> <attribute> [<attribute> ...]",
    "    Make or change a user.",
    "USERS",
    "    The names of all users.",
    "WHOAMI",
    "    The user of this connection.",
    "HELP",
    "    This text.",
];

fn show_help(call: &mut Call<'_, '_>) -> CommandResult {
    write_help(call, HELP)
}

/// Returns the error of a subcommand that has too many arguments.
fn wrong_arguments(call: &Call<'_, '_>) -> CommandError {
    let before = "ERR unknown subcommand or wrong number of arguments for '";
    CommandError::with_arg(before, call.args.at(1), "'. Try ACL HELP.")
}
