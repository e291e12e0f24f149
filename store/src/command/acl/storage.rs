//! ACL LOAD and SAVE.

use super::super::{Call, CommandError, CommandResult};
use super::users::{close_users, end_forbidden_listeners};

const NO_FILE: CommandError = CommandError::fixed(
    "ERR This Redis instance is not configured to use an ACL file. Start it with the setting aclfile to keep \
     users in a file, or with lines `user`.",
);

pub(super) fn load(call: &mut Call<'_, '_>) -> CommandResult {
    let path = call.server.user_file().ok_or(NO_FILE)?;
    call.server.load_users(&path).map_err(|error| CommandError::new(format!("ERR {error}")))?;
    close_users(call, |name| name != b"default");
    // Others have gone with their users.
    end_forbidden_listeners(call, b"default");
    call.ok()
}

pub(super) fn save(call: &mut Call<'_, '_>) -> CommandResult {
    let path = call.server.user_file().ok_or(NO_FILE)?;
    call.server.acl.save(&path).map_err(|error| {
        CommandError::new(format!("ERR There was an error trying to save the ACLs: {error}"))
    })?;
    call.ok()
}
