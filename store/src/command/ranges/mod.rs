//! Commands on keys in order. They are the store's own: Redis and Valkey have none of these names.
//!
//! | file | contents |
//! |---|---|
//! | `bounds` | between which keys |
//! | `read` | RANGE, RANGECOUNT |
//! | `delete` | RANGEDEL |

mod bounds;
mod delete;
mod read;

use super::{Command, Family, Flags};
use delete::rangedel;
use read::{range, rangecount};

const FAMILY: Family = Family::new("order", &["keyspace"]);

pub(super) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("range", -3, range).flags(&[Flags::READONLY]).all_keys().reaching(read::reach).doc(
        "7.0.0",
        "O(S*log(N)+M*log(S)) with S the number of shards, N the number of keys in the database and M the \
         number of keys returned",
        "Return the keys between two bounds, or with a prefix, in the order of their bytes",
    ),
    Command::new("rangecount", 3, rangecount).flags(&[Flags::READONLY]).all_keys().doc(
        "7.0.0",
        "O(S*log(N)) with S the number of shards and N the number of keys in the database",
        "Return the number of keys between two bounds, or with a prefix",
    ),
    Command::new("rangedel", -3, rangedel)
        .flags(&[Flags::WRITE])
        .all_keys()
        .reaching(delete::reach)
        .categories(&["keyspace", "dangerous"])
        .doc(
            "7.0.0",
            "O(S*log(N)+M*log(N)) with S the number of shards, N the number of keys in the database and M \
             the number of keys removed",
            "Delete the keys between two bounds, or with a prefix",
        ),
]);
