//! Commands on keys of any type, and on the keyspace.
//!
//! | file | contents |
//! |---|---|
//! | `keys` | DEL, EXISTS, TYPE, KEYS, SCAN and others |
//! | `rename` | RENAME, COPY, MOVE |
//! | `dump` | DUMP, RESTORE |
//! | `databases` | FLUSHDB, FLUSHALL, SWAPDB |
//! | `expire` | EXPIRE, TTL and their siblings |
//! | `object` | OBJECT |

mod databases;
mod dump;
mod expire;
mod keys;
mod object;
mod rename;

use super::container::{container, help, list_subcommands};
use super::{Call, Command, CommandResult, Family, Flags, KeyPositions};
use databases::{flushall, flushdb, swapdb};
use dump::{dump, restore};
use expire::{expire, expireat, expiretime, persist, pexpire, pexpireat, pexpiretime, pttl, ttl};
use keys::{dbsize, del, exists, keys, randomkey, scan, touch, type_of};
use rename::{copy, move_key, rename, renamenx};

const FAMILY: Family = Family::new("generic", &["keyspace"]);

pub(super) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("del", -2, del).flags(&[Flags::WRITE]).keys(1, -1, 1).doc(
        "1.0.0",
        "O(N) where N is the number of keys that will be removed",
        "Delete a key",
    ),
    Command::new("unlink", -2, del).flags(&[Flags::WRITE, Flags::FAST]).keys(1, -1, 1).doc(
        "4.0.0",
        "O(1) for each key removed regardless of its size",
        "Delete a key asynchronously in another thread",
    ),
    Command::new("exists", -2, exists).flags(&[Flags::READONLY, Flags::FAST]).keys(1, -1, 1).doc(
        "1.0.0",
        "O(N) where N is the number of keys to check",
        "Determine if a key exists",
    ),
    Command::new("touch", -2, touch).flags(&[Flags::READONLY, Flags::FAST]).keys(1, -1, 1).doc(
        "3.2.1",
        "O(N) where N is the number of keys that will be touched",
        "Alters the last access time of a key(s)",
    ),
    Command::new("type", 2, type_of).reads_key().flags(&[Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Determine the type stored at key",
    ),
    Command::new("keys", 2, keys)
        .flags(&[Flags::READONLY])
        .all_keys()
        .categories(&["keyspace", "dangerous"])
        .doc(
            "1.0.0",
            "O(N) with N being the number of keys in the database",
            "Find all keys matching the given pattern",
        ),
    Command::new("scan", -2, scan).flags(&[Flags::READONLY]).keys_from(KeyPositions::Cursor).doc(
        "2.8.0",
        "O(1) for every call",
        "Incrementally iterate the keys space",
    ),
    Command::new("rename", 3, rename).flags(&[Flags::WRITE]).keys(1, 2, 1).doc(
        "1.0.0",
        "O(1)",
        "Rename a key",
    ),
    Command::new("renamenx", 3, renamenx).flags(&[Flags::WRITE, Flags::FAST]).keys(1, 2, 1).doc(
        "1.0.0",
        "O(1)",
        "Rename a key, only if the new key does not exist",
    ),
    Command::new("copy", -3, copy).flags(&[Flags::WRITE, Flags::DENYOOM]).keys(1, 2, 1).doc(
        "6.2.0",
        "O(N) worst case for collections, where N is the number of nested items",
        "Copy a key",
    ),
    Command::new("move", 3, move_key).writes_key().flags(&[Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Move a key to another database",
    ),
    Command::new("dump", 2, dump).reads_key().doc(
        "2.6.0",
        "O(1) to access the key and additional O(N*M) to serialize it, where N is the number of Redis \
         objects composing the value and M their average size. For small string values the time \
         complexity is thus O(1)+O(1*M) where M is small, so simply O(1).",
        "Return a serialized version of the value stored at the specified key",
    ),
    Command::new("restore", -4, restore)
        .writes_key()
        .flags(&[Flags::DENYOOM])
        .categories(&["keyspace", "dangerous"])
        .doc(
            "2.6.0",
            "O(1) to create the new key and additional O(N*M) to reconstruct the serialized value, where \
             N is the number of Redis objects composing the value and M their average size. For small \
             string values the time complexity is thus O(1)+O(1*M) where M is small, so simply O(1). \
             However for sorted set values the complexity is O(N*M*log(N)) because inserting values into \
             sorted sets is O(log(N)).",
            "Create a key using the provided serialized value, previously obtained using DUMP",
        ),
    Command::new("randomkey", 1, randomkey).flags(&[Flags::READONLY]).all_keys().doc(
        "1.0.0",
        "O(1)",
        "Return a random key from the keyspace",
    ),
    Command::new("dbsize", 1, dbsize).flags(&[Flags::READONLY, Flags::FAST]).all_keys().group("server").doc(
        "1.0.0",
        "O(1)",
        "Return the number of keys in the selected database",
    ),
    changing_databases("flushdb", -1, flushdb).doc(
        "1.0.0",
        "O(N) where N is the number of keys in the selected database",
        "Remove all keys from the current database",
    ),
    changing_databases("flushall", -1, flushall).doc(
        "1.0.0",
        "O(N) where N is the total number of keys in all databases",
        "Remove all keys from all databases",
    ),
    changing_databases("swapdb", 3, swapdb).flags(&[Flags::FAST]).doc(
        "4.0.0",
        "O(N)",
        "Swaps two Redis databases",
    ),
    Command::new("expire", -3, expire).writes_key().flags(&[Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Set a key's time to live in seconds",
    ),
    Command::new("pexpire", -3, pexpire).writes_key().flags(&[Flags::FAST]).doc(
        "2.6.0",
        "O(1)",
        "Set a key's time to live in milliseconds",
    ),
    Command::new("expireat", -3, expireat).writes_key().flags(&[Flags::FAST]).doc(
        "1.2.0",
        "O(1)",
        "Set the expiration for a key as a UNIX timestamp",
    ),
    Command::new("pexpireat", -3, pexpireat).writes_key().flags(&[Flags::FAST]).doc(
        "2.6.0",
        "O(1)",
        "Set the expiration for a key as a UNIX timestamp specified in milliseconds",
    ),
    Command::new("ttl", 2, ttl).reads_key().flags(&[Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Get the time to live for a key in seconds",
    ),
    Command::new("pttl", 2, pttl).reads_key().flags(&[Flags::FAST]).doc(
        "2.6.0",
        "O(1)",
        "Get the time to live for a key in milliseconds",
    ),
    Command::new("expiretime", 2, expiretime).reads_key().flags(&[Flags::FAST]).doc(
        "7.0.0",
        "O(1)",
        "Get the expiration Unix timestamp for a key",
    ),
    Command::new("pexpiretime", 2, pexpiretime).reads_key().flags(&[Flags::FAST]).doc(
        "7.0.0",
        "O(1)",
        "Get the expiration Unix timestamp for a key in milliseconds",
    ),
    Command::new("persist", 2, persist).writes_key().flags(&[Flags::FAST]).doc(
        "2.2.0",
        "O(1)",
        "Remove the expiration from a key",
    ),
    Command::new("object", -2, container)
        .doc("2.2.3", "Depends on subcommand", "A container for object introspection commands")
        .subcommands(&FAMILY.commands([
            help("object|help", list_own, "6.2.0"),
            Command::new("object|refcount", 3, object::refcount).flags(&[Flags::READONLY]).keys(2, 2, 1).doc(
                "2.2.3",
                "O(1)",
                "Get the number of references to the value of the key",
            ),
            Command::new("object|encoding", 3, object::encoding).flags(&[Flags::READONLY]).keys(2, 2, 1).doc(
                "2.2.3",
                "O(1)",
                "Inspect the internal encoding of a Redis object",
            ),
            Command::new("object|freq", 3, object::freq).flags(&[Flags::READONLY]).keys(2, 2, 1).doc(
                "4.0.0",
                "O(1)",
                "Get the logarithmic access frequency counter of a Redis object",
            ),
            Command::new("object|idletime", 3, object::idletime).flags(&[Flags::READONLY]).keys(2, 2, 1).doc(
                "2.2.3",
                "O(1)",
                "Get the time since a Redis object was last accessed",
            ),
        ])),
]);

/// Begins the entry of a command that changes whole databases.
const fn changing_databases(
    name: &'static str,
    arity: i32,
    run: fn(&mut Call<'_, '_>) -> CommandResult,
) -> Command {
    let entry = Command::new(name, arity, run).flags(&[Flags::WRITE]).all_keys();
    entry.group("server").categories(&["keyspace", "dangerous"])
}

/// The help on the containers of this family.
fn list_own(call: &mut Call<'_, '_>) -> CommandResult {
    list_subcommands(call, COMMANDS)
}
