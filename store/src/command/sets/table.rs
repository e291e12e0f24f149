//! The commands on sets in the table of commands, in the words of Redis.

use super::{algebra, members, random};
use crate::command::{Command, Family, Flags};

const FAMILY: Family = Family::new("set", &["set"]);

const INTERSECTION_COMPLEXITY: &str = "O(N*M) worst case where N is the cardinality of the smallest set and \
     M is the number of sets.";
const UNION_COMPLEXITY: &str = "O(N) where N is the total number of elements in all given sets.";

pub(in crate::command) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("sadd", -3, members::sadd).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.0.0",
        "O(1) for each element added, so O(N) to add N elements when the command is called with \
         multiple arguments.",
        "Add one or more members to a set",
    ),
    Command::new("srem", -3, members::srem).writes_key().flags(&[Flags::FAST]).doc(
        "1.0.0",
        "O(N) where N is the number of members to be removed.",
        "Remove one or more members from a set",
    ),
    Command::reading("scard", 2, members::scard).flags(&[Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Get the number of members in a set",
    ),
    Command::reading("sismember", 3, members::sismember).flags(&[Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Determine if a given value is a member of a set",
    ),
    Command::new("smismember", -3, members::smismember).reads_key().flags(&[Flags::FAST]).doc(
        "6.2.0",
        "O(N) where N is the number of elements being checked for membership",
        "Returns the membership associated with the given elements for a set",
    ),
    Command::new("smembers", 2, members::smembers).reads_key().doc(
        "1.0.0",
        "O(N) where N is the set cardinality.",
        "Get all the members in a set",
    ),
    Command::new("spop", -2, random::spop).writes_key().flags(&[Flags::FAST]).doc(
        "1.0.0",
        "Without the count argument O(1), otherwise O(N) where N is the value of the passed count.",
        "Remove and return one or multiple random members from a set",
    ),
    Command::new("srandmember", -2, random::srandmember).reads_key().doc(
        "1.0.0",
        "Without the count argument O(1), otherwise O(N) where N is the absolute value of the passed \
         count.",
        "Get one or multiple random members from a set",
    ),
    Command::new("smove", 4, members::smove).flags(&[Flags::WRITE, Flags::FAST]).keys(1, 2, 1).doc(
        "1.0.0",
        "O(1)",
        "Move a member from one set to another",
    ),
    Command::new("sinter", -2, algebra::sinter).flags(&[Flags::READONLY]).keys(1, -1, 1).doc(
        "1.0.0",
        INTERSECTION_COMPLEXITY,
        "Intersect multiple sets",
    ),
    Command::new("sinterstore", -3, algebra::sinterstore)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .keys(1, -1, 1)
        .doc(
            "1.0.0",
            INTERSECTION_COMPLEXITY,
            "Intersect multiple sets and store the resulting set in a key",
        ),
    Command::new("sintercard", -3, algebra::sintercard)
        .flags(&[Flags::READONLY, Flags::MOVABLE_KEYS])
        .counted_keys(1)
        .doc(
            "7.0.0",
            INTERSECTION_COMPLEXITY,
            "Intersect multiple sets and return the cardinality of the result",
        ),
    Command::new("sunion", -2, algebra::sunion).flags(&[Flags::READONLY]).keys(1, -1, 1).doc(
        "1.0.0",
        UNION_COMPLEXITY,
        "Add multiple sets",
    ),
    Command::new("sunionstore", -3, algebra::sunionstore)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .keys(1, -1, 1)
        .doc("1.0.0", UNION_COMPLEXITY, "Add multiple sets and store the resulting set in a key"),
    Command::new("sdiff", -2, algebra::sdiff).flags(&[Flags::READONLY]).keys(1, -1, 1).doc(
        "1.0.0",
        UNION_COMPLEXITY,
        "Subtract multiple sets",
    ),
    Command::new("sdiffstore", -3, algebra::sdiffstore)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .keys(1, -1, 1)
        .doc("1.0.0", UNION_COMPLEXITY, "Subtract multiple sets and store the resulting set in a key"),
    Command::new("sscan", -3, members::sscan).reads_key().doc(
        "2.8.0",
        "O(1) for every call. O(N) for a complete iteration, including enough command calls for the \
         cursor to return back to 0. N is the number of elements inside the collection..",
        "Incrementally iterate Set elements",
    ),
]);
