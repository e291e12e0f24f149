//! Commands on strings.
//!
//! | file | contents |
//! |---|---|
//! | `set` | SET and the commands that it has replaced; GETEX, MSET |
//! | `get` | commands that read; GETDEL |
//! | `change` | APPEND, SETRANGE, and the arithmetic |
//! | `lcs` | LCS |

mod change;
mod get;
mod lcs;
mod set;

pub(super) use get::read_string;

use super::{Command, Family, Flags};
use change::{append, decr, decrby, incr, incrby, incrbyfloat, setrange};
use get::{get, getdel, getrange, mget, strlen};
use lcs::lcs;
use set::{getex, getset, mset, msetnx, psetex, set, setex, setnx};

const FAMILY: Family = Family::new("string", &["string"]);

pub(super) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::reading("get", 2, get).flags(&[Flags::FAST]).doc("1.0.0", "O(1)", "Get the value of a key"),
    Command::new("set", -3, set).writes_key().flags(&[Flags::DENYOOM]).doc(
        "1.0.0",
        "O(1)",
        "Set the string value of a key",
    ),
    Command::new("setex", 4, setex).writes_key().flags(&[Flags::DENYOOM]).doc(
        "2.0.0",
        "O(1)",
        "Set the value and expiration of a key",
    ),
    Command::new("psetex", 4, psetex).writes_key().flags(&[Flags::DENYOOM]).doc(
        "2.6.0",
        "O(1)",
        "Set the value and expiration in milliseconds of a key",
    ),
    Command::new("setnx", 3, setnx).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Set the value of a key, only if the key does not exist",
    ),
    Command::new("getset", 3, getset).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Set the string value of a key and return its old value",
    ),
    Command::new("getex", -2, getex).writes_key().flags(&[Flags::FAST]).doc(
        "6.2.0",
        "O(1)",
        "Get the value of a key and optionally set its expiration",
    ),
    Command::new("getdel", 2, getdel).writes_key().flags(&[Flags::FAST]).doc(
        "6.2.0",
        "O(1)",
        "Get the value of a key and delete the key",
    ),
    Command::new("mget", -2, mget).flags(&[Flags::READONLY, Flags::FAST]).keys(1, -1, 1).doc(
        "1.0.0",
        "O(N) where N is the number of keys to retrieve",
        "Get the values of all the given keys",
    ),
    Command::new("mset", -3, mset).flags(&[Flags::WRITE, Flags::DENYOOM]).keys(1, -1, 2).doc(
        "1.0.1",
        "O(N) where N is the number of keys to set",
        "Set multiple keys to multiple values",
    ),
    Command::new("msetnx", -3, msetnx).flags(&[Flags::WRITE, Flags::DENYOOM]).keys(1, -1, 2).doc(
        "1.0.1",
        "O(N) where N is the number of keys to set",
        "Set multiple keys to multiple values, only if none of the keys exist",
    ),
    Command::new("append", 3, append).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "2.0.0",
        "O(1)",
        "Append a value to a key",
    ),
    Command::reading("strlen", 2, strlen).flags(&[Flags::FAST]).doc(
        "2.2.0",
        "O(1)",
        "Get the length of the value stored in a key",
    ),
    Command::new("incr", 2, incr).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Increment the integer value of a key by one",
    ),
    Command::new("decr", 2, decr).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Decrement the integer value of a key by one",
    ),
    Command::new("incrby", 3, incrby).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Increment the integer value of a key by the given amount",
    ),
    Command::new("decrby", 3, decrby).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Decrement the integer value of a key by the given number",
    ),
    Command::new("incrbyfloat", 3, incrbyfloat).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "2.6.0",
        "O(1)",
        "Increment the float value of a key by the given amount",
    ),
    Command::new("getrange", 4, getrange).reads_key().doc(
        "2.4.0",
        "O(N) where N is the length of the returned string",
        "Get a substring of the string stored at a key",
    ),
    Command::new("setrange", 4, setrange).writes_key().flags(&[Flags::DENYOOM]).doc(
        "2.2.0",
        "O(1), not counting the time taken to copy the new string in place",
        "Overwrite part of a string at key starting at the specified offset",
    ),
    Command::new("substr", 4, getrange).reads_key().doc(
        "1.0.0",
        "O(N) where N is the length of the returned string",
        "Get a substring of the string stored at a key",
    ),
    Command::new("lcs", -3, lcs).flags(&[Flags::READONLY]).keys(1, 2, 1).doc(
        "7.0.0",
        "O(N*M) where N and M are the lengths of s1 and s2, respectively",
        "Find longest common substring",
    ),
]);
