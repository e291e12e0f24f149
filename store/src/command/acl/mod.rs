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

use super::container::{container, help, list_subcommands};
use super::family::{FOR_ADMINISTRATORS, FOR_ALL, Family};
use super::{Call, Command, CommandError, CommandResult};

const FAMILY: Family = Family::new("server", &[]);

pub(super) const COMMANDS: &[Command] = &FAMILY.commands([Command::new("acl", -2, container)
    .doc("6.0.0", "Depends on subcommand.", "A container for Access List Control commands")
    .subcommands(&FAMILY.commands([
        Command::new("acl|cat", -2, categories::cat).flags(FOR_ALL).doc(
            "6.0.0",
            "O(1) since the categories and commands are a fixed set.",
            "List the ACL categories or the commands inside a category",
        ),
        Command::new("acl|deluser", -3, users::deluser).flags(FOR_ADMINISTRATORS).doc(
            "6.0.0",
            "O(1) amortized time considering the typical user.",
            "Remove the specified ACL users and the associated rules",
        ),
        Command::new("acl|dryrun", -4, dryrun::dryrun).flags(FOR_ADMINISTRATORS).doc(
            "7.0.0",
            "O(1).",
            "Returns whether the user can execute the given command without executing the command.",
        ),
        Command::new("acl|genpass", -2, genpass::genpass).flags(FOR_ALL).doc(
            "6.0.0",
            "O(1)",
            "Generate a pseudorandom secure password to use for ACL users",
        ),
        Command::new("acl|getuser", 3, getuser::getuser).flags(FOR_ADMINISTRATORS).doc(
            "6.0.0",
            "O(N). Where N is the number of password, command and pattern rules that the user has.",
            "Get the rules for a specific ACL user",
        ),
        help("acl|help", list_own, "6.0.0"),
        Command::new("acl|list", 2, users::list).flags(FOR_ADMINISTRATORS).doc(
            "6.0.0",
            "O(N). Where N is the number of configured users.",
            "List the current ACL rules in ACL config file format",
        ),
        Command::new("acl|load", 2, storage::load).flags(FOR_ADMINISTRATORS).doc(
            "6.0.0",
            "O(N). Where N is the number of configured users.",
            "Reload the ACLs from the configured ACL file",
        ),
        Command::new("acl|log", -2, denied::log).flags(FOR_ADMINISTRATORS).doc(
            "6.0.0",
            "O(N) with N being the number of entries shown.",
            "List latest events denied because of ACLs in place",
        ),
        Command::new("acl|save", 2, storage::save).flags(FOR_ADMINISTRATORS).doc(
            "6.0.0",
            "O(N). Where N is the number of configured users.",
            "Save the current ACL rules in the configured ACL file",
        ),
        Command::new("acl|setuser", -3, users::setuser).flags(FOR_ADMINISTRATORS).doc(
            "6.0.0",
            "O(N). Where N is the number of rules provided.",
            "Modify or create the rules for a specific ACL user",
        ),
        Command::new("acl|users", 2, users::names).flags(FOR_ADMINISTRATORS).doc(
            "6.0.0",
            "O(N). Where N is the number of configured users.",
            "List the username of all the configured ACL rules",
        ),
        Command::new("acl|whoami", 2, users::whoami).flags(FOR_ALL).doc(
            "6.0.0",
            "O(1)",
            "Return the name of the user associated to the current connection",
        ),
    ]))]);

/// The help on the container.
fn list_own(call: &mut Call<'_, '_>) -> CommandResult {
    list_subcommands(call, COMMANDS)
}

/// Returns the error of a subcommand that has too many arguments.
fn wrong_arguments(call: &Call<'_, '_>) -> CommandError {
    let before = "ERR unknown subcommand or wrong number of arguments for '";
    CommandError::with_arg(before, call.args.at(1), "'. Try ACL HELP.")
}
