//! ACL CAT.

use super::super::error::printed;
use super::super::{Call, CommandError, CommandResult};
use super::wrong_arguments;
use crate::acl::{CATEGORIES, category, in_category};

/// The most bytes of a name in the error.
const MOST_SHOWN: usize = 128;

pub(super) fn cat(call: &mut Call<'_, '_>) -> CommandResult {
    let names: Vec<&str> = match call.args.len() {
        2 => CATEGORIES.to_vec(),
        3 => {
            let name = call.args.at(2);
            let unknown = || CommandError::with_arg("ERR Unknown category '", printed(name, MOST_SHOWN), "'");
            in_category(category(name).ok_or_else(unknown)?).collect()
        }
        _ => return Err(wrong_arguments(call)),
    };
    call.reply.array(names.len());
    names.iter().for_each(|name| call.reply.bulk(name.as_bytes()));
    call.done()
}
