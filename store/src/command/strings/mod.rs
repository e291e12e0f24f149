//! Commands on strings.

use super::{Call, Command, CommandResult, Flags};
use crate::value::{StringValue, Value};

pub(super) const COMMANDS: &[Command] = &[Command::new("strlen", 2, strlen)
    .flags(&[Flags::READONLY, Flags::FAST])
    .keys(1, 1, 1)
    .categories(&["string"])
    .doc("string", "2.2.0", "O(1)", "Get the length of the value stored in a key")];

fn strlen(call: &mut Call<'_, '_>) -> CommandResult {
    let value = call.keys.get(call.args.at(1));
    let length = value.map(Value::as_string).transpose()?.map_or(0, StringValue::len);
    call.count(length)
}
