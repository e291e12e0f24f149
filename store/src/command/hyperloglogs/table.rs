//! The entries of the commands on HyperLogLogs, in the words of Redis.

use super::commands::{pfadd, pfcount, pfmerge};
use super::debug::{pfdebug, pfselftest};
use crate::command::{Command, Family, Flags};

const FAMILY: Family = Family::new("hyperloglog", &["hyperloglog"]);

pub(in crate::command) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("pfadd", -2, pfadd).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "2.8.9",
        "O(1) to add every element.",
        "Adds the specified elements to the specified HyperLogLog.",
    ),
    Command::new("pfcount", -2, pfcount)
        .flags(&[Flags::READONLY, Flags::LOCKS_KEYS, Flags::MAY_REPLICATE])
        .keys(1, -1, 1)
        .doc(
            "2.8.9",
            "O(1) with a very small average constant time when called with a single key. O(N) with N \
             being the number of keys, and much bigger constant times, when called with multiple \
             keys.",
            "Return the approximated cardinality of the set(s) observed by the HyperLogLog at key(s).",
        ),
    Command::new("pfmerge", -2, pfmerge).flags(&[Flags::WRITE, Flags::DENYOOM]).keys(1, -1, 1).doc(
        "2.8.9",
        "O(N) to merge N HyperLogLogs, but with high constant times.",
        "Merge N different HyperLogLogs into a single one.",
    ),
    Command::new("pfdebug", 3, pfdebug)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::ADMIN])
        .keys(2, 2, 1)
        .doc("2.8.9", "N/A", "Internal commands for debugging HyperLogLog values"),
    Command::new("pfselftest", 1, pfselftest).flags(&[Flags::ADMIN]).doc(
        "2.8.9",
        "N/A",
        "An internal command for testing HyperLogLog values",
    ),
]);
