//! ACL LOAD and SAVE.

use super::super::{Call, CommandError, CommandResult};
use super::users::close_users;
use crate::acl::{save_file, show_line};

const NO_FILE: CommandError = CommandError::fixed(
    "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL \
     SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in \
     order to store users in the Redis configuration.",
);

pub(super) fn load(call: &mut Call<'_, '_>) -> CommandResult {
    let path = call.server.user_file().ok_or(NO_FILE)?;
    call.server.load_users(&path).map_err(|error| CommandError::new(format!("ERR {error}")))?;
    close_users(call, |name| name != b"default");
    call.ok()
}

pub(super) fn save(call: &mut Call<'_, '_>) -> CommandResult {
    let path = call.server.user_file().ok_or(NO_FILE)?;
    let users = call.server.acl.users();
    let lines: Vec<_> = users.iter().map(|(name, user)| show_line(name, user)).collect();
    save_file(&path, &lines).map_err(|error| {
        CommandError::new(format!("ERR There was an error trying to save the ACLs: {error}"))
    })?;
    call.ok()
}
