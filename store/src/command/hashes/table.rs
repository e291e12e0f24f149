//! The commands on hashes in the table of commands, in the words of Redis.

use super::{fields, numbers, whole};
use crate::command::{Command, Family, Flags};

const FAMILY: Family = Family::new("hash", &["hash"]);

pub(in crate::command) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("hset", -4, fields::hset).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "2.0.0",
        "O(1) for each field/value pair added, so O(N) to add N field/value pairs when the command is \
         called with multiple field/value pairs.",
        "Set the string value of a hash field",
    ),
    Command::new("hmset", -4, fields::hmset).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "2.0.0",
        "O(N) where N is the number of fields being set.",
        "Set multiple hash fields to multiple values",
    ),
    Command::new("hsetnx", 4, fields::hsetnx).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "2.0.0",
        "O(1)",
        "Set the value of a hash field, only if the field does not exist",
    ),
    Command::reading("hget", 3, fields::hget).flags(&[Flags::FAST]).doc(
        "2.0.0",
        "O(1)",
        "Get the value of a hash field",
    ),
    Command::new("hmget", -3, fields::hmget).reads_key().flags(&[Flags::FAST]).doc(
        "2.0.0",
        "O(N) where N is the number of fields being requested.",
        "Get the values of all the given hash fields",
    ),
    Command::new("hgetall", 2, whole::hgetall).reads_key().doc(
        "2.0.0",
        "O(N) where N is the size of the hash.",
        "Get all the fields and values in a hash",
    ),
    Command::new("hdel", -3, fields::hdel).writes_key().flags(&[Flags::FAST]).doc(
        "2.0.0",
        "O(N) where N is the number of fields to be removed.",
        "Delete one or more hash fields",
    ),
    Command::reading("hlen", 2, fields::hlen).flags(&[Flags::FAST]).doc(
        "2.0.0",
        "O(1)",
        "Get the number of fields in a hash",
    ),
    Command::new("hexists", 3, fields::hexists).reads_key().flags(&[Flags::FAST]).doc(
        "2.0.0",
        "O(1)",
        "Determine if a hash field exists",
    ),
    Command::new("hkeys", 2, whole::hkeys).reads_key().doc(
        "2.0.0",
        "O(N) where N is the size of the hash.",
        "Get all the fields in a hash",
    ),
    Command::new("hvals", 2, whole::hvals).reads_key().doc(
        "2.0.0",
        "O(N) where N is the size of the hash.",
        "Get all the values in a hash",
    ),
    Command::new("hstrlen", 3, fields::hstrlen).reads_key().flags(&[Flags::FAST]).doc(
        "3.2.0",
        "O(1)",
        "Get the length of the value of a hash field",
    ),
    Command::new("hincrby", 4, numbers::hincrby).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "2.0.0",
        "O(1)",
        "Increment the integer value of a hash field by the given number",
    ),
    Command::new("hincrbyfloat", 4, numbers::hincrbyfloat)
        .writes_key()
        .flags(&[Flags::DENYOOM, Flags::FAST])
        .doc("2.6.0", "O(1)", "Increment the float value of a hash field by the given amount"),
    Command::new("hrandfield", -2, whole::hrandfield).reads_key().doc(
        "6.2.0",
        "O(N) where N is the number of fields returned",
        "Get one or multiple random fields from a hash",
    ),
    Command::new("hscan", -3, whole::hscan).reads_key().doc(
        "2.8.0",
        "O(1) for every call. O(N) for a complete iteration, including enough command calls for the \
         cursor to return back to 0. N is the number of elements inside the collection..",
        "Incrementally iterate hash fields and associated values",
    ),
]);
